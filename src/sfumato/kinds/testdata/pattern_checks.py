"""Localities: no sampled comparison of two distances, and no order of its three values, is reversed in the release.

For every sampled triple of records (a, b, c) with a < b < c the audit asks that a ≤ b ≤ c in the release, too, and that
the wider of the gaps b − a and c − b is not the narrower one there (exactly, tolerance 0; the paper's relations are ≥
and <, so that a strict relation may become a tie). It also asks that the triples lie inside one partition or (`across`)
in three (in several, where partitions are the classes of a column), that as many different ones of each kind were
sampled as the policy says, that records of a partition that shared a value share one still, and that partitions of near
records have as many as asked. Of `distances` it compares |a − b| with |c − d| in both tables, for as many choices of
two pairs of four values of a partition as the policy says.

Paper
    [multitype Def. 5, §5.5]


Neighbours
----------
Neighbours: what an adversary who knows a person's original numbers guesses about the sensitive value from the release.

The adversary looks up the published rows nearest to the person's original position. k_t is the rank of the first one
with the person's sensitive value. The best guess is the largest share of people that any of these adversaries gets
right:

- the row of a fixed rank k, for the best k up to 30, nearest in value or nearest in rank order;
- the most frequent sensitive value among the nearest k rows, for the best k up to 30, in both orders of nearness;
- nobody's position at all: always the most frequent value (`blind`).

This is measured on one release and bounds nothing: a cleverer adversary may do better, so the grade is a lower bound.
Of a table with more than `ASKED` people so many are asked for, the same in any order of the rows: those whose values
have the lowest hash.

Paper
    [multitype §5.6, Eq. 5.8, Figures 5.8-5.9]

Departures
    The majority and the rank-order adversary are added: the printed measure looks at single neighbours in value only.


Linked rows
-----------
Linked rows: whose published row is found by an adversary who knows each person's original numbers.

The adversary knows the replaced columns of all people exactly, and whatever is published. For each person they take one
row:

- `value`  the nearest in value, columns scaled to the same range;
- `rank`   the nearest in rank order: the same share of people below, in every column;
- `place`  the nearest in rank order among the rows of the person's own partition, where partitions are classes of a
  column.

A column that keeps its order gives people away by rank, however far its values moved: so the share that counts is that
of the best of the three. Where several rows look alike the guess is as good as their number. With `linked_at_most` the
share is a limit that a release must not exceed, for this adversary; without it, it is a figure.

Departures
    [multitype §5.6] measures guesses of sensitive values only (`neighbours`), and leaves the choice of an adversary to
    future work.


Pinned
------
Pinned values: people whose published number is the only one that the kept properties leave possible.

A value that differs from the original is not pinned: the release itself is the witness. For every value that is
unchanged two linear programs ask for the largest and the smallest number it could have while all properties and domains
hold; it is pinned when no other number of its domain lies between them.

Departures
    [multitype §5.6] does not treat values that the properties determine.

Cost
    Two small linear programs per unchanged value; beyond MOST of them a random sample is judged and the count is scaled
    up.


Named rows
----------
Named records: what kept.csv says of published rows is true there, and with the private provenance also of the original.

Every line is judged on the published rows alone, so a recipient can repeat it: the three values of a locality are in
their order, and the gap that is declared wider is wider; a constraint with rows holds. With the original and the
provenance the lines are the sampled localities and the policy's rules, no more and no fewer, so what they say was true
before. Rows that are declared to be in the order of the source are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import DataError, SfumatoError
from sfumato.core.wording import Wording, join_names
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.table import Table
from sfumato.data.text_values import parse_integer
from sfumato.kinds.testdata.form import KEPT, KEPT_COLUMNS, Replaced, WalkProvenance
from sfumato.kinds.testdata.property_space import PropertySpace, localities_of, partition_of, values_before_and_after
from sfumato.policy.constraint_language import IntegrityRule, columns_of
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.syntax_tree import Cell, Node
from sfumato.policy.kept_constraints import integrity_rules, replacements_of
from sfumato.policy.value_domains import Ordered
from sfumato.release.certificate import MEASURED, NOT_JUDGED, Finding
from sfumato.release.evidence import Check
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView


class KeptLocalities(Check):
    """Which of two values is closer to a third stays true for every sampled triple."""

    name: ClassVar[str] = "localities"
    words: ClassVar[Wording] = Wording(
        title="Relative distances",
        code="relative-distances",
        holds=(
            "None of {found.judged distance comparison/distance comparisons} is reversed, and equal values stay equal.",
            "No sampled distance comparison is reversed, and equal values stay equal.",
        ),
        violated=("{found.broken} of {found.judged distance comparison/distance comparisons} are reversed: {reason}"),
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        walked = exhibit.private and exhibit.behind is not None and bool(exhibit.traced(WalkProvenance).range)
        return walked and any(localities_of(exhibit))

    def examine(self, exhibit: ReleaseView) -> Finding:
        judged, across, broken, untied, missing, small = 0, 0, 0, 0, 0, 0
        domains = replacements_of(exhibit.policy)
        for rule, name in localities_of(exhibit):
            domain = domains[name]
            assert isinstance(domain, Ordered)
            before, after = values_before_and_after(exhibit, name, domain)
            triples = exhibit.traced(WalkProvenance).localities.get(name, np.empty((0, 4), np.int64))
            home = partition_of(exhibit, rule, name)
            inside, apart = spread(triples, home, loose=bool(rule.by))
            judged += len(triples)
            across += int(apart.sum())
            broken += broken_triples(before, after, triples, inside | apart)
            untied += untied_records(before, after, home)
            small += too_small(home, rule.partition) if rule.near else 0
            missing += abs(expected(before, home, rule.sample) - different(triples[inside]))
            missing += abs(rule.across - different(triples[apart]))
            pairs = exhibit.traced(WalkProvenance).distances.get(name, np.empty((0, 4), np.int64))
            judged += len(pairs)
            broken += broken_pairs(before, after, pairs, home)
            missing += abs(rule.distances - int(np.unique(pairs, axis=0).shape[0]))
        wrong = {"broken": broken, "untied": untied, "missing": missing} | ({"small": small} if small else {})
        reason = ", ".join(f"{count} {what}" for what, count in wrong.items() if count)
        holds = not reason
        achieved = {"judged": judged, "across": across, **wrong}
        return Finding(self.name, holds, dict.fromkeys(wrong, 0), achieved, reason=reason)


def broken_triples(before: IntArray, after: IntArray, triples: IntArray, placed: BoolArray) -> int:
    """Triples neither inside a partition nor across (not `placed`), whose order is reversed, or the comparison of their
    gaps."""
    a, b, c = triples[:, :3].T
    old = abs(before[a] - before[b]) - abs(before[b] - before[c])
    new = abs(after[a] - after[b]) - abs(after[b] - after[c])
    between = (before[a] < before[b]) & (before[b] < before[c])
    ordered = (after[a] <= after[b]) & (after[b] <= after[c])
    kept = np.where(old > 0, new >= 0, new <= 0)
    return int((~(placed & between & ordered & kept)).sum())


def broken_pairs(before: IntArray, after: IntArray, pairs: IntArray, home: IntArray) -> int:
    """Two pairs of four values that are not of one partition, or whose distances are not ordered as in the original."""
    a, b, c, d = pairs.T
    four = np.sort(before[pairs], axis=1)
    placed = (home[pairs] == home[pairs[:, :1]]).all(axis=1) & (np.diff(four, axis=1) > 0).all(axis=1)
    was, is_ = (abs(values[b] - values[a]) <= abs(values[d] - values[c]) for values in (before, after))
    return int((~(placed & was & is_)).sum())


def spread(triples: IntArray, home: IntArray, *, loose: bool = False) -> tuple[BoolArray, BoolArray]:
    """Which triples lie in one partition, and which in three; `loose` takes two for enough."""
    a, b, c = home[triples[:, :3].T]
    inside = (a == b) & (b == c)
    return inside, ~inside if loose else (a != b) & (b != c) & (a != c)


def too_small(home: IntArray, fewest: int | None) -> int:
    """Partitions of fewer records than asked, when the table has as many."""
    counts = np.bincount(home)
    return int(((counts > 0) & (counts < min(fewest or 0, home.size))).sum())


def different(triples: IntArray) -> int:
    """How many triples there are, repetitions counted once."""
    return int(np.unique(triples[:, :3], axis=0).shape[0])


def untied_records(before: IntArray, after: IntArray, home: IntArray) -> int:
    """Records that shared a value with the one sorted before them in their partition and do not share it any more."""
    order = np.lexsort((before, home))
    tied = (np.diff(before[order]) == 0) & (np.diff(home[order]) == 0)
    return int((np.diff(after[order])[tied] != 0).sum())


def expected(values: IntArray, home: IntArray, share: Fraction) -> int:
    """How many localities the policy asks for: the rounded share of each partition's, or the unimplied ones when it
    wants all."""
    total = 0
    order = np.argsort(home, kind="stable")
    for own in np.split(values[order], np.flatnonzero(np.diff(home[order])) + 1):
        points = np.unique(own)
        total += _all_of(points) if share >= 1 else int(np.floor(float(share) * _per_pair(points) + 0.5))
    return total


def _mirrors(points: IntArray) -> Iterator[tuple[int, IntArray]]:
    """For every inner point b the first point above it that is at least as far as each point below, nearest first."""
    for b in range(1, points.size - 1):
        first = np.searchsorted(points, 2 * points[b] - points[:b][::-1], side="left")
        yield b, np.maximum(first, b + 1)


def _per_pair(points: IntArray) -> int:
    """The localities [multitype Algorithm 5] lists: one each side of the mirror image of every pair."""
    return sum(int((first < points.size).sum() + (first - 1 > b).sum()) for b, first in _mirrors(points))


def _all_of(points: IntArray) -> int:
    """Those that no other one implies: one per distinct neighbour of a mirror image."""
    return sum(
        np.unique(first[first < points.size]).size + np.unique(first[first - 1 > b]).size
        for b, first in _mirrors(points)
    )


# Neighbours
# ----------


NEIGHBOURS, ASKED = 30, 20_000
_COLUMNS, _LEAF = 20, 30
_FACTOR, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


class Neighbours(Check):
    """How often an adversary who knows the original numbers guesses the sensitive value: measured, not guaranteed."""

    name: ClassVar[str] = "neighbours"
    words: ClassVar[Wording] = Wording(
        title="Guessing sensitive values",
        code="value-guess",
        group="measured",
        measured=(
            "An adversary who knows the original numbers guesses {hide} for {found.best_guess %} of "
            "the people (most frequent value alone: {found.blind %})."
        ),
        warns=lambda found: found["best_guess"] > found["blind"] + 0.1,
        advice="Change values more, or hide the sensitive column in buckets.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        if not exhibit.private:
            return False
        hidden = [name for name in exhibit.policy.sensitive if name in exhibit.data.names]
        return (
            bool(hidden)
            and exhibit.data.rows > 0
            and bool(numeric_columns(exhibit.original, exhibit.data, exhibit.policy))
        )

    def examine(self, exhibit: ReleaseView) -> Finding:
        measured = measure_neighbour_disclosure(exhibit.original, exhibit.data, exhibit.policy)
        hide = tuple(measured)
        worst = max(measured.values(), key=lambda found: found.best_guess)
        achieved = {
            "best_guess": round(worst.best_guess, 4),
            "blind": round(worst.blind, 4),
            "first_neighbour": round(float(worst.first[0]), 4),
            "median_k_t": worst.median,
        }
        details = {"median_rank": int(worst.median) if worst.median.isdigit() else None}
        people = exhibit.original.rows
        some = f"{ASKED:,} of {people:,} people of " if people > ASKED else ""
        reason = f"measured on {some}this release, not guaranteed"
        given = numeric_columns(exhibit.original, exhibit.data, exhibit.policy)
        return Finding(
            self.name,
            True,
            {},
            achieved,
            given,
            hide,
            grade=f"{MEASURED}, a bound (an outsider gets at least this)",
            reason=reason,
            details=details,
        )


@dataclass(frozen=True, slots=True)
class NeighbourDisclosure:
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


def measure_neighbour_disclosure(original: Any, data: Any, policy: Any) -> dict[str, NeighbourDisclosure]:
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
    """Everybody, or of very many those whose numbers and codes have the lowest hash; people who have the same are
    alike."""
    if len(values) <= ASKED:
        return np.arange(len(values))
    key = np.zeros(len(values), dtype=np.uint64)
    for column in (
        *(np.ascontiguousarray(one).view(np.uint64) for one in values.T),
        *(one.astype(np.uint64) for one in codes),
    ):
        key = (key ^ column) * _FACTOR
        key ^= key >> _HALF
    return np.argpartition(key, ASKED)[:ASKED]


def _alphabetical(text: Any) -> IntArray:
    """Codes that do not depend on the order of the rows."""
    place = {label: code for code, label in enumerate(sorted(text.labels))}
    codes: IntArray = np.array([place[label] for label in text.labels], dtype=np.int64)[text.codes]
    return codes


def judged(mine: IntArray, theirs: IntArray, by_value: IntArray, by_rank: IntArray) -> NeighbourDisclosure:
    """The measure from sensitive codes and the neighbours' row numbers."""
    hits = theirs[by_value] == mine[:, None]
    rank = np.where(hits.any(axis=1), hits.argmax(axis=1), hits.shape[1])
    first = np.bincount(rank, minlength=hits.shape[1] + 1)[: hits.shape[1]] / max(1, mine.size)
    blind = float(np.bincount(theirs).max() / max(1, theirs.size))
    singles = [float(hits.mean(axis=0).max()), float((theirs[by_rank] == mine[:, None]).mean(axis=0).max())]
    votes = [majority(theirs[near], mine) for near in (by_value, by_rank)]
    return NeighbourDisclosure(first, hits.mean(axis=0), max(*singles, *votes, blind), blind)


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
    order = np.argsort(
        _region(positions), kind="stable"
    )  # who asks after a neighbour finds the tree's nodes still at hand
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


def scale_to_unit_range(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
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
    both = [
        np.array([code.setdefault(label, len(code)) for label in text.labels], dtype=np.int64)
        for text in (mine, theirs)
    ]
    return both[0][mine.codes], both[1][theirs.codes]


# Linked rows
# -----------


_FAR = 16.0
"""How far partitions stand from each other, times the columns: farther than any two ranks, which lie between 0 and
1."""


class RecordLinkageCheck(Check):
    """Whose row an adversary who knows each person's original numbers finds; a limit when the policy sets one."""

    name: ClassVar[str] = "linked rows"
    words: ClassVar[Wording] = Wording(
        title="Row linkage",
        code="row-linkage",
        group="privacy",
        holds=(
            "An adversary who knows all original numbers and looks for the nearest row (by {details.attacks}) finds"
            " {found.share %} of the rows (limit: {found.at_most %}). Another search may find more.",
            "An adversary who knows all original numbers and looks for the nearest row finds no more rows than the"
            " policy allows. Another search may find more.",
        ),
        violated=(
            "An adversary who knows all original numbers finds at least {found.share %} of the rows (limit:"
            " {found.at_most %})."
        ),
        measured="An adversary who knows all original numbers finds at least {found.share %} of the rows.",
        warns=lambda found: found["share"] > 0.05,
        advice="Set `linked_at_most`, or keep fewer relations.",
    )
    steady: ClassVar[bool] = False
    asked: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        form = exhibit.of(Replaced)
        known = exhibit.private and exhibit.behind is not None and bool(exhibit.traced(WalkProvenance).range)
        return form.linked_at_most is not None or (form.walked and known and exhibit.data.rows > 0)

    def examine(self, exhibit: ReleaseView) -> Finding:
        limit = exhibit.of(Replaced).linked_at_most
        required = {} if limit is None else {"beyond": 0}
        if not exhibit.private or exhibit.behind is None:
            return Finding(
                self.name, True, required, {}, grade=NOT_JUDGED, reason="needs the original and the private provenance"
            )
        found = shares(exhibit)
        share = max(found.values(), default=0.0)
        achieved: dict[str, float] = {"share": round(share, 4)} | {
            f"by_{name}": round(one, 4) for name, one in found.items()
        }
        holds = limit is None or share <= limit
        grade = MEASURED if limit is None else "estimate (by the named attacks)" if holds else "exact"
        if limit is not None:
            achieved |= {"at_most": limit, "beyond": max(0, math.ceil((share - limit) * exhibit.data.rows - 1e-9))}
        reason = (
            "of an outsider who knows everybody's original numbers"
            if holds
            else f"the outsider finds {share:.1%} of the rows"
        )
        names = numeric_columns(exhibit.original, exhibit.data, exhibit.policy)
        details = {"attacks": join_names(sorted(found))}
        return Finding(self.name, holds, required, achieved, names, (), grade=grade, reason=reason, details=details)


def shares(exhibit: ReleaseView) -> dict[str, float]:
    """By way of looking, the share of people whose row is found."""
    names = numeric_columns(exhibit.original, exhibit.data, exhibit.policy)
    if not names or exhibit.behind is None:
        return {}
    behind = exhibit.behind["data"]
    before = np.column_stack([exhibit.original.numbers(name) for name in names])[behind]
    after = np.column_stack([exhibit.data.numbers(name) for name in names])
    ways = {"value": scale_to_unit_range(before, after), "rank": (mid_ranks(before, before), mid_ranks(after, after))}
    by = [column.name for rule, _ in localities_of(exhibit) for column in rule.by]
    if by:
        home = np.asarray(
            equivalence_classes_of([exhibit.data.text(name).codes for name in by], rows=exhibit.data.rows).of,
            dtype=np.int64,
        )
        ways["place"] = (_placed(before, home), _placed(after, home))
    return {name: reidentified_share(*both) for name, both in ways.items()}


def reidentified_share(before: FloatArray, after: FloatArray) -> float:
    """The share of rows i for which row i of `after` is nearest to row i of `before`; rows that look alike share the
    guess."""
    from scipy.spatial import cKDTree

    points, of, counts = np.unique(after, axis=0, return_inverse=True, return_counts=True)
    nearest = np.asarray(cKDTree(points).query(before)[1], dtype=np.int64)
    return float(np.where(nearest == of.ravel(), 1.0 / counts[nearest], 0.0).mean())


def _placed(values: FloatArray, home: IntArray) -> FloatArray:
    """Mid-ranks inside every partition, and partitions far from each other."""
    ranks = np.empty_like(values)
    for own in range(int(home.max(initial=-1)) + 1):
        inside = home == own
        ranks[inside] = mid_ranks(values[inside], values[inside])
    return np.column_stack([ranks, home * _FAR * max(1, values.shape[1])])


# Pinned
# ------


MOST = 800


class Pinned(Check):
    """How many values the kept properties leave only one number for: reported, not forbidden."""

    name: ClassVar[str] = "pinned"
    words: ClassVar[Wording] = Wording(
        title="Forced values",
        code="forced-values",
        group="measured",
        measured=("The kept relations force {found.pinned} of {found.values value/values} to their original number."),
        warns=lambda found: bool(found["pinned"]),
        advice="Keep fewer relations, or a smaller sample.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private and exhibit.behind is not None and bool(exhibit.traced(WalkProvenance).range)

    def examine(self, exhibit: ReleaseView) -> Finding:
        space = PropertySpace(exhibit)
        unchanged, level = space.unchanged()
        chosen = np.random.default_rng(0).permutation(unchanged.size)[:MOST]
        pinned = sum(
            int(space.size[unchanged[at]]) for at in chosen if space.is_pinned(int(unchanged[at]), int(level[at]))
        )
        whole = chosen.size == unchanged.size
        count = pinned if whole else round(pinned * unchanged.size / chosen.size)
        grade = (
            MEASURED if whole else f"{MEASURED}, an estimate (from {chosen.size} of {unchanged.size} unchanged values)"
        )
        achieved = {"pinned": count, "unchanged": int(space.size[unchanged].sum()), "values": int(space.size.sum())}
        reason = "reported, not forbidden: such values are published as they are"
        return Finding(self.name, True, {}, achieved, grade=grade, reason=reason)


# Named rows
# ----------


_SIDES = ("high", "low")
"""The wider gap, by the number that the provenance has for it."""


_UNCOMPARED = (
    "what was true of the original, and in which order its records stood, needs the original and the private provenance"
)


class NamedRows(Check):
    """What is said about single published rows is true."""

    name: ClassVar[str] = "named records"
    words: ClassVar[Wording] = Wording(
        title="Stated properties",
        code="stated-properties",
        holds=(
            "None of {found.properties stated property/stated properties} of single rows is false.",
            "No stated property of a single row is false.",
        ),
        violated="{found.broken} of {found.properties stated property/stated properties} are false: {reason}",
    )
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.of(Replaced).told or exhibit.of(Replaced).ordered

    def examine(self, exhibit: ReleaseView) -> Finding:
        form, wrong = exhibit.of(Replaced), dict[str, int]()
        lines = _lines(exhibit) if form.told else []
        if form.told:
            wrong["broken"] = _broken(exhibit, lines)
        if exhibit.private and exhibit.behind is not None:
            behind = exhibit.behind["data"]
            wrong["untrue"] = _untrue(exhibit, lines) if form.told else 0
            wrong["moved"] = int((behind != np.arange(behind.size)).sum()) if form.ordered else 0
        if not wrong:
            return Finding(self.name, True, {"moved": 0}, {}, grade=NOT_JUDGED, reason=_UNCOMPARED)
        reason = ", ".join(f"{count} {what}" for what, count in wrong.items() if count)
        known = "" if "untrue" in wrong else _UNCOMPARED
        achieved = {"properties": len(lines), **wrong}
        return Finding(self.name, not reason, dict.fromkeys(wrong, 0), achieved, reason=reason or known)


def _lines(exhibit: ReleaseView) -> list[tuple[str, ...]]:
    part = exhibit.tables[KEPT]
    columns = [np.array(part.text(name).labels, dtype=object)[part.text(name).codes].tolist() for name in KEPT_COLUMNS]
    return list(zip(*columns, strict=True))


def _broken(exhibit: ReleaseView, lines: list[tuple[str, ...]]) -> int:
    """Lines that cannot be read or do not hold between the rows they name."""
    localities = [line for line in lines if not line[0]]
    values = {name: _levels(exhibit, name, domain) for name, domain in replacements_of(exhibit.policy).items()}
    rules = Counter(line[0] for line in lines if line[0])
    odd = sum(1 for line in lines if line[0] and any(line[1:]))
    judge = ConstraintEvaluator({None: {name: exhibit.data.text(name) for name in exhibit.data.names}})
    return (
        odd
        + sum(not _holds(line, values) for line in localities)
        + sum(not _rule_holds(rule, exhibit, judge) for rule in rules)
    )


def _levels(exhibit: ReleaseView, name: str, domain: Any) -> IntArray:
    text = exhibit.data.text(name)
    own = [domain.level(label) if isinstance(domain, Ordered) else None for label in text.labels]
    return np.array([0 if level is None else level for level in own], dtype=np.int64)[text.codes]


def _holds(line: tuple[str, ...], values: dict[str, IntArray]) -> bool:
    _, name, *rows, wider = line
    places = [parse_integer(row) or 0 for row in rows]
    if name not in values or wider not in _SIDES or not all(1 <= place <= values[name].size for place in places):
        return False
    low, middle, high = (int(values[name][place - 1]) for place in places)
    below, above = middle - low, high - middle
    return low <= middle <= high and (below >= above if wider == "low" else below <= above)


def _rule_holds(text: str, exhibit: ReleaseView, judge: ConstraintEvaluator) -> bool:
    rule = _read(text, exhibit)
    if rule is None or not _is_named(rule):
        return False
    inside = all(node.record <= exhibit.data.rows for node in rule.body.walk() if isinstance(node, Cell))
    shown = all(column.name in exhibit.data.names for column in columns_of(rule))
    return inside and shown and not judge.broken(rule)


def _read(text: str, exhibit: ReleaseView) -> IntegrityRule | None:
    """A told rule, bound to the policy's columns; None when it cannot be understood."""
    try:
        return integrity_rules(replace(exhibit.policy, keep=(text,)))[0]
    except SfumatoError:
        return None


def _untrue(exhibit: ReleaseView, lines: list[tuple[str, ...]]) -> int:
    """Lines too many and too few, beside what the provenance and the policy say of the original's records."""
    assert exhibit.behind is not None
    behind = exhibit.behind["data"]
    said: Counter[tuple[Any, ...]] = Counter(_of_records(line, behind) for line in lines if not line[0])
    kept: Counter[tuple[Any, ...]] = Counter()
    for name, triples in exhibit.traced(WalkProvenance).localities.items():
        kept.update((name, a, b, c, _SIDES[side]) for a, b, c, side in triples.tolist())
    told = Counter(_rule_of_records(line[0], behind, exhibit) for line in lines if line[0])
    asked = Counter(repr(rule.body) for rule in integrity_rules(exhibit.policy) if _is_named(rule))
    return _differences(said, kept) + _differences(told, asked)


def _differences(one: Counter[Any], other: Counter[Any]) -> int:
    return (one - other).total() + (other - one).total()


def _of_records(line: tuple[str, ...], behind: IntArray) -> tuple[Any, ...]:
    _, name, *rows, wider = line
    places = [parse_integer(row) or 0 for row in rows]
    return (name, *(int(behind[place - 1]) if 1 <= place <= behind.size else -1 for place in places), wider)


def _is_named(rule: IntegrityRule) -> bool:
    return any(isinstance(node, Cell) for node in rule.body.walk()) and not any(
        column.original for column in columns_of(rule)
    )


def _rule_of_records(text: str, behind: IntArray, exhibit: ReleaseView) -> str:
    """The told rule with original records in place of published rows, as the policy would have it."""
    rule = _read(text, exhibit)
    return text if rule is None else repr(_behind(rule.body, behind))


def _behind(node: Any, behind: IntArray) -> Any:
    if isinstance(node, Cell):
        return replace(node, record=int(behind[node.record - 1]) + 1 if node.record <= behind.size else 0)
    if isinstance(node, tuple):
        return tuple(_behind(entry, behind) for entry in node)
    if not isinstance(node, Node):
        return node
    return replace(
        node, **{entry.name: _behind(getattr(node, entry.name), behind) for entry in fields(node) if entry.name != "at"}
    )
