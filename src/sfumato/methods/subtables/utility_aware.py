"""`utility-aware`: few tables that share no column, chosen by colouring the conflicts of the rules.

The algorithm stands in `coloring`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sfumato.decomposition.guardian import SubTable
from sfumato.decomposition.privacy_rules import PrivacyRule, listed
from sfumato.methods.subtables.base import Hidden, SubTableMethod
from sfumato.methods.subtables.coloring import utility_aware
from sfumato.policy.policy import Policy


class UtilityAware(SubTableMethod):
    """Any set of privacy rules: few sub-tables without common columns, one hidden column in each; linear in the records."""

    name: ClassVar[str] = "utility-aware"
    paper: ClassVar[str] = "versatile Alg. 2"

    def preference(self, records: int | None) -> tuple[int, str]:
        return 2, "the policy states rules between columns, and this method keeps any set of them in linear time"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        said = super().describe(policy, data)
        if any(len(claim.hide) > 1 and claim.composite for claim in policy.claims):
            return said
        from sfumato.policy.privacy import privacy_rules

        rules = privacy_rules(policy)
        planned = utility_aware(list(rules.members), rules.over_units(), rules.guardable)
        for place, table in enumerate(planned):
            shown = listed(column for unit in table.visible for column in rules.members[unit])
            hidden = f", hiding {listed(table.guarded)} behind buckets" if table.guarded else ""
            said.append(f"table {place + 1}: {shown}{hidden}")
        return said

    def decompose(self, units: Sequence[str], rules: Sequence[PrivacyRule], guardable: set[str], data: Hidden) -> list[SubTable]:
        return utility_aware(units, rules, guardable)
