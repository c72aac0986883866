"""Several releases of the same data: ledger, persistent equivalence classes, constraints for methods, verdicts for the
audit."""
