"""What safe means: one predicate on `Linkage` per file."""
