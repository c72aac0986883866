"""What is published about a set-valued record: a base set, the items that may differ, and how many of them at most.

Each published record stands for every set that differs from its base only in doubtful items and in at most `threshold` of
them: its possible worlds. The original record is one of them.

Paper
    [multitype 3.4, 3.5]: base characteristic vector r', distance bitmap d, distance threshold t.
Notation
    base ~ r', doubt ~ d (as the set of its ones), threshold ~ t.

>>> published = PublishedBaskets.of([["jogging", "swimming"]], [["tennis", "soccer"]], [1])
>>> sorted(sorted(world) for world in published.possible(0))
[['jogging', 'soccer', 'swimming'], ['jogging', 'swimming'], ['jogging', 'swimming', 'tennis']]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.baskets import Baskets
from sfumato.data.sets import Sets

WITHHELD = ""


@dataclass(frozen=True, slots=True, eq=False)
class PublishedBaskets:
    """Published records over the item `names`; a label that was withheld is the empty text."""

    base: Sets
    doubt: Sets
    threshold: NDArray[np.int64]
    names: tuple[str, ...]
    labels: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        base: Sequence[Sequence[str]],
        doubt: Sequence[Sequence[str]],
        threshold: Sequence[int],
        labels: Mapping[str, Sequence[str]] | None = None,
        names: Sequence[str] = (),
    ) -> PublishedBaskets:
        """From rows of item names, as a reader of the published file sees them."""
        both = Baskets.of([*base, *doubt], names=names)
        half = len(base)
        columns = {name: np.array(list(column), dtype=object) for name, column in (labels or {}).items()}
        first, second = both.sets.take(np.arange(half)), both.sets.take(np.arange(half, len(both)))
        return cls(first, second, np.asarray(threshold, dtype=np.int64), both.names, columns)

    def __len__(self) -> int:
        return len(self.base)

    def take(self, rows: Sequence[int] | NDArray[Any]) -> PublishedBaskets:
        chosen = np.asarray(rows, dtype=np.int64)
        columns = {name: column[chosen] for name, column in self.labels.items()}
        return PublishedBaskets(self.base.take(chosen), self.doubt.take(chosen), self.threshold[chosen], self.names, columns)

    def possible(self, record: int) -> Iterator[frozenset[str]]:
        """Every set the published record may stand for; exponential in the threshold, for small examples and tests."""
        base = {self.names[item] for item in self.base.row(record)}
        doubt = [self.names[item] for item in self.doubt.row(record)]
        for size in range(int(self.threshold[record]) + 1):
            for changed in combinations(doubt, size):
                yield frozenset(base.symmetric_difference(changed))
