"""`nonreciprocal`: set-valued records on a ring, each published as itself or one of its next neighbours, by secret
draw.

Guarantee
    k-anonymity: the true row of a person is each of k compatible rows with probability exactly 1/k, for an adversary
    who knows all item sets and this program, *and no match*. l-diversity: with `labels: guarded` no label, shown or
    suppressed, is guessed with probability above 1/l by such an adversary who also knows the shares of labels, as long
    as labels are independent of items and of each other. Nothing is promised beside insiders: the offsets of a perfect
    matching on a ring add up to a multiple of n (its winding number), so one known match tells about all others. At k =
    2 there are two matchings in all, and an adversary who knows one row knows all; at k = 4 the best guess with the
    winding number is about 0.4. `blocks` has no such number and is the default.
Paper
    [multitype ch. 3].
Invariants
    I1  The order, the ring and the vote look at items only.
    I2  The true assignment is drawn uniformly from k disjoint ones.
    I3  Which labels are suppressed depends on the ring, the published labels and their shares, not on whose they are.
    I4  Published rows are shuffled.
Departures
    The thesis' greedy l-diversification does not hold what it says and is not offered. Labels are suppressed instead
    (`labels: guarded`; `labels_to_suppress` bounds no share, because a suppressed label hints at one shown nearby, and
    serves requirements that count different labels only), or, under a weaker threat model, rings are arranged by label
    (`labels: shift`). Where labels are protected, a little bit error rate is spent on showing items as often as records
    have them (`balance`): such a release is made for counting, and a plain majority drops what a third of each group
    has from all of them.
Cost
    A million records at k = 16 in minutes; memory O(records x k).


Assignments
-----------
Disjoint assignments of records to published records: k of them from a k-regular graph, one of which becomes true.

Guarantee
    One assignment is drawn uniformly from k disjoint ones that use every edge once, so each edge is the true one with
    probability exactly 1/k, whatever walk found them.
Paper
    [multitype 3.5, 3.6.2, Algorithm 1, Theorem 3.6.1].
Departures
    The closed walk returns to its own start; a walk that stops at any free record (Goel, Kapralov, Khanna) finds
    matchings of the same kind several times faster and is the default.

>>> from sfumato.kinds.baskets.methods.nonreciprocal import ring_targets as targets
>>> from sfumato.core.randomness import Randomness
>>> rounds = assignments(targets(6, 3), "closed", Randomness(seed=1))
>>> sorted(rounds[:, 0].tolist())  # published position 0 stands once for each of its preimages
[0, 4, 5]


Shifts
------
l-diversity without suppressing: rings on which any l neighbours have different labels, each turned by a secret amount.

Guarantee
    Every person has l candidates with l different labels, for every possible turn. Against an adversary who does *not*
    re-run the arrangement, each candidate is equally likely. Against one who does, nothing is promised: the arrangement
    looks at the labels, so only the true turn reproduces it (`sfumato attack re-execution`).
Departures
    Not in the thesis; offered because nothing is suppressed. Choose it only when adversaries cannot know all item sets.
Cost
    O(records x l).


Withholding
-----------
Withholding labels on a ring until nobody's candidates show one label too often.

Guarantee
    Among the `degree` candidates of every person no label is shown more than `most` times. Each candidate is the true
    one with probability 1/degree, so with most = degree / l no *shown* label is a person's with probability above 1/l.
Paper
    Takes the place of [multitype Algorithm 2], which does not give l-diversity: it compares labels under the identity,
    but what is published are the labels under the assignment that is drawn.
Invariants
    I1  The result depends on the ring, the labels as published, and a random place to begin, never on who has which
        label.
    I2  Any `degree` positions in a row show a label at most `most` times.
Departures
    An adversary who knows the rule of `labels_to_suppress` takes a suppressed label for one of those kept within reach
    before it; such a guess about a *person* is diluted by the other candidates, but its chance is not bounded by 1/l.
    `labels_to_suppress_guarded` counts that chance and bounds it, for labels that are independent of items and of each
    other; it needs a degree above l.
Cost
    One sort of the labels.

>>> labels_to_suppress(np.array([0, 0, 1, 0, 2, 1]), degree=3, most=1, start=0).tolist()
[False, True, False, False, False, False]


Orders
------
The orders by name: each a function from the sets and the degree of the ring to an order of the records.

All of them look at items only. An order that looks at labels can be re-run by an adversary and gives the assignment
away.


Window
------
The window order: records on a ring so that every k in a row are alike, which is what the error rate depends on.

A tour only asks that neighbours are alike. The error of a ring of degree k is decided inside windows of k records, so
this order minimizes the dissimilarities within all windows. It starts from the best of a few Gray orders, then moves
records and short blocks and reverses stretches, within overlapping pieces of the ring.

Departures
    Takes the place of the Gray-TSP order [multitype 3.6.1]; looks at items only, never at labels. The dissimilarity is
    Hamming distance over the sum of sizes: the error rate divides by the size of a record, and on baskets of very
    different sizes this lowers it more than plain distances or distances over single sizes do.
Cost
    O(piece) per record looked at; memory O(piece²) whatever the number of records.


Rings
-----
The ring: each record may be published as itself or as one of its k − 1 successors on a circle.

Paper
    [multitype 3.2]: ring generalization gives a k-regular all-assignments graph.
Notation
    positions on the ring are 0 … n − 1; ``order[p]`` is the record at position p; publishing position q has the
    preimages q − k + 1 … q.
Invariants
    I1  Every row of `ring_targets` and of `ring_members` holds k different positions, and every position occurs in k
    rows: k-regular.

>>> ring_targets(5, 2).tolist()
[[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]
>>> ring_members(5, 2).tolist()
[[0, 4], [1, 0], [2, 1], [3, 2], [4, 3]]
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.arrays import IntArray
from sfumato.core.effort import USUAL, Effort
from sfumato.core.errors import Infeasible, NotFound
from sfumato.core.randomness import Randomness
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.kinds.baskets.form import Basket, BasketProvenance
from sfumato.kinds.baskets.methods.record_order import (
    BRISK,
    entropy_columns,
    gray_order,
    gray_tsp_order,
    relative_matrix,
    sweeps_of,
    sweeps_told,
)
from sfumato.kinds.baskets.methods.voting import RingRequirements, can_satisfy, expected_error_rate, separator_for, vote
from sfumato.kinds.baskets.published_baskets import OWN, WITHHELD, PublishedBaskets, to_table
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Release

Walk = Literal["truncated", "closed", "backtracking"]
PATIENCE = 20_000
"""Steps after which a truncated walk gives up chance and searches."""


def assignments(targets: NDArray[np.int32], walk: Walk, randomness: Randomness) -> NDArray[np.int32]:
    """Row r, column q: the position whose record is published at q in the r-th assignment."""
    return assignments_and_steps(targets, walk, randomness)[0]


def assignments_and_steps(
    targets: NDArray[np.int32], walk: Walk, randomness: Randomness
) -> tuple[NDArray[np.int32], int]:
    """The assignments with the number of steps all walks took together."""
    from sfumato.core.kernels.chacha import key_words, open_stream
    from sfumato.kinds.baskets.methods.kernels import rings

    count, degree = targets.shape
    edges = targets.copy()
    stream = open_stream(key_words(randomness.bytes(32)), 0)
    rounds, steps = np.empty((degree, count), dtype=np.int32), 0
    for turn in range(degree):
        left = degree - turn
        if walk == "truncated":
            rounds[turn], taken = rings.truncated_walk(edges, left, stream, PATIENCE)
        else:
            starts = randomness.permutation(count)
            round_of = rings.closed_walk if walk == "closed" else rings.backtracking_walk
            rounds[turn], taken = round_of(edges, left, starts, stream)
        steps += int(taken)
    return rounds, steps


# Shifts
# ------


@dataclass(frozen=True, slots=True)
class Rings:
    """The records in order, cut into rings at `bounds`."""

    order: IntArray
    bounds: tuple[int, ...]


def arrange_rings(order: IntArray, labels: NDArray[np.int64], different: int, size: int) -> Rings:
    """Rings of about `size` neighbours of `order`, rearranged so that any `different` in a row differ in their
    labels."""
    arranged: list[NDArray[np.int64]] = []
    pool: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    for piece in np.array_split(order, max(1, len(order) // size)):
        pool = np.concatenate([pool, piece])
        ring = space_labels(pool, labels, different)
        if ring is not None:
            arranged.append(ring)
            pool = pool[:0]
    if len(pool):
        arranged = _absorbed(arranged, pool, labels, different)
    return Rings(np.concatenate(arranged), tuple(np.cumsum([0, *map(len, arranged)]).tolist()))


def _absorbed(
    arranged: list[NDArray[np.int64]], pool: NDArray[np.int64], labels: NDArray[np.int64], different: int
) -> list[NDArray[np.int64]]:
    """The last pool joins the rings before it, one after another, until it can be arranged."""
    while arranged:
        pool = np.concatenate([arranged.pop(), pool])
        ring = space_labels(pool, labels, different)
        if ring is not None:
            return [*arranged, ring]
    what = f"the labels are too frequent to keep {different} neighbours different without withholding any"
    raise Infeasible(what, where="protect", hint="lower l, or use 'labels: withhold'")


def space_labels(rows: NDArray[np.int64], labels: NDArray[np.int64], different: int) -> NDArray[np.int64] | None:
    """The rows on a ring, near their order, any `different` in a row with different labels; ``None`` where that
    fails."""
    if len(rows) < different:
        return None
    placed, late = _in_line(rows, labels, different)
    while placed and _clash(placed, labels, different):
        late.append(placed.pop())
    for row in late:
        gaps = (
            gap for gap in range(len(placed), -1, -1) if _may_stand(placed, gap, int(labels[row]), labels, different)
        )
        gap = next(gaps, None)
        if gap is None:
            return None
        placed.insert(gap, row)
    return np.array(placed, dtype=np.int64) if len(placed) >= different else None


def _clash(placed: list[int], labels: NDArray[np.int64], different: int) -> bool:
    """Whether the end of the ring, where it closes, repeats a label of the beginning within reach."""
    seam = [*placed[-(different - 1) :], *placed[: different - 1]] if different > 1 else []
    near = [int(labels[row]) for row in seam]
    return any(len(set(near[i : i + different])) < different for i in range(len(near) - different + 1))


def _in_line(rows: NDArray[np.int64], labels: NDArray[np.int64], different: int) -> tuple[list[int], list[int]]:
    """Rows one after another, each the first that differs from the last few; and those for which no place is left."""
    left = Counter(labels[rows].tolist())
    waiting: deque[int] = deque(rows.tolist())
    placed: list[int] = []
    while waiting:
        recent = {int(labels[row]) for row in placed[-(different - 1) :]} if different > 1 else set()
        pick = _next(waiting, labels, recent, left, different)
        if pick is None:
            break
        waiting.remove(pick)
        left[int(labels[pick])] -= 1
        placed.append(pick)
    return placed, list(waiting)


def _next(
    waiting: deque[int], labels: NDArray[np.int64], recent: set[int], left: Counter[int], different: int
) -> int | None:
    """Return the first waiting row whose label is not recent, preferring a label that could not be placed later."""
    pressing = {label for label, count in left.items() if count * different >= len(waiting) and count > 0} - recent
    for row in waiting:
        if int(labels[row]) in (pressing or set(left) - recent):
            return row
    return None


def _may_stand(placed: list[int], gap: int, label: int, labels: NDArray[np.int64], different: int) -> bool:
    """Whether a row with this label may be put before place `gap` of the ring; putting it there only moves others
    apart."""
    reach = min(different - 1, len(placed))
    around = [placed[(gap + step) % len(placed)] for step in range(-reach, reach)]
    return all(int(labels[row]) != label for row in around)


def rotate_rings(rings: Rings, shifts: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each place of the order the place whose record is published there, ring i turned by shifts[i]."""
    owner = np.empty(len(rings.order), dtype=np.int64)
    for begin, end, shift in zip(rings.bounds[:-1], rings.bounds[1:], shifts, strict=True):
        owner[begin:end] = begin + (np.arange(end - begin) - int(shift)) % (end - begin)
    return owner


# Withholding
# -----------


def labels_to_suppress(published: NDArray[np.int64], degree: int, most: int, start: int) -> NDArray[np.bool_]:
    """Which positions must not show their label; `start` is where the scan around the ring begins."""
    count = len(published)
    order = np.argsort(published, kind="stable")
    bounds = np.flatnonzero(np.diff(published[order])) + 1
    hidden = np.zeros(count, dtype=bool)
    for places in np.split(order, bounds):
        if len(places) > most:
            hidden[places] = _crowded((places - start) % count, count, degree, most)  # I1
    return hidden


def labels_to_suppress_guarded(
    published: NDArray[np.int64], degree: int, bound: float, start: int
) -> NDArray[np.bool_]:
    """Which positions must not show their label so that a guess with full knowledge of this rule is right at most
    bound/degree."""
    from sfumato.kinds.baskets.methods.kernels.rings import guard

    share = np.bincount(published) / len(published)
    scanned = np.roll(published, -start)  # I1
    return np.roll(guard(scanned, share, degree, bound), start)


def _crowded(places: NDArray[np.int64], count: int, degree: int, most: int) -> NDArray[np.bool_]:
    """For one label, standing at these places of the ring: keep a place when the `most`-th kept one before it is far
    enough."""
    hidden = np.zeros(len(places), dtype=bool)
    kept: list[int] = []
    for index in np.argsort(places):
        place = int(places[index])
        near = len(kept) >= most and place - kept[-most] < degree
        if near or _meets_the_beginning(kept, place, count, degree, most):  # I2
            hidden[index] = True
        else:
            kept.append(place)
    return hidden


def _meets_the_beginning(kept: list[int], place: int, count: int, degree: int, most: int) -> bool:
    """Whether keeping `place` crowds a window that runs across the end of the ring into places already kept."""
    early = [first for first in kept[:most] if first + count - place < degree]
    late = [last for last in kept[-most:] if place - last < degree]
    for taken, first in enumerate(early, start=1):
        window_begin = first + count - degree + 1
        if taken + 1 + sum(last >= window_begin for last in late) > most:
            return True
    return False


def distinct_shown(published: NDArray[np.int64], hidden: NDArray[np.bool_], degree: int) -> int:
    """The fewest different labels that any person's candidates show."""
    shown = np.where(hidden, -1, published)
    window = np.sort(shown[(np.arange(len(shown))[:, None] + np.arange(degree)[None, :]) % len(shown)], axis=1)
    different = (np.diff(window, axis=1) > 0).sum(axis=1) + (window[:, 0] >= 0)
    return int(different.min())


# Window
# ------


_TOURS_UP_TO = 200_000


@dataclass(frozen=True, slots=True)
class RingEffort:
    """How hard to search: records per piece, sweeps over the ring, alternations, passes, block lengths, neighbours
    tried."""

    piece: int
    sweeps: int = 2
    alternations: int = 1
    passes: int = 3
    blocks: tuple[int, ...] = (1, 3)
    nearest: int = 8

    @classmethod
    def for_size(cls, count: int, effort: Effort = USUAL) -> RingEffort:
        """Many passes on thousands of records, few on a million."""
        if count <= 10_000:
            usual = cls(piece=3000, alternations=2, passes=6, blocks=(1, 2, 3, 5))
        else:
            usual = cls(piece=600) if count <= BRISK else cls(piece=300, sweeps=1, passes=2)
        return replace(usual, sweeps=sweeps_of(usual.sweeps, effort))


def window_order(sets: Sets, k: int, effort: RingEffort | Effort = USUAL) -> IntArray:
    """Return the records in an order whose k-windows are alike: the best of the start and what every sweep made of it,
    so that more sweeps are never worse."""
    chosen = effort if isinstance(effort, RingEffort) else RingEffort.for_size(len(sets), effort)
    start = start_order(sets, k)
    size = min(chosen.piece, len(sets) - 2 * (k - 1))
    if k < 2 or size < 2:
        return start
    tried = [start, *_searched(sets, start, k, size, chosen)]
    return min(reversed(tried), key=lambda order: window_error(sets, order, k))


def start_order(sets: Sets, k: int) -> IntArray:
    """The Gray order with columns as they come or by entropy, or a short tour on either: the one with the least
    error."""
    by_entropy = entropy_columns(sets)
    orders = [gray_order(sets), gray_order(sets, by_entropy)]
    if len(sets) <= _TOURS_UP_TO:
        orders += [gray_tsp_order(sets), gray_tsp_order(sets, columns=by_entropy)]
    return min(orders, key=lambda order: window_error(sets, order, k))


def window_error(sets: Sets, order: IntArray, k: int) -> float:
    """The bit error rate to expect from the ring of degree k over this order."""
    if len(sets) < k:
        return 0.0
    preimages = order[ring_members(len(sets), k)].astype(np.int32)
    return expected_error_rate(sets, preimages, vote(sets, preimages))


def _searched(sets: Sets, start: IntArray, k: int, size: int, effort: RingEffort) -> Iterator[IntArray]:
    """Sweeps over the ring in pieces; each sweep begins half a piece further, so that no seam stays a seam."""
    order, edge = start.copy(), k - 1
    for sweep in range(effort.sweeps):
        offset = sweep * size // 2
        for begin in range(offset, offset + len(sets), size):
            inner = min(size, offset + len(sets) - begin)
            places = np.arange(begin - edge, begin + inner + edge) % len(sets)
            order[places] = _improved(sets, order[places], k, effort)
        yield order.copy()


def _improved(sets: Sets, rows: IntArray, k: int, effort: RingEffort) -> IntArray:
    """A piece of the ring, its first and last k − 1 records kept in place."""
    from sfumato.kinds.baskets.methods.kernels.rings import relocate, reverse

    far = relative_matrix(sets.take(rows))
    close = _nearest(far, effort.nearest)
    seq = np.arange(len(rows), dtype=np.int64)
    lo, hi = k - 1, len(rows) - k + 1
    for _ in range(effort.alternations):
        for _ in range(effort.passes):
            if not reverse(far, seq, k, lo, hi, close):
                break
        for block in effort.blocks:
            active = np.ones(len(rows), dtype=bool)
            for _ in range(effort.passes):
                if hi - lo <= block or not relocate(far, seq, k, lo, hi, block, active):
                    break
    return rows[seq]


def _nearest(far: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """For every record the `count` most similar ones; itself may be among them."""
    kept = min(count, len(far) - 1)
    return np.argpartition(far, kept, axis=1)[:, :kept].astype(np.int64)


# Orders
# ------


OrderName = Literal["window", "gray", "gray-tsp"]

ORDERS: dict[str, Callable[[Sets, int, Effort], IntArray]] = {
    "gray": lambda sets, degree, effort: gray_order(sets),
    "gray-tsp": lambda sets, degree, effort: gray_tsp_order(sets),
    "window": window_order,
}


# Nonreciprocal
# -------------


_RING = 64
_TRIES = 6
_BALANCE = 0.01
_HINT = "a suppressed label hints at a label that is shown nearby, and that hint is not bounded by 1/l"
_NO_HINT = "with that hint no label is guessed with a chance above 1/l, as long as labels are independent of each other"

_ALL_KNOWN = (
    "outsiders may know the items of everybody and how the release was made, but nobody's match: on a ring one known"
    " match tells about others (at k = 2 about all), because the offsets of all matches add up to a multiple of the"
    " number of records"
)
_FEW_KNOWN = (
    "adversaries must know neither the items of all people nor any match: rings are "
    "arranged by label, so an adversary who builds them again from all items reads "
    "off every label, and one known match reveals those of the whole ring"
)


@dataclass(frozen=True, slots=True)
class DrawnAssignment:
    """The graph as its assignments (record behind each published place, per round), the true round, hidden labels."""

    graph: NDArray[np.int64]
    true: int
    hidden: dict[str, NDArray[np.bool_]]

    @property
    def behind(self) -> NDArray[np.int64]:
        record: NDArray[np.int64] = self.graph[self.true]
        return record


class Nonreciprocal(Method):
    """Publish each item set as the majority of k neighbors on a ring, assigned by secret random walks."""

    name: ClassVar[str] = "nonreciprocal"
    form: ClassVar[type[Form]] = Basket
    paper: ClassVar[str] = "multitype ch. 3"
    kinds: ClassVar[tuple[str, ...]] = ("baskets",)

    order: OrderName = Field(default="window", description="order of the records on the ring: window, gray-tsp or gray")
    walk: Walk = Field(default="truncated", description="how assignments are drawn: truncated, closed or backtracking")
    labels: Literal["withhold", "guarded", "shift"] = Field(
        default="guarded",
        description=(
            "guarded: withhold labels so that knowing the rule does not help, with at least 2l candidates; withhold:"
            " those that would be too frequent (for claims that count different labels); or arrange rings by label"
            " (weaker)"
        ),
    )
    spread: int = Field(
        default=1, ge=1, description="candidates per record as a multiple of l; more candidates suppress fewer labels"
    )

    balance: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="bit error rate that may be spent to keep item frequencies; default: 0.01 with labels, else 0",
    )

    def refusal(self, policy: Policy) -> str:
        for claim in policy.claims:
            if not can_satisfy(claim.model):
                return f"a ring cannot be made to satisfy {claim}"
            if claim.model.needs_sensitive and not claim.hide:
                return f"{claim.model.name} needs a label: give a column the role 'sensitive'"
            if self.labels == "withhold" and claim.model.needs_sensitive and not claim.model.demand().counts_values:
                return "a suppressed label hints at one shown nearby, without a bound; take labels: guarded, or blocks"
            if claim.given:
                return f"on a ring items are what is known, and not '{claim.given[0]}'; take 'blocks'"
        wrong = [name for name, column in policy.columns.items() if column.role in ("quasi-identifier", "replaced")]
        if wrong:
            return (
                f"column '{wrong[0]}' is an identifier, sensitive or other on a ring; 'blocks' has known columns beside"
                " items"
            )
        if any(name in OWN for name in policy.published):
            return f"the names {', '.join(OWN)} are taken by the release"
        hidden = {name for claim in policy.claims for name in claim.hide}
        return "labels: shift works with one sensitive column" if self.labels == "shift" and len(hidden) > 1 else ""

    def unremembered(self, policy: Policy) -> str:
        return "neighbours on one ring are not those on the next, and a ledger intersects them; take 'blocks'"

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return can_satisfy(claim.model)

    def preference(self, records: int | None) -> tuple[int, str]:
        return 40, "it publishes sets without a hierarchy"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        needs = RingRequirements.of(claim.model for claim in policy.claims)
        degree = self._degree(needs)
        lines = [f"ring: {degree} candidates for every record, in {self.order} order"]
        if needs.about_labels and self.labels == "guarded":
            lines.append(
                "labels: suppressed so that no guess is right more often than 1 in "
                f"{needs.diversity:g}, rule known or not"
            )
        if needs.about_labels and self.labels == "withhold":
            lines.append(
                f"labels: suppressed until none occurs more than {needs.most(degree)} times among {degree} candidates"
            )
        if data is not None and self.order == "window":
            lines.append(sweeps_told(policy.effort, len(data)))
        return lines

    def run(self, task: Task) -> Release:
        baskets: Baskets = task.data
        needs = RingRequirements.of(claim.model for claim in task.policy.claims)
        hide = tuple(dict.fromkeys(name for claim in task.policy.claims for name in claim.hide))
        _check_labels(baskets, task.policy, hide, needs, excess=1.0 if self.labels == "guarded" else 2.0)
        try:
            drawn = (
                self._shifted(task, needs, hide[0])
                if self.labels == "shift" and hide
                else self._ringed(task, needs, hide)
            )
        except NotFound:
            if "labels" in self.model_fields_set or len(hide) != 1:
                raise
            return self._arranged_by_label(task)
        task.progress(0.8, "voting")
        known = _FEW_KNOWN if self.labels == "shift" and hide else _ALL_KNOWN
        return _release(task, drawn, self.allowance(needs), (known, _HINT if self.labels == "withhold" else _NO_HINT))

    def _arranged_by_label(self, task: Task) -> Release:
        """Arrange rings by label, if the policy leaves `labels` open and no label can be suppressed; the release states
        it.

        The release names the weaker adversary in its notes and the arrangement in its policy.
        """
        other = type(self)(**{**self.model_dump(exclude_unset=True), "labels": "shift"})
        return replace(other.run(task), method={self.name: other.model_dump(exclude_defaults=True)})

    def allowance(self, needs: RingRequirements) -> float:
        """The bit error rate that the vote may spend on true counts."""
        unset = _BALANCE if needs.about_labels else 0.0
        return unset if self.balance is None else self.balance

    def _ringed(self, task: Task, needs: RingRequirements, hide: tuple[str, ...]) -> DrawnAssignment:
        """Draw on a ring; where too few different labels would be shown, once more on a ring of higher degree."""
        degree, unit = self._degree(needs), needs.degree(1)
        for attempt in range(_TRIES):
            drawn, shown = self._draw(task, needs, hide, degree, task.randomness.child(f"ring {attempt}"))
            if shown >= needs.different:
                return drawn
            degree += unit
            if degree > len(task.data):
                break
        what = f"no ring shows {needs.different} different labels to everybody"
        hint = (
            "lower l, ask for 'kind: frequency', which bounds the chance of a guess, or for 'labels: shift', which"
            " trusts more"
        )
        raise NotFound(what, where="protect", hint=hint)

    def _degree(self, needs: RingRequirements) -> int:
        """Return the candidates per record; a guarded ring needs more, for the probabilities behind suppressed
        labels."""
        guarded = self.labels == "guarded" and needs.about_labels
        return needs.degree(max(2, self.spread) if guarded else self.spread)

    def _draw(
        self, task: Task, needs: RingRequirements, hide: tuple[str, ...], degree: int, randomness: Randomness
    ) -> tuple[DrawnAssignment, int]:
        baskets: Baskets = task.data
        edges = ring_targets(len(baskets), degree)
        task.progress(0.1, "ordering")
        order = ORDERS[self.order](baskets.sets, degree, task.policy.effort)  # I1
        task.progress(0.6, "walking")
        graph = order[assignments(edges, self.walk, randomness.child("walks"))]
        true = randomness.child("choice").integer(degree)  # I2
        hidden, shown = {}, len(baskets)
        for name in hide if needs.about_labels else ():
            published = baskets.label_codes(name)[0][graph[true]]
            start = randomness.child(f"withhold {name}").integer(len(baskets))
            if self.labels == "guarded":
                hidden[name] = labels_to_suppress_guarded(published, degree, degree / needs.diversity, start)  # I3
            else:
                hidden[name] = labels_to_suppress(published, degree, needs.most(degree), start)  # I3
            shown = min(shown, distinct_shown(published, hidden[name], degree)) if needs.different else shown
        return DrawnAssignment(graph, true, hidden), shown

    def _shifted(self, task: Task, needs: RingRequirements, name: str) -> DrawnAssignment:
        """Rings arranged by label, each turned by a secret amount."""
        baskets: Baskets = task.data
        different = max(needs.candidates, int(np.ceil(needs.diversity)), needs.different)
        order = ORDERS[self.order](baskets.sets, different, task.policy.effort)
        rings = arrange_rings(order, baskets.label_codes(name)[0], different, _RING * different)
        secret = task.randomness.child("turns").integers(different, len(rings.bounds) - 1)
        places = [rotate_rings(rings, (secret + extra) % different) for extra in range(different)]
        return DrawnAssignment(rings.order[np.stack(places)], 0, {})


def _check_labels(
    baskets: Baskets, policy: Policy, hide: tuple[str, ...], needs: RingRequirements, excess: float
) -> None:
    """The labels are there, and none is more than `excess` times as frequent as l allows."""
    for name in (name for name in policy.published if name not in baskets.labels):
        what, where = f"the records have no column '{name}'", policy.document.where("columns", name)
        raise Infeasible(what, where=where, hint="known: " + ", ".join(baskets.labels))
    for name in hide if needs.about_labels else ():
        codes, values = baskets.label_codes(name)
        if len(values) < max(needs.diversity, needs.different):
            what = f"column '{name}' has {len(values)} different labels"
            raise Infeasible(what, where="protect", hint=f"ask for at most l = {len(values)}")
        if np.bincount(codes).max() * needs.diversity > len(codes) * excess:
            beyond = "more than twice as frequent as" if excess == 2 else "more frequent than"
            what = f"one label of column '{name}' is {beyond} l = {needs.diversity:g} allows"
            raise Infeasible(what, where="protect", hint="lower l; most labels would be suppressed")


def _release(task: Task, drawn: DrawnAssignment, balance: float, assumed: tuple[str, str]) -> Release:
    baskets: Baskets = task.data
    votes = vote(baskets.sets, drawn.graph.T.astype(np.int32), balance)
    labels = {}
    for name in task.policy.published:
        labels[name] = baskets.labels[name][drawn.behind].copy()
        if name in drawn.hidden:
            labels[name][drawn.hidden[name]] = WITHHELD
    shuffle = task.randomness.child("rows").permutation(len(baskets))  # I4
    worlds = PublishedBaskets(votes.base, votes.doubt, votes.threshold, baskets.names, labels).take(shuffle)
    separator = separator_for(baskets.names)
    degree = len(drawn.graph)
    trace = BasketProvenance({"data": drawn.behind[shuffle]}, assignments=drawn.graph[:, shuffle], lasting=bool(labels))
    form = Basket(degree=degree, separator=separator)
    return Release(form, {"data": Part(to_table(worlds, separator))}, trace=trace, notes=_notes(drawn, *assumed))


def _notes(drawn: DrawnAssignment, known: str, hint: str) -> tuple[str, ...]:
    notes = [known, "one record is one person, and labels do not follow from items by common knowledge"]
    for name, hidden in drawn.hidden.items():
        notes.append(f"{int(hidden.sum())} of {len(hidden)} labels of '{name}' are suppressed; {hint}")
    return tuple(notes)


# Rings
# -----


def ring_targets(count: int, degree: int) -> NDArray[np.int32]:
    """For each position the positions it may be published at."""
    return _around(count, np.arange(degree), degree)


def ring_members(count: int, degree: int) -> NDArray[np.int32]:
    """For each published position the positions it may stand for."""
    return _around(count, -np.arange(degree), degree)


def _around(count: int, offsets: NDArray[np.int64], degree: int) -> NDArray[np.int32]:
    if count < degree:
        what = f"{count} records cannot each have {degree} candidates"
        raise Infeasible(what, where="protect", hint=f"ask for at most {count} candidates, or give more records")
    return ((np.arange(count)[:, None] + offsets[None, :]) % count).astype(np.int32)  # I1
