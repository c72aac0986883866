"""Replacements: new values lie in their domains, other columns are as they were, and nothing echoes the original.

Without the original only the domains can be judged. With it, kept columns must have the same combinations of values; with the
private trace also record by record, and replaced values may agree with the original ones no more often than chance allows.

Where rows lie elsewhere their files are looked at where they lie, and kept columns were compared there with the source.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow.compute as pc

from sfumato.audit.base import Check
from sfumato.audit.by_file import counted_by_file
from sfumato.audit.legal_records import part_of
from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.data.labels import texts_of
from sfumato.data.table import Table, TextColumn
from sfumato.forms.replaced import Replaced
from sfumato.policy.keep import integrity_rules, replacements_of
from sfumato.policy.own_texts import OwnTexts
from sfumato.policy.plugins import is_at_hand
from sfumato.policy.replacements import Computed, Empty, Like, ValueDomain, Values, fills
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_SIGMA = 7.0


class Domains(Check):
    """Replaced values lie in their domains."""

    name: ClassVar[str] = "domains"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def examine(self, exhibit: Exhibit) -> Finding:
        domains = replacements_of(exhibit.policy)
        unknown = [name for name, domain in domains.items() if isinstance(domain, OwnTexts) and not is_at_hand(domain.code)]
        if unknown:
            reason = f"the domain of '{unknown[0]}' is own code of the data holder (SFUMATO_PLUGINS)"
            return Finding(self.name, True, {"outside": 0}, {}, grade=NOT_JUDGED, reason=reason)
        outside = {name: _outside(exhibit, name, domain) for name, domain in domains.items()}
        wrong = [f"{count} values of '{name}' are outside its domain" for name, count in outside.items() if count]
        return Finding(self.name, not wrong, {"outside": 0}, {"outside": sum(outside.values())}, reason="; ".join(wrong))


def _outside(exhibit: Exhibit, name: str, domain: ValueDomain) -> int:
    if isinstance(domain, Like):
        if exhibit.original is None:
            return 0
        domain = Values(exhibit.original.text(domain.column).labels)
    if exhibit.counted:
        return counted_by_file(exhibit, partial(_outside_in, name, domain))
    return _outside_in(name, domain, exhibit.data)


def _outside_in(name: str, domain: ValueDomain, table: Table) -> int:
    text = table.text(name)
    outside = ~domain.contains(text.labels) & text.has_value()
    return int(text.counts()[outside].sum())  # what is missing is no value; that it was missing before is judged with the original


class StillMissing(Check):
    """What was missing stays missing, and nothing else is, unless a column's domain fills it; without the trace in number."""

    name: ClassVar[str] = "missing values"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private

    def examine(self, exhibit: Exhibit) -> Finding:
        wrong = {}
        for name, domain in replacements_of(exhibit.policy).items():
            if isinstance(domain, (Computed, Empty)) or fills(exhibit.policy.columns[name].domain):
                continue
            if exhibit.counted:
                wrong[name] = abs(counted_by_file(exhibit, partial(_lacking, name)) - _lacking(name, exhibit.original))
                continue
            now, before = _missing(exhibit.data, name), _missing(exhibit.original, name)
            known = exhibit.behind is not None
            wrong[name] = int((now != before[_behind(exhibit)]).sum()) if known else abs(int(now.sum()) - int(before.sum()))
        told = [f"{count} values of '{name}' are missing or filled" for name, count in wrong.items() if count]
        return Finding(self.name, not told, {"different": 0}, {"different": sum(wrong.values())}, reason="; ".join(told))


def _behind(exhibit: Exhibit) -> IntArray:
    assert exhibit.behind is not None
    return exhibit.behind["data"]


def _lacking(name: str, table: Table) -> int:
    """How many values are missing; of a source that lies elsewhere none, or rows would have been brought."""
    return int(_missing(table, name).sum()) if name in table.names else 0


def _missing(table: Table, name: str) -> BoolArray:
    text = table.text(name)
    found: BoolArray = ~text.has_value()[text.codes]
    return found


class Kept(Check):
    """Columns that are not replaced are published as they were."""

    name: ClassVar[str] = "kept columns"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private and bool(_kept(exhibit))

    def examine(self, exhibit: Exhibit) -> Finding:
        names = _kept(exhibit)
        if exhibit.counted and exhibit.strangers is None:
            reason = "kept columns are compared where the rows lie"
            return Finding(self.name, True, {"changed": 0}, {}, grade=NOT_JUDGED, reason=reason)
        if exhibit.counted:
            changed = int(exhibit.strangers or 0)
        elif exhibit.behind is not None:
            rows = exhibit.behind["data"]
            changed = sum(_different(exhibit.data.text(n), exhibit.original.text(n), rows) for n in names)
        else:
            now, before = _combinations(exhibit.data, names), _combinations(exhibit.original, names)
            changed = max((now - before).total(), (before - now).total())
        reason = f"{changed} kept cells or rows differ from the original" if changed else ""
        return Finding(self.name, not changed, {"changed": 0}, {"changed": changed}, reason=reason)


def _kept(exhibit: Exhibit) -> list[str]:
    return [name for name in exhibit.policy.published if exhibit.policy.columns[name].role != "replaced"]


def _different(now: TextColumn, before: TextColumn, rows: IntArray) -> int:
    return int((_places(now, before)[now.codes] != before.codes[rows]).sum())


def _places(now: TextColumn, before: TextColumn) -> IntArray:
    """Which of the labels before each label now is; −1 for a new one."""
    found = pc.index_in(texts_of(now.labels), value_set=texts_of(before.labels))
    places: IntArray = pc.fill_null(found, -1).to_numpy().astype(np.int64)
    return places


def _combinations(table: Table, names: list[str]) -> Counter[tuple[str, ...]]:
    classes = group([table.text(name).codes for name in names], rows=table.rows)
    first = np.zeros(len(classes), dtype=np.int64)
    first[classes.of] = np.arange(table.rows)
    texts = [np.array(table.text(name).labels, dtype=object)[table.text(name).codes[first]].tolist() for name in names]
    return Counter(dict(zip(zip(*texts, strict=True), classes.counts.tolist(), strict=True)))


class Echo(Check):
    """Replaced values agree with the original ones no more often than chance allows."""

    name: ClassVar[str] = "echo"
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private and exhibit.behind is not None

    def examine(self, exhibit: Exhibit) -> Finding:
        assert exhibit.behind is not None
        rows = exhibit.behind["data"]
        names = [name for name in replacements_of(exhibit.policy) if not _bound(exhibit, name)]
        loud = [name for name in names if _echoes(exhibit.data.text(name), exhibit.original.text(name), rows)]
        reason = "columns that repeat the original too often: " + ", ".join(loud) if loud else ""
        return Finding(self.name, not loud, {"columns": 0}, {"columns": len(loud)}, reason=reason)


def _bound(exhibit: Exhibit, name: str) -> bool:
    """Whether rules bind the column to kept or original values of its record; then agreement may be wanted."""
    replaced = tuple(replacements_of(exhibit.policy))
    part = part_of(name, replaced, integrity_rules(exhibit.policy))
    return bool(part.mentioned) or part.looks_back


def _echoes(now: TextColumn, before: TextColumn, rows: IntArray) -> bool:
    """More agreements than independent columns with these frequencies would have, by seven standard deviations.

    Only records that have a value before and after count: what was missing stays missing by the policy's own wish.
    """
    old = before.codes[rows]
    there = now.has_value()[now.codes] & before.has_value()[old]
    code, new, old = _places(now, before), now.codes[there], old[there]
    agreements = int((code[new] == old).sum())
    often, once = np.bincount(new, minlength=len(code)), np.bincount(old, minlength=len(before.labels))
    shared = code >= 0
    expected = float((often[shared].astype(np.float64) * once[code[shared]]).sum()) / max(len(new), 1)
    return agreements > expected + _SIGMA * math.sqrt(expected + 1)
