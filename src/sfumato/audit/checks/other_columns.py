"""Other columns: how many rows look alike for an outsider who knows the columns that are published as they are, too.

The claims speak of outsiders who know the quasi-identifiers. A column with the role `other` is said to be known to nobody; what
would be left if it were known is measured here on the published rows and promised by nobody.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.data.classes import group
from sfumato.forms.recoded import Recoded
from sfumato.release.certificate import MEASURED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class OtherColumns(Check):
    """k when the other columns are known too: measured on the published rows, not promised."""

    name: ClassVar[str] = "other columns"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(exhibit.policy.quasi_identifiers and "data" in exhibit.parts and _others(exhibit) and exhibit.data.rows)

    def examine(self, exhibit: Exhibit) -> Finding:
        known = tuple(name for name in (*exhibit.policy.quasi_identifiers, *_others(exhibit)) if name in exhibit.data.names)
        table = exhibit.data
        sizes = group([table.text(name).codes for name in known], rows=table.rows, weights=table.counts).counts
        achieved = {"k": int(sizes.min()), "alone": int((sizes == 1).sum())}
        reason = "k when the other columns are known too; not promised"
        return Finding(self.name, True, {}, achieved, known, grade=MEASURED, reason=reason)


def _others(exhibit: Exhibit) -> tuple[str, ...]:
    return tuple(name for name in exhibit.policy.with_role("other") if name in exhibit.data.names)
