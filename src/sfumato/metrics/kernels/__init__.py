"""Compiled counts of small patterns in graphs; each has a plain twin that a test compares it with."""
