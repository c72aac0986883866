"""Compiled loops of test data; each has a plain twin that a test compares it with."""
