"""What flows: domains, hierarchies, tables, classes with counts, and `Linkage`."""
