"""The distinct values of a column, each with the row in which it stood first: errors name the row, never the value.

>>> import numpy as np
>>> ages = Labels.coded(("30", "", "x"), np.array([0, 0, 1, 2]))
>>> row_of(ages, "x"), row_of(ages.without(""), "x"), row_of(["30", "x"], "x")
(4, 4, None)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Labels(tuple[str, ...]):
    """A tuple of distinct values that knows the codes of the rows it came from."""

    _codes: NDArray[Any] = np.empty(0, dtype=np.int32)
    _source: Sequence[str] = ()
    _texts: Any = None

    @classmethod
    def coded(cls, labels: Iterable[str], codes: NDArray[Any], texts: Any = None) -> Labels:
        """Labels whose place in the tuple is their code; `texts` are the same as an Arrow array, where there is one."""
        found = cls(labels)
        found._codes, found._source, found._texts = codes, tuple(found), texts
        return found

    def without(self, label: str) -> Labels:
        """The other labels; they still know their rows."""
        found = Labels(other for other in self if other != label)
        found._codes, found._source = self._codes, self._source
        return found

    def row(self, label: str) -> int | None:
        """The first row with this label, counted from 1."""
        rows = np.flatnonzero(self._codes == self._source.index(label)) if label in self._source else np.empty(0)
        return int(rows[0]) + 1 if len(rows) else None


def texts_of(values: Sequence[str] | NDArray[Any]) -> Any:
    """The values as an Arrow array of texts; labels that came from one are not written again."""
    kept = values._texts if isinstance(values, Labels) else None
    return kept if kept is not None else pa.array(values, pa.string())


def row_of(values: Sequence[str], value: str) -> int | None:
    """The first row that holds `value`, when the values know their rows."""
    return values.row(value) if isinstance(values, Labels) else None


def without(values: Sequence[str], label: str) -> Sequence[str]:
    """The other values, with their rows when these are known."""
    return values.without(label) if isinstance(values, Labels) else [value for value in values if value != label]
