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
from sfumato.forms.recoded import Recoded
from sfumato.io.hierarchies import is_standing
from sfumato.policy.generalizations import generalization_of
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class Boundaries(Check):
    """No value is generalized beyond its boundary."""

    name: ClassVar[str] = "boundaries"
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: Exhibit) -> bool:
        return any(column.boundary is not None for column in exhibit.policy.columns.values())

    def examine(self, exhibit: Exhibit) -> Finding:
        alone = sum(_beyond(exhibit, name) for name, column in exhibit.policy.columns.items() if column.boundary is not None)
        if alone or exhibit.original is None:
            reason = f"{alone} cells are generalized beyond every boundary" if alone else ""
            return Finding(self.name, not alone, {"cells": 0}, {"cells": alone}, reason=reason)
        return found(self.name, cover(exhibit, bounded=True), "rows can only stand for records generalized beyond their boundary")


def _beyond(exhibit: Exhibit, name: str) -> int:
    """Cells of a column whose label no leaf may rise to, or that is no label at all."""
    text = exhibit.data.text(name)
    values = exhibit.original.text(name).labels if exhibit.original is not None else ()
    if not values and not is_standing(exhibit.policy.columns[name].hierarchy):
        return 0  # the tree grows from original values, which are not at hand
    domain = generalization_of(exhibit.policy, name, values or [label for label in text.labels if label == MISSING])
    floor, roof = domain.ceiling()
    legal = set(zip(floor.tolist(), roof.tolist(), strict=True))
    wrong = np.array([not _below_some(domain.interval(label), legal) for label in text.labels], dtype=np.bool_)
    return int(text.counts()[wrong].sum())


def _below_some(interval: tuple[int, int] | None, legal: set[tuple[int, int]]) -> bool:
    return interval is not None and any(lo <= interval[0] and interval[1] <= hi for lo, hi in legal)
