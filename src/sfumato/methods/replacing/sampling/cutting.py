"""Algorithm 1: the records of a part cut into blocks, and what a block sees of the other records.

Notation
    bound   totals are counted together with the constants, as the paper prints it
    keeps   the block's own totals stay what they are (LM, LM*): nothing outside the block matters to them
    grows   the totals of the first records must be right after every block (IG): what comes before is known without solving it

Invariants
    I1  No block is smaller than q (unless the table is): a short last block would hardly change its records.
    I2  A total that must *equal* a constant and does so before a block is solved does so afterwards. So under LM and LM* every
        block keeps its own share, under IG it starts from a known one: blocks with such totals do not depend on each other.

Departures
    Algorithm 1 cuts off q records at a time. Its line 4 loses a last block of a single record, and a short last block leaks: with
    N = 1,000 and q = 333 the thousandth record keeps its values under LM. Here the rest is spread over the other blocks. The
    paper solves all blocks of a part with a global rule one after the other; I2 is why equal totals need not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.policy.rules.tree import ColumnValue
from sfumato.randomness import Randomness

Heuristic = Literal["LM", "LM*", "IG"]


@dataclass(frozen=True)
class Block:
    """A sub-problem: the records it may change, those it sees as constants, and how many come before it."""

    records: IntArray
    constants: IntArray
    before: int = 0
    totals: Literal["bound", "keeps", "grows"] = "bound"


@dataclass(frozen=True)
class BlockTask:
    """A block with the values that stand in it and in what it sees, and its own seed: all that its answer depends on."""

    block: Block
    inside: dict[ColumnValue, IntArray]
    outside: dict[ColumnValue, IntArray]
    seed: int
    may_stay: bool

    def table(self, count: int) -> dict[ColumnValue, IntArray]:
        """The values at their places in a table of `count` records; 0 where the block does not look."""
        found = {column: np.zeros(count, dtype=np.int64) for column in self.inside}
        for column, codes in found.items():
            codes[self.block.records] = self.inside[column]
            codes[self.block.constants] = self.outside[column]
        return found


def task(block: Block, current: dict[ColumnValue, IntArray], random: Randomness, *, may_stay: bool) -> BlockTask:
    """What the answer of one block depends on, cut out of the whole table."""
    inside = {column: codes[block.records] for column, codes in current.items()}
    outside = {column: codes[block.constants] for column, codes in current.items()}
    return BlockTask(block, inside, outside, int.from_bytes(random.bytes(32), "big"), may_stay)


def blocks(count: int, size: int, heuristic: Heuristic, random: Randomness) -> list[Block]:
    """The records cut into blocks of at least `size`, with what each block sees."""
    order = random.permutation(count) if heuristic == "LM*" else np.arange(count, dtype=np.int64)
    found, start = [], 0
    for records in np.array_split(order, max(1, count // size)):  # I1
        stop = start + len(records)
        seen = order[:start] if heuristic == "IG" else np.concatenate([order[:start], order[stop:]])
        found.append(Block(records, seen, start))
        start = stop
    return found


def side_by_side(found: Sequence[Block], count: int, heuristic: Heuristic) -> list[Block]:
    """The same blocks for solving at once (I2): each sees only records that none of the others changes."""
    changing = np.zeros(count, dtype=bool)
    for block in found:
        changing[block.records] = True
    totals: Literal["keeps", "grows"] = "grows" if heuristic == "IG" else "keeps"
    return [replace(block, constants=block.constants[~changing[block.constants]], totals=totals) for block in found]


def within(block: Block, records: IntArray) -> Block:
    """Some records of a solved block as a block of their own, the others being constant."""
    rest = np.concatenate([np.setdiff1d(block.records, records), block.constants])
    return Block(records, rest, block.before, "bound" if block.totals == "bound" else "keeps")
