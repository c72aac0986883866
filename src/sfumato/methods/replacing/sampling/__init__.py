"""Exact samplers: each draws uniformly from all tables that obey its part of the rules, or proves that there is none."""
