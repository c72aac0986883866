"""The one door to the constraint solver (CP-SAT): integers, linear relations, conditions, and a solution that varies.

Departures
    [obfuscation §5.5.2] assumes that a solver returns every solution with equal probability. This one does not: with
    its own random seed it returns the same solution for ever. Three ways to make it vary, all with presolve off:

    `solve`   start from a random guess in every variable; cheap, far from uniform
    `settle`  decide the variables in a random order, each for its guess first and then for other values in a random
              order (all of them when the model is small, else halves of the domain); nearer
    `cell`    a random linear hash Σ aᵢxᵢ ≡ r (mod m) cuts the solutions into m cells; list one that is not empty and
              take a member. Pairs of solutions meet in a cell with equal chance, so every solution has about the same;
              chi²/df is 1

Invariants
    I1  One worker and a given seed: the same model gives the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core.extras import require
from sfumato.core.randomness import Randomness

Linear = Mapping[Any, int]
_LITERALS = 1_200
"""Values that a search in random order tries one by one, in all variables together."""
CELL = 64
"""The most solutions of a cell that are listed."""


def reachable(
    values: Sequence[Sequence[Sequence[int]]], counts: Sequence[int], low: Sequence[int], high: Sequence[int]
) -> bool:
    """Whether counts[c] records of every class c, each with one of the contributions values[c], can have totals in low
    … high."""
    model = SolverModel()
    totals: list[dict[Any, int]] = [{} for _ in low]
    for rows, count in zip(values, counts, strict=True):
        often = [model.integer(0, count) for _ in rows]
        model.within(dict.fromkeys(often, 1), count, count)
        for variable, row in zip(often, rows, strict=True):
            for axis, value in enumerate(row):
                totals[axis][variable] = value
    for terms, least, most in zip(totals, low, high, strict=True):
        model.within(terms, least, most)
    try:
        return model.solve({}, 1, 20.0) is not None
    except TimeoutError:
        return True


class SolverModel:
    """A problem under construction; variables are opaque handles."""

    def __init__(self) -> None:
        require("ortools", "solving rules")
        from ortools.sat.python import cp_model

        self._cp = cp_model
        self._model = cp_model.CpModel()
        self._variables: list[Any] = []
        self._bounded_keys = False
        self._ordered = False

    def integer(self, low: int, high: int) -> Any:
        variable = self._model.new_int_var(low, high, "")
        self._variables.append(variable)
        return variable

    def truth(self) -> Any:
        return self._model.new_bool_var("")

    def constant(self, value: bool) -> Any:
        return self._model.new_constant(int(value))

    def within(self, terms: Linear, low: int | None, high: int | None, only_if: Any = None) -> None:
        """low ≤ Σ factor · variable ≤ high, always or only where `only_if` is true."""
        infinity = 1 << 62
        domain = self._cp.Domain(-infinity if low is None else low, infinity if high is None else high)
        posted = self._model.add_linear_expression_in_domain(self._sum(terms), domain)
        if only_if is not None:
            posted.only_enforce_if(only_if)

    def is_within(self, terms: Linear, low: int | None, high: int | None) -> Any:
        """A truth value that is true exactly where low ≤ Σ factor · variable ≤ high."""
        infinity = 1 << 62
        bottom, top = -infinity if low is None else low, infinity if high is None else high
        found = self.truth()
        inside = self._cp.Domain(bottom, top) if bottom <= top else self._cp.Domain.from_intervals([])
        outside = inside.complement().intersection_with(self._cp.Domain(-infinity, infinity))
        for domain, literal in ((inside, found), (outside, found.negated())):
            self._model.add_linear_expression_in_domain(self._sum(terms), domain).only_enforce_if(literal)
        return found

    def _sum(self, terms: Linear) -> Any:
        return self._cp.LinearExpr.weighted_sum(list(terms), list(terms.values()))

    def different(self, sums: Sequence[tuple[Linear, int]], *, bounded: bool = False) -> None:
        """No two of the sums (factors and a constant) are equal.

        `bounded` tells that a total binds them too, which hangs without linear relaxations.
        """
        self._bounded_keys |= bounded
        self._model.add_all_different([self._sum(terms) + constant for terms, constant in sums])

    def one_of(self, variables: Sequence[Any], rows: Sequence[Sequence[int]]) -> None:
        """The variables together take one of the listed combinations."""
        self._model.add_allowed_assignments(list(variables), [tuple(row) for row in rows])

    def in_values(self, variable: Any, values: Sequence[int]) -> Any:
        """A truth value: the variable is among the values."""
        found = self.truth()
        inside = self._cp.Domain.from_values(list(values))
        self._model.add_linear_expression_in_domain(variable, inside).only_enforce_if(found)
        self._model.add_linear_expression_in_domain(variable, inside.complement()).only_enforce_if(found.negated())
        return found

    def product(self, first: Any, second: Any, low: int, high: int) -> Any:
        found = self._model.new_int_var(low, high, "")
        self._model.add_multiplication_equality(found, [first, second])
        return found

    def require(self, literal: Any) -> None:
        self._model.add_bool_and([literal])

    def any_of(self, literals: Sequence[Any]) -> Any:
        found = self.truth()
        self._model.add_bool_or([*literals, found.negated()])
        for literal in literals:
            self._model.add_implication(literal, found)
        return found

    def all_of(self, literals: Sequence[Any]) -> Any:
        return self.any_of([literal.negated() for literal in literals]).negated()

    @staticmethod
    def negated(literal: Any) -> Any:
        return literal.negated()

    def solve(self, guesses: Mapping[Any, int], seed: int, seconds: float) -> list[int] | None:
        """The values of all integers in order of creation; None when there is no solution, `TimeoutError` when
        undecided."""
        self._model.clear_hints()  # type: ignore[no-untyped-call]
        for variable, value in guesses.items():
            self._model.add_hint(variable, value)
        return self._solved(self._solver(seed, seconds))

    def settle(
        self, guesses: Mapping[Any, int], sizes: Mapping[Any, int], random: Randomness, seconds: float
    ) -> list[int] | None:
        """As `solve`, the guessed variables (0 … size − 1 each) being decided in a random order for random values."""
        if not self._ordered:
            self._order(guesses, sizes, random)
        solver = self._solver(1, seconds)
        solver.parameters.search_branching = self._cp.FIXED_SEARCH
        return self._solved(solver)

    def _order(self, guesses: Mapping[Any, int], sizes: Mapping[Any, int], random: Randomness) -> None:
        """Tell the search the order of variables, and for each the values to try: its guess, the others, or halves."""
        self._ordered = True
        variables = list(guesses)
        tried = _LITERALS // max(len(variables), 1)
        halves = (self._cp.SELECT_LOWER_HALF, self._cp.SELECT_UPPER_HALF)
        for number, half in zip(random.permutation(len(variables)), random.integers(2, len(variables)), strict=True):
            variable = variables[number]
            values = _values(guesses[variable], sizes[variable], tried, random)
            literals = [self.is_within({variable: 1}, value, value) for value in values]
            self._model.add_decision_strategy(literals, self._cp.CHOOSE_FIRST, self._cp.SELECT_MAX_VALUE)
            self._model.add_decision_strategy([variable], self._cp.CHOOSE_FIRST, halves[half])

    def cell(
        self, variables: Sequence[Any], sizes: Sequence[int], modulus: int, random: Randomness, seconds: float
    ) -> list[list[int]] | None:
        """All solutions of a random cell as values of `variables` (0 … size − 1 each); None when there are too many to
        list."""
        model = self._model.clone()
        if modulus > 1:
            factors = random.integers(modulus, len(variables)).tolist()
            most = sum(factor * (size - 1) for factor, size in zip(factors, sizes, strict=True))
            turns = model.new_int_var(0, most // modulus, "")
            hashed = self._cp.LinearExpr.weighted_sum([*variables, turns], [*factors, -modulus])
            rest = random.integer(modulus)
            model.add_linear_constraint(hashed, rest, rest)
        solver = self._solver(1, seconds)
        solver.parameters.enumerate_all_solutions = True
        solver.parameters.linearization_level = 0  # small models: relaxations cost more than they cut
        listed = _listing(self._cp, variables)
        status = solver.solve(model, listed)
        if listed.full:
            return None
        if status not in (self._cp.OPTIMAL, self._cp.INFEASIBLE):
            raise TimeoutError("the solver did not list a cell in time")
        return sorted(map(list, listed.found))

    def _solver(self, seed: int, seconds: float) -> Any:
        solver = self._cp.CpSolver()
        solver.parameters.num_workers = 1  # I1
        solver.parameters.random_seed = seed % (1 << 31)
        solver.parameters.cp_model_presolve = False
        solver.parameters.linearization_level = 2 if self._bounded_keys else 0
        solver.parameters.max_time_in_seconds = seconds
        return solver

    def _solved(self, solver: Any) -> list[int] | None:
        status = solver.solve(self._model)
        if status in (self._cp.OPTIMAL, self._cp.FEASIBLE):
            return [int(solver.value(variable)) for variable in self._variables]
        if status == self._cp.INFEASIBLE:
            return None
        raise TimeoutError("the solver did not decide in time")

    def minimize(
        self, cost: Linear, guesses: Mapping[Any, int], seed: int, effort: float
    ) -> tuple[list[int] | None, int]:
        """The cheapest values found (None: none were) and a proven lower bound of their cost; an optimum costs no more
        than that.

        `effort` is in the solver's own deterministic seconds, so that the answer does not depend on the machine (I1).
        """
        self._model.clear_hints()  # type: ignore[no-untyped-call]
        for variable, value in guesses.items():
            self._model.add_hint(variable, value)
        self._model.minimize(self._sum(cost))
        solver = self._cp.CpSolver()
        solver.parameters.num_workers = 1  # I1
        solver.parameters.random_seed = seed % (1 << 31)
        solver.parameters.max_deterministic_time = effort
        status = solver.solve(self._model)
        if status not in (self._cp.OPTIMAL, self._cp.FEASIBLE, self._cp.UNKNOWN):
            return None, 0
        proven = math.ceil(solver.best_objective_bound - 1e-6)
        if status == self._cp.UNKNOWN:
            return None, proven
        return [int(solver.value(variable)) for variable in self._variables], proven


def _values(first: int, size: int, tried: int, random: Randomness) -> list[int]:
    """Values to try in this order: all of a small domain, `first` before the others; of a large one only that."""
    others = random.permutation(size).tolist() if size <= tried else []
    return list(dict.fromkeys([first, *others]))


def _listing(cp: Any, variables: Sequence[Any]) -> Any:
    """A listener that notes the different values of the variables and stops when there are too many."""

    class Listing(cp.CpSolverSolutionCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.found: set[tuple[int, ...]] = set()
            self.seen = 0

        @property
        def full(self) -> bool:
            return len(self.found) > CELL or self.seen > 16 * CELL

        def on_solution_callback(self) -> None:
            self.found.add(tuple(self.value(variable) for variable in variables))
            self.seen += 1
            if self.full:
                self.stop_search()

    return Listing()
