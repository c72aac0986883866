"""Dependencies: columns that determine others in this data, and may do so in every outsider's head.

A dependency that holds here is not always known outside; the data holder decides which belong under ``knows:``. Those that touch a
rule of the policy and are not mentioned there are warned about, because they may break it ([versatile Thm 3.2]).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.table import Table
from sfumato.decomposition.dependencies import Dependency, closure
from sfumato.decomposition.discovery import dependencies
from sfumato.decomposition.privacy_rules import listed
from sfumato.discover.base import Finder, Suggestion
from sfumato.policy.policy import Policy
from sfumato.policy.privacy import dependencies_of

_WIDE = 25


class DependencyFinder(Finder):
    """Functional dependencies that hold in the data."""

    name: ClassVar[str] = "dependencies"
    order: ClassVar[int] = 30

    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        names = [name for name in table.names if policy is None or name in policy.columns]
        columns = {name: table.text(name).codes.astype(np.int64) for name in names}
        found = dependencies(columns, width=2 if len(columns) <= _WIDE else 1)
        texts = [str(each).replace("→", "->") for each in found]
        reasons = tuple(f"{each} holds in every row" for each in found)
        return Suggestion({"knows": texts} if texts else {}, reasons, _overlooked(found, policy))


def _overlooked(found: list[Dependency], policy: Policy | None) -> tuple[str, ...]:
    """Dependencies that concern a claim and do not follow from ``knows:``."""
    if policy is None:
        return ()
    known = dependencies_of(policy)
    unsaid = [each for each in found if not each.determines <= closure(each.given, known)]
    dangers = [(each, _danger(each, policy)) for each in unsaid]
    return tuple(f"{each} holds in the data but is not under 'knows': {danger}" for each, danger in dangers if danger)


def _danger(each: Dependency, policy: Policy) -> str:
    """What an outsider who knows the dependency could do to a claim."""
    hidden = {name for claim in policy.claims for name in claim.hide}
    given = {name for claim in policy.claims for name in claim.given}
    if each.determines & hidden:
        return f"who learns {listed(each.given)} learns the hidden {listed(each.determines)}"
    if each.given & hidden:
        return f"who knows {listed(each.determines)} can rule out values of the hidden {listed(each.given & hidden)}"
    return f"who is given {listed(each.given)} also knows {listed(each.determines)}" if each.given <= given else ""
