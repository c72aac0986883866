"""Rules: everything under `keep` is true in what was published.

Rules that compare records with their originals need the private trace; without it they are left out and named.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.rules import Judge
from sfumato.data.table import TextColumn
from sfumato.forms.recoded import Recoded
from sfumato.forms.replaced import Replaced
from sfumato.policy.keep import integrity_rules
from sfumato.policy.rules import IntegrityRule, classify
from sfumato.policy.rules.tree import Aggregate, Cell, ColumnValue, Localities, SameMultiset
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class RulesKept(Check):
    """Every rule under `keep` holds in the published table."""

    name: ClassVar[str] = "rules"
    steady: ClassVar[bool] = False
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced, Recoded)

    def ready(self, exhibit: Exhibit) -> bool:
        return bool(judged(exhibit))

    def examine(self, exhibit: Exhibit) -> Finding:
        rules = judged(exhibit)
        judge = Judge({None: _texts(exhibit)}, {None: _originals(exhibit)})
        broken = {rule.text: judge.broken(rule) for rule in rules}
        wrong = [f'"{text}" is broken {count} time(s)' for text, count in broken.items() if count]
        left = len(integrity_rules(exhibit.policy)) - len(rules)
        reason = "; ".join(wrong) or (f"{left} rule(s) need the private trace and were not judged" if left else "")
        achieved = {"rules": len(rules), "broken": sum(count > 0 for count in broken.values())}
        return Finding(self.name, not wrong, {"broken": 0}, achieved, reason=reason)


def judged(exhibit: Exhibit) -> list[IntegrityRule]:
    """The rules that can be judged with this exhibit."""
    return [rule for rule in integrity_rules(exhibit.policy) if not isinstance(rule.body, Localities) and _ready(rule, exhibit)]


def _ready(rule: IntegrityRule, exhibit: Exhibit) -> bool:
    if any(isinstance(node, Cell) for node in rule.body.walk()):
        return exhibit.behind is not None
    if not classify(rule).against_original:
        return True
    whole = isinstance(rule.body, SameMultiset) or _only_in_aggregates(rule)
    return exhibit.original is not None and (whole or exhibit.behind is not None)


def _only_in_aggregates(rule: IntegrityRule) -> bool:
    inside = {id(c) for n in rule.body.walk() if isinstance(n, Aggregate) for c in n.walk()}
    return all(id(n) in inside for n in rule.body.walk() if isinstance(n, ColumnValue) and n.original)


def _texts(exhibit: Exhibit) -> dict[str, TextColumn]:
    """Published columns, in the order of the original when the trace is at hand; columns that are not published come from there."""
    found = {name: exhibit.data.text(name) for name in exhibit.data.names}
    if exhibit.behind is None or exhibit.original is None:
        return found
    order = np.argsort(exhibit.behind["data"], kind="stable")
    return {name: TextColumn(text.codes[order], text.labels) for name, text in found.items()}


def _originals(exhibit: Exhibit) -> dict[str, TextColumn]:
    if exhibit.original is None:
        return {}
    return {name: exhibit.original.text(name) for name in exhibit.original.names}
