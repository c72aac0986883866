"""Buckets for one hidden column under any set of models: as many as the models allow.

Guarantee
    Every bucket satisfies every model, and so does every mixture of buckets (the models are monotone).

Invariants
    I1  The number of buckets starts where the largest level puts it and falls until all models hold; one bucket of everybody is
        the last resort, and was checked before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.linkage import Linkage
from sfumato.data.table import TextColumn
from sfumato.methods.subtables.buckets import spread
from sfumato.methods.subtables.people_apart import BucketsApart, too_large_a_part
from sfumato.models.base import Model
from sfumato.randomness import Randomness

_ATTEMPTS = 200


def least_rows(model: Model) -> int:
    """A bucket with fewer rows than this cannot satisfy the model."""
    return max(2, model.demand().fewest)


def buckets_for(
    models: Sequence[Model], name: str, text: TextColumn, randomness: Randomness, apart: BucketsApart | None = None
) -> IntArray:
    """A bucket for every row of the hidden column `name`; where rows are people's, with nobody in too large a part of one."""
    ranks = np.argsort(np.argsort(np.array(text.labels, dtype=str), kind="stable"), kind="stable")
    codes = ranks[text.codes]  # neighbours in the deal are neighbours in meaning, and nothing depends on the order of the data
    for attempt, buckets in enumerate(bucket_numbers(models, len(codes))):
        dealt = spread(codes, buckets, randomness.child(attempt))
        seen = Linkage.of_groups(dealt, {name: (text.codes, text.labels)})
        if all(model.satisfied(seen).all() for model in models):
            traded = dealt if apart is None else apart.traded(dealt, randomness.child(f"people {attempt}"))
            if traded is not None:
                return traded
    everybody = np.zeros(len(codes), dtype=np.int64)
    if apart is not None and apart.broken(everybody).any():
        raise too_large_a_part()
    return everybody


def bucket_numbers(models: Sequence[Model], records: int) -> Iterator[int]:
    """Numbers of buckets to try, the largest first; after the last one only a bucket of everybody is left (I1)."""
    buckets = max(1, records // max((least_rows(model) for model in models), default=2))
    for _ in range(_ATTEMPTS):
        if buckets == 1:
            return
        yield buckets
        buckets = buckets * 7 // 8


def bucket_size(models: Sequence[Model]) -> float:
    """The size of bucket that the levels point to, for choosing a schema before anything is dealt."""
    return float(max((least_rows(model) for model in models), default=2))
