"""Complete embedded examples that make their own data: one situation per file."""
