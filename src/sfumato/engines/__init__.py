"""Where independent work runs."""
