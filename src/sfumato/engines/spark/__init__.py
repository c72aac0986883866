"""The Spark engine: rows stay on the cluster; equivalence classes with counts come to the driver."""
