"""No original value of a replaced column stands anywhere else in what is published, unless the policy accepts that by name."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.audit.databases import DatabaseExhibit
from sfumato.audit.surviving import kept_columns, originals_of, surviving
from sfumato.audit.survivors import Survivor, survivors
from sfumato.forms.database import DatabaseForm
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class SurvivingValues(Check):
    """Original values of replaced columns do not stand in columns that are published as they are."""

    name: ClassVar[str] = "surviving values"
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private

    def examine(self, exhibit: Exhibit) -> Finding:
        seen = exhibit.once(DatabaseExhibit)
        published = {name: table.frame for name, table in seen.tables.items()}
        found = {str(one): one for one in surviving(seen.bound, exhibit.original)}
        found |= {
            str(one): one for one in survivors(originals_of(seen.bound, exhibit.original), kept_columns(seen.bound, published))
        }
        return finding_of(self.name, list(found.values()), seen.form.accepted)


def finding_of(name: str, found: list[Survivor], accepted: tuple[str, ...]) -> Finding:
    """Holds when every pair that was found is accepted."""
    open_ = [one for one in found if str(one) not in accepted]
    told = "; ".join(f"{one.sentence} [{one}]" for one in sorted(open_, key=lambda one: -one.cells)[:8])
    more = f"; and {len(open_) - 8} more pair(s) of columns" if len(open_) > 8 else ""
    way = "; replace the column, empty it, make it consistent, or accept the pair" if open_ else ""
    achieved = {"columns": len({one.kept for one in open_})}
    return Finding(name, not open_, {"columns": 0}, achieved, reason=told + more + way)
