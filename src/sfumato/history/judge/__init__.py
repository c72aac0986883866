"""What all releases disclose together; for the audit only, and without a line of the methods."""
