"""What a release is still good for: one measure per file."""
