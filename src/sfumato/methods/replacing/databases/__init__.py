"""Making all tables of a database anew: maps for linked columns, parts for free ones, subsets, nulls."""
