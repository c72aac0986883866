"""Columns that claims tie together: what is independent of each other is recoded by itself.

A claim sees only the columns that its outsider is given. Two columns that no claim sees together, not even by way of others, can be
recoded as if the other was not there; only the suppressed records are shared.

Invariants
    I1  Every claim speaks of columns of one component. Claims that give the outsider nothing see all published records at once, and
        hold however these are recoded, because they hold in the coarsest release.
    I2  Components publish the same records: those that the whole problem need not suppress.
    I3  A claim that follows from another one is left out: the other is as strong and its outsider knows more.

>>> connected(("age", "sex", "zip"), [("age",), ("sex", "zip"), ()])
[('age',), ('sex', 'zip')]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.methods.recoding.problem import RecodingProblem, Requirement, Sensitive


@dataclass(frozen=True)
class Component:
    """Some columns of a problem as a problem of their own, about some of its records."""

    problem: RecodingProblem
    rows: IntArray | None = None
    """The records that it is about; all of them without."""


def components(problem: RecodingProblem) -> list[Component]:
    """The problem as it is when all claims speak of all its columns, else its independent parts without suppressed records."""
    if problem.uniform:
        return [Component(problem)]
    rows = np.flatnonzero(~problem.out[problem.row_point.of])  # I2
    sets = connected(problem.names, [problem.given(requirement) for requirement in problem.requirements])
    return [Component(_restricted(problem, names, rows), rows) for names in sets]


def connected(names: Sequence[str], sets: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """The names in the classes that the sets connect, everything in the order of the names."""
    of = {name: place for place, name in enumerate(names)}
    for tied in sets:
        joined = {of[name] for name in tied}
        of = {name: min(joined) if place in joined else place for name, place in of.items()}
    return [tuple(name for name in names if of[name] == place) for place in sorted(set(of.values()))]


def without_implied(requirements: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """The claims that do not follow from others (I3)."""
    return tuple(one for one in requirements if not any(_follows(one, other) for other in requirements))


def _follows(one: Requirement, other: Requirement) -> bool:
    """Whether `other` implies `one` because its outsider knows more; its classes are parts of the ones that `one` is about."""
    more = set(one.given or ()) < set(other.given or ())
    return more and one.model.monotone and set(one.hide) <= set(other.hide) and other.model.covers(one.model)


def _restricted(problem: RecodingProblem, names: tuple[str, ...], rows: IntArray) -> RecodingProblem:
    places = [problem.names.index(name) for name in names]
    inside = [one for one in problem.requirements if set(problem.given(one)) <= set(names) and problem.given(one)]  # I1
    hidden = {name for requirement in inside for name in requirement.hide}
    return replace(
        problem,
        names=names,
        domains=tuple(problem.domains[place] for place in places),
        codes=tuple(problem.codes[place][rows] for place in places),
        sensitive=tuple(_rows_of(column, rows) for column in problem.sensitive if column.name in hidden),
        requirements=tuple(inside),
        multiplicity=None if problem.multiplicity is None else problem.multiplicity[rows],
        beside=int((rows >= problem.rows - problem.beside).sum()),
        whole=problem,
    )


def _rows_of(column: Sensitive, rows: IntArray) -> Sensitive:
    return replace(column, codes=column.codes[rows])
