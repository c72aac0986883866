"""Compiled loops of random walks through tables; each has a plain twin that a test compares it with."""
