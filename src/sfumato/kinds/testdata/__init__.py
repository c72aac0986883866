"""Test data: replaced tables, pattern-preserving tables and whole databases in which constraints still hold."""
