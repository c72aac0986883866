"""Records drawn and drawn again until they are legal: for conditions that no closed form covers.

Guarantee
    Every record is uniform among its legal ones: a draw is taken exactly when it obeys the conditions. With `unique` a draw is
    taken only when no earlier record has it, which is uniform among all tables without repetition.

Cost: one over the share of legal records; parts with fewer than one legal record in a thousand are left to the solver.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling.engines import NewColumn
from sfumato.methods.replacing.sampling.legal import legal
from sfumato.methods.replacing.sampling.levels import Levels
from sfumato.methods.replacing.sampling.problem import Clause, RulePart, SamplingProblem
from sfumato.methods.replacing.sampling.spaces import LegalSpace, Product, Records, derived, draw
from sfumato.methods.replacing.sampling.vectors import Vector, holds
from sfumato.policy.rules import columns_of
from sfumato.policy.rules.tree import ColumnValue, Condition
from sfumato.randomness import Randomness

_TRIAL, _LEAST = 4_096, 5
_ROUNDS, _AT_ONCE, _WIDEST, _FIRST = 400, 200_000, 512, 8


class Rejected:
    """Draws from the columns' own domains, taken when they are legal."""

    name = "draws until legal"
    uniform = True

    def __init__(self, problem: SamplingProblem, part: RulePart, space: Product, levels: dict[ColumnValue, Levels]) -> None:
        self.problem, self.part, self.space, self.levels = problem, part, space, levels
        self.conditions: list[Condition] = []
        self.keys: list[tuple[ColumnValue, ...]] = []
        self.count = problem.source(part.columns[0]).count
        self.reads_original = False

    @classmethod
    def made(
        cls, problem: SamplingProblem, part: RulePart, conditions: list[Condition], uniques: Sequence[Clause] = ()
    ) -> Rejected | None:
        """The engine, when enough draws are legal; None when they are too rare, or columns of several tables meet."""
        mentioned = {column for condition in conditions for column in columns_of(condition)}
        if len({column.table for column in (*part.columns, *mentioned)}) > 1:
            return None
        found = cls(problem, part, *_proposals(problem, part, conditions))
        found.conditions = conditions
        found.keys = [tuple(clause.body.columns) for clause in uniques]  # type: ignore[union-attr]
        found.reads_original = any(column.original for column in mentioned)
        return found if not found.count or found._promising() else None

    def _promising(self) -> bool:
        key = hashlib.sha256(b"trial").digest()[:16]
        rows = np.arange(_TRIAL, dtype=np.int64)
        return int(self._legal(self._drawn(key, rows), rows % self.count).sum()) >= _LEAST

    def _drawn(self, key: bytes, numbers: IntArray) -> Records:
        return draw(self.space, key, numbers)

    def _legal(self, codes: Records, rows: IntArray) -> BoolArray:
        """Which draws are legal for the records they are meant for."""
        table: dict[ColumnValue, Vector] = {column: self.levels[column].vector(own) for column, own in codes.items()}
        for condition in self.conditions:
            for column in columns_of(condition):
                if column not in table:
                    table[column] = self.problem.given(column).at(rows)
        mask = np.ones(len(rows), dtype=bool)
        for condition in self.conditions:
            mask &= np.broadcast_to(holds(condition, table), (len(rows),))
        return mask

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        key = random.bytes(16)
        placed: Records = {column: np.zeros(self.count, dtype=object) for column in self.part.columns}
        pending = np.arange(self.count, dtype=np.int64)
        seen: list[set[tuple[object, ...]]] = [set() for _ in self.keys]
        for turn in range(_ROUNDS):
            if not len(pending):
                break
            pending = self._turn(derived(key, turn), pending, placed, seen)
        if len(pending):
            named = " and ".join(f'"{rule}"' for rule in self.part.rules)
            what = f"{len(pending)} records found no legal value in {_ROUNDS} rounds"
            raise Infeasible(what, where=f"rule {named}", hint="relax a rule or widen a domain")
        return {column: NewColumn(self.levels[column], _narrow(codes)) for column, codes in placed.items()}

    def _turn(self, key: bytes, pending: IntArray, placed: Records, seen: list[set[tuple[object, ...]]]) -> IntArray:
        times = min(_WIDEST, max(1, _AT_ONCE // len(pending)))
        if not self.keys:
            return self._first(key, pending, times, placed)
        rows = np.repeat(pending, times)
        codes = self._drawn(key, np.arange(len(rows), dtype=np.int64))
        return self._apart(codes, rows, np.flatnonzero(self._legal(codes, rows)), pending, placed, seen)

    def _first(self, key: bytes, pending: IntArray, times: int, placed: Records) -> IntArray:
        """The first legal one of every record's draws; later ones are made for those that have none yet."""
        left, begin = np.arange(len(pending), dtype=np.int64), 0
        while len(left) and begin < times:
            end = min(times, max(_FIRST, 4 * begin))
            rows = np.repeat(pending[left], end - begin)
            codes = self._drawn(key, (left[:, None] * times + np.arange(begin, end)).ravel())
            good = np.flatnonzero(self._legal(codes, rows))
            taken, first = np.unique(rows[good], return_index=True)
            for column, own in codes.items():
                placed[column][taken] = own[good[first]]
            left, begin = left[~np.isin(pending[left], taken)], end
        return pending[left]

    def _apart(
        self,
        codes: Records,
        rows: IntArray,
        good: IntArray,
        pending: IntArray,
        placed: Records,
        seen: list[set[tuple[object, ...]]],
    ) -> IntArray:
        """One draw after the other: taken when its record has none yet and no other record has its values."""
        done: set[int] = set()
        for place in good.tolist():
            row = int(rows[place])
            if row in done:
                continue
            own = [tuple(self._part_of(codes, column, place, row) for column in key) for key in self.keys]
            if any(one in before for one, before in zip(own, seen, strict=True)):
                continue
            done.add(row)
            for one, before in zip(own, seen, strict=True):
                before.add(one)
            for column, values in codes.items():
                placed[column][row] = values[place]
        return np.array([row for row in pending.tolist() if row not in done], dtype=np.int64)

    def _part_of(self, codes: Records, column: ColumnValue, place: int, row: int) -> object:
        return int(codes[column][place]) if column in codes else str(self.problem.given(column).as_text()[row])


def _proposals(problem: SamplingProblem, part: RulePart, conditions: list[Condition]) -> tuple[Product, dict[ColumnValue, Levels]]:
    """Every column under the conditions on it alone, as far as these have a closed form."""
    factors: list[LegalSpace] = []
    levels: dict[ColumnValue, Levels] = {}
    for column in part.columns:
        own = [condition for condition in conditions if set(columns_of(condition)) == {column}]
        numbering = {column: problem.levels(column)}
        found = legal(numbering, own, {}) or legal(numbering, [], {})
        assert found is not None
        if found.space.size == 0:
            named = " and ".join(f'"{rule}"' for rule in part.rules)
            raise Infeasible(f"no value of '{column}' obeys {named}", where="keep", hint="relax a rule or widen the domain")
        factors += found.space.factors
        levels |= found.levels
    return Product(tuple(factors)), levels


def _narrow(codes: IntArray) -> IntArray:
    """Plain integers where they fit."""
    return codes.astype(np.int64) if not len(codes) or int(max(codes)) < 1 << 62 else codes
