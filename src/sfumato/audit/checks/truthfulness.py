"""Truthfulness: every published cell covers the original value, and every row stands for a record of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.cover import Allowed, Side, Unmatched, allowed, mismatched, sides, unmatched
from sfumato.data.arrays import IntArray
from sfumato.errors import DataError
from sfumato.forms.recoded import Recoded
from sfumato.policy.generalizations import generalization_of
from sfumato.release.certificate import NOT_JUDGED, SOME_FOUND, Finding, unless_refuted
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class Truthfulness(Check):
    """Every published row covers a record of its own."""

    name: ClassVar[str] = "truthfulness"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private or exhibit.strangers is not None

    def examine(self, exhibit: Exhibit) -> Finding:
        result = cover(exhibit, bounded=False) if exhibit.private else Unmatched(0)
        beside = [name for part in exhibit.parts.values() for name in part.beside]
        if beside and exhibit.strangers is None:
            reason = f"{len(beside)} column(s) beside the classes were not compared with the original"
            return Finding(self.name, not result.rows, {"rows": 0}, {}, grade=NOT_JUDGED, reason=reason)
        result = replace(result, rows=max(result.rows, exhibit.strangers or 0))
        return found(self.name, result, "published rows cover no original record of their own")


def cover(exhibit: Exhibit, *, bounded: bool) -> Unmatched:
    """Rows that cannot stand for a record; `bounded`: within the boundaries of the policy."""
    policy, table, original = exhibit.policy, exhibit.data, exhibit.original
    may_change = [name for name in policy.published if policy.columns[name].role == "other" and policy.columns[name].hierarchy]
    recoded = [name for name in (*policy.quasi_identifiers, *may_change) if name in table.names]
    as_is = [name for name in policy.published if policy.columns[name].dates is None and name != policy.calibrated]
    same = [name for name in as_is if name in table.names and name not in recoded]
    left, right = sides(table, original, recoded, same)
    may = [
        allowed(table.text(name), original.text(name), generalization_of(policy, name, original.text(name).labels), bounded=bounded)
        for name in recoded
    ]
    invented = exhibit.of(Recoded).counterfeits
    if exhibit.behind is not None:
        if len(exhibit.behind["data"]) != table.rows:
            raise DataError("the private trace does not belong to as many rows as are published")
        return _without_counterfeits(left, right, may, exhibit.behind["data"], invented)
    result = unmatched(left, right, may)
    return replace(result, rows=max(0, result.rows - invented))


def _without_counterfeits(left: Side, right: Side, may: list[Allowed], behind: IntArray, invented: int) -> Unmatched:
    """Rows with nobody behind them must be the counterfeits that the manifest admits to; all others are compared."""
    real = behind >= 0
    shown = left if real.all() else left.of(np.flatnonzero(real))
    result = mismatched(shown, right, may, behind[real])
    return replace(result, rows=result.rows + abs(int(left.many().sum()) - int(shown.many().sum()) - invented))


def found(name: str, result: Unmatched, what: str) -> Finding:
    """The finding for a number of rows that fail."""
    grade, why = "exact" if result.exact else SOME_FOUND, "too many rows may stand for too many records to compare them all"
    reason = f"{result.rows} {what}" if result.rows else ""
    said = unless_refuted(not result.rows, grade, {"rows": result.rows}, reason, f"{why}; none that was compared is wrong")
    return Finding(name, required={"rows": 0}, **said)
