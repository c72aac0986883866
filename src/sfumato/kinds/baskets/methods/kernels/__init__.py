"""Compiled loops of the basket methods; each has a plain twin that a test compares it with."""
