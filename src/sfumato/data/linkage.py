"""`Linkage`: for every person, how many published candidates an adversary is left with and how sensitive values spread
over them.

> A release is safe when, for every person, the candidates an adversary is left with are many and varied enough.

People the adversary cannot tell apart are one *kind* with a count. A reading turns published parts into a `Linkage`; a
model is a predicate on it.

Notation
    kind        people with the same candidates
    people      how many people are of each kind
    candidates  how many published records (or rows, or combinations) each of them may stand behind
    spread      per sensitive column, the weight of each value among those candidates (rows of a sparse matrix)

>>> import numpy as np
>>> link = Linkage.of_groups(np.array([0, 0, 0, 1, 1]), {"illness": (np.array([0, 1, 1, 2, 2]), ("flu", "gout",
...     "cold"))})
>>> link.candidates.tolist(), link.spread["illness"].distinct().tolist(), link.spread["illness"].largest().tolist()
([3, 2], [2, 1], [2, 2])
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.data.equivalence_classes import class_counts


@dataclass(frozen=True, slots=True)
class ValueDistribution:
    """How the values of one sensitive column spread over the candidates of each kind: a sparse matrix kind × value."""

    start: IntArray
    """Entries of kind i are ``start[i]:start[i + 1]``; every kind has at least one."""
    value: IntArray
    weight: NDArray[Any]
    """Counts, or shares of counts where a person is a mixture; always positive."""
    labels: tuple[str, ...]
    whole: IntArray | None = None
    """How many candidates each kind has, where one of them may have several values; else the sum of the weights."""
    compared: FloatArray | None = None
    """The share of every value in what kinds are compared with, where that is not all kinds together."""

    @classmethod
    def count(
        cls,
        kind: IntArray,
        value: NDArray[np.integer],
        kinds: int,
        labels: tuple[str, ...],
        weight: IntArray | None = None,
    ) -> ValueDistribution:
        """Count (kind, value) pairs, each with a weight (1 when absent)."""
        width = max(len(labels), 1)
        key = kind * width
        key += value
        if kinds * width <= 4 * len(key) + 1024:
            totals = np.bincount(key, weights=weight, minlength=kinds * width)
            del key
            pairs = np.flatnonzero(totals)
            weights = totals[pairs].astype(np.int64)
        else:
            pairs, inverse = np.unique(key, return_inverse=True)
            weights = np.bincount(inverse, weights=weight, minlength=len(pairs)).astype(np.int64)
        start = np.searchsorted(pairs, np.arange(kinds + 1) * width).astype(np.int64)
        return cls(start, (pairs % width).astype(np.int64), weights, labels)

    @property
    def kinds(self) -> int:
        return len(self.start) - 1

    def distinct(self) -> IntArray:
        """Different values among the candidates of each kind."""
        return np.diff(self.start)

    def total(self) -> NDArray[Any]:
        if self.whole is not None:
            return self.whole
        return (
            np.add.reduceat(self.weight, self.start[:-1]) if len(self.weight) else np.zeros(self.kinds, dtype=np.int64)
        )

    def largest(self) -> NDArray[Any]:
        """Weight of the most frequent value of each kind."""
        return (
            np.maximum.reduceat(self.weight, self.start[:-1])
            if len(self.weight)
            else np.zeros(self.kinds, dtype=np.int64)
        )

    def kind(self) -> IntArray:
        """The kind of each entry."""
        return np.repeat(np.arange(self.kinds), self.distinct())

    def shares(self) -> FloatArray:
        """Weight of each entry over the total of its kind."""
        shares: FloatArray = self.weight / np.repeat(self.total(), self.distinct())
        return shares

    def overall(self) -> FloatArray:
        """The share of every value in what kinds are compared with: all of them together, unless something else is
        said."""
        if self.compared is not None:
            return self.compared
        totals = np.bincount(self.value, weights=self.weight, minlength=len(self.labels))
        shares: FloatArray = totals / max(totals.sum(), 1)
        return shares

    def against(self, counts: Mapping[str, float]) -> ValueDistribution:
        """Return the same distribution, compared with these counts of values.

        >>> one = ValueDistribution.count(np.zeros(2, dtype=np.int64), np.array([0, 0]), 1, ("flu",))
        >>> one.against({"gout": 1, "flu": 3}).labels, one.against({"gout": 1, "flu": 3}).overall().tolist()
        (('flu', 'gout'), [0.75, 0.25])
        """
        labels = (*self.labels, *(label for label in counts if label not in self.labels))
        whole = math.fsum(counts.values())
        return replace(self, labels=labels, compared=np.array([counts.get(label, 0) / whole for label in labels]))


@dataclass(frozen=True, slots=True)
class Linkage:
    """What an adversary is left with, for every kind of person."""

    people: IntArray
    candidates: IntArray
    spread: Mapping[str, ValueDistribution] = field(default_factory=dict)
    note: str = ""
    """How candidates were found, when that is worth a word in the certificate."""

    @classmethod
    def of_groups(
        cls,
        group: IntArray,
        sensitive: Mapping[str, tuple[NDArray[np.integer], tuple[str, ...]]],
        weights: IntArray | None = None,
    ) -> Linkage:
        """Everybody's candidates are the records of the own group: rows with the same published tuple, with counts."""
        counts = class_counts(group, weights, 0)
        spread = {
            name: ValueDistribution.count(group, codes, len(counts), labels, weights)
            for name, (codes, labels) in sensitive.items()
        }
        return cls(counts, counts, spread)
