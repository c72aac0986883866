"""Formulas: cells that a spreadsheet would run when somebody opens the published file.

They may come from the original or from a domain. With ``escape: formulas`` under ``data:`` no such cell may be published; without
it they are counted on the published files, so that a reader knows.
"""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.data.formulas import formulas_among
from sfumato.release.certificate import MEASURED, Finding
from sfumato.release.exhibit import Exhibit, of_parts


class Formulas(Check):
    """Published cells that begin like a formula (=, +, -, @); a spreadsheet would run them."""

    name: ClassVar[str] = "formulas"
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.form.shows_columns and (_escapes(exhibit) or bool(exhibit.once(formula_cells)))

    def examine(self, exhibit: Exhibit) -> Finding:
        cells, escapes = exhibit.once(formula_cells), _escapes(exhibit)
        reason = f"{cells} published cell(s) begin like a formula; import the file as text" if cells else ""
        if not escapes:
            return Finding(self.name, True, {}, {"cells": cells}, grade=MEASURED, reason=reason)
        return Finding(self.name, not cells, {"cells": 0}, {"cells": cells}, reason=reason)


def _escapes(exhibit: Exhibit) -> bool:
    return getattr(exhibit.policy.data, "escape", "none") == "formulas"


@of_parts
def formula_cells(exhibit: Exhibit) -> int:
    """How many published cells there are; ask for it with ``exhibit.once(formula_cells)``."""
    found = 0
    for table in exhibit.tables.values():
        for text in (table.text(name) for name in table.names):
            places = formulas_among(text.labels)
            found += int(text.counts()[places].sum()) if places else 0
    return found
