"""Which people may stand behind which published rows, for an outsider who knows everybody's quasi-identifiers.

People with the same values are one *kind*, rows with the same cells are one *class*. A kind is compatible with a class whose cells
cover its values. Whoever also knows that every row is somebody, and nobody two rows, rules out more: a pair is *possible* when some
way to hand out all rows to people uses it.

Notation
    row, person    the compatible pairs: numbers of a class and of a kind
    placed         in one way to hand out the rows, how many people of the kind stand in the class
    possible       whether some way uses the pair
    cheapest       per kind the compatible class that costs least: where a method that loses as little as it can would put it

Invariants
    I1  A flow hands out all rows. A pair without flow is used by another flow exactly when it lies on a cycle of the residual
        graph, that is, when both of its ends are in one strong component.

Cost: kinds × classes comparisons in pieces of bounded memory, up to `PAIRS`; one flow over the compatible pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.data.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.classes import Classes, group
from sfumato.errors import PolicyError
from sfumato.release.exhibit import Exhibit

PAIRS = 1_500_000_000
_CHUNK = 8_000_000
_MOST = 40_000_000
"""Compatible pairs that fit into memory."""


@dataclass(frozen=True)
class Compatible:
    """The compatible pairs of classes and kinds, with what a class costs."""

    rows: Classes
    people: Classes
    row: IntArray
    person: IntArray
    leaves: tuple[IntArray, ...]
    """Per quasi-identifier the leaf of each kind."""
    cells: tuple[tuple[IntArray, IntArray], ...]
    """Per quasi-identifier the interval of each class."""
    cost: FloatArray
    """The mean width of the cells of each class."""

    @cached_property
    def generalized(self) -> BoolArray:
        """Whether some cell of a class stands for more than one value."""
        return np.asarray(np.any([hi - lo > 1 for lo, hi in self.cells], axis=0))

    @cached_property
    def possible(self) -> BoolArray:
        """Per pair: does some way to hand out all rows use it? (I1)"""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        placed = self._placed()
        classes, kinds = len(self.rows), len(self.people)
        sink, other, some = classes + kinds, classes + self.person, placed > 0
        taken = np.bincount(self.person, weights=placed, minlength=kinds)
        free, used = np.flatnonzero(taken < self.people.counts), np.flatnonzero(taken > 0)
        tail = np.concatenate([self.row, other[some], classes + free, np.full(len(used), sink)])
        head = np.concatenate([other, self.row[some], np.full(len(free), sink), classes + used])
        residual = csr_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(sink + 1, sink + 1))
        component = connected_components(residual, connection="strong")[1]
        return np.asarray(some | (component[self.row] == component[other]))

    def _placed(self) -> IntArray:
        """Per pair how many people it places in one way to hand out all rows."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        classes, kinds = len(self.rows), len(self.people)
        sink, source = classes + kinds, classes + kinds + 1
        tail = np.concatenate([np.full(classes, source), self.row, classes + np.arange(kinds)])
        head = np.concatenate([np.arange(classes), classes + self.person, np.full(kinds, sink)])
        middle = np.minimum(self.rows.counts[self.row], self.people.counts[self.person])
        capacity = np.concatenate([self.rows.counts, middle, self.people.counts]).astype(np.int32)
        flow = maximum_flow(csr_array((capacity, (tail, head)), shape=(source + 1, source + 1)), source, sink)
        if flow.flow_value < self.rows.counts.sum():
            raise PolicyError("not every row of this release can be somebody of that original", hint="give the right --original")
        return np.asarray(flow.flow[self.row, classes + self.person]).ravel().astype(np.int64)

    @cached_property
    def cheapest(self) -> IntArray:
        """Per kind the compatible class that costs least; −1 where there is none."""
        order = np.lexsort((self.cost[self.row], self.person))
        kinds, first = np.unique(self.person[order], return_index=True)
        chosen = np.full(len(self.people), -1, dtype=np.int64)
        chosen[kinds] = self.row[order[first]]
        return chosen

    def per_row(self, weight: FloatArray, pairs: BoolArray | None = None) -> float:
        """People (counted by `weight` per kind) that a generalized row may stand for, on average over these rows."""
        chosen = self.generalized[self.row] if pairs is None else self.generalized[self.row] & pairs
        people = np.bincount(self.row[chosen], weights=weight[self.person[chosen]], minlength=len(self.rows))
        rows = self.rows.counts * self.generalized
        return float((people * rows).sum() / max(rows.sum(), 1))

    @cached_property
    def beyond_exact(self) -> FloatArray:
        """Per kind how many people are left when the rows that show exactly this kind are theirs."""
        exact = ~self.generalized[self.row]
        shown = np.bincount(self.person[exact], weights=self.rows.counts[self.row[exact]], minlength=len(self.people))
        return np.asarray(np.maximum(self.people.counts - shown, 0.0), dtype=np.float64)


def compatible(exhibit: Exhibit) -> Compatible:
    """The pairs of a release whose quasi-identifiers stand in its main part; ask with ``exhibit.once(compatible)``."""
    names, original = exhibit.policy.quasi_identifiers, exhibit.original
    people = group([original.text(name).codes for name in names], rows=original.rows)
    rows = exhibit.classes
    leaves, cells, widths = [], [], []
    for name in names:
        domain, text = exhibit.recoded[name], original.text(name)
        leaf = np.array([domain.code_of.get(label, -1) for label in text.labels], dtype=np.int64)
        leaves.append(leaf[text.codes[people.first]])
        lo, hi = (side[exhibit.data.text(name).codes[rows.first]] for side in exhibit.intervals(name))
        cells.append((lo, hi))
        widths.append(domain.width(lo, hi))
    if len(people) * len(rows) > PAIRS:
        raise PolicyError(f"{len(people):,} kinds of people beside {len(rows):,} classes of rows are too many for this adversary")
    row, person = _pairs(cells, leaves)
    return Compatible(rows, people, row, person, tuple(leaves), tuple(cells), np.mean(widths, axis=0))


def _pairs(cells: list[tuple[IntArray, IntArray]], leaves: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Classes and kinds whose values lie in all cells."""
    found: list[tuple[IntArray, IntArray]] = []
    step, total = max(1, _CHUNK // max(len(leaves[0]), 1)), 0
    for first in range(0, len(cells[0][0]), step):
        fits = np.ones((min(step, len(cells[0][0]) - first), len(leaves[0])), dtype=np.bool_)
        for (lo, hi), leaf in zip(cells, leaves, strict=True):
            fits &= (lo[first : first + step, None] <= leaf) & (leaf < hi[first : first + step, None])
        row, person = np.nonzero(fits)
        found.append((first + row, person))
        total += len(row)
        if total > _MOST:
            raise PolicyError("the rows are too coarse: too many people are compatible with each of them for this adversary")
    return np.concatenate([row for row, _ in found]), np.concatenate([person for _, person in found])
