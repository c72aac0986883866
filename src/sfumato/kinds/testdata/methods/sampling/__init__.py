"""Exact samplers: each draws uniformly from all tables that satisfy its part of the constraints."""
