"""`multi-sensitive`: one table in which every hidden column is protected from whoever knows all other columns.

Guarantee: stronger than the rules ask (every hidden column is hidden from everything else), which costs utility.
Paper: [versatile App. B], a baseline. The algorithm stands in ``_joint_buckets.py``.
Departures: rows that fit into no bucket keep their visible columns and have their hidden values withheld (bucket ``*``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from sfumato.data.arrays import IntArray
from sfumato.decomposition.guardian import SubTable
from sfumato.decomposition.privacy_rules import PrivacyRule, listed
from sfumato.errors import Infeasible
from sfumato.methods.base import Task
from sfumato.methods.subtables.base import Hidden, SubTableMethod
from sfumato.methods.subtables.bucketizing import least_rows
from sfumato.methods.subtables.coloring import guarded_table
from sfumato.methods.subtables.joint_buckets import joint_buckets
from sfumato.methods.subtables.people_apart import BucketsApart, too_large_a_part
from sfumato.models.base import Model, crowd
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy


class MultiSensitive(SubTableMethod):
    """One table that hides every right side from all other columns at once; a baseline by integer programming."""

    name: ClassVar[str] = "multi-sensitive"
    paper: ClassVar[str] = "versatile App. B"
    on_classes: ClassVar[bool] = False

    grids: int = Field(default=0, ge=0, description="cut what fits into so many kinds of small buckets (0: as the paper does)")

    def refusal_of_inner(self, policy: Policy) -> str:
        return "" if self.inner == "anatomy" else "several hidden columns need buckets (inner: anatomy)"

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return _kept_by_different_values(claim.model) and super().enforces(claim, policy)

    def rows_for(self, policy: Policy) -> str:
        return "rows are dealt to buckets by several hidden columns at once, and some have theirs withheld, which is done on rows"

    def decompose(self, units: Sequence[str], rules: Sequence[PrivacyRule], guardable: set[str], data: Hidden) -> list[SubTable]:
        hidden = {each.hidden for each in rules}
        if tied := hidden - guardable:
            what = f"outside knowledge ties {listed(tied)} to other columns of the same table"
            raise Infeasible(what, hint="use utility-aware, which separates them")
        return [guarded_table(units, hidden, rules)]

    def refusal_of_people(self, policy: Policy) -> str:
        hidden = {name for claim in policy.claims for name in claim.hide}
        known = sorted(name for claim in policy.claims for name in claim.given if name in hidden)
        if policy.person is not None and known:
            return f"'{known[0]}' is hidden in the buckets of the one table and known to somebody: use utility-aware or guardian"
        return super().refusal_of_people(policy)

    def buckets(self, hidden: Sequence[str], data: Hidden, task: Task, people: BucketsApart | None = None) -> IntArray:
        if len(hidden) == 1:
            return super().buckets(hidden, data, task, people)
        levels = [float(max(math.ceil(least_rows(model)) for model in data.asked(name))) for name in hidden]
        codes = [data.table.text(name).codes.astype(np.int64) for name in hidden]
        dealt = joint_buckets(codes, levels, task.randomness.child("buckets"), self.grids)
        if (dealt < 0).all():
            raise Infeasible(
                f"no group of records keeps {listed(hidden)} diverse for whoever knows the others",
                hint="lower the levels, or use utility-aware, which hides them in different tables",
            )
        return dealt if people is None else _apart(dealt, people, task)


def _apart(dealt: IntArray, people: BucketsApart, task: Task) -> IntArray:
    """The buckets after trades, or all that is published as one bucket; the same values are listed."""
    traded = people.traded(dealt, task.randomness.child("people"))
    if traded is not None:
        return traded
    together = np.where(dealt < 0, -1, 0)
    if people.broken(together).any():
        raise too_large_a_part()
    return together


def _kept_by_different_values(model: Model) -> bool:
    """Whether l rows with l different values satisfy the model, whatever the other buckets hold.

    A bucket with no share above 1/l is a mixture of such rows, so a monotone model holds there too.
    """
    if not model.demand().of_values:
        return False
    bucket = "".join(chr(ord("b") + value) for value in range(least_rows(model)))
    return bool(model.satisfied(crowd(bucket, "a" * len(bucket)))[0])
