"""Compiled loops of the data room."""
