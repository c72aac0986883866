"""Entropy loss: how many bits about an original cell a reader of the release still lacks, on average.

A cell with original value a published as a set B costs −log₂ P(a | B), with P from the original column; a suppressed record is
published as everything. The sum needs no matching of rows to records: it is Σ log₂ n(B) over published cells minus Σ log₂ n(a)
over original ones, where n counts original records.

Paper: the entropy measure (EM) of Gionis and Tassa, used in [sequential §7].
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.generalization import Generalization
from sfumato.data.table import TextColumn
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit


class EntropyLoss(Metric):
    """Bits that a reader lacks about an original cell, on average."""

    name: ClassVar[str] = "entropy_loss"
    on_classes: ClassVar[bool] = True
    range: ClassVar[str] = "0 … log₂ of the records"
    paper: ClassVar[str] = "sequential §7"

    def measure(self, exhibit: Exhibit) -> float:
        bits = 0.0
        for name, domain in exhibit.recoded.items():
            original = exhibit.original.text(name)
            counts = _leaf_counts(domain, original)
            below = np.concatenate([[0.0], np.cumsum(counts)])
            lo, hi = exhibit.intervals(name)
            published = exhibit.data.text(name).counts()
            bits += float(np.log2(np.maximum(below[hi] - below[lo], 1.0)) @ published) * exhibit.share_of_people
            bits += exhibit.suppressed * np.log2(exhibit.inputs)
            bits -= float(original.counts() @ np.log2(original.counts()))
        return max(bits, 0.0) / (exhibit.inputs * max(len(exhibit.recoded), 1))


def _leaf_counts(domain: Generalization, original: TextColumn) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    counts = np.zeros(domain.size)
    for label, count in zip(original.labels, original.counts(), strict=True):
        counts[domain.code_of[label]] += count
    return counts
