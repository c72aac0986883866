"""Disclose: what of the data holder's findings may stand in a release folder.

Everything is judged with the original at hand, and a release is refused when anything is broken. But a figure that was found with
the original says something about it that the published files do not say. So the folder gets the findings that an outsider comes to
with the folder alone; of the others only that they hold at the level that was asked for. Their figures stand in the private report.

Invariants
    I1  What is disclosed is a function of the published files, of the counts of records and of the fact that everything holds: two
        originals with the same published rows get the same certificate.
    I2  A finding about all releases together is never shown as the one about this release alone.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from sfumato.audit.certify import certify
from sfumato.release.certificate import AS_ASKED, NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit


def disclosed(exhibit: Exhibit, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings for the folder, from those of the data holder; what does not hold is shown as an outsider sees it."""
    outside = certify(exhibit.as_published(), recount=False)  # the floor has recounted the same files already
    seen = {_claim(finding): finding for finding in outside}
    series = {claim.model.name for claim in exhibit.policy.claims} if _several(exhibit) else set()
    shown = []
    for finding in found:
        public = None if finding.model in series else seen.get(_claim(finding))  # I2
        if public is not None and not public.open and (public.holds or not finding.holds):
            shown.append(public)
        elif finding.required or public is not None:
            told = f"over {len(exhibit.history or ())} releases" if finding.model in series else ""
            shown.append(_verdict(finding, told))  # what asks for nothing and needs the original is the data holder's alone
    return tuple(shown)


def _claim(finding: Finding) -> Hashable:
    return finding.model, finding.given, finding.hide, repr(sorted(finding.required.items()))


def _several(exhibit: Exhibit) -> bool:
    return exhibit.history is not None and len(exhibit.history) > 1


def _verdict(finding: Finding, reason: str) -> Finding:
    """That it holds as asked, and nothing else (I1)."""
    if not finding.judged:
        return replace(finding, achieved={}, grade=NOT_JUDGED, reason=reason)
    exact = finding.required and not any(finding.required.values())
    return replace(finding, achieved=dict(finding.required), grade="exact" if exact else AS_ASKED, reason=reason)
