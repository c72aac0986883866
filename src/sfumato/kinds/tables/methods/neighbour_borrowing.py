"""Neighbour borrowing: safe records stay exact; unsafe ones share a class with records that safe neighbours can spare.

Points that satisfy the requirements by themselves stay as they are. For the others the cells of all combinations of
levels (`lattice`) are visited, roughly from the least to the most costly: when the records in one cell that still wait,
together with records that safe points of the same cell can spare, satisfy the requirements, they become a group, and
only those who were borrowed lose detail with them. A group of two with one missing value so costs three records, not a
whole neighbouring point.

Invariants
    I1  A group is made of records of one region.
    I2  A group is formed only when the requirements hold in it, and in every point that a person was borrowed from.
    I3  Records that are left when all combinations were visited join whole groups of the region until the requirements
        hold. A region as one group satisfies every requirement, because regions that do not are suppressed.

Cost: combinations × (points that wait + points that can spare a person).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sfumato.core.arrays import BoolArray, FloatArray, IntArray, positions_in_runs
from sfumato.kinds.tables.methods.class_merging import normalize_grouping
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import Claims, Grouping, RecodingProblem
from sfumato.kinds.tables.methods.refined import Level, combinations_of, levels_of

_MOST, _FEWEST, _PRICED = 1_000, 100, 20_000_000
"""Combinations that are visited, and how many prices of points at combinations are looked at."""
_ROUNDS = 10
"""Cells are visited in so many rounds, from cheap to dear."""
Progress = Callable[[float], None]


def borrow(problem: RecodingProblem, *, objective: str = "loss", progress: Progress | None = None) -> Grouping:
    """Groups of a problem whose claims all speak of all its columns."""
    board = _Board(problem, Claims(problem))
    costs = Costs.of(problem, objective)
    levels = levels_of(problem, costs)
    most = max(_FEWEST, min(_MOST, _PRICED // max(len(board.waiting), 1)))
    visits = [
        [column[level] for column, level in zip(levels, one, strict=True)] for one in combinations_of(levels, most)
    ]
    waiting = board.waiting
    prices = np.array([_prices(problem, costs, waiting, visit) for visit in visits], dtype=np.float32)
    rounds = np.unique(np.quantile(prices, np.linspace(0, 1, _ROUNDS + 1)[1:])) if prices.size else np.zeros(0)
    before = -1.0
    for turn, limit in enumerate(rounds.tolist()):
        for visit, price in zip(visits, prices, strict=True):
            fits = waiting[(price > before) & (price <= limit)]
            board.visit(fits[~board.safe[fits]], visit)
        before = limit
        if progress is not None:
            progress((turn + 1) / len(rounds))
    board.adopt()
    return board.grouping()


def _prices(problem: RecodingProblem, costs: Costs, points: IntArray, levels: list[Level]) -> FloatArray:
    """What a record of each point loses at a combination of levels."""
    codes, price = problem.points[points], np.zeros(len(points))
    for column, level in enumerate(levels):
        domain = problem.domains[column]
        lo, hi = domain.close(level.lo, level.hi)
        price += costs.column(column, lo, hi)[codes[:, column]]
    return price


class _Board:
    """Cells at home in their points, and those that went into groups."""

    def __init__(self, problem: RecodingProblem, claims: Claims) -> None:
        self.problem, self.claims = problem, claims
        self.home = problem.row_cell.counts.copy()
        """Records of each cell that are still at their own point."""
        alone = np.where(problem.out, -1, np.cumsum(~problem.out) - 1)
        safe = np.zeros(len(problem.points), dtype=np.bool_)
        safe[~problem.out] = claims.hold(problem.grouping(alone))
        self.safe = safe
        self.waiting: IntArray = np.flatnonzero(~safe & ~problem.out)
        self.start = np.searchsorted(problem.cell_point, np.arange(len(problem.points) + 1))
        self.needs = _Needs(problem)
        self.spare = self.needs.points_that_spare(self)
        self.made: list[tuple[IntArray, IntArray]] = []
        """(cells, records of each) of every group that was formed."""
        bits = np.random.default_rng(19_99)
        self.marks = [bits.integers(-(1 << 62), 1 << 62, max(domain.size + 1, 2)) for domain in problem.domains]
        self.region = bits.integers(-(1 << 62), 1 << 62, len(problem.regions) + 1)[problem.regions.of]  # I1

    def keys(self, points: IntArray, levels: list[Level]) -> IntArray:
        """A number for every point, equal for points of one region that are read alike."""
        key = self.region[points].copy()
        codes = self.problem.points[points]
        for column, (level, mark) in enumerate(zip(levels, self.marks, strict=True)):
            code = codes[:, column]
            key += mark[level.lo[code]] * 3 + mark[level.hi[code]] * 7
        return key

    def visit(self, waiting: IntArray, levels: list[Level]) -> None:
        """Form groups in the cells of one combination of levels, of some points that wait."""
        if not len(waiting):
            return
        keys, owner = np.unique(self.keys(waiting, levels), return_inverse=True)
        lenders = np.flatnonzero(self.spare)
        lent = self.keys(lenders, levels)
        place = np.minimum(np.searchsorted(keys, lent), len(keys) - 1)
        inside = keys[place] == lent
        lenders, place = lenders[inside], place[inside]
        by_cell, by_place = np.argsort(owner, kind="stable"), np.argsort(place, kind="stable")
        mine = np.searchsorted(owner[by_cell], np.arange(len(keys) + 1))
        theirs = np.searchsorted(place[by_place], np.arange(len(keys) + 1))
        for cell in self.needs.promising(self, waiting, owner, len(keys), lenders, place).tolist():
            lending = lenders[by_place[theirs[cell] : theirs[cell + 1]]]
            self._form(waiting[by_cell[mine[cell] : mine[cell + 1]]], lending)

    def cells_at(self, points: IntArray) -> IntArray:
        """The cells with records at home in some points."""
        width = self.start[points + 1] - self.start[points]
        cells: IntArray = np.repeat(self.start[points], width) + positions_in_runs(width)
        return cells[self.home[cells] > 0]

    def _form(self, waiting: IntArray, lenders: IntArray) -> None:
        """A group of all people who waits in a cell and of as few borrowed records as it takes, if there are such
        (I2)."""
        own = self.cells_at(waiting)
        borrowed = self.needs.borrowed(self, own, lenders)
        if borrowed is None:
            return
        cells, counts = (
            np.concatenate([own, borrowed]),
            np.concatenate([self.home[own], np.ones(len(borrowed), dtype=np.int64)]),
        )
        self.home[own] = 0
        np.subtract.at(self.home, borrowed, 1)
        self.safe[waiting] = True
        self.made.append((cells, counts))
        self.needs.settle(self, np.unique(self.problem.cell_point[borrowed]))

    def adopt(self) -> None:
        """Merge the remaining records with whole groups of the region, the latest first: they cost most anyway (I3)."""
        self.waiting = self.waiting[~self.safe[self.waiting]]
        for region in np.unique(self.problem.regions.of[self.waiting]).tolist():
            waiting = self.waiting[self.problem.regions.of[self.waiting] == region]
            own = self.cells_at(waiting)
            cells, counts = own, self.home[own]
            self.home[own] = 0
            self.safe[waiting] = True
            others = self._others(region)
            while not self._holds(cells, counts):
                more, amounts = next(others)
                cells, counts = np.concatenate([cells, more]), np.concatenate([counts, amounts])
            self.made.append((cells, counts))
        self.waiting = self.waiting[:0]

    def _others(self, region: int) -> Iterator[tuple[IntArray, IntArray]]:
        """The groups of a region one by one, given up as they are asked for: formed ones from the last, then points."""
        mine = [n for n, (cells, _) in enumerate(self.made) if self._region_of(cells) == region]
        for n in reversed(mine):
            group = self.made[n]
            self.made[n] = (group[0][:0], group[1][:0])
            yield group
        for point in np.flatnonzero((self.problem.regions.of == region) & self.safe & ~self.problem.out):
            cells = self.cells_at(np.array([point]))
            counts = self.home[cells].copy()
            self.home[cells] = 0
            yield cells, counts

    def _region_of(self, cells: IntArray) -> int:
        return int(self.problem.regions.of[self.problem.cell_point[cells[0]]]) if len(cells) else -1

    def _holds(self, cells: IntArray, counts: IntArray) -> bool:
        return bool(self.claims.hold(Grouping(cells, np.zeros(len(cells), dtype=np.int64), counts))[0])

    def grouping(self) -> Grouping:
        """Everybody at home, and the groups."""
        stay = np.flatnonzero((self.home > 0) & ~self.problem.out[self.problem.cell_point])
        cells = np.concatenate([stay, *(cells for cells, _ in self.made)])
        group = [self.problem.cell_point[stay]]
        group += [np.full(len(cells), len(self.problem.points) + n) for n, (cells, _) in enumerate(self.made)]
        counts = np.concatenate([self.home[stay], *(counts for _, counts in self.made)])
        return normalize_grouping(cells, np.concatenate(group), counts)


class _Needs:
    """What the requirements ask of a group, as far as it can be counted; the models themselves have the last word."""

    def __init__(self, problem: RecodingProblem) -> None:
        demands = [(one.model.demand(), one) for one in problem.requirements]
        self.size = max((demand.fewest for demand, _ in demands), default=1)
        self.columns = [
            column.name for column in problem.sensitive if any(column.name in one.hide for _, one in demands)
        ]
        self.distinct = [
            max([d.distinct for d, one in demands if name in one.hide], default=0) for name in self.columns
        ]
        self.share = [
            min([d.largest_share for d, one in demands if name in one.hide], default=1.0) for name in self.columns
        ]
        self.sure = all(demand.sufficient for demand, _ in demands)
        self.values = [problem.cell_values[name].astype(np.int64) for name in self.columns]
        self.words = [1 + int(values.max(initial=0)) // 64 for values in self.values]
        self.masks = [_mask(problem, values, words) for values, words in zip(self.values, self.words, strict=True)]
        """Per column and point which values its records have."""

    def points_that_spare(self, board: _Board) -> BoolArray:
        """Safe points with more records than they need."""
        size = np.bincount(board.problem.cell_point, weights=board.home, minlength=len(board.problem.points))
        return board.safe & (size > self.size) & ~board.problem.out

    def settle(self, board: _Board, points: IntArray) -> None:
        """Points that lent a person may have nobody left to spare."""
        for point in points.tolist():
            cells = slice(board.start[point], board.start[point + 1])
            board.spare[point] = int(board.home[cells].sum()) > self.size

    def promising(
        self, board: _Board, waiting: IntArray, owner: IntArray, count: int, lenders: IntArray, place: IntArray
    ) -> IntArray:
        """Cells in which those who wait and those who could be borrowed have enough records and different values
        together."""
        problem = board.problem
        own = np.bincount(owner, weights=problem.counts[waiting], minlength=count)
        size = own + np.bincount(place, weights=problem.counts[lenders], minlength=count)
        fine = size >= self.size
        for mask, wanted in zip(self.masks, self.distinct, strict=True):
            seen = np.zeros((count, mask.shape[1]), dtype=np.uint64)
            np.bitwise_or.at(seen, owner, mask[waiting])
            np.bitwise_or.at(seen, place, mask[lenders])
            fine &= np.bitwise_count(seen).sum(axis=1) >= wanted
        return np.flatnonzero(fine)

    def borrowed(self, board: _Board, own: IntArray, lenders: IntArray) -> IntArray | None:
        """Cells of which one record each is borrowed so that everything holds; nothing when that cannot be had (I2)."""
        tally = [np.bincount(values[own], weights=board.home[own]) for values in self.values]
        counts = [dict(enumerate(some.astype(int).tolist())) for some in tally]
        counts = [{value: n for value, n in some.items() if n} for some in counts]
        size = int(board.home[own].sum())
        taken: list[int] = []
        lent: dict[int, int] = {}
        for cell in self._offers(board, own, lenders):
            if self._enough(size, counts):
                break
            if not self._helps(size, counts, cell) or not self._can_spare(board, cell, taken):
                continue
            taken.append(cell)
            lent[cell] = lent.get(cell, 0) + 1
            size += 1
            for some, values in zip(counts, self.values, strict=True):
                value = int(values[cell])
                some[value] = some.get(value, 0) + 1
        if not self._enough(size, counts):
            return None
        found = np.array(taken, dtype=np.int64)
        return found if self.sure or self._verified(board, own, found) else None

    def _offers(self, board: _Board, own: IntArray, lenders: IntArray) -> IntArray:
        """Cells to borrow from, values that nobody who waits has first."""
        cells = board.cells_at(lenders)
        if not self.values:
            return np.repeat(cells, np.minimum(board.home[cells], self.size))
        known = np.isin(self.values[0][cells], self.values[0][own])
        return np.concatenate([cells[~known], cells[known]])

    def _enough(self, size: int, counts: list[dict[int, int]]) -> bool:
        if size < self.size:
            return False
        return all(
            len(some) >= wanted and max(some.values(), default=0) <= share * size + 1e-9
            for some, wanted, share in zip(counts, self.distinct, self.share, strict=True)
        )

    def _helps(self, size: int, counts: list[dict[int, int]], cell: int) -> bool:
        """Whether one more record of a cell brings the group nearer to what is asked: a value that is new where one is
        missing."""
        if size < self.size and not self.values:
            return True
        for some, values, wanted in zip(counts, self.values, self.distinct, strict=True):
            if len(some) < wanted and int(values[cell]) in some:
                return False
        return True

    def _can_spare(self, board: _Board, cell: int, taken: list[int]) -> bool:
        """Whether the point of a cell stays safe when it lends one more record, as far as it can be counted."""
        point = int(board.problem.cell_point[cell])
        cells = np.arange(board.start[point], board.start[point + 1])
        home = board.home[cells].copy()
        for other in taken:
            if board.problem.cell_point[other] == point:
                home[other - board.start[point]] -= 1
        home[cell - board.start[point]] -= 1
        if home.min() < 0 or int(home.sum()) < self.size:
            return False
        for values, wanted, share in zip(self.values, self.distinct, self.share, strict=True):
            tally = np.bincount(values[cells], weights=home)
            if int((tally > 0).sum()) < wanted or tally.max() > share * home.sum() + 1e-9:
                return False
        return True

    def _verified(self, board: _Board, own: IntArray, borrowed: IntArray) -> bool:
        """Whether the models hold in the group and in every point that lent a person."""
        points = np.unique(board.problem.cell_point[borrowed])
        left = board.home.copy()
        np.subtract.at(left, borrowed, 1)
        parts = [
            (np.concatenate([own, borrowed]), np.concatenate([board.home[own], np.ones(len(borrowed), dtype=np.int64)]))
        ]
        parts += [(cells, left[cells]) for point in points for cells in [board.cells_at(np.array([point]))]]
        cells = np.concatenate([cells for cells, _ in parts])
        groups = np.repeat(np.arange(len(parts)), [len(cells) for cells, _ in parts])
        counts = np.concatenate([counts for _, counts in parts])
        kept = counts > 0
        return bool(board.claims.hold(Grouping(cells[kept], groups[kept], counts[kept])).all())


def _mask(problem: RecodingProblem, values: IntArray, words: int) -> np.ndarray:
    """Per point the set of its values as bits."""
    mask = np.zeros((len(problem.points), words), dtype=np.uint64)
    word, bit = values // 64, np.uint64(1) << (values % 64).astype(np.uint64)
    for one in range(words):
        mine = word == one
        np.bitwise_or.at(mask[:, one], problem.cell_point[mine], bit[mine])
    return mask
