"""`histogram(amount, 50)`: as many records in every bin as in the original; inside its bin every value is drawn anew.

Guarantee
    The bins of the original are dealt to the records in a random order (inside their groups, with `by`), and each record gets
    a legal value of its bin, uniformly: so every table with this histogram is equally likely. The counts of the bins are published.

Notation
    bin b    the values v with b · width ≤ v < (b + 1) · width; days are numbered
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling.engines import NewColumn
from sfumato.methods.replacing.sampling.levels import Steps, facts
from sfumato.methods.replacing.sampling.problem import Clause, RulePart, SamplingProblem
from sfumato.methods.replacing.sampling.vectors import holds
from sfumato.policy.rules import columns_of
from sfumato.policy.rules.tree import ColumnValue, Condition, Histogram
from sfumato.randomness import Randomness

_LISTED = 1 << 20
"""Values that are looked at one by one when further rules bind the column."""


class Binned:
    """Values drawn inside the bins of the original, which are dealt anew."""

    name = "draws in bins"
    uniform = True
    reads_original = True

    def __init__(
        self, problem: SamplingProblem, clause: Clause, legal: NDArray[np.int64] | None, groups: NDArray[np.int64]
    ) -> None:
        assert isinstance(clause.body, Histogram)
        self.column, self.groups = clause.body.column, groups
        self.levels = problem.levels(self.column)
        texts = np.asarray(problem.source(self.column).original[self.column.name], dtype=np.str_)
        self.there = np.flatnonzero(texts != "")
        assert isinstance(self.levels, Steps)
        bins, of = np.unique(_bins(texts[self.there].tolist(), clause.body.width), return_inverse=True)
        step = clause.body.width * self.levels.unit
        edges = [(_ceiling(one * step), _ceiling((one + 1) * step)) for one in bins.tolist()]
        low, high = (np.array([edge[side] for edge in edges], dtype=np.int64).reshape(-1) - self.levels.low for side in (0, 1))
        self.legal = legal
        if legal is None:
            self.first, self.last = np.clip(low, 0, self.levels.size), np.clip(high, 0, self.levels.size)
        else:
            self.first, self.last = np.searchsorted(legal, low), np.searchsorted(legal, high)
        if (self.last <= self.first).any():
            what = f"{int((self.last <= self.first).sum())} bins of the original have no legal value in the domain"
            raise Infeasible(what, where=f'rule "{clause.rule}"', hint="widen the domain, or the bins")
        self.of = of.astype(np.int64)

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        dealt = self.of[_within_groups(self.groups[self.there], random.child("bins"))]
        chosen = self.first[dealt] + random.child("values").below(self.last[dealt] - self.first[dealt])
        codes = np.zeros(len(self.groups), dtype=np.int64)
        codes[self.there] = chosen if self.legal is None else self.legal[chosen]
        return {self.column: NewColumn(self.levels, codes)}


def _bins(texts: list[str], width: Fraction) -> NDArray[np.int64]:
    found = facts(texts)
    if not found.unit:
        raise Infeasible("the original has values that are neither numbers nor days", hint="leave the histogram out")
    return np.array([int(level) * width.denominator // (found.unit * width.numerator) for level in found.levels], dtype=np.int64)


def _ceiling(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _within_groups(groups: NDArray[np.int64], random: Randomness) -> NDArray[np.int64]:
    """A random order of the records in which every record changes places with records of its own group only."""
    shuffled = random.permutation(len(groups))
    found = np.empty(len(groups), dtype=np.int64)
    found[np.argsort(groups, kind="stable")] = shuffled[np.argsort(groups[shuffled], kind="stable")]
    return found


def binned(
    problem: SamplingProblem, part: RulePart, clause: Clause, conditions: list[Condition], groups: NDArray[np.int64]
) -> Binned | None:
    """The engine for a histogram of the part's only column, beside rules on that column; None otherwise."""
    body = clause.body
    assert isinstance(body, Histogram)
    levels = problem.levels(body.column) if problem.is_new(body.column) else None
    if part.columns != (body.column,) or not isinstance(levels, Steps) or any(problem.is_new(column) for column in body.by):
        return None
    if not conditions:
        return Binned(problem, clause, None, groups)
    if levels.size > _LISTED or any(set(columns_of(condition)) != {body.column} for condition in conditions):
        return None
    vector = {body.column: levels.vector(np.arange(levels.size, dtype=np.int64))}
    masks = [np.broadcast_to(holds(condition, vector), (levels.size,)) for condition in conditions]
    return Binned(problem, clause, np.flatnonzero(np.logical_and.reduce(masks)).astype(np.int64), groups)
