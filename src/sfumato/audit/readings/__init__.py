"""What an outsider makes of each form of release."""
