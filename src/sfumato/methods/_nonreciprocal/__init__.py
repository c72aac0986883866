"""The parts of the `nonreciprocal` method, each on its own: orders, rings, assignments, withholding, voting, baselines."""
