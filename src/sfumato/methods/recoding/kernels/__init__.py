"""Compiled loops of recoding; each has a plain twin that a test compares it with."""
