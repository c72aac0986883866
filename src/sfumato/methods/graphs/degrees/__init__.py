"""Making the degrees of a graph alike by adding edges: the cheapest sequence, a bound, its realisation, the exact optimum."""
