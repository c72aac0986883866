"""One recoded table: everybody's candidates are the published rows with the same values in the given columns.

Paper: [boundaries Def. 1]
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Reading
from sfumato.audit.evidence import Evidence
from sfumato.data.classes import group
from sfumato.data.linkage import Linkage
from sfumato.policy.claims import Claim


class RecodedReading(Reading):
    """Rows that look alike in the given columns are each other's candidates."""

    name: ClassVar[str] = "recoded table"

    def read(self, evidence: Evidence, claim: Claim) -> Linkage:
        table = evidence.data
        classes = group([table.text(name).codes for name in claim.given], rows=table.rows)
        hidden = {name: table.text(name) for name in claim.hide}
        return Linkage.of_groups(classes.of, {name: (text.codes, text.labels) for name, text in hidden.items()})
