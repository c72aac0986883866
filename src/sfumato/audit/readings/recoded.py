"""One recoded table: everybody's candidates are the published rows with the same values in the given columns.

Claims about all releases together (k-linkability, k-diversity) are judged in `sfumato.audit.sequence_claims`, those about people
of a population (k-map, δ-presence) in `sfumato.audit.population`.

Paper: [boundaries Def. 1]
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Reading, Tally
from sfumato.audit.people import PeopleCount
from sfumato.audit.population import judge_in_population
from sfumato.audit.sequence_claims import judge_together
from sfumato.data.classes import group
from sfumato.data.linkage import Linkage
from sfumato.forms.recoded import Recoded
from sfumato.policy.claims import Claim
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class RecodedReading(Reading):
    """Rows that look alike in the given columns are each other's candidates."""

    name: ClassVar[str] = "recoded table"
    steady: ClassVar[bool] = False
    on_classes: ClassVar[bool] = True
    in_population: ClassVar[bool] = True
    form: ClassVar[type[Form]] = Recoded
    rows_are_records: ClassVar[bool] = True

    def of_people(self, exhibit: Exhibit, claim: Claim) -> Tally:
        return exhibit.once(PeopleCount).judged(claim)

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        if claim.model.of_population:
            return judge_in_population(exhibit, claim)
        return judge_together(exhibit, claim) if claim.model.joint else super().judge(exhibit, claim)

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        table = exhibit.data
        whole = claim.given == exhibit.policy.quasi_identifiers
        classes = exhibit.classes if whole else group([table.text(name).codes for name in claim.given], rows=table.rows)
        hidden = {name: table.text(name) for name in claim.hide}
        return Linkage.of_groups(classes.of, {name: (text.codes, text.labels) for name, text in hidden.items()}, table.counts)
