"""Making one more release of a table that was published before: the parts of the method `sequential`."""
