"""Exploration: what do levels and methods cost? Many releases of one table, made, certified and measured, side by side."""
