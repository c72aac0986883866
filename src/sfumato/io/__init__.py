"""How data comes in: one source per file."""
