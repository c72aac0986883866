"""Blocks: the rows of a block promise the same to all its records, and the records behind them are of that block.

From the published file alone: every block has as many rows as stated; its rows have the same sure items, the same doubtful ones
and the same threshold, the same cells of known columns, and under a vote the same items. With the private trace: every record of
a block fits every row of it (what is sure is in all of them, and they differ in doubtful items only, in no more than the
threshold); where items are dealt, each stands in as many rows as records have it, and rows are of even size; and blocks that
could have been shown were hidden about as often as stated.

Cost: one pass over the items; nothing here looks at pairs of records and rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.base import Check
from sfumato.audit.compatible import on_one_universe
from sfumato.data.arrays import IntArray
from sfumato.data.sets import Sets
from sfumato.data.worlds import PublishedBaskets
from sfumato.forms.basket_blocks import BasketBlocks, blocks_of
from sfumato.forms.baskets import published_baskets
from sfumato.policy.beside_items import coded, known_columns
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


def in_cells(exhibit: Exhibit, name: str, people: IntArray, rows: IntArray) -> NDArray[np.bool_]:
    """Whether the value of each of these people lies in the cell of a known column that the row beside them shows."""
    domain, codes = coded(exhibit.policy, exhibit.original, name)
    shown, of = np.unique(exhibit.once(published_baskets).labels[name].astype(str), return_inverse=True)
    cells = np.array([domain.interval(label) or (0, 0) for label in shown.tolist()], dtype=np.int64)[of.reshape(-1)[rows]]
    inside: NDArray[np.bool_] = (cells[:, 0] <= codes[people]) & (codes[people] < cells[:, 1])
    return inside


class BlocksAlike(Check):
    """Rows of a block promise the same, and every record behind them fits all of them."""

    name: ClassVar[str] = "blocks"
    forms: ClassVar[tuple[type[Form], ...]] = (BasketBlocks,)

    def examine(self, exhibit: Exhibit) -> Finding:
        wrong = [*_published(exhibit)]
        if exhibit.private and exhibit.behind is not None and not wrong:
            wrong += _traced(exhibit)
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong)}, reason="; ".join(wrong))


def _published(exhibit: Exhibit) -> Iterator[str]:
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


def _traced(exhibit: Exhibit) -> Iterator[str]:
    assert exhibit.behind is not None
    sets, worlds = on_one_universe(exhibit.original, exhibit.once(published_baskets))
    people, block = sets.take(np.asarray(exhibit.behind["data"])), exhibit.once(blocks_of)
    sure = _sure(worlds)
    open_, certain = _common(people, worlds.doubt), _common(people, sure)
    outside = (certain != sure.sizes) | (certain + open_ != people.sizes)
    if outside.any():
        yield f"{int(outside.sum())} records do not fit the rows of their block"
    rows = np.arange(len(people))
    for name in known_columns(exhibit.policy):
        strange = ~in_cells(exhibit, name, np.asarray(exhibit.behind["data"]), rows)
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
        far = np.minimum(most + dealt, np.bincount(block, worlds.doubt.sizes) / np.bincount(block))[block] > worlds.threshold
        yield from _evenly(people, worlds, block)
    if far.any():
        yield f"{int(far.sum())} records differ from rows of their block in more items than the threshold says"


def _evenly(people: Sets, worlds: PublishedBaskets, block: IntArray) -> Iterator[str]:
    """Whether dealt rows have every item as often as the records do, and sizes that differ by one at most."""
    if not np.array_equal(_tally(people, block), _tally(worlds.base, block)):
        yield "an item stands in more or fewer rows of a block than records have it"
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
