"""Compiled loops of aggregating."""
