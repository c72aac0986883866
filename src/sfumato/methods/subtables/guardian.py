"""`guardian`: split what breaks a rule off the table, then give columns back where they lower the divergence most.

The algorithm and the proof that it ends stand in `guardian_search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from sfumato.decomposition.guardian import SubTable
from sfumato.decomposition.privacy_rules import PrivacyRule
from sfumato.methods.subtables.base import Hidden, SubTableMethod
from sfumato.methods.subtables.bucketizing import bucket_size
from sfumato.methods.subtables.divergence import ExpectedDivergence
from sfumato.methods.subtables.guardian_search import guardian
from sfumato.policy.policy import Policy


class Guardian(SubTableMethod):
    """Any set of privacy rules: overlapping sub-tables that lose as little as possible of the joint distribution."""

    name: ClassVar[str] = "guardian"
    paper: ClassVar[str] = "versatile Alg. 1"

    def refusal_of_inner(self, policy: Policy) -> str:
        if self.inner != "anatomy":
            return "its tables share columns, which must stay exact; generalization would make them disagree (use utility-aware)"
        return ""

    def decompose(self, units: Sequence[str], rules: Sequence[PrivacyRule], guardable: set[str], data: Hidden) -> list[SubTable]:
        members = data.members
        columns = {name: data.table.text(name).codes.astype(np.int64) for inner in members.values() for name in inner}
        sizes = {each.hidden: bucket_size(data.asked(each.hidden)) for each in rules}
        score = ExpectedDivergence(columns, sizes, members, data.table.counts)
        return guardian(units, rules, score, guardable)
