"""Neighbours: what an outsider who knows somebody's original numbers guesses about the sensitive value from the release.

The outsider looks up the published rows nearest to the person's original position. k_t is the rank of the first one with the
person's sensitive value. The best guess is the largest share of people that any of these outsiders gets right:

- the row of a fixed rank k, for the best k up to 30, nearest in value or nearest in rank order;
- the most frequent sensitive value among the nearest k rows, for the best k up to 30, in both orders of nearness;
- nobody's position at all: always the most frequent value (`blind`).

This is measured on one release and bounds nothing: a cleverer outsider may do better, so the grade is a lower bound. Of a table
with more than `ASKED` people so many are asked for, the same in any order of the rows: those whose values have the lowest hash.

Paper
    [multitype §5.6, Eq. 5.8, Figures 5.8-5.9]

Departures
    The majority and the rank-order outsider are added: the printed measure looks at single neighbours in value only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.forms.replaced import Replaced
from sfumato.release.certificate import MEASURED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

NEIGHBOURS, ASKED = 30, 20_000
_COLUMNS, _LEAF = 20, 30
_FACTOR, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


class Neighbours(Check):
    """How often an outsider who knows the original numbers guesses the sensitive value: measured, not guaranteed."""

    name: ClassVar[str] = "neighbours"
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        if not exhibit.private:
            return False
        hidden = [name for name in exhibit.policy.sensitive if name in exhibit.data.names]
        return bool(hidden) and exhibit.data.rows > 0 and bool(numeric_columns(exhibit.original, exhibit.data, exhibit.policy))

    def examine(self, exhibit: Exhibit) -> Finding:
        measured = measure(exhibit.original, exhibit.data, exhibit.policy)
        hide = tuple(measured)
        worst = max(measured.values(), key=lambda found: found.best_guess)
        achieved = {
            "best_guess": round(worst.best_guess, 4),
            "blind": round(worst.blind, 4),
            "first_neighbour": round(float(worst.first[0]), 4),
            "median_k_t": worst.median,
        }
        people = exhibit.original.rows
        some = f"{ASKED:,} of {people:,} people of " if people > ASKED else ""
        reason = f"measured on {some}this release, not guaranteed"
        given = numeric_columns(exhibit.original, exhibit.data, exhibit.policy)
        return Finding(
            self.name, True, {}, achieved, given, hide, grade=f"{MEASURED}, a bound (an outsider gets at least this)", reason=reason
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """For one sensitive column: shares of people with k_t = k, with an equal value at rank k, and the best guesses."""

    first: FloatArray
    equal: FloatArray
    best_guess: float
    blind: float

    @property
    def median(self) -> str:
        below = np.flatnonzero(np.cumsum(self.first) >= 0.5)
        return str(int(below[0]) + 1) if below.size else f"> {self.first.size}"


def numeric_columns(original: Any, data: Any, policy: Any) -> tuple[str, ...]:
    """Replaced columns that hold numbers or days on both sides."""
    return tuple(name for name in policy.with_role("replaced") if name in data.names and _numeric(original, data, name))


def _numeric(original: Any, data: Any, name: str) -> bool:
    try:
        return bool(original.label_numbers(name).size + data.label_numbers(name).size)
    except DataError:
        return False


def measure(original: Any, data: Any, policy: Any) -> dict[str, Measured]:
    """The privacy measure for every published sensitive column."""
    names = numeric_columns(original, data, policy)
    before = np.column_stack([original.numbers(name) for name in names])
    after = np.column_stack([data.numbers(name) for name in names])
    hidden = [name for name in policy.sensitive if name in data.names]
    asked = some_people(before, [_alphabetical(original.text(name)) for name in hidden])
    scale = common_range(before, after)
    by_value = nearest(before[asked] / scale, after / scale)
    mine_ranked = np.column_stack([column_ranks(original, name, asked) for name in names])
    by_rank = nearest(mine_ranked, np.column_stack([column_ranks(data, name) for name in names]))
    found = {}
    for name in hidden:
        mine, theirs = _codes(original.text(name), data.text(name))
        found[name] = judged(mine[asked], theirs, by_value, by_rank)
    return found


def some_people(values: FloatArray, codes: Sequence[IntArray]) -> IntArray:
    """Everybody, or of very many those whose numbers and codes have the lowest hash; people who have the same are alike."""
    if len(values) <= ASKED:
        return np.arange(len(values))
    key = np.zeros(len(values), dtype=np.uint64)
    for column in (*(np.ascontiguousarray(one).view(np.uint64) for one in values.T), *(one.astype(np.uint64) for one in codes)):
        key = (key ^ column) * _FACTOR
        key ^= key >> _HALF
    return np.argpartition(key, ASKED)[:ASKED]


def _alphabetical(text: Any) -> IntArray:
    """Codes that do not depend on the order of the rows."""
    place = {label: code for code, label in enumerate(sorted(text.labels))}
    codes: IntArray = np.array([place[label] for label in text.labels], dtype=np.int64)[text.codes]
    return codes


def judged(mine: IntArray, theirs: IntArray, by_value: IntArray, by_rank: IntArray) -> Measured:
    """The measure from sensitive codes and the neighbours' row numbers."""
    hits = theirs[by_value] == mine[:, None]
    rank = np.where(hits.any(axis=1), hits.argmax(axis=1), hits.shape[1])
    first = np.bincount(rank, minlength=hits.shape[1] + 1)[: hits.shape[1]] / max(1, mine.size)
    blind = float(np.bincount(theirs).max() / max(1, theirs.size))
    singles = [float(hits.mean(axis=0).max()), float((theirs[by_rank] == mine[:, None]).mean(axis=0).max())]
    votes = [majority(theirs[near], mine) for near in (by_value, by_rank)]
    return Measured(first, hits.mean(axis=0), max(*singles, *votes, blind), blind)


def majority(shown: IntArray, mine: IntArray) -> float:
    """The best share of right guesses when guessing the most frequent value among the nearest k, over all k."""
    counts = np.zeros((mine.size, int(max(shown.max(initial=0), mine.max(initial=0))) + 1), np.int16)
    best, people = 0.0, np.arange(mine.size)
    for k in range(shown.shape[1]):
        counts[people, shown[:, k]] += 1
        best = max(best, float((counts.argmax(axis=1) == mine).mean()))
    return best


def nearest(positions: FloatArray, rows: FloatArray) -> IntArray:
    """The numbers of the (up to 30) rows nearest to every position."""
    from scipy.spatial import cKDTree

    count = min(NEIGHBOURS, len(rows))
    order = np.argsort(_region(positions), kind="stable")  # who asks after a neighbour finds the tree's nodes still at hand
    found = np.empty((len(positions), count), dtype=np.int64)
    tree = cKDTree(rows, leafsize=_LEAF, balanced_tree=False)  # cut in the middle of a range: no median is looked for
    found[order] = tree.query(positions[order], k=np.arange(1, count + 1))[1]
    return found


def _region(positions: FloatArray) -> IntArray:
    """A number for the eighth of every column's range in which a position lies, near regions mostly near in number."""
    low, high = positions.min(axis=0, initial=0.0), positions.max(axis=0, initial=1.0)
    eighth = np.minimum((positions - low) / np.where(high > low, high - low, 1.0) * 8, 7).astype(np.int64)
    found = np.zeros(len(positions), dtype=np.int64)
    for bit in (4, 2, 1):
        for column in eighth.T[:_COLUMNS]:
            found = found * 2 + (column & bit > 0)
    return found


def same_range(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both tables with every column scaled to a range of one."""
    scale = common_range(before, after)
    return before / scale, after / scale


def common_range(before: FloatArray, after: FloatArray) -> FloatArray:
    """How far the values of every column reach over both tables; one where all are equal."""
    ends = [(table.min(axis=0), table.max(axis=0)) for table in (before, after) if len(table)]
    spread = np.max([high for _, high in ends], axis=0) - np.min([low for low, _ in ends], axis=0)
    return np.where(spread > 0, spread, 1.0)


def mid_ranks(values: FloatArray, among: FloatArray) -> FloatArray:
    """Every value as its mid-rank in its own table, between 0 and 1."""
    found = np.empty_like(values)
    for column in range(values.shape[1]):
        ordered = np.sort(among[:, column])
        lower, upper = (np.searchsorted(ordered, values[:, column], side=side) for side in ("left", "right"))
        found[:, column] = (lower + upper) / (2 * max(1, len(ordered)))
    return found


def column_ranks(table: Table, name: str, rows: IntArray | slice = slice(None)) -> FloatArray:
    """The mid-ranks of some rows (of all) in a whole column: its labels are ranked, and every row looks up its own."""
    text = table.text(name)
    numbers, place = np.unique(table.label_numbers(name), return_inverse=True)
    often = np.bincount(text.codes, minlength=len(place))
    upper = np.cumsum(np.bincount(place, weights=often, minlength=len(numbers)).astype(np.int64))
    lower = np.concatenate([[0], upper[:-1]])
    ranks: FloatArray = (lower + upper) / (2 * max(1, table.rows))
    return ranks[place][text.codes[rows]]


def _codes(mine: Any, theirs: Any) -> tuple[IntArray, IntArray]:
    code: dict[str, int] = {}
    both = [np.array([code.setdefault(label, len(code)) for label in text.labels], dtype=np.int64) for text in (mine, theirs)]
    return both[0][mine.codes], both[1][theirs.codes]
