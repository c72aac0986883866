"""Self-contained HTML pages: frame, charts and notebook cards; no scripts, nothing to load."""
