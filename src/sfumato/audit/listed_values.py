"""The hidden values that a table of buckets lists: which bucket, which value, how often."""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.table import Table
from sfumato.errors import DataError


def listed_values(counts: Table, number: dict[str, int]) -> tuple[IntArray, IntArray, IntArray]:
    """Bucket, code of the value and count of every entry of a table of hidden values."""
    text = counts.text("bucket")
    if any(label not in number for label in text.labels):
        raise DataError("the sensitive table lists buckets that no row belongs to")
    code = np.array([number[label] for label in text.labels], dtype=np.int64)
    try:
        weight = np.array([int(label) for label in counts.text("count").labels], dtype=np.int64)[counts.text("count").codes]
    except ValueError:
        raise DataError("a count of the sensitive table is no number") from None
    if (weight <= 0).any():
        raise DataError("a count of the sensitive table is not positive")
    weight = weight if counts.counts is None else weight * counts.counts
    return code[text.codes], counts.text("value").codes.astype(np.int64), weight
