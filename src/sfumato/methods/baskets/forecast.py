"""What blocks will be good for, told before any is made: error rate, empty baskets and items kept, for both things rows may show.

The records are put into Gray order; a few pieces of it, evenly spread, are made into blocks as the whole will be, and what their
rows would show is measured on them. So a forecast of a million records looks at some ten thousand.

Invariants
    I1  Looks at items only, and draws nothing: the advice is part of the public program.

>>> from sfumato.data.sets import Sets
>>> forecast(Sets.of([[0, 1], [0, 1], [0, 2], [0, 2]] * 5, width=3), size=4).advice
'vote'
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.sets import Sets
from sfumato.methods.baskets.block_rows import Rows, Shows, rows_of
from sfumato.methods.baskets.gray import entropy_columns, gray_order
from sfumato.methods.baskets.partition import BlockEffort, Partition, block_error, cut, partition

_PIECES, _LOOKED_AT = 12, 8_000
SPARSE_ERROR, SPARSE_EMPTY = 0.45, 0.05
"""A vote that errs more than this, or leaves more baskets empty, is not worth having beside dealt items."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What rows of one kind would be like."""

    error_rate: float
    empty: float
    kept: float

    def __str__(self) -> str:
        return f"error rate {self.error_rate:.3f}, {self.empty:.1%} of the baskets empty, {self.kept:.0%} of the items shown"


@dataclass(frozen=True, slots=True)
class Forecast:
    """The outlook of both things rows may show, and which is advised."""

    size: int
    looked_at: int
    vote: Outlook
    dealt: Outlook

    @property
    def advice(self) -> Shows:
        return "dealt" if self.vote.error_rate > SPARSE_ERROR or self.vote.empty > SPARSE_EMPTY else "vote"

    @property
    def reason(self) -> str:
        if self.advice == "vote":
            return "votes keep the records recognizable"
        return "too few items have a majority in any block; dealt items keep every count of a single item exact"

    def sentences(self) -> list[str]:
        seen = f"foreseen on {self.looked_at:,} records, blocks of {self.size}"
        return [f"{seen}, vote: {self.vote}", f"{seen}, dealt: {self.dealt}"]


def forecast(sets: Sets, size: int, known: Sets | None = None) -> Forecast:
    """What blocks of this size will be like; `known` is what they are cut from where that is more than the items."""
    some, cut_from = sets, sets if known is None else known
    if len(sets) > _LOOKED_AT:
        orders = (gray_order(cut_from), gray_order(cut_from, entropy_columns(cut_from)))
        starts = cut(len(sets), size)
        order = min(orders, key=lambda order: block_error(cut_from, Partition(order, starts)))
        chosen = np.sort(order[_spread(len(sets), size)])
        some, cut_from = sets.take(chosen), cut_from.take(chosen)
    blocks = partition(cut_from, size, effort=BlockEffort(piece=800, steps=60, passes=6))  # I1
    kinds: tuple[Shows, Shows] = ("vote", "dealt")
    voted, dealt = (_outlook(some, blocks, rows_of(some, blocks, shows)) for shows in kinds)
    return Forecast(size, len(some), voted, dealt)


def _spread(count: int, size: int) -> IntArray:
    """Places of the order: a few runs of whole blocks."""
    run = max(size, _LOOKED_AT // _PIECES // size * size)
    first = np.linspace(0, count - run, _PIECES).astype(np.int64)
    return np.unique(first[:, None] + np.arange(run)[None, :])


def _outlook(sets: Sets, blocks: Partition, rows: Rows) -> Outlook:
    people = sets.take(blocks.order)
    wrong = people.hamming(rows.base) / np.maximum(people.sizes, 1)
    empty = float(((rows.base.sizes == 0) & (people.sizes > 0)).mean())
    return Outlook(float(wrong.mean()), empty, len(rows.base.items) / max(len(people.items), 1))
