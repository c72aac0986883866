"""`guardian`: split what breaks a rule off the table, then give columns back where they lower the divergence most.

The algorithm and the proof that it ends stand in ``_guardian.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sfumato.methods._bucketizing import bucket_size
from sfumato.methods._divergence import ExpectedDivergence
from sfumato.methods._guardian import guardian
from sfumato.methods._subtables import Hidden, SubTables
from sfumato.policy.policy import Policy
from sfumato.schema.guardian import SubTable
from sfumato.schema.rules import Rule


class Guardian(SubTables):
    """Any set of privacy rules: overlapping sub-tables that lose as little as possible of the joint distribution."""

    name: ClassVar[str] = "guardian"
    paper: ClassVar[str] = "versatile Alg. 1"

    def refusal_of_inner(self, policy: Policy) -> str:
        if self.inner != "anatomy":
            return "its tables share columns, which must stay exact; generalization would make them disagree (use utility-aware)"
        return ""

    def decompose(self, units: Sequence[str], rules: Sequence[Rule], guardable: set[str], data: Hidden) -> list[SubTable]:
        members = data.members
        columns = {name: data.table.text(name).codes.astype(np.int64) for inner in members.values() for name in inner}
        sizes = {each.hidden: bucket_size(data.asked(each.hidden)) for each in rules}
        score = ExpectedDivergence(columns, sizes, members)
        return guardian(units, rules, score, guardable)


