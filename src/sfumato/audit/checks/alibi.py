"""Alibi rows: people whose own class of equal cells breaks the promise, and whom only rows that cover everybody protect.

A fully suppressed row covers everybody, so k of them with k values make any release k-linkable [sequential Def. 4.2], whatever the
other rows show. Claims that hold in every class of equal cells have no such people; the paper's measure may have many.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.audit.series import bundles_of, by_classes, cohorts_known, is_series
from sfumato.data.classes import group
from sfumato.data.linkage import Linkage
from sfumato.forms.recoded import Recoded
from sfumato.history.promises import widened
from sfumato.policy.claims import Claim
from sfumato.release.certificate import MEASURED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class AlibiRows(Check):
    """How many people stand in published classes that break a claim which covering rows make true: measured, not promised."""

    name: ClassVar[str] = "alibi rows"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)
    steady: ClassVar[bool] = False

    def ready(self, exhibit: Exhibit) -> bool:
        return "data" in exhibit.parts and any(claim.model.joint for claim in exhibit.policy.claims)

    def examine(self, exhibit: Exhibit) -> Finding:
        claims = [claim for claim in exhibit.policy.claims if claim.model.joint]
        achieved = {"people": max(_in_classes(exhibit, claim) for claim in claims)}
        if is_series(exhibit):
            bundles, cohorts = exhibit.once(bundles_of), cohorts_known(exhibit)
            found = [by_classes(bundles, widened(claim, exhibit.policy, bundles.policies), cohorts) for claim in claims]
            achieved |= {"people_over_all_releases": max(0 if one is None else one.below for one in found)}
        hide = tuple(dict.fromkeys(name for claim in claims for name in claim.hide))
        reason = "people whose own class of equal cells has fewer values than was claimed; measured, not promised"
        return Finding(self.name, True, {}, achieved, hide=hide, grade=MEASURED, reason=reason)


def _in_classes(exhibit: Exhibit, claim: Claim) -> int:
    """People of this release in classes of equal cells that break the claim."""
    table = exhibit.data
    told = [name for name in claim.hide if name in table.names]
    if not told:
        return 0
    known = [name for name in exhibit.policy.quasi_identifiers if name in table.names]
    classes = group([table.text(name).codes for name in known], rows=table.rows)
    seen = Linkage.of_groups(classes.of, {name: (table.text(name).codes, table.text(name).labels) for name in told})
    holds = claim.model.satisfied(seen)
    return int(seen.people[~holds].sum())
