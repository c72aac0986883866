"""One locally suppressed table: for every choice of up to m known columns, the rows that look alike in them.

Of a claim that does not say how many columns are known, candidates are rows that look alike in all given columns.
"""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Reading, Tally
from sfumato.audit.people import PeopleCount
from sfumato.data.classes import group
from sfumato.data.linkage import Linkage
from sfumato.forms.suppressed import SuppressedCells
from sfumato.policy.claims import Claim
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class SuppressedReading(Reading):
    """Rows that look alike in what is known of a person are candidates."""

    name: ClassVar[str] = "locally suppressed table"
    form: ClassVar[type[Form]] = SuppressedCells
    rows_are_records: ClassVar[bool] = True

    def of_people(self, exhibit: Exhibit, claim: Claim) -> Tally:
        return exhibit.once(PeopleCount).judged(claim)

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        table = exhibit.data
        if claim.model.known_columns is None:
            alike = group([table.text(name).codes for name in claim.given], rows=table.rows)
            hidden = {name: (table.text(name).codes, table.text(name).labels) for name in claim.hide}
            return Linkage.of_groups(alike.of, hidden)
        classes = [
            group([table.text(name).codes for name in known], rows=table.rows).counts
            for known in combinations(claim.given, min(claim.model.known_columns, len(claim.given)))
        ]
        sizes = np.concatenate(classes)
        return Linkage(sizes, sizes)
