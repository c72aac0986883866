"""Input and output: sources of data, file formats, hierarchies, SQL databases."""
