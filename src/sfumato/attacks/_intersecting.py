"""The intersection attack: put all published tables together and see whose hidden value is the only one left.

Guarantee
    A value reported as compromised is certain in every world that agrees with the published tables. With `exact` the converse holds
    too: whoever is not reported has at least two possible values.

Paper
    [versatile §1.3], Table 2.

Notation
    A cell is a combination of one row (and, behind buckets, one entry) of every table that agree on all shared columns: a person
    who may exist. A world gives every cell a number of people such that every row and every entry is used as often as published.

Departures
    The paper's list of the four compromised tuples of Table 2 swaps two zip codes: (333333, black) lives in 71000 and
    (333333, white) in 72000, in its own Table 1 and in every world that agrees with Table 2.

Cost
    Tables that no shared column connects are attacked one by one, in linear time. Connected ones are joined; up to `_EXACT`
    cells by integer programs, beyond that a sample of people by the join alone (values that no join supports are excluded).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.attacks._coded_cells import CodedCells
from sfumato.decomposition.estimate import Counted, SubTableSheet
from sfumato.decomposition.guardian import reach
from sfumato.errors import ReleaseError

_EXACT = 4_000
_JOIN_LIMIT = 20_000_000
_VALUES = 12


@dataclass(frozen=True, slots=True)
class Compromised:
    """Tuples (values of the given columns, the one hidden value left), in codes; and how it was found."""

    given: tuple[str, ...]
    hidden: str
    tuples: list[tuple[int, ...]]
    exact: bool
    attacked: int
    """How many different given tuples were attacked."""


def intersect(sheets: Sequence[SubTableSheet], given: Sequence[str], hidden: str) -> Compromised:
    """Attack the rule given → hidden through all sheets."""
    everything = [sheet.columns for sheet in sheets]
    connected = [sheet for sheet in sheets if sheet.columns & reach({hidden}, everything)]
    known = sorted(name for name in given if any(name in sheet.columns for sheet in connected))
    if not connected or not known:
        return Compromised(tuple(known), hidden, [], True, 0)
    connected = _telling(connected, {*known, hidden})
    if len(connected) == 1:
        return _certain(_candidates(connected[0], 0), known, hidden, exact=True)
    cells = _joined(connected)
    if cells is not None:
        return _by_programs(cells, connected, known, hidden)
    return _certain(_projected(connected, known, hidden), known, hidden, exact=False)


def _telling(sheets: list[SubTableSheet], wanted: set[str]) -> list[SubTableSheet]:
    """Without sheets whose part in the question another sheet shows as exactly: they exclude nothing."""
    kept = list(sheets)
    for sheet in sorted(sheets, key=lambda each: len(each.columns)):
        others = [other for other in kept if other is not sheet]
        asked = sheet.columns & wanted.union(*(other.columns for other in others))
        if asked <= sheet.visible and any(asked <= other.visible for other in others):
            kept = others
    return kept


def _candidates(sheet: SubTableSheet, place: int) -> CodedCells:
    """Rows of a sheet with every hidden value their bucket allows; `row·i` and `entry·i` number rows and entries."""
    rows = CodedCells({**sheet.rows.columns, f"row·{place}": np.arange(len(sheet.rows.weight))})
    if sheet.entries is None:
        return rows
    entries = CodedCells({**sheet.entries.columns, f"entry·{place}": np.arange(len(sheet.entries.weight))})
    return rows.join(entries, [sheet.bucket]).without(sheet.bucket)


def _certain(cells: CodedCells, known: list[str], hidden: str, *, exact: bool) -> Compromised:
    pairs = cells.select([*known, hidden]).distinct()
    group = pairs.numbered(known)
    many = np.bincount(group)
    return Compromised(tuple(known), hidden, pairs.where(many[group] == 1).rows(), exact, len(many))


def _ordered(sheets: Sequence[SubTableSheet], first: int = 0) -> list[int]:
    """An order in which every sheet shares a column with an earlier one."""
    order, seen = [first], sheets[first].columns
    while len(order) < len(sheets):
        following = max((i for i in range(len(sheets)) if i not in order), key=lambda i: len(sheets[i].columns & seen))
        order.append(following)
        seen |= sheets[following].columns
    return order


def _joined(sheets: Sequence[SubTableSheet]) -> CodedCells | None:
    """All cells, or None when there are too many for integer programs."""
    cells: CodedCells | None = None
    if any(len(marginal.weight) > _EXACT for sheet in sheets for marginal in sheet.marginals()):
        return None
    for place in _ordered(sheets):
        part = _candidates(sheets[place], place)
        if len(part) > _EXACT:
            return None
        if cells is None:
            cells = part
            continue
        if cells.join_size(part, cells.shared(part)) > 20 * _EXACT:
            return None
        cells = cells.join(part, cells.shared(part))
    return cells if cells is not None and len(cells) <= _EXACT else None


def _projected(sheets: Sequence[SubTableSheet], known: list[str], hidden: str) -> CodedCells:
    """Possible combinations of known and hidden columns, for a sample of people: the join of all sheets, keeping what is needed.

    The sample is a few values of every known column and keeps all that is possible for people with these values.
    """
    wanted, order = {*known, hidden}, _ordered(sheets)
    sample = {name: _some_values(sheets, name) for name in known}
    table = _needed(sheets, order, 0, wanted, sample)
    for step in range(1, len(order)):
        part = _needed(sheets, order, step, wanted | set(table.columns), sample)
        shared = table.shared(part)
        if table.join_size(part, shared) > _JOIN_LIMIT:
            raise ReleaseError("the published tables are too large to be joined", hint="attack a smaller release")
        later = frozenset().union(*(sheets[other].columns for other in order[step + 1 :]))
        joined = table.join(part, shared)
        table = joined.select([name for name in joined.columns if name in later | wanted]).distinct()
    return table


def _some_values(sheets: Sequence[SubTableSheet], name: str) -> list[int]:
    source = next(part for sheet in sheets for part in sheet.marginals() if name in part.columns)
    values = np.unique(source.columns[name])
    return [int(value) for value in np.random.default_rng(0).permutation(values)[:_VALUES]]


def _needed(
    sheets: Sequence[SubTableSheet], order: list[int], step: int, wanted: set[str], sample: Mapping[str, list[int]]
) -> CodedCells:
    """A sheet's possibilities, for the sample, in the columns that are wanted or that a later sheet shares."""

    def part(marginal: Counted, names: frozenset[str]) -> CodedCells:
        frame = CodedCells({name: marginal.columns[name] for name in sorted(names)})
        for name in names & sample.keys():
            frame = frame.where(np.isin(frame.columns[name], sample[name]))
        return frame.distinct()

    sheet = sheets[order[step]]
    needed = wanted.union(*(sheets[other].columns for other in order[step + 1 :]))
    if sheet.entries is None or not needed & sheet.hidden:
        return part(sheet.rows, sheet.visible & needed)
    rows = part(sheet.rows, (sheet.visible & needed) | {sheet.bucket})
    entries = part(sheet.entries, (sheet.hidden & needed) | {sheet.bucket})
    return rows.join(entries, [sheet.bucket]).without(sheet.bucket).distinct()


def _by_programs(cells: CodedCells, sheets: Sequence[SubTableSheet], known: list[str], hidden: str) -> Compromised:
    """Keep the pairs (given, hidden) that occur in some world, then look for given tuples with one value left."""
    pairs = cells.select([*known, hidden]).distinct()
    pair = cells.numbered([*known, hidden])
    worlds = _Worlds(cells, sheets, pair, len(pairs))
    possible = np.zeros(len(pairs), dtype=bool)
    for place in range(len(pairs)):
        if not possible[place]:
            possible |= worlds.with_pair(place)
    return _certain(pairs.where(possible), known, hidden, exact=True)


class _Worlds:
    """The worlds behind the published tables as integer points of a polytope over the cells."""

    def __init__(self, cells: CodedCells, sheets: Sequence[SubTableSheet], pair: Any, pairs: int) -> None:
        from scipy import sparse

        blocks, totals = [], []
        for place, sheet in enumerate(sheets):
            for part, name in zip(sheet.marginals(), (f"row·{place}", f"entry·{place}"), strict=False):
                use = (cells.columns[name], np.arange(len(cells)))
                blocks.append(sparse.csr_array((np.ones(len(cells)), use), shape=(len(part.weight), len(cells))))
                totals.append(part.weight)
        self._uses, self._totals = sparse.vstack(blocks).tocsr(), np.concatenate(totals)
        self._of_pair = sparse.csr_array((np.ones(len(cells)), (pair, np.arange(len(cells)))), shape=(pairs, len(cells)))

    def with_pair(self, place: int) -> Any:
        """Which pairs occur in one world that has the pair `place`; nothing when no world has it."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        wanted = self._of_pair[[place], :]
        size = self._uses.shape[1]
        found = milp(
            -np.asarray(wanted.todense()).ravel(),
            constraints=[LinearConstraint(self._uses, self._totals, self._totals), LinearConstraint(wanted, 1, np.inf)],
            integrality=np.ones(size, dtype=np.int64),
            bounds=Bounds(0, np.inf),
        )
        if found.x is None:
            return np.zeros(self._of_pair.shape[0], dtype=bool)
        return self._of_pair @ np.round(found.x) > 0.5
