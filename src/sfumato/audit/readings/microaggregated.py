"""One microaggregated table: everybody's candidates are the published rows with the same averages in the given columns.

Whoever knows a person's values may look for the nearest averages, and finds a group; its rows look alike, so no row of it is
nearer.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Reading, Tally
from sfumato.audit.people import judged_in_averages
from sfumato.data.classes import group
from sfumato.data.linkage import Linkage
from sfumato.forms.microaggregated import Microaggregated
from sfumato.policy.claims import Claim
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class MicroaggregatedReading(Reading):
    """Rows with the same averages are each other's candidates."""

    name: ClassVar[str] = "microaggregated table"
    form: ClassVar[type[Form]] = Microaggregated
    rows_are_records: ClassVar[bool] = True

    def of_people(self, exhibit: Exhibit, claim: Claim) -> Tally:
        return judged_in_averages(exhibit, claim)

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        table = exhibit.data
        alike = group([table.text(name).codes for name in claim.given], rows=table.rows)
        return Linkage.of_groups(alike.of, {name: (table.text(name).codes, table.text(name).labels) for name in claim.hide})
