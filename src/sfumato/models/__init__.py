"""Privacy models: predicates on `Linkage`, one file each."""
