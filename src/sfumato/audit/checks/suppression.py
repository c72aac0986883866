"""Suppression: as many records as the certificate says, and not more than the policy allows."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.audit.certify import reading_of
from sfumato.audit.evidence import Evidence
from sfumato.models.base import rounded
from sfumato.release.certificate import Finding


class Suppression(Check):
    """Published and suppressed records add up and stay within the policy's limit."""

    name: ClassVar[str] = "suppression"

    def applies(self, evidence: Evidence) -> bool:
        return evidence.records is not None and evidence.policy.data.name == "table"

    def examine(self, evidence: Evidence) -> Finding:
        assert evidence.records is not None
        said, limit = evidence.records, evidence.policy.utility.suppress_at_most
        published = reading_of(evidence.form).published(evidence)
        inputs = evidence.original.rows if evidence.original is not None else said.input
        suppressed = inputs - published
        wrong = []
        if published != said.published or suppressed != said.suppressed:
            wrong.append(f"{suppressed} records are suppressed, the certificate says {said.suppressed}")
        if limit is not None and suppressed > limit * inputs + 1e-9:
            wrong.append(f"{suppressed} of {inputs} records are suppressed, the policy allows {limit:.3%}")
        figures = {"suppressed": suppressed, "input": inputs}
        if limit is None:
            return Finding(self.name, not wrong, {}, figures, reason="; ".join(wrong))
        achieved = {"suppress_at_most": rounded(suppressed / max(inputs, 1)), **figures}
        return Finding(self.name, not wrong, {"suppress_at_most": limit}, achieved, reason="; ".join(wrong))
