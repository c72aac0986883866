"""People in buckets: rows trade places until nobody has too large a part of a bucket.

Rows with the same hidden values trade places, so every bucket keeps its values, and whatever claims ask of values stays true.

Notation
    n, f    rows of a bucket, and how many of its listed values are one value
    M       rows of a bucket that could be one person's: with the given values of a row of the person, and no more than there are

Guarantee: f + M ≤ n in every bucket, so nobody certainly has a value; where a share is asked for M ≤ 1, so that the people of a
bucket are its rows.

Invariants
    I1  Who trades with whom is drawn by chance among equals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.people import most_in_buckets, people_of
from sfumato.data.table import Table, TextColumn
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.randomness import Randomness

_TURNS = 60


class BucketsApart:
    """What claims ask of people in buckets."""

    def __init__(self, policy: Policy, table: Table, hidden: dict[str, TextColumn]) -> None:
        assert policy.person is not None
        self.person = people_of(table, policy.person.unit)
        self.claims: Sequence[Claim] = policy.claims
        self.hidden = hidden
        self.alike = [group([table.text(name).codes for name in claim.given], rows=table.rows).of for claim in self.claims]
        self.profile = group([text.codes for text in hidden.values()]).of

    def broken(self, bucket: IntArray) -> BoolArray:
        """Buckets in which somebody has too large a part."""
        rows = np.bincount(bucket)
        verdict = np.zeros(len(rows), dtype=np.bool_)
        for claim, alike in zip(self.claims, self.alike, strict=True):
            most = most_in_buckets(bucket, alike, self.person, alike)
            for name in claim.hide:
                pairs = group([bucket, self.hidden[name].codes])
                frequent = np.zeros(len(rows), dtype=np.int64)
                np.maximum.at(frequent, bucket[pairs.first], pairs.counts)
                verdict |= frequent + most > rows
            if claim.model.demand().largest_share < 1:
                verdict |= most > 1
        return verdict

    def traded(self, bucket: IntArray, randomness: Randomness) -> IntArray | None:
        """The buckets after trades that make everything hold; nothing when some turns were not enough (I1)."""
        order = np.argsort(self.profile, kind="stable")
        start = np.searchsorted(self.profile[order], np.arange(int(self.profile.max(initial=0)) + 2))
        for turn in range(_TURNS):
            broken = self.broken(bucket)
            if not broken.any():
                return bucket
            chance = randomness.child(f"trade {turn}")
            mixed = chance.permutation(len(bucket))
            inside = mixed[broken[bucket[mixed]]]
            leaving = inside[np.unique(bucket[inside], return_index=True)[1]]
            first = start[self.profile[leaving]]
            width = start[self.profile[leaving] + 1] - first
            coming = order[first + chance.child("with").below(width)]
            bucket = bucket.copy()
            for one, other in zip(leaving.tolist(), coming.tolist(), strict=True):
                bucket[one], bucket[other] = bucket[other], bucket[one]
        return None
