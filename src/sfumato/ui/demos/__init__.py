"""Demonstrations: complete examples that generate their own data."""
