"""Bucketization: rows share a bucket with rows whose sensitive values differ, and only the bucket links a row to a
value.

The published rows keep every visible column and a bucket number; a second table says which sensitive values occur in
each bucket, and how often. An adversary who finds a person's row learns no more than the spread of values in its
bucket.

Guarantee
    `bucketize(codes, l, …)`: every bucket has at least l rows and no value twice, so no value has a share above 1/l.
    `spread(codes, buckets, …)`: each value is distributed over the buckets as evenly as whole numbers allow; the share
    of the values below any code differs from the whole table's by less than two rows in every bucket (what t-closeness
    needs).

Paper
    The two-table form is anatomy's [versatile §6.1, its reference 40].

Notation
    n rows, c(v) rows with value v, B buckets.

Invariants
    I1  Rows are sorted by value, in random order within a value, and assigned in turn: position i goes to bucket i mod
        B. A value with c(v) ≤ B rows occupies c(v) consecutive places and so meets no bucket twice; B = ⌊n/l⌋ ≥ max
        c(v) exactly when max c(v) ≤ n/l (eligibility), and every bucket gets ⌊n/B⌋ ≥ l rows.
    I2  The assignment depends on the sensitive values and on random numbers only, never on the visible columns. Every
        arrangement of a bucket's values over its rows was equally likely, so knowing the algorithm does not help (no
        minimality attack).
    I3  Bucket numbers are a random permutation: they reveal neither the order of the assignment nor the order of the
        rows.

Departures
    The classical algorithm draws repeatedly from the l largest values with a heap and then places a residue of fewer
    than l rows; dealing sorted rows in turn needs neither and keeps the same guarantee.

Cost
    Linear in n: two passes of a radix sort, one permutation.

>>> from sfumato.core.randomness import Randomness
>>> codes = np.array([0, 0, 0, 1, 1, 2, 3])
>>> buckets = bucketize(codes, 2, Randomness(seed=1))
>>> sorted(np.bincount(buckets).tolist()), largest_share(codes, buckets) <= 1 / 2
([2, 2, 3], True)
>>> largest_l(np.array([0, 0, 0, 1]))
1


Bucketizing
-----------
Buckets for one sensitive column under any set of models: as many as the models allow.

Guarantee
    Every bucket satisfies every model, and so does every mixture of buckets (the models are monotone).

Invariants
    I1  The number of buckets starts where the largest level puts it and falls until all models hold; one bucket of all
        people is the last resort, and was checked before.


People apart
------------
People in buckets: rows trade places until nobody has too large a part of a bucket.

Rows with the same sensitive values trade places, so every bucket keeps its values, and whatever requirements ask of
values stays true.

Notation
    n, f    rows of a bucket, and how many of its listed values are one value
    M       rows of a bucket that could be one person's: with the given values of a row of the person, and no more than
            there are

Guarantee: f + M ≤ n in every bucket, so nobody certainly has a value; where a share is asked for, a value is had by one
of M rows with at most that: 1 − C(n−f, M) / C(n, M). In sub-tables that is enough if a table's buckets can be permuted
without a contradiction in another table (`subtables.guardian_normal_form`); other schemas are not used.

Invariants
    I1  The partner of an exchange is drawn at random among equals.


Joint buckets
-------------
Buckets for several sensitive columns at once: each stays diverse even for an adversary who knows all others.

Guarantee
    In every bucket, among the rows that agree on all sensitive columns but one, no value of that one has a share above
    1/l. Rows that fit into no such bucket are the residue (bucket −1); their sensitive values must not be published.

Paper
    [versatile App. B, Alg. 3] (multi-SA publishing by integer programming), the baseline users compare with.

Notation
    A class is a combination of sensitive values with its count; a line is a set of classes that differ in one column
    only. A composition x (how many of each class) is *fit* when l·x_c ≤ Σ of x over the line, for every class c and
    every line through c.

Invariants
    I1  Sums of fit compositions are fit, so one program finds the largest publishable part and nothing in the residue
        is fit.
    I2  The publishable part is cut into small fit buckets only so that what remains is fit again.

Departures
    The program runs over classes with counts, not over tuples. The printed algorithm makes one bucket of everything
    that is publishable (by I1 its loop runs once). Cutting that up (I2) into grids is ours, makes a much stronger
    method, and is asked for with `grids`. With one sensitive column both reduce to ordinary bucketization.

Cost
    One integer program with a variable per class; then at most `grids` grids, each a few passes over the classes. What
    is not cut by then stays one bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import Infeasible, NotFound
from sfumato.core.randomness import Randomness
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.linkage import Linkage
from sfumato.data.persons import buckets_disclosing_value, most_rows_of_one_person, persons_of_rows
from sfumato.data.table import Table, TextColumn
from sfumato.kinds.subtables.guardian_normal_form import ALONE, SubTable, bucket_table_of
from sfumato.models.base import Model
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement

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
    return spread_rows(codes, max(1, codes.size // l), randomness)


def spread_rows(codes: Codes, buckets: int, randomness: Randomness) -> IntArray:
    """Distribute the rows, sorted by value, over `buckets` buckets of sizes ⌊n/B⌋ or ⌈n/B⌉."""
    if not 1 <= buckets <= max(1, codes.size):
        raise ValueError("the number of buckets must lie in 1 … number of rows")
    order = _sorted_rows(codes, randomness.permutation(codes.size))  # I2
    dealt = np.empty(codes.size, dtype=np.int64)
    dealt[order] = np.arange(codes.size, dtype=np.int64) % buckets  # I1
    return randomness.permutation(buckets)[dealt]  # I3


def bucket_contents(counts: IntArray, buckets: int) -> tuple[IntArray, IntArray]:
    """Return the bucket contents that values with these counts give: kinds of buckets × rows of each value, buckets per
    kind.

    Place i goes to bucket i mod B (I1), so what a bucket gets changes only where a value begins or ends.

    >>> bucket_contents(np.array([3, 2]), 2)
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
    """The largest share of one value in one bucket: the adversary's best posterior, at most 1/l."""
    if not codes.size:
        return 0.0
    bucket, _, count = bucket_counts(codes, buckets)
    return float((count / np.bincount(buckets)[bucket]).max())


# Bucketizing
# -----------


_ATTEMPTS = 200


def least_rows(model: Model) -> int:
    """A bucket with fewer rows than this cannot satisfy the model."""
    return max(2, model.demand().fewest)


def buckets_for(
    models: Sequence[Model], name: str, text: TextColumn, randomness: Randomness, apart: PersonBuckets | None = None
) -> IntArray:
    """A bucket for every row of the sensitive column `name`; where rows are people's, with nobody in too large a part
    of one."""
    ranks = np.argsort(np.argsort(np.array(text.labels, dtype=str), kind="stable"), kind="stable")
    codes = ranks[
        text.codes
    ]  # neighbours in this order have similar values, and nothing depends on the order of the data
    for attempt, buckets in enumerate(bucket_numbers(models, len(codes))):
        dealt = spread_rows(codes, buckets, randomness.child(attempt))
        seen = Linkage.of_groups(dealt, {name: (text.codes, text.labels)})
        if all(model.satisfied(seen).all() for model in models):
            traded = dealt if apart is None else apart.traded(dealt, randomness.child(f"people {attempt}"))
            if traded is not None:
                return traded
    everybody = np.zeros(len(codes), dtype=np.int64)
    if apart is None or not apart.broken(everybody).any():
        return everybody

    def holds(bucket: IntArray) -> BoolArray:
        seen = Linkage.of_groups(bucket, {name: (text.codes, text.labels)})
        verdict: BoolArray = np.logical_and.reduce([model.satisfied(seen) for model in models])
        return verdict

    found = apart.searched(holds, bucket_numbers(models, len(codes)), randomness.child("people"))
    if found is None:
        raise person_share_error()
    return found


def bucket_numbers(models: Sequence[Model], records: int) -> Iterator[int]:
    """Numbers of buckets to try, the largest first; after the last one only a bucket of all people is left (I1)."""
    buckets = max(1, records // max((least_rows(model) for model in models), default=2))
    for _ in range(_ATTEMPTS):
        if buckets == 1:
            return
        yield buckets
        buckets = buckets * 7 // 8


def bucket_size(models: Sequence[Model]) -> float:
    """Return the bucket size that the required levels imply, to choose a schema before any assignment."""
    return float(max((least_rows(model) for model in models), default=2))


# People apart
# ------------


_TURNS = 60
_SEARCHED, _NUMBERS, _STARTS, _STEPS = 300, 6, 4, 150
"""Rows up to which any exchange is tried; numbers of buckets, starts for each, and exchanges after each start."""


@dataclass(frozen=True, slots=True)
class PersonBucketRequirement:
    """What a requirement asks of a sensitive column: the kind of every row by what is known of it, and the largest
    share."""

    alike: IntArray
    hidden: str
    share: float


def person_bucket_requirement(
    claims: Sequence[PrivacyRequirement], table: Table, shown: Collection[str], hidden: Collection[str]
) -> list[PersonBucketRequirement]:
    """What requirements ask of the people of a table that shows some columns and hides others."""
    found = []
    for claim in claims:
        known = [name for name in claim.given if name in shown]
        alike = equivalence_classes_of([table.text(name).codes for name in known], rows=table.rows).of
        found += [
            PersonBucketRequirement(alike, name, claim.model.demand().largest_share)
            for name in claim.hide
            if name in hidden
        ]
    return found


class PersonBuckets:
    """What requirements ask of people in buckets."""

    def __init__(self, policy: Policy, table: Table, hidden: Mapping[str, TextColumn], shown: Collection[str]) -> None:
        assert policy.person is not None
        self.person = persons_of_rows(table, policy.person.unit)
        self.hidden = hidden
        self.asked = person_bucket_requirement(policy.claims, table, shown, hidden)
        self.profile = equivalence_classes_of([text.codes for text in hidden.values()]).of

    def broken(self, bucket: IntArray) -> BoolArray:
        """Return the buckets in which a person has too large a share; −1 marks rows with suppressed values."""
        rows, here = np.bincount(bucket[bucket >= 0]), bucket >= 0
        verdict = np.zeros(len(rows), dtype=np.bool_)
        for asked in self.asked:
            most = most_rows_of_one_person(bucket[here], asked.alike[here], self.person, asked.alike)
            pairs = equivalence_classes_of([bucket[here], self.hidden[asked.hidden].codes[here]])
            frequent = np.zeros(len(rows), dtype=np.int64)
            np.maximum.at(frequent, bucket[here][pairs.first], pairs.counts)
            verdict |= buckets_disclosing_value(rows, frequent, most, asked.share)
        return verdict

    def searched(
        self, holds: Callable[[IntArray], BoolArray], numbers: Iterable[int], randomness: Randomness
    ) -> IntArray | None:
        """Buckets of a small table, found by exchanging any two rows as long as no more buckets break something; or
        nothing.

        `holds` says for every bucket whether its values keep the requirements, `numbers` how many buckets to try.
        """
        rows = len(self.person)
        if rows > _SEARCHED:
            return None
        for number in islice((many for many in numbers if many > 1), _NUMBERS):
            for start in range(_STARTS):
                chance = randomness.child(f"search {number} {start}").generator()
                bucket = chance.permutation(rows) % number
                bad = self.broken(bucket) | ~holds(bucket)
                for _ in range(_STEPS):
                    if not bad.any():
                        return bucket.astype(np.int64)
                    one, other = chance.choice(np.flatnonzero(bad[bucket])), chance.integers(rows)
                    other_way = bucket.copy()
                    other_way[[one, other]] = bucket[[other, one]]
                    now = self.broken(other_way) | ~holds(other_way)
                    if now.sum() <= bad.sum():
                        bucket, bad = other_way, now
        return None

    def traded(self, bucket: IntArray, randomness: Randomness) -> IntArray | None:
        """The buckets after trades that make everything hold; nothing when some turns were not enough (I1)."""
        order = np.argsort(self.profile, kind="stable")
        start = np.searchsorted(self.profile[order], np.arange(int(self.profile.max(initial=0)) + 2))
        for turn in range(_TURNS):
            broken = self.broken(bucket)
            if not broken.any():
                return bucket
            chance = randomness.child(f"trade {turn}")
            mixed = chance.permutation(len(bucket))
            inside = mixed[(bucket[mixed] >= 0) & broken[bucket[mixed]]]
            leaving = inside[np.unique(bucket[inside], return_index=True)[1]]
            first = start[self.profile[leaving]]
            width = start[self.profile[leaving] + 1] - first
            coming = order[first + chance.child("with").below(width)]
            bucket = bucket.copy()
            for one, other in zip(leaving.tolist(), coming.tolist(), strict=True):
                bucket[one], bucket[other] = bucket[other], bucket[one]
        return None


def require_persons_apart(policy: Policy, table: Table, tables: Sequence[SubTable]) -> None:
    """Refuses a column that is published apart from what is known while a person has too many rows, or too many people
    a value."""
    assert policy.person is not None
    sides = [
        (one.visible, one.guarded) if one.visible or len(one.guarded) > 1 else (one.columns, frozenset())
        for one in tables
    ]
    person = persons_of_rows(table, policy.person.unit)
    for claim in policy.claims:
        for name in claim.hide if not claim.composite else ():
            if name in policy.published and bucket_table_of(sides, claim.given, name) == ALONE:
                _require_alone(table.text(name), person, claim.model.demand().largest_share)


def _require_alone(text: TextColumn, person: IntArray, share: float) -> None:
    """All rows are one bucket: nobody has a value too surely, and no value is had by more than a share of the
    people."""
    once = equivalence_classes_of([person, text.codes]).first
    having = int(np.bincount(text.codes[once]).max(initial=0))
    most = int(np.bincount(person).max(initial=1))
    rows, frequent, mine = (np.array([number]) for number in (len(person), int(text.counts().max(initial=0)), most))
    if (
        buckets_disclosing_value(rows, frequent, mine, share).any()
        or having > share * (int(person.max(initial=-1)) + 1) + 1e-9
    ):
        raise person_share_error()


def person_share_error() -> NotFound:
    """What is said when no buckets keep people apart."""
    hint = "ask for less, or leave rows of people with very many out"
    return NotFound("somebody has too large a part of every bucket that could be made", where="person", hint=hint)


# Joint buckets
# -------------


SECONDS = 20.0
"""Time limit of the integer program for joint buckets."""
_DENSE = 2e6
_ANCHORS = 24


@dataclass(frozen=True, slots=True)
class Lattice:
    """The classes of hidden combinations and their lines as a sparse matrix: line sums minus l times the class, per
    class."""

    counts: IntArray
    excess: Any

    @classmethod
    def of(cls, columns: Sequence[IntArray], levels: Sequence[float], counts: IntArray) -> Lattice:
        from scipy import sparse

        size = len(counts)
        blocks = []
        for place, level in enumerate(levels):
            line = equivalence_classes_of(
                [codes for other, codes in enumerate(columns) if other != place], rows=size
            ).of
            member = sparse.csr_array((np.ones(size), (np.arange(size), line)))
            blocks.append(member @ member.T - level * sparse.eye_array(size))
        return cls(counts, sparse.vstack(blocks).tocsr())

    def fit(self, composition: IntArray) -> bool:
        return bool((self.excess @ composition >= -1e-7).all())

    def largest(self, seconds: float) -> IntArray:
        """The largest fit composition within the counts (to the solver's gap, within its time)."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        size = len(self.counts)
        found = milp(
            -np.ones(size), constraints=LinearConstraint(self.excess, 0, np.inf), bounds=Bounds(0, self.counts),
            integrality=np.ones(size, dtype=np.int64), options={"time_limit": seconds, "mip_rel_gap": 1e-3},
        )  # fmt: skip
        chosen = np.zeros(size, dtype=np.int64) if found.x is None else np.round(found.x).astype(np.int64)
        return chosen if self.fit(chosen) else np.zeros_like(chosen)

    def repetitions(self, left: IntArray, piece: IntArray) -> int:
        """How often the piece can be taken from `left` so that the rest stays fit."""
        taken = self.excess @ piece
        spare = self.excess @ left
        by_count = int((left[piece > 0] // piece[piece > 0]).min())
        by_line = np.floor((spare[taken > 0] + 1e-7) / taken[taken > 0])  # I2
        return min(by_count, int(by_line.min(initial=by_count)))


def joint_buckets(
    columns: Sequence[IntArray],
    levels: Sequence[float],
    randomness: Randomness,
    grids: int = 0,
    seconds: float = SECONDS,
) -> IntArray:
    """A bucket per row, −1 for the residue."""
    if len(columns) == 1 and largest_l(columns[0]) >= levels[0]:
        return bucketize(columns[0], int(np.ceil(levels[0])), randomness)
    classes = equivalence_classes_of(columns)
    distinct = [codes[classes.first] for codes in columns]
    lattice = Lattice.of(distinct, levels, classes.counts)
    return _deal(classes.of, _compositions(lattice, distinct, levels, grids, seconds), randomness)


def _compositions(
    lattice: Lattice, columns: Sequence[IntArray], levels: Sequence[float], grids: int, seconds: float
) -> list[tuple[IntArray, int]]:
    """Fit compositions with how often each is used; together the largest publishable part."""
    left = lattice.largest(seconds)  # I1
    made: list[tuple[IntArray, int]] = []
    for _ in range(grids if _volume(columns) <= _DENSE else 0):
        piece, times = _best_grid(lattice, columns, levels, left)
        if not times:
            break
        made.append((piece, times))
        left = left - times * piece
    return [*made, (left, 1)] if left.any() else made


def _volume(columns: Sequence[IntArray]) -> float:
    return float(np.prod([codes.max() + 1.0 for codes in columns]))


def _best_grid(
    lattice: Lattice, columns: Sequence[IntArray], levels: Sequence[float], left: IntArray
) -> tuple[IntArray, int]:
    """The grid (l values of every column, all their combinations) that can be cut off most often, tried around frequent
    classes."""
    dense = np.zeros([int(codes.max()) + 1 for codes in columns], dtype=np.int64)
    dense[tuple(columns)] = left
    best, most = np.zeros_like(left), 0
    for anchor in np.argsort(-left, kind="stable")[:_ANCHORS]:
        grid = _grid_around([int(codes[anchor]) for codes in columns], dense, levels)
        if grid is not None:
            inside = [np.isin(codes, axis) for codes, axis in zip(columns, grid, strict=True)]
            piece = np.logical_and.reduce(inside).astype(np.int64)
            times = lattice.repetitions(left, piece)
            best, most = (piece, times) if times > most else (best, most)
    return best, most


def _grid_around(anchor: list[int], dense: IntArray, levels: Sequence[float]) -> list[IntArray] | None:
    """Column by column, the values whose scarcest combination with those chosen so far is most frequent."""
    axes = [np.array([value]) for value in anchor]
    for place, level in enumerate(levels):
        free = [np.arange(dense.shape[place]) if place == other else axis for other, axis in enumerate(axes)]
        scarcest = dense[np.ix_(*free)].min(axis=tuple(other for other in range(dense.ndim) if other != place))
        scarcest[anchor[place]] = np.iinfo(np.int64).max
        chosen = np.argsort(-scarcest, kind="stable")[: int(np.ceil(level))]
        if len(chosen) < level or scarcest[chosen].min() < 1:
            return None
        axes[place] = chosen
    return axes


def _deal(of: IntArray, compositions: list[tuple[IntArray, int]], randomness: Randomness) -> IntArray:
    """Rows of every class, in random order, to the buckets that ask for it; bucket numbers are shuffled."""
    order = randomness.permutation(len(of))
    order = order[np.argsort(of[order], kind="stable")]
    start = np.concatenate([[0], np.cumsum(np.bincount(of))])[:-1]
    numbers = randomness.permutation(sum(times for _, times in compositions))
    dealt = np.full(len(of), -1, dtype=np.int64)
    first = 0
    for piece, times in compositions:
        for one in np.flatnonzero(piece):
            taken = order[start[one] : start[one] + times * piece[one]]
            dealt[taken] = np.repeat(numbers[first : first + times], piece[one])
            start[one] += times * piece[one]
        first += times
    return dealt
