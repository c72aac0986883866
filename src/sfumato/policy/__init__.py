"""The policy: what must stay private and what must stay true, as users write it."""
