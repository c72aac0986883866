"""Schema theory of publishing several sub-tables: rules, outside knowledge, Guardian Normal Form, estimates."""
