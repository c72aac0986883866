"""Compiled loops over cliques of several releases; each has a plain twin that a test compares it with."""
