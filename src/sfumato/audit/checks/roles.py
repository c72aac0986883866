"""Roles: the published columns are those the policy publishes; no identifier and nothing unnamed among them."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.audit.evidence import Evidence
from sfumato.release.certificate import Finding


class RolesKept(Check):
    """No identifier column, no column the policy does not publish."""

    name: ClassVar[str] = "roles"
    forms: ClassVar[tuple[str, ...]] = ("recoded table", "anatomy", "replaced table", "sub-tables")
    made: ClassVar[dict[str, frozenset[str]]] = {
        "anatomy": frozenset({"bucket", "value", "count"}),
        "sub-tables": frozenset({"bucket", "value", "count", "column"}),
    }
    """Columns that a form brings along itself."""

    def applies(self, evidence: Evidence) -> bool:
        return evidence.policy.data.name == "table" and evidence.form in self.forms

    def examine(self, evidence: Evidence) -> Finding:
        policy = evidence.policy
        shown = {name for part in evidence.parts.values() for name in part.table.column_names}
        shown -= self.made.get(evidence.form, frozenset())
        identifiers = sorted(name for name in shown if name in policy.columns and policy.columns[name].role == "identifier")
        strangers = sorted(shown - set(policy.published) - set(identifiers))
        wrong = [f"identifier column '{name}' is published" for name in identifiers]
        wrong += [f"column '{name}' is published but not by the policy" for name in strangers]
        achieved = {"identifiers": len(identifiers), "unnamed": len(strangers)}
        return Finding(self.name, not wrong, {"identifiers": 0, "unnamed": 0}, achieved, reason="; ".join(wrong))
