"""What earlier releases demand of the next one; for methods only."""
