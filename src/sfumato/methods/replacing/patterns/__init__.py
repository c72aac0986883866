"""Pattern-preserving anonymization of numeric tables [multitype ch. 5]: from rules to a polytope to a random point in it."""
