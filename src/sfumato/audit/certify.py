"""Certify: judge every claim of the policy and everything else that must be true, on what was published.

Guarantee: nothing here is taken from the method's word. The audit imports neither methods nor kernels.
"""

from __future__ import annotations

from sfumato.audit.base import Check, Reading
from sfumato.audit.evidence import Evidence
from sfumato.errors import SfumatoError
from sfumato.policy.claims import Claim
from sfumato.registry import catalogue, find
from sfumato.release.certificate import Finding


def certify(evidence: Evidence) -> tuple[Finding, ...]:
    """All findings: first the claims in the order of the policy, then the checks that apply."""
    return (*judge_claims(evidence), *examine_all(evidence))


def reading_of(form: str) -> Reading:
    """The reading for a form of release."""
    return find("audit.readings", Reading, form)()


def judge_claims(evidence: Evidence) -> list[Finding]:
    """One finding per claim; a part that cannot be read is a violation, not a crash."""
    reading = reading_of(evidence.form)
    return [_judged(reading, evidence, claim) for claim in evidence.policy.claims]


def _judged(reading: Reading, evidence: Evidence, claim: Claim) -> Finding:
    try:
        return reading.judge(evidence, claim)
    except (SfumatoError, KeyError) as error:
        what = error.what if isinstance(error, SfumatoError) else f"part {error} is missing"
        return Finding(claim.model.name, False, claim.model.required(), {}, claim.given, claim.hide, reason=what)


def examine_all(evidence: Evidence) -> list[Finding]:
    """One finding per check that applies."""
    findings = []
    for check in (cls() for cls in catalogue("audit.checks", Check).values()):
        if check.applies(evidence):
            try:
                findings.append(check.examine(evidence))
            except (SfumatoError, KeyError) as error:
                what = error.what if isinstance(error, SfumatoError) else f"{error} is missing"
                findings.append(Finding(check.name, False, reason=what))
    return findings
