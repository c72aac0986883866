"""What earlier releases promised still holds with this one beside them; a promise that the policy makes anew is judged there."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.audit.outlook import about_hidden
from sfumato.audit.series import is_series, judge_series
from sfumato.errors import ReleaseError
from sfumato.history.promises import standing
from sfumato.policy.claims import Claim
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.past import History


class EarlierPromises(Check):
    """Every claim of an earlier release holds over everything published, this release included."""

    name: ClassVar[str] = "earlier promises"
    steady: ClassVar[bool] = False
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: Exhibit) -> bool:
        return is_series(exhibit) and bool(_standing(exhibit))

    def examine(self, exhibit: Exhibit) -> Finding:
        if exhibit.counted and not (exhibit.history is not None and exhibit.history.counted):
            raise ReleaseError("nobody judges several releases where only different rows with their counts are at hand")
        found = [judge_series(exhibit, claim, None) for claim in _standing(exhibit)]
        broken = [finding for finding in found if finding.open or not finding.holds]
        reason = "; ".join(f"{finding.model}{about_hidden(finding.hide)}: {finding.reason}" for finding in broken)
        return Finding(self.name, not broken, {"broken": 0}, {"broken": len(broken)}, reason=reason)


def _standing(exhibit: Exhibit) -> list[Claim]:
    history = exhibit.history or History()
    return standing(exhibit.policy, History(history.releases[:-1]))
