"""What else must be true of a release."""
