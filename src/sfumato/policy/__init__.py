"""What must stay private and what must stay true, as people write it."""
