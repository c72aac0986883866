"""Worlds: published baskets are well formed, and the original records fit behind them, one each, labels included.

From the published file alone: thresholds lie between 0 and the number of doubtful items, and nothing but the policy's
labels stands beside the items. With the original: rows and records can be paired one to one so that each row's worlds
contain its record and each label shown is the record's own.

Paper: [multitype Def. 2]: an assignment is a one-to-one mapping.


Blocks
------
Blocks: the rows of a block promise the same to all its records, and the records behind them are of that block.

From the published file alone: every block has as many rows as stated; its rows have the same sure items, the same
doubtful ones and the same threshold, the same cells of known columns, and under a vote the same items. With the private
trace: every record of a block fits every row of it (what is sure is in all of them, and they differ in doubtful items
only, in no more than the threshold); in count-preserving rows each item occurs in as many rows as records, and rows
have nearly equal sizes. How often blocks were hidden that could have been shown is not compared with what the manifest
says.

Cost: one pass over the items; nothing here looks at pairs of records and rows.


Assignments
-----------
Assignments: on the private provenance, every record has the same number of candidates, and each could equally be the
true one.

The trace lists k assignments. Each must be one to one, no two may share an edge, each edge must be compatible with what
was published, and one of them must be the true one. Then the graph is k-regular, and because the true assignment was
drawn uniformly among the k, each edge was equally likely.

Paper: [multitype Def. 2, 3; 3.2].


Emptiness
---------
Emptiness: how many published baskets show no item at all; measured, and a warning where hardly anything is left to use.

On sparse data no item has a majority among a few baskets, and a vote publishes nothing under a certificate that holds.
Privacy is not at stake; that a person takes the release for data is.


Baskets
-------
Set-valued records before a release: read so that what comes out of them can be foretold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.core.wording import Wording
from sfumato.data.item_sets import Sets
from sfumato.kinds.baskets.evidence import (
    EXACT_UP_TO,
    Compatibility,
    align_item_universes,
    evenly_spread_numbers,
    pairs_compatible,
)
from sfumato.kinds.baskets.form import Basket, BasketBlocks, BasketProvenance, blocks_of, published_baskets
from sfumato.kinds.baskets.known_columns import generalization_and_codes, known_columns
from sfumato.kinds.baskets.published_baskets import WITHHELD, PublishedBaskets
from sfumato.policy.policy import Policy
from sfumato.release.certificate import MEASURED, SOME_FOUND, Finding, one_sided_verdict
from sfumato.release.evidence import Check, SourceAudit
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView

_LARGEST = 30_000_000


class WellFormed(Check):
    """Thresholds fit the doubtful items; only columns of the policy are published."""

    name: ClassVar[str] = "worlds"
    words: ClassVar[Wording] = Wording(
        title="Set format",
        code="set-format",
        group="integrity",
        holds="All uncertainty thresholds are valid, and only columns of the policy are shown.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def examine(self, exhibit: ReleaseView) -> Finding:
        published = exhibit.once(published_baskets)
        beyond = int((published.threshold > published.doubt.sizes).sum())
        strangers = [name for name in published.labels if name not in exhibit.policy.published]
        wrong = [f"{beyond} thresholds exceed the doubtful items"] if beyond else []
        wrong += [f"column '{name}' is published but not by the policy" for name in strangers]
        achieved = {"thresholds": beyond, "unnamed": len(strangers)}
        return Finding(self.name, not wrong, {"thresholds": 0, "unnamed": 0}, achieved, reason="; ".join(wrong))


class OneToOne(Check):
    """Every published row stands for a record of its own."""

    name: ClassVar[str] = "one-to-one"
    words: ClassVar[Wording] = Wording(
        title="One-to-one",
        code="one-to-one",
        holds="Every published row stands for one original record.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private

    def examine(self, exhibit: ReleaseView) -> Finding:
        published = exhibit.once(published_baskets)
        withheld = exhibit.records.suppressed if exhibit.records else 0
        missing = len(exhibit.original) - withheld - len(published)
        if missing:
            reason = (
                f"{len(published)} rows for {len(exhibit.original)} records, of which {withheld} are declared"
                " as suppressed"
            )
            return Finding(self.name, False, {"rows": 0}, {"rows": abs(missing)}, reason=reason)
        (unmatched, grade), invented = _unmatched(exhibit, published), _inventing(exhibit, published)
        wrong = [f"{unmatched} published rows stand for no original record of their own"] if unmatched else []
        wrong += [f"{invented} published rows show an item that no original record has"] if invented else []
        why = "not every row was compared with every record; none that was compared is wrong"
        achieved = {"rows": max(unmatched, invented)}
        return Finding(
            self.name, required={"rows": 0}, **one_sided_verdict(not wrong, grade, achieved, "; ".join(wrong), why)
        )


def _inventing(exhibit: ReleaseView, published: PublishedBaskets) -> int:
    """Rows that show, or leave open, an item which nobody in the original has."""
    sets, worlds = align_item_universes(exhibit.original, published)
    nobody = sets.support() == 0
    return len(np.unique(np.concatenate([side.owners[nobody[side.items]] for side in (worlds.base, worlds.doubt)])))


def _unmatched(exhibit: ReleaseView, published: PublishedBaskets) -> tuple[int, str]:
    if exhibit.behind is not None:
        people, rows = np.asarray(exhibit.behind["data"]), np.arange(len(published))
        good = pairs_compatible(exhibit.original, published, people, rows) & _agree(exhibit, published, people, rows)
        return len(rows) - int((good & _once(people)).sum()), "exact"
    if len(published) > EXACT_UP_TO:
        known = Compatibility.of(exhibit.original, published.take(evenly_spread_numbers(len(published))))
        lost = np.bincount(known.row) * (np.asarray(known.pairs.sum(axis=0)).reshape(-1) == 0)
        return int(lost.sum()), SOME_FOUND
    known = Compatibility.of(exhibit.original, published)
    if int(known.people @ known.candidates()) > _LARGEST:
        without = int((np.bincount(known.row) * (np.asarray(known.pairs.sum(axis=0)).reshape(-1) == 0)).sum())
        return without, SOME_FOUND
    return _by_matching(exhibit, published, known), "exact"


def _once(people: NDArray[np.int64]) -> NDArray[np.bool_]:
    once: NDArray[np.bool_] = np.bincount(people, minlength=int(people.max()) + 1)[people] == 1
    return once


def _agree(
    exhibit: ReleaseView, published: PublishedBaskets, people: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each label shown in a row is that of the record."""
    same = np.ones(len(rows), dtype=bool)
    for name, shown in published.labels.items():
        if name in known_columns(exhibit.policy):
            same &= values_within_cells(exhibit, name, people, rows)
        elif name in exhibit.original.labels:
            same &= (shown[rows] == exhibit.original.labels[name][people]) | (shown[rows] == WITHHELD)
    return same


def _by_matching(exhibit: ReleaseView, published: PublishedBaskets, known: Compatibility) -> int:
    """Rows left over by a largest one-to-one pairing."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    people, rows = _expanded(known)
    good = _agree(exhibit, published, people, rows)
    shape = (len(known.person), len(known.row))
    graph = csr_matrix((np.ones(int(good.sum()), dtype=np.int8), (people[good], rows[good])), shape=shape)
    return int((maximum_bipartite_matching(graph, perm_type="row") < 0).sum())


def _expanded(known: Compatibility) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All compatible (record, row) pairs."""
    member = _members(known.person, known.pairs.shape[0])
    listed = _members(known.row, known.pairs.shape[1])
    full: Any = (member @ known.pairs @ listed.T).tocoo()
    return full.row.astype(np.int64), full.col.astype(np.int64)


def _members(kind: NDArray[np.int64], kinds: int) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(kind), dtype=np.int64), (np.arange(len(kind)), kind)), shape=(len(kind), kinds))


# Blocks
# ------


def values_within_cells(exhibit: ReleaseView, name: str, people: IntArray, rows: IntArray) -> NDArray[np.bool_]:
    """Whether the value of each of these people lies in the cell of a known column that the row beside them shows."""
    domain, codes = generalization_and_codes(exhibit.policy, exhibit.original, name)
    shown, of = np.unique(exhibit.once(published_baskets).labels[name].astype(str), return_inverse=True)
    cells = np.array([domain.interval(label) or (0, 0) for label in shown.tolist()], dtype=np.int64)[
        of.reshape(-1)[rows]
    ]
    inside: NDArray[np.bool_] = (cells[:, 0] <= codes[people]) & (codes[people] < cells[:, 1])
    return inside


class BlocksAlike(Check):
    """Rows of a block promise the same, and every record behind them fits all of them."""

    name: ClassVar[str] = "blocks"
    words: ClassVar[Wording] = Wording(
        title="Uniform blocks",
        code="uniform-blocks",
        group="privacy",
        holds="Rows of a block show the same certain and uncertain items.",
        violated="Rows of a block can be told apart: {reason}",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (BasketBlocks,)

    def examine(self, exhibit: ReleaseView) -> Finding:
        wrong = [*_published(exhibit)]
        if exhibit.private and exhibit.behind is not None and not wrong:
            wrong += _traced(exhibit)
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong)}, reason="; ".join(wrong))


def _published(exhibit: ReleaseView) -> Iterator[str]:
    form, block, published = exhibit.of(BasketBlocks), exhibit.once(blocks_of), exhibit.once(published_baskets)
    sizes = np.bincount(block)
    if int(sizes.min()) < form.degree:
        yield f"{int((sizes < form.degree).sum())} blocks have fewer than {form.degree} rows"
    first = _first_of(block)
    if (published.threshold != published.threshold[first]).any() or _differ(published.doubt, first):
        yield "rows of a block leave other items open, or more of them"
    for name in (name for name in known_columns(exhibit.policy) if name in published.labels):
        if (published.labels[name] != published.labels[name][first]).any():
            yield f"rows of a block show different cells of '{name}'"
    if form.shows == "vote" and _differ(published.base, first):
        yield "rows of a block show different items, and no vote does"
    if form.shows == "dealt" and _differ(_sure(published), first):
        yield "rows of a block are sure of different items"


def _first_of(block: IntArray) -> IntArray:
    """For every row the first row of its block."""
    return np.unique(block, return_index=True)[1][block].astype(np.int64)


def _differ(sets: Sets, first: IntArray) -> bool:
    return not sets.equals(sets.take(first))


def _sure(published: PublishedBaskets) -> Sets:
    """Items that every possible set of a row has."""
    width = max(published.base.width, 1)
    shown = published.base.owners * width + published.base.items
    doubted = published.doubt.owners * width + published.doubt.items
    kept = np.setdiff1d(shown, doubted, assume_unique=True)
    return Sets.from_flat(kept // width, kept % width, len(published), width)


def _common(a: Sets, b: Sets) -> IntArray:
    """Row by row: how many items both have."""
    return (a.sizes + b.sizes - a.hamming(b)) // 2


def _traced(exhibit: ReleaseView) -> Iterator[str]:
    assert exhibit.behind is not None
    sets, worlds = align_item_universes(exhibit.original, exhibit.once(published_baskets))
    people, block = sets.take(np.asarray(exhibit.behind["data"])), exhibit.once(blocks_of)
    sure = _sure(worlds)
    open_, certain = _common(people, worlds.doubt), _common(people, sure)
    outside = (certain != sure.sizes) | (certain + open_ != people.sizes)
    if outside.any():
        yield f"{int(outside.sum())} records do not fit the rows of their block"
    rows = np.arange(len(people))
    for name in known_columns(exhibit.policy):
        strange = ~values_within_cells(exhibit, name, np.asarray(exhibit.behind["data"]), rows)
        if strange.any():
            yield f"{int(strange.sum())} records have values outside the cells of '{name}' in their rows"
    if exhibit.of(BasketBlocks).shows == "vote":
        apart = people.hamming(worlds.base)
        far = apart > worlds.threshold
    else:
        most = np.zeros(int(block.max()) + 1, dtype=np.int64)
        np.maximum.at(most, block, open_)
        dealt = np.zeros(len(most), dtype=np.int64)
        np.maximum.at(dealt, block, worlds.base.sizes - sure.sizes)
        far = (
            np.minimum(most + dealt, np.bincount(block, worlds.doubt.sizes) / np.bincount(block))[block]
            > worlds.threshold
        )
        yield from _evenly(people, worlds, block)
    if far.any():
        yield f"{int(far.sum())} records differ from rows of their block in more items than the threshold says"


def _evenly(people: Sets, worlds: PublishedBaskets, block: IntArray) -> Iterator[str]:
    """Return whether count-preserving rows have every item as often as the records do, and sizes that differ by at most
    one."""
    if not np.array_equal(_tally(people, block), _tally(worlds.base, block)):
        yield "an item occurs in more or fewer rows of a block than records"
    sizes = worlds.base.sizes
    low = np.full(int(block.max()) + 1, np.iinfo(np.int64).max)
    high = np.zeros(len(low), dtype=np.int64)
    np.minimum.at(low, block, sizes)
    np.maximum.at(high, block, sizes)
    if (high - low > 1).any():
        yield "rows of a block have sizes that no even dealing gives"


def _tally(sets: Sets, block: IntArray) -> NDArray[np.int64]:
    """All (block, item) pairs, sorted, as often as they occur."""
    return np.sort(block[sets.owners] * np.int64(max(sets.width, 1)) + sets.items)


# Assignments
# -----------


class Assignments(Check):
    """The all-assignments graph is regular and made of disjoint assignments, the true one among them."""

    name: ClassVar[str] = "assignments"
    words: ClassVar[Wording] = Wording(
        title="Equal candidates",
        code="equal-candidates",
        group="privacy",
        holds=(
            "Every person has {found.k candidate/candidates}, each equally likely.",
            "All candidates of a person are equally likely.",
        ),
        violated="Candidates are not equally likely: {reason}",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private and exhibit.traced(BasketProvenance).assignments is not None

    def examine(self, exhibit: ReleaseView) -> Finding:
        graph = np.asarray(exhibit.traced(BasketProvenance).assignments).astype(np.int64)
        wrong = [*_shape(graph, len(exhibit.original))]
        people, rows = graph.reshape(-1), np.tile(np.arange(graph.shape[1], dtype=np.int64), graph.shape[0])
        if not wrong:
            unfit = int((~pairs_compatible(exhibit.original, exhibit.once(published_baskets), people, rows)).sum())
            wrong += [f"{unfit} edges are not compatible with what is published"] if unfit else []
        behind = (exhibit.behind or {}).get("data")
        if behind is None or not (graph == behind).all(axis=1).any():
            wrong.append("the true assignment is none of those drawn from")
        return Finding(
            self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong), "k": len(graph)}, reason="; ".join(wrong)
        )


def _shape(graph: NDArray[np.int64], records: int) -> list[str]:
    wrong = []
    if graph.shape[1] != records or not (np.sort(graph, axis=1) == np.arange(records)).all():
        wrong.append("an assignment is not one to one")
    if (np.diff(np.sort(graph, axis=0), axis=0) == 0).any():
        wrong.append("two assignments share an edge")
    return wrong


# Emptiness
# ---------


NEARLY = 0.2
"""The share of empty baskets above which a release is called nearly empty."""


class Emptiness(Check):
    """Baskets that show no item: measured on the published rows."""

    name: ClassVar[str] = "emptiness"
    words: ClassVar[Wording] = Wording(
        title="Empty records",
        code="empty-sets",
        group="measured",
        measured="{found.empty %} of the published records show no item.",
        warns=lambda found: found["empty"] > 0.2,
        advice="Use `items: dealt`, which shows each item as often as it occurs.",
    )
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def examine(self, exhibit: ReleaseView) -> Finding:
        base = exhibit.once(published_baskets).base
        empty = float((base.sizes == 0).mean()) if len(base) else 1.0
        reason = f"{empty:.1%} of the published baskets show no item"
        if empty > NEARLY:
            reason = (
                f"warning: the release is nearly empty, {reason}; `items: dealt` shows every item "
                "as often as records have it"
            )
        return Finding(self.name, True, {}, {"empty": float(f"{empty:.6g}")}, grade=MEASURED, reason=reason)


# Baskets
# -------


class BasketSourceAudit(SourceAudit):
    """The records are read where the source can be: how they will look is the first thing a steward wants to know."""

    name: ClassVar[str] = "baskets"

    def reads_rows(self, policy: Policy) -> bool:
        return policy.data.source != ""
