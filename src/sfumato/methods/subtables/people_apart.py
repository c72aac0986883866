"""People in buckets: rows trade places until nobody has too large a part of a bucket.

Rows with the same hidden values trade places, so every bucket keeps its values, and whatever claims ask of values stays true.

Notation
    n, f    rows of a bucket, and how many of its listed values are one value
    M       rows of a bucket that could be one person's: with the given values of a row of the person, and no more than there are

Guarantee: f + M ≤ n in every bucket, so nobody certainly has a value; where a share is asked for, a value is had by one of M rows
with at most that: 1 − C(n−f, M) / C(n, M). In sub-tables that is enough where a table's buckets may be dealt anew without another
table telling (`decomposition.trading`); other schemas are not made.

Invariants
    I1  Who trades with whom is drawn by chance among equals.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.people import most_in_buckets, people_of, too_sure
from sfumato.data.table import Table, TextColumn
from sfumato.decomposition.guardian import SubTable
from sfumato.decomposition.trading import ALONE, trading_table
from sfumato.errors import Infeasible
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.randomness import Randomness

_TURNS = 60


@dataclass(frozen=True, slots=True)
class AskedOfPeople:
    """What a claim asks of a hidden column: the kind of every row by what is known of it, and the largest share."""

    alike: IntArray
    hidden: str
    share: float


def asked_by(claims: Sequence[Claim], table: Table, shown: Collection[str], hidden: Collection[str]) -> list[AskedOfPeople]:
    """What claims ask of the people of a table that shows some columns and hides others."""
    found = []
    for claim in claims:
        known = [name for name in claim.given if name in shown]
        alike = group([table.text(name).codes for name in known], rows=table.rows).of
        found += [AskedOfPeople(alike, name, claim.model.demand().largest_share) for name in claim.hide if name in hidden]
    return found


class BucketsApart:
    """What claims ask of people in buckets."""

    def __init__(self, policy: Policy, table: Table, hidden: Mapping[str, TextColumn], shown: Collection[str]) -> None:
        assert policy.person is not None
        self.person = people_of(table, policy.person.unit)
        self.hidden = hidden
        self.asked = asked_by(policy.claims, table, shown, hidden)
        self.profile = group([text.codes for text in hidden.values()]).of

    def broken(self, bucket: IntArray) -> BoolArray:
        """Buckets in which somebody has too large a part; −1 are rows whose values are withheld."""
        rows, here = np.bincount(bucket[bucket >= 0]), bucket >= 0
        verdict = np.zeros(len(rows), dtype=np.bool_)
        for asked in self.asked:
            most = most_in_buckets(bucket[here], asked.alike[here], self.person, asked.alike)
            pairs = group([bucket[here], self.hidden[asked.hidden].codes[here]])
            frequent = np.zeros(len(rows), dtype=np.int64)
            np.maximum.at(frequent, bucket[here][pairs.first], pairs.counts)
            verdict |= too_sure(rows, frequent, most, asked.share)
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
            inside = mixed[(bucket[mixed] >= 0) & broken[bucket[mixed]]]
            leaving = inside[np.unique(bucket[inside], return_index=True)[1]]
            first = start[self.profile[leaving]]
            width = start[self.profile[leaving] + 1] - first
            coming = order[first + chance.child("with").below(width)]
            bucket = bucket.copy()
            for one, other in zip(leaving.tolist(), coming.tolist(), strict=True):
                bucket[one], bucket[other] = bucket[other], bucket[one]
        return None


def require_apart(policy: Policy, table: Table, tables: Sequence[SubTable]) -> None:
    """Refuses a column that is published apart from what is known while somebody has too many rows, or too many people a value."""
    assert policy.person is not None
    sides = [(one.visible, one.guarded) if one.visible or len(one.guarded) > 1 else (one.columns, frozenset()) for one in tables]
    person = people_of(table, policy.person.unit)
    for claim in policy.claims:
        for name in claim.hide if not claim.composite else ():
            if name in policy.published and trading_table(sides, claim.given, name) == ALONE:
                _require_alone(table.text(name), person, claim.model.demand().largest_share)


def _require_alone(text: TextColumn, person: IntArray, share: float) -> None:
    """All rows are one class: nobody certainly has a value, and no value is had by more than a share of the people."""
    once = group([person, text.codes]).first
    having = int(np.bincount(text.codes[once]).max(initial=0))
    most = int(np.bincount(person).max(initial=1))
    if int(text.counts().max(initial=0)) + most > len(person) or having > share * (int(person.max(initial=-1)) + 1) + 1e-9:
        raise too_large_a_part()


def too_large_a_part() -> Infeasible:
    """What is said when no buckets keep people apart."""
    hint = "ask for less, or leave rows of people with very many out"
    return Infeasible("somebody has too large a part of every bucket that could be made", where="person", hint=hint)
