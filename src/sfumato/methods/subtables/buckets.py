"""Bucketization: rows share a bucket with rows whose hidden values differ, and only the bucket links a row to a value.

The published rows keep every visible column and a bucket number; a second table says which hidden values occur in each
bucket, and how often. An outsider who finds a person's row learns no more than the spread of values in its bucket.

Guarantee
    `bucketize(codes, l, …)`: every bucket has at least l rows and no value twice, so no value has a share above 1/l.
    `spread(codes, buckets, …)`: each value is dealt over the buckets as evenly as whole numbers allow; the share of the
    values below any code differs from the whole table's by less than two rows in every bucket (what t-closeness needs).

Paper
    The two-table form is anatomy's [versatile §6.1, its reference 40].

Notation
    n rows, c(v) rows with value v, B buckets.

Invariants
    I1  Rows are sorted by value, in random order within a value, and dealt in turn: place i goes to bucket i mod B.
        A value with c(v) ≤ B rows occupies c(v) consecutive places and so meets no bucket twice; B = ⌊n/l⌋ ≥ max c(v)
        exactly when max c(v) ≤ n/l (eligibility), and every bucket gets ⌊n/B⌋ ≥ l rows.
    I2  The deal looks at the hidden values and at chance only, never at the visible columns: every arrangement of a
        bucket's values over its rows was equally likely, so knowing the algorithm helps nobody (no minimality attack).
    I3  Bucket numbers are a random permutation: they tell neither the order of the deal nor the order of the rows.

Departures
    The classical algorithm draws repeatedly from the l largest values with a heap and then places a residue of fewer than l
    rows; dealing sorted rows in turn needs neither and keeps the same guarantee.

Cost
    Linear in n: two passes of a radix sort, one permutation.

>>> from sfumato.randomness import Randomness
>>> codes = np.array([0, 0, 0, 1, 1, 2, 3])
>>> buckets = bucketize(codes, 2, Randomness(seed=1))
>>> sorted(np.bincount(buckets).tolist()), largest_share(codes, buckets) <= 1 / 2
([2, 2, 3], True)
>>> largest_l(np.array([0, 0, 0, 1]))
1
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.errors import Infeasible
from sfumato.randomness import Randomness

Codes = NDArray[np.integer[Any]]


def largest_l(codes: Codes) -> int:
    """The largest l for which the column is l-eligible: ⌊n / count of the most frequent value⌋; 0 without rows."""
    return int(codes.size // np.bincount(codes).max()) if codes.size else 0


def check_eligible(codes: Codes, l: int, *, what: str = "the hidden column", where: str = "") -> None:
    """Raise `Infeasible`, with the largest level that would work, unless max c(v) ≤ n / l."""
    most = largest_l(codes)
    if most >= l:
        return
    hint = f"the largest l that would work is {most}" if most > 1 else "no l above 1 works: drop or recode the column"
    too_frequent = f"the most frequent value of {what} exceeds a share of 1/{l} even when published alone"
    raise Infeasible(too_frequent, where=where, hint=hint)


def bucketize(codes: Codes, l: int, randomness: Randomness, *, what: str = "the hidden column") -> IntArray:
    """A bucket number 0 … B − 1 for each row, B = ⌊n/l⌋, such that no bucket holds a value twice."""
    if l < 1:
        raise ValueError("l must be at least 1")
    check_eligible(codes, l, what=what)
    return spread(codes, max(1, codes.size // l), randomness)


def spread(codes: Codes, buckets: int, randomness: Randomness) -> IntArray:
    """Deal the rows, sorted by value, over `buckets` buckets of sizes ⌊n/B⌋ or ⌈n/B⌉."""
    if not 1 <= buckets <= max(1, codes.size):
        raise ValueError("the number of buckets must lie in 1 … number of rows")
    order = _sorted_rows(codes, randomness.permutation(codes.size))  # I2
    dealt = np.empty(codes.size, dtype=np.int64)
    dealt[order] = np.arange(codes.size, dtype=np.int64) % buckets  # I1
    return randomness.permutation(buckets)[dealt]  # I3


def contents(counts: IntArray, buckets: int) -> tuple[IntArray, IntArray]:
    """What a deal of values with these counts comes to, without dealing: kinds of buckets × rows of each value, buckets per kind.

    Place i goes to bucket i mod B (I1), so what a bucket gets changes only where a value begins or ends.

    >>> contents(np.array([3, 2]), 2)
    (array([[2, 1],
           [1, 1]]), array([1, 1]))
    """
    last = np.cumsum(counts)
    first = last - counts
    begin = np.unique(np.concatenate([[0], last % buckets]))
    kind = begin[:, None]
    got = [np.maximum(0, -((kind - place[None, :]) // buckets)) for place in (first, last)]
    return got[1] - got[0], np.diff(begin, append=buckets)


def _sorted_rows(codes: Codes, start: NDArray[np.int64]) -> NDArray[np.int64]:
    """`start` reordered by code, keeping its order within a code: numpy sorts 16-bit words stably in linear time."""
    if codes.size and (int(codes.min()) < 0 or int(codes.max()) >= 1 << 32):
        raise ValueError("codes must lie in 0 … 2**32 − 1")
    order = start
    for shift in (0, 16):
        digits = ((codes[order].astype(np.uint64) >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.uint16)
        order = order[np.argsort(digits, kind="stable")]
    return order


def bucket_counts(codes: Codes, buckets: IntArray) -> tuple[IntArray, NDArray[np.int64], NDArray[np.int64]]:
    """The sensitive part of an anatomy: parallel arrays bucket, code, count, sorted by bucket and code."""
    width = int(codes.max()) + 1 if codes.size else 1
    keys, counts = np.unique(buckets * np.int64(width) + codes.astype(np.int64), return_counts=True)
    return keys // width, keys % width, counts.astype(np.int64)


def largest_share(codes: Codes, buckets: IntArray) -> float:
    """The largest share of one value in one bucket: the outsider's best posterior, at most 1/l."""
    if not codes.size:
        return 0.0
    bucket, _, count = bucket_counts(codes, buckets)
    return float((count / np.bincount(buckets)[bucket]).max())
