"""One table in, one table out: generalized, suppressed, microaggregated, perturbed, sampled or longitudinal."""
