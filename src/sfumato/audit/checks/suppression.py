"""Suppression: as many records as the certificate says, and not more than the policy allows."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.models.base import rounded
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit


class Suppression(Check):
    """Published and suppressed records add up and stay within the policy's limit."""

    name: ClassVar[str] = "suppression"
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.records is not None and exhibit.form.shows_columns and not exhibit.form.hides_size

    def examine(self, exhibit: Exhibit) -> Finding:
        assert exhibit.records is not None
        said, limit = exhibit.records, exhibit.policy.utility.suppress_at_most
        published = exhibit.form.records(exhibit)
        inputs = exhibit.inputs if exhibit.private else said.input
        suppressed = inputs - published
        wrong = []
        if published != said.published or suppressed != said.suppressed:
            wrong.append(f"{suppressed} records are suppressed, the certificate says {said.suppressed}")
        if limit is not None and suppressed > limit * inputs + 1e-9:
            wrong.append(f"{suppressed} of {inputs} records are suppressed, the policy allows {limit:.3%}")
        achieved: dict[str, float] = {"miscounted": abs(suppressed - said.suppressed), "suppressed": suppressed, "input": inputs}
        required = {"miscounted": 0} | ({} if limit is None else {"suppress_at_most": limit})
        if limit is not None:
            achieved["suppress_at_most"] = rounded(suppressed / max(inputs, 1))
        return Finding(self.name, not wrong, required, achieved, reason="; ".join(wrong))
