"""Vulnerabilities that were found and mended: which earlier versions had them, and which releases they concern.

`verify` names those that concern a folder. The page ``docs/explanation/vulnerabilities.md`` describes each one; a test
compares both. A folder is concerned if its certificate names a version before the one that mended it, or no version
that can be read, and if its form and policy are of the kind that was affected. Whether a promise was in fact broken is
for the rest of the audit to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.release.view import ReleaseView, certificate_of

PAGE = "docs/explanation/vulnerabilities.md"
_READ = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:\.dev\d+|(?:a|b|rc)\d+)?")


@dataclass(frozen=True, slots=True)
class Vulnerability:
    """One entry of the page."""

    name: str
    severity: str
    mended: str
    """The first version without it."""
    concerns: Callable[[ReleaseView], bool]
    """Whether a release of an earlier version is of the kind that was affected."""


def concerning(exhibit: ReleaseView) -> list[Vulnerability]:
    """Return what may be wrong with a folder because of the version that wrote it."""
    version = certificate_of(exhibit).version
    return [each for each in VULNERABILITIES if _before(version, each.mended) and each.concerns(exhibit)]


def _before(version: str, mended: str) -> bool:
    """Return whether a version is earlier than another; one that cannot be read is."""
    made, since = _READ.fullmatch(version), _READ.fullmatch(mended)
    assert since is not None
    return made is None or tuple(map(int, made.groups())) < tuple(map(int, since.groups()))


def _combination(exhibit: ReleaseView) -> bool:
    claims = exhibit.policy.claims
    return exhibit.form.joins_columns and any(len(claim.hide) > 1 and claim.model.compares for claim in claims)


def _in_buckets(exhibit: ReleaseView) -> bool:
    return exhibit.form.buckets


def _in_ledger(exhibit: ReleaseView) -> bool:
    return certificate_of(exhibit).ledger is not None


def _unknown_cohorts(exhibit: ReleaseView) -> bool:
    return _in_ledger(exhibit) and exhibit.policy.series.cohorts == "unknown"


def _keeps_edges(exhibit: ReleaseView) -> bool:
    flip = getattr(exhibit.form, "flip", None)
    return flip is not None and flip.add != flip.delete


def _shares_of_persons(exhibit: ReleaseView) -> bool:
    shares = any(claim.model.demand().largest_share < 1 for claim in exhibit.policy.claims)
    return exhibit.form.buckets and exhibit.policy.person is not None and shares


def _ordered(exhibit: ReleaseView) -> bool:
    return any(getattr(claim.model, "order", None) for claim in exhibit.policy.claims)


def _knows(exhibit: ReleaseView) -> bool:
    return bool(exhibit.policy.knows) and not exhibit.form.reads_knowledge


def _counterfeits(exhibit: ReleaseView) -> bool:
    return bool(getattr(exhibit.form, "counterfeits", 0))


VULNERABILITIES = (
    Vulnerability("T1", "high", "0.2.0", _combination),
    Vulnerability("T2", "high", "0.2.0", _in_buckets),
    Vulnerability("T15", "high", "0.2.0", _unknown_cohorts),
    Vulnerability("T16", "medium", "0.2.0", _unknown_cohorts),
    Vulnerability("T3", "medium", "0.2.0", _keeps_edges),
    Vulnerability("T4", "medium", "0.2.0", _shares_of_persons),
    Vulnerability("R1", "medium", "0.2.0", _ordered),
    Vulnerability("E1", "high", "0.2.0", _knows),
    Vulnerability("E2", "high", "0.2.0", _in_ledger),
    Vulnerability("E3", "medium", "0.2.0", _in_ledger),
    Vulnerability("E4", "medium", "0.2.0", _counterfeits),
)
"""In the order of the page."""
