"""Compiled loops over rings of set-valued records; each has a plain twin that a test compares it with."""
