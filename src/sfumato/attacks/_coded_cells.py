"""Columns of whole numbers that are joined, projected and counted: the little relational algebra that an attack needs.

>>> left, right = CodedCells({"a": [0, 0, 1], "b": [5, 6, 7]}), CodedCells({"a": [0, 1], "c": [8, 9]})
>>> left.join(right, ["a"]).rows()
[(0, 5, 8), (0, 6, 8), (1, 7, 9)]
>>> CodedCells({"a": [2, 1, 2]}).distinct().rows()
[(1,), (2,)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.data.arrays import IntArray, places_within


class CodedCells:
    """Rows of codes under named columns, all of one length."""

    def __init__(self, columns: Mapping[str, ArrayLike]) -> None:
        self.columns: dict[str, IntArray] = {name: np.asarray(values, dtype=np.int64) for name, values in columns.items()}

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def rows(self) -> list[tuple[int, ...]]:
        return list(zip(*(values.tolist() for values in self.columns.values()), strict=True))

    def where(self, chosen: Any) -> CodedCells:
        """Some rows, by number or by truth."""
        return CodedCells({name: values[chosen] for name, values in self.columns.items()})

    def select(self, names: Sequence[str]) -> CodedCells:
        return CodedCells({name: self.columns[name] for name in names})

    def without(self, name: str) -> CodedCells:
        return self.select([other for other in self.columns if other != name])

    def shared(self, other: CodedCells) -> list[str]:
        """The columns that both have."""
        return [name for name in other.columns if name in self.columns]

    def numbered(self, names: Sequence[str]) -> IntArray:
        """The rank of each row's codes in these columns among the distinct ones."""
        rank = np.zeros(len(self), dtype=np.int64)
        for name in names:
            _, code = np.unique(self.columns[name], return_inverse=True)
            _, rank = np.unique(rank * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
        return rank

    def distinct(self) -> CodedCells:
        """Every row once, in the order of its codes."""
        _, first = np.unique(self.numbered(list(self.columns)), return_index=True)
        return self.where(first)

    def _meeting(self, other: CodedCells, on: Sequence[str]) -> tuple[IntArray, IntArray, IntArray]:
        """Rows of `other` sorted by their codes in `on`, and the stretch of them that each row here meets."""
        both = CodedCells({name: np.concatenate([self.columns[name], other.columns[name]]) for name in on}).numbered(on)
        mine, theirs = both[: len(self)], both[len(self) :]
        order = np.argsort(theirs, kind="stable")
        return order, np.searchsorted(theirs[order], mine, "left"), np.searchsorted(theirs[order], mine, "right")

    def join_size(self, other: CodedCells, on: Sequence[str]) -> int:
        """How many rows the join will have."""
        _, first, end = self._meeting(other, on)
        return int((end - first).sum())

    def join(self, other: CodedCells, on: Sequence[str]) -> CodedCells:
        """All pairs of rows that agree in `on`."""
        order, first, end = self._meeting(other, on)
        many = end - first
        mine = np.repeat(np.arange(len(self)), many)
        within = places_within(many)
        theirs = order[np.repeat(first, many) + within]
        fresh = {name: values[theirs] for name, values in other.columns.items() if name not in self.columns}
        return CodedCells({**self.where(mine).columns, **fresh})
