"""Placing: whether the values that buckets list can be those of the rows that stand in them.

Rows that look alike are one kind. Of every kind it is known how many rows stand in which bucket and which values its people have;
of every bucket which values it lists. Who of a kind stands where, nobody knows: the lists are possible when some way to seat the
people gives every bucket its list. Kinds that stand in one bucket are seated already; for the others an integer program looks for
a way.

Guarantee
    ``True``: a way was found and counted again. ``False``: there is none. ``None``: too large, or not decided in time.

Notation
    x[k, b, v]   people of kind k with value v in bucket b;  its three sums over one index are given

Cost: one program over the kinds in several buckets and the values left there; `_LARGEST` unknowns, `_SECONDS` at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import FloatArray, IntArray, places_within

_LARGEST, _SECONDS = 200_000, 8.0


@dataclass(frozen=True)
class PairCounts:
    """How often each pair of codes occurs."""

    left: IntArray
    right: IntArray
    count: IntArray

    @classmethod
    def of(cls, left: IntArray, right: IntArray, count: IntArray | None = None) -> PairCounts:
        width = int(right.max(initial=0)) + 1
        pairs, place = np.unique(left * width + right, return_inverse=True)
        weights = None if count is None else count.astype(np.float64)
        many = np.bincount(place.reshape(-1), weights=weights, minlength=len(pairs)).astype(np.int64)
        return cls(pairs // width, pairs % width, many)

    def where(self, chosen: NDArray[np.bool_]) -> PairCounts:
        return PairCounts(self.left[chosen], self.right[chosen], self.count[chosen])


def can_be_seated(rows: PairCounts, people: PairCounts, listed: PairCounts) -> bool | None:
    """Rows by (kind, bucket), people by (kind, value) and lists by (bucket, value): whether they can belong together."""
    kinds = int(max(rows.left.max(initial=0), people.left.max(initial=0))) + 1
    single = np.bincount(rows.left, minlength=kinds) == 1
    rest = _without_seated(rows, people, listed, single)
    if rest is None:
        return False
    rows, people = rows.where(~single[rows.left]), people.where(~single[people.left])
    return _by_program(rows, people, rest) if len(rows.count) else not len(rest.count)


def _without_seated(rows: PairCounts, people: PairCounts, listed: PairCounts, single: NDArray[np.bool_]) -> PairCounts | None:
    """The lists without the values of kinds that stand in one bucket; nothing when a list lacks one of them."""
    home = np.zeros(len(single), dtype=np.int64)
    home[rows.left] = rows.right
    seated = people.where(single[people.left])
    left = PairCounts.of(
        np.concatenate([listed.left, home[seated.left]]),
        np.concatenate([listed.right, seated.right]),
        np.concatenate([listed.count, -seated.count]),
    )
    return None if (left.count < 0).any() else left.where(left.count > 0)


def _by_program(rows: PairCounts, people: PairCounts, listed: PairCounts) -> bool | None:
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    seat, entry = _meeting(rows.right, listed.left)  # every row kind beside every value of its bucket
    width = int(max(listed.right.max(initial=0), people.right.max(initial=0))) + 1
    owned = people.left * width + people.right
    wanted = rows.left[seat] * width + listed.right[entry]
    order = np.argsort(owned, kind="stable")
    place = np.minimum(np.searchsorted(owned[order], wanted), len(owned) - 1)
    able = owned[order][place] == wanted
    seat, entry, owner = seat[able], entry[able], order[place][able]
    if len(seat) > _LARGEST:
        return None
    sums = np.concatenate([rows.count, people.count, listed.count])
    line = np.concatenate([seat, len(rows.count) + owner, len(rows.count) + len(people.count) + entry])
    column = np.tile(np.arange(len(seat)), 3)
    if not len(seat):
        return not sums.any()
    matrix = coo_array((np.ones(len(line)), (line, column)), shape=(len(sums), len(seat))).tocsr()
    equal = LinearConstraint(matrix, sums, sums)
    most: FloatArray = np.minimum(rows.count[seat], listed.count[entry]).astype(np.float64)
    found = milp(
        np.zeros(len(seat)),
        constraints=equal,
        integrality=np.ones(len(seat)),
        bounds=Bounds(0, most),
        options={"time_limit": _SECONDS},
    )
    if found.x is not None:
        way = np.rint(found.x).astype(np.int64)
        return True if (way >= 0).all() and (matrix @ way == sums).all() else None
    return False if found.status == _INFEASIBLE else None


_INFEASIBLE = 2
"""SciPy's word for a program without a solution."""


def _meeting(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """All pairs of places with equal codes."""
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], left, side="left")
    many = np.searchsorted(right[order], left, side="right") - first
    one = np.repeat(np.arange(len(left)), many)
    other = places_within(many) + np.repeat(first, many)
    return one, order[other]
