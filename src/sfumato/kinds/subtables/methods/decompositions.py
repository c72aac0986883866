"""`utility-aware`: few tables that share no column, chosen by colouring the conflicts of the rules.

The algorithm is in `coloring`.


Multi sensitive
---------------
`multi-sensitive`: one table in which every sensitive column is protected from an adversary who knows all other columns.

Guarantee: stronger than the rules ask (every sensitive column is hidden from everything else), which costs utility.
Paper: [versatile App. B], a baseline. The algorithm is in ``_joint_buckets.py``. Departures: rows that fit into no
bucket keep their visible columns; their sensitive values are suppressed (bucket ``*``).


Single attribute
----------------
`single-attribute`: every column in a table of its own; keeps every rule and destroys every correlation.

Guarantee: nothing connects two columns, so every rule holds that holds for its sensitive column alone. Paper:
[versatile §1.3], a baseline.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.arrays import IntArray
from sfumato.core.errors import Infeasible, NotFound
from sfumato.kinds.subtables.guardian_normal_form import SubTable
from sfumato.kinds.subtables.methods.buckets import (
    SECONDS,
    PersonBuckets,
    joint_buckets,
    least_rows,
    person_share_error,
)
from sfumato.kinds.subtables.methods.subtable_method import Hidden, SubTableMethod, guarded_table, utility_aware
from sfumato.models.base import Model, example_classes
from sfumato.policy.policy import Policy
from sfumato.policy.privacy_rules import PrivacyRule, join_names
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.method import Task


class UtilityAware(SubTableMethod):
    """Satisfy any set of privacy rules by few sub-tables without common columns, in linear time."""

    name: ClassVar[str] = "utility-aware"
    paper: ClassVar[str] = "versatile Alg. 2"

    def preference(self, records: int | None) -> tuple[int, str]:
        return 2, "the policy states rules between columns, and this method keeps any set of them in linear time"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        said = super().describe(policy, data)
        if any(len(claim.hide) > 1 and claim.composite for claim in policy.claims):
            return said
        from sfumato.policy.rule_reduction import privacy_rules

        rules = privacy_rules(policy)
        planned = utility_aware(list(rules.members), rules.over_units(), rules.guardable)
        for place, table in enumerate(planned):
            shown = join_names(column for unit in table.visible for column in rules.members[unit])
            hidden = f", hiding {join_names(table.guarded)} behind buckets" if table.guarded else ""
            said.append(f"table {place + 1}: {shown}{hidden}")
        return said

    def decompose(
        self, units: Sequence[str], rules: Sequence[PrivacyRule], guardable: set[str], data: Hidden
    ) -> list[SubTable]:
        return utility_aware(units, rules, guardable)


# Multi sensitive
# ---------------


class MultiSensitive(SubTableMethod):
    """Protect every sensitive column in one table by integer programming; a baseline."""

    name: ClassVar[str] = "multi-sensitive"
    paper: ClassVar[str] = "versatile App. B"
    on_classes: ClassVar[bool] = False
    hides_combinations: ClassVar[bool] = False

    grids: int = Field(default=0, ge=0, description="number of kinds of small buckets (0: as in the paper)")

    def refusal_of_inner(self, policy: Policy) -> str:
        return "" if self.inner == "anatomy" else "several hidden columns need buckets (inner: anatomy)"

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return _kept_by_different_values(claim.model) and super().enforces(claim, policy)

    def rows_for(self, policy: Policy) -> str:
        return (
            "rows are assigned to buckets by several sensitive columns at once, and some "
            "values are suppressed, which needs the rows"
        )

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        joint = len({name for claim in policy.claims for name in claim.hide}) > 1
        return [*super().describe(policy, data), *(self.search_told(policy, SECONDS) if joint else [])]

    def decompose(
        self, units: Sequence[str], rules: Sequence[PrivacyRule], guardable: set[str], data: Hidden
    ) -> list[SubTable]:
        hidden = {each.hidden for each in rules}
        if tied := hidden - guardable:
            what = f"outside knowledge ties {join_names(tied)} to other columns of the same table"
            raise Infeasible(what, hint="use utility-aware, which separates them")
        return [guarded_table(units, hidden, rules)]

    def refusal_of_people(self, policy: Policy) -> str:
        hidden = {name for claim in policy.claims for name in claim.hide}
        known = sorted(name for claim in policy.claims for name in claim.given if name in hidden)
        if policy.person is not None and known:
            return (
                f"'{known[0]}' is hidden in the buckets of the one table and known to somebody: use utility-aware or"
                " guardian"
            )
        return super().refusal_of_people(policy)

    def buckets(self, hidden: Sequence[str], data: Hidden, task: Task, people: PersonBuckets | None = None) -> IntArray:
        if len(hidden) == 1:
            return super().buckets(hidden, data, task, people)
        levels = [float(max(math.ceil(least_rows(model)) for model in data.asked(name))) for name in hidden]
        codes = [data.table.text(name).codes.astype(np.int64) for name in hidden]
        dealt = joint_buckets(
            codes, levels, task.randomness.child("buckets"), self.grids, self.seconds_of_search(task.policy, SECONDS)
        )
        if (dealt < 0).all():
            raise NotFound(
                f"no group of records keeps {join_names(hidden)} diverse for an adversary who knows the others",
                hint="lower the levels, or use utility-aware, which hides them in different tables",
            )
        return dealt if people is None else _apart(dealt, people, task)


def _apart(dealt: IntArray, people: PersonBuckets, task: Task) -> IntArray:
    """The buckets after trades, or all that is published as one bucket; the same values are listed."""
    traded = people.traded(dealt, task.randomness.child("people"))
    if traded is not None:
        return traded
    together = np.where(dealt < 0, -1, 0)
    if people.broken(together).any():
        raise person_share_error()
    return together


_LARGEST_BUCKET = 10_000
"""Largest number of different values of a bucket for which a model is tried: no bucket is that large."""


def _kept_by_different_values(model: Model) -> bool:
    """Whether l rows with l different values satisfy the model, whatever the other buckets hold.

    A bucket with no share above 1/l is a mixture of such rows, so a monotone model holds there too.
    """
    if not model.demand().of_values or least_rows(model) > _LARGEST_BUCKET:
        return False
    bucket = "".join(chr(ord("b") + value) for value in range(least_rows(model)))
    return bool(model.satisfied(example_classes(bucket, "a" * len(bucket)))[0])


# Single attribute
# ----------------


class SingleAttribute(SubTableMethod):
    """Publish every column in its own table: satisfies any rules and loses all correlations; a baseline."""

    name: ClassVar[str] = "single-attribute"
    paper: ClassVar[str] = "versatile §1.3"

    def decompose(
        self, units: Sequence[str], rules: Sequence[PrivacyRule], guardable: set[str], data: Hidden
    ) -> list[SubTable]:
        return [SubTable(frozenset({unit})) for unit in units]
