"""Boundaries: no value is generalized beyond what the policy allows for it.

From the published files alone: no label stands that no value at all may rise to. With the original: the rows can be matched to
records such that no record is generalized beyond its own ceiling.

Paper: [boundaries Def. 5-7]
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.checks.truthfulness import cover, found
from sfumato.data.generalization import MISSING
from sfumato.data.table import Table
from sfumato.forms.anatomy import AnatomyForm
from sfumato.forms.recoded import Recoded
from sfumato.forms.subtables import SubTables
from sfumato.io.hierarchies import is_standing
from sfumato.policy.generalizations import generalization_of
from sfumato.release.certificate import NOT_JUDGED, SOME_FOUND, Finding, unless_refuted
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class Boundaries(Check):
    """No value is generalized beyond its boundary."""

    name: ClassVar[str] = "boundaries"
    on_classes: ClassVar[bool] = True
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded, AnatomyForm, SubTables)

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(_bounded(exhibit))

    def examine(self, exhibit: Exhibit) -> Finding:
        names = _bounded(exhibit)
        known = [name for name in names if exhibit.private or is_standing(exhibit.policy.columns[name].hierarchy)]
        counted = [_beyond(exhibit, name, table) for name in known for table in _showing(exhibit, name)]
        alone, unsure = sum(wrong for wrong, _ in counted), sum(unsure for _, unsure in counted)
        if not alone and exhibit.private and isinstance(exhibit.form, Recoded):
            words = "rows can only stand for records generalized beyond their boundary"
            return found(self.name, cover(exhibit, bounded=True), words)
        if not alone and len(known) < len(names):
            reason = f"{len(names) - len(known)} column(s) have a tree that grows from original values, which are not at hand"
            return Finding(self.name, True, {"cells": 0}, {}, grade=NOT_JUDGED, reason=reason)
        reason = f"{alone} cells are generalized beyond every boundary" if alone else ""
        why = f"{unsure} cells lie above the boundary of some values they may stand for; give the original to judge them"
        said = unless_refuted(not alone, SOME_FOUND if unsure else "exact", {"cells": alone}, reason, why)
        return Finding(self.name, required={"cells": 0}, **said)


def _bounded(exhibit: Exhibit) -> list[str]:
    """Published columns with a boundary."""
    return [name for name in exhibit.policy.published if exhibit.policy.columns[name].boundary is not None]


def _showing(exhibit: Exhibit, name: str) -> list[Table]:
    """The parts that show a column; one that shows it nowhere is missed by the form."""
    return [table for table in exhibit.tables.values() if name in table.names]


def _beyond(exhibit: Exhibit, name: str, table: Table) -> tuple[int, int]:
    """Cells of a column whose label no leaf may rise to, or that is no label at all; and those that some leaves may not rise to."""
    text = table.text(name)
    values = exhibit.original.text(name).labels if exhibit.original is not None else ()
    domain = generalization_of(exhibit.policy, name, values or [label for label in text.labels if label == MISSING])
    floor, roof = domain.ceiling()
    order = np.argsort(floor, kind="stable")
    start, reach = floor[order], np.maximum.accumulate(roof[order])  # the furthest end of a ceiling that begins here or before
    spans = np.array([domain.interval(label) or (-1, 0) for label in text.labels], dtype=np.int64).reshape(-1, 2)
    place = np.searchsorted(start, spans[:, 0], side="right") - 1
    wrong = (spans[:, 0] < 0) | (place < 0) | (reach[np.maximum(place, 0)] < spans[:, 1])
    some = ~wrong & np.array([(floor[lo:hi] > lo).any() or (roof[lo:hi] < hi).any() for lo, hi in spans.tolist()], dtype=np.bool_)
    return int(text.counts()[wrong].sum()), int(text.counts()[some].sum())
