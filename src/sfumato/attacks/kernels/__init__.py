"""Compiled searches for planted accounts; each has a plain twin that a test compares it with."""
