"""How a release is shown."""
