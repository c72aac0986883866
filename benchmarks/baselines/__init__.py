"""What the papers compare with, and plain twins that benchmarks time too: for tests and benchmarks, never for the
product."""
