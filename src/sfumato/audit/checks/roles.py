"""Roles: the published columns are those the policy publishes; no identifier and nothing unnamed among them."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit


class RolesKept(Check):
    """No identifier column, no column the policy does not publish."""

    name: ClassVar[str] = "roles"
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.form.shows_columns

    def examine(self, exhibit: Exhibit) -> Finding:
        policy = exhibit.policy
        shown = {name for part, own in exhibit.parts.items() if part not in exhibit.form.beside_people for name in own.shown}
        shown -= exhibit.form.made
        identifiers = sorted(name for name in shown if name in policy.columns and policy.columns[name].role == "identifier")
        strangers = sorted(shown - set(policy.published) - set(identifiers))
        wrong = [f"identifier column '{name}' is published" for name in identifiers]
        wrong += [f"column '{name}' is published but not by the policy" for name in strangers]
        achieved = {"identifiers": len(identifiers), "unnamed": len(strangers)}
        return Finding(self.name, not wrong, {"identifiers": 0, "unnamed": 0}, achieved, reason="; ".join(wrong))
