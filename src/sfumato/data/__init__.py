"""Data: tables, hierarchies, generalizations, equivalence classes, linkage, graphs, baskets, databases."""
