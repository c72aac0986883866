"""Exploration: what levels and methods cost, measured on certified releases."""
