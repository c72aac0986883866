"""Rules: everything under `keep` is true in what was published.

Rules that compare records with their originals need the private trace; without it they are left out and named.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.evidence import Evidence
from sfumato.audit.rules import Judge
from sfumato.data.table import TextColumn
from sfumato.policy.keep import integrity_rules
from sfumato.policy.rules import IntegrityRule, classify
from sfumato.policy.rules.tree import Aggregate, Cell, ColumnValue, Localities, SameMultiset
from sfumato.release.certificate import Finding


class RulesKept(Check):
    """Every rule under `keep` holds in the published table."""

    name: ClassVar[str] = "rules"

    def applies(self, evidence: Evidence) -> bool:
        return evidence.form in ("replaced table", "recoded table") and bool(judged(evidence))

    def examine(self, evidence: Evidence) -> Finding:
        rules = judged(evidence)
        judge = Judge({None: _texts(evidence)}, {None: _originals(evidence)})
        broken = {rule.text: judge.broken(rule) for rule in rules}
        wrong = [f'"{text}" is broken {count} time(s)' for text, count in broken.items() if count]
        left = len(integrity_rules(evidence.policy)) - len(rules)
        reason = "; ".join(wrong) or (f"{left} rule(s) need the private trace and were not judged" if left else "")
        achieved = {"rules": len(rules), "broken": sum(count > 0 for count in broken.values())}
        return Finding(self.name, not wrong, {"broken": 0}, achieved, reason=reason)


def judged(evidence: Evidence) -> list[IntegrityRule]:
    """The rules that can be judged with this evidence."""
    return [rule for rule in integrity_rules(evidence.policy) if not isinstance(rule.body, Localities) and _ready(rule, evidence)]


def _ready(rule: IntegrityRule, evidence: Evidence) -> bool:
    if any(isinstance(node, Cell) for node in rule.body.walk()):
        return evidence.behind is not None
    if not classify(rule).against_original:
        return True
    whole = isinstance(rule.body, SameMultiset) or _only_in_aggregates(rule)
    return evidence.original is not None and (whole or evidence.behind is not None)


def _only_in_aggregates(rule: IntegrityRule) -> bool:
    inside = {id(c) for n in rule.body.walk() if isinstance(n, Aggregate) for c in n.walk()}
    return all(id(n) in inside for n in rule.body.walk() if isinstance(n, ColumnValue) and n.original)


def _texts(evidence: Evidence) -> dict[str, TextColumn]:
    """Published columns, in the order of the original when the trace is at hand; columns that are not published come from there."""
    found = {name: evidence.data.text(name) for name in evidence.data.names}
    if evidence.behind is None or evidence.original is None:
        return found
    order = np.argsort(evidence.behind["data"], kind="stable")
    return {name: TextColumn(text.codes[order], text.labels) for name, text in found.items()}


def _originals(evidence: Evidence) -> dict[str, TextColumn]:
    if evidence.original is None:
        return {}
    return {name: evidence.original.text(name) for name in evidence.original.names}
