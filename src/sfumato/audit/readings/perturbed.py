"""One perturbed table: nobody's candidates can be counted, because any row may be anybody's; so no claim is judged, and none
holds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.audit.base import Reading
from sfumato.data.linkage import Linkage
from sfumato.forms.perturbed import PerturbedTable
from sfumato.policy.claims import Claim
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class PerturbedReading(Reading):
    """Chance promises nothing that could be read off the rows."""

    name: ClassVar[str] = "perturbed table"
    form: ClassVar[type[Form]] = PerturbedTable

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        return Linkage(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        reason = "values changed by chance, so nobody's candidates can be counted"
        return Finding(claim.model.name, False, claim.model.required(), {}, claim.given, claim.hide, NOT_JUDGED, reason)
