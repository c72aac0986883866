"""The plain twin of `greedy_clustering`: every pick looks at every cell that is left, in numpy.

Paper: [boundaries §3, functions GreedyPKClustering, DisperseCluster, FindBestCluster] Invariants: the same order of
ties, hence the same groups; a group that fails is gathered to the end and then dispersed, as printed. Cost: picks ×
cells of the root; the measure of what the index is worth."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.kinds.tables.methods.kernels.cell_costs import Columns
from sfumato.kinds.tables.methods.kernels.greedy_clustering import PointTable

Entry = tuple[int, int, int]
Box = list[tuple[int, int, int, int]]
"""Per column lo, hi, node and price."""


def plain_gather(
    table: PointTable,
    columns: Columns,
    root_start: IntArray,
    k: int,
    distinct: IntArray,
    weight: IntArray,
    by_growth: bool,
) -> list[Entry]:
    """``(cell, group, count)`` for all roots; the table is not changed."""
    entries: list[Entry] = []
    groups = 0
    for first, last in pairwise(root_start):
        root = _Root(table, columns, int(first), int(last))
        kept = root.cluster(k, distinct, weight, by_growth)
        entries += [(cell, groups + number, 1) for number, cells in enumerate(kept) for cell in cells]
        groups += len(kept)
    return entries


class _Root:
    """The cells of one root and how many records each has left."""

    def __init__(self, table: PointTable, columns: Columns, first: int, last: int) -> None:
        points = table.points[first:last]
        self.columns = columns
        self.first_cell = int(points["start"][0])
        cells = table.cells[self.first_cell : int(points["end"][-1])]
        self.left: IntArray = cells["count"].copy()
        self.codes: IntArray = np.repeat(table.codes[first:last], points["end"] - points["start"], axis=0)
        self.values: IntArray = table.values[cells["combo"]]

    def cluster(self, k: int, distinct: IntArray, weight: IntArray, by_growth: bool) -> list[list[int]]:
        """Groups as lists of cells, one entry per record."""
        kept: list[list[int]] = []
        boxes: list[Box] = []
        seed = 0
        while self.left.any():
            seed = self._first(self._diverse([seed], weight), None)
            group, box = self._gather(seed, k, distinct, weight)
            if not kept or (len(group) >= k and self._sensitive(group, distinct)):
                kept.append(group)
                boxes.append(box)
            else:
                for cell in sorted(group):
                    self._disperse(cell, kept, boxes, by_growth)
        return [[self.first_cell + cell for cell in group] for group in kept]

    def _gather(self, seed: int, k: int, distinct: IntArray, weight: IntArray) -> tuple[list[int], Box]:
        group = [seed]
        self.left[seed] -= 1
        box: Box = [(int(code), int(code) + 1, int(code), 0) for code in self.codes[seed]]
        diverse = True
        while self.left.any() and (diverse or len(group) < k):
            wanted = self._diverse(group, weight) if diverse else self.left > 0
            cell = self._first(wanted, box)
            self.left[cell] -= 1
            group.append(cell)
            box = [self._widened(j, box[j], int(code)) for j, code in enumerate(self.codes[cell])]
            diverse = diverse and not self._sensitive(group, distinct)
        return group, box

    def _diverse(self, group: list[int], weight: IntArray) -> NDArray[np.bool_]:
        """The cells that are left and most diverse from the group."""
        new = [~np.isin(self.values[:, j], self.values[group, j]) for j in range(len(weight))]
        level = np.where(
            self.left > 0, sum((w * n for w, n in zip(weight, new, strict=True)), np.zeros(len(self.left))), -1
        )
        most: NDArray[np.bool_] = (level == level.max()) & (self.left > 0)
        return most

    def _sensitive(self, group: list[int], distinct: IntArray) -> bool:
        return all(len(np.unique(self.values[group, j])) >= wanted for j, wanted in enumerate(distinct))

    def _first(self, wanted: NDArray[np.bool_], box: Box | None) -> int:
        """The first of the wanted cells, or of the cheapest of them."""
        among = np.flatnonzero(wanted)
        if box is None:
            return int(among[0])
        return int(among[np.argmin(sum(self._prices(j, box[j], self.codes[among, j]) for j in range(len(box))))])

    def _prices(self, j: int, side: tuple[int, int, int, int], codes: IntArray) -> IntArray:
        """The price of column j once each of the codes has joined."""
        distinct, inverse = np.unique(codes, return_inverse=True)
        return np.array([self._widened(j, side, int(code))[3] for code in distinct], dtype=np.int64)[inverse]

    def _widened(self, j: int, side: tuple[int, int, int, int], code: int) -> tuple[int, int, int, int]:
        lo, hi, node, _ = side
        if lo <= code < hi:
            return side
        head: Any = self.columns.heads[j]
        nodes = self.columns.nodes[int(head["offset"]) :]
        if not head["tree"]:
            lo, hi = min(lo, code), max(hi, code + 1)
            return lo, hi, node, int(nodes[hi - 1]["price"] - nodes[lo]["price"])
        while not nodes[node]["lo"] <= code < nodes[node]["hi"]:
            node = int(nodes[node]["up"])
        return int(nodes[node]["lo"]), int(nodes[node]["hi"]), node, int(nodes[node]["price"])

    def _disperse(self, cell: int, kept: list[list[int]], boxes: list[Box], by_growth: bool) -> None:
        best, found, wider = None, 0, boxes[0]
        for number, box in enumerate(boxes):
            joined = [self._widened(j, box[j], int(code)) for j, code in enumerate(self.codes[cell])]
            loss = (len(kept[number]) + 1) * sum(side[3] for side in joined)
            if by_growth:
                loss -= len(kept[number]) * sum(side[3] for side in box)
            if best is None or loss < best:
                best, found, wider = loss, number, joined
        kept[found].append(cell)
        boxes[found] = wider
