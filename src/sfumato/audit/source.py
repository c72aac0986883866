"""The source of a policy before anything is made: whether it fits, what holds in it, and what deserves a warning.

What can be said differs by the kind of data; a kind that has something to say is one file in ``audit/sources``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.errors import DataError
from sfumato.policy.policy import Policy
from sfumato.registry import catalogue
from sfumato.release.certificate import Finding
from sfumato.release.form import Form


@dataclass(frozen=True, slots=True)
class Warning:
    """Something a steward should look at; its identifier stays the same as long as policy and schema do."""

    identifier: str
    text: str

    def __str__(self) -> str:
        return f"{self.text} [{self.identifier}]"


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What was found in a source: findings about rules and constraints, and warnings that the policy has not accepted."""

    findings: tuple[Finding, ...] = ()
    warnings: tuple[Warning, ...] = ()
    notes: tuple[str, ...] = ()


class SourceAudit:
    """What is known about the original before a release is made; by default nothing."""

    name: ClassVar[str] = ""
    """The kind of data."""

    def read(self, policy: Policy, data: Any = None) -> Any:
        """The dataset; what cannot fit is refused before a row of it is read."""
        return policy.data.read(data)

    def rehearse(self, policy: Policy) -> None:
        """Refuse a target that could not be loaded, before a row is read; what only stands in its way is told by `examine`."""

    def require_sound(self, policy: Policy, dataset: Any, *, rules_stay: bool) -> None:
        """Refuse a dataset that a release could not mend; `rules_stay`: the method leaves records as they are."""

    def reads_rows(self, policy: Policy) -> bool:
        """Whether `examine` has something to look at; only then the source is read for a foresight."""
        return False

    def glance(self, policy: Policy) -> SourceReport:
        """What can be said when the source is not read."""
        return SourceReport()

    def examine(self, policy: Policy, dataset: Any, since: str | None = None, form: type[Form] | None = None) -> SourceReport:
        """Findings and warnings about the original.

        `since` is an earlier release folder to compare with, `form` what would be published, when that is known.
        """
        return SourceReport()


def source_audit(policy: Policy) -> SourceAudit:
    """The audit of this policy's kind of source."""
    return catalogue("audit.sources", SourceAudit).get(policy.data.name, SourceAudit)()


def accepting(
    accept: Iterable[str], warnings: Sequence[Warning], findings: tuple[Finding, ...] = (), notes: tuple[str, ...] = ()
) -> SourceReport:
    """A report without the warnings that the policy accepts by name; what was accepted becomes a note."""
    accepted, met = set(accept), {warning.identifier for warning in warnings}
    told = [f"accepted: {warning}" for warning in warnings if warning.identifier in accepted]
    told += [f"accepted but no longer there: {identifier}" for identifier in sorted(accepted - met)]
    kept = tuple(warning for warning in warnings if warning.identifier not in accepted)
    return SourceReport(findings, kept, (*notes, *told))


def require(findings: tuple[Finding, ...], where: str, hint: str) -> None:
    """Refuse when a finding does not hold."""
    broken = [finding.reason for finding in findings if not finding.holds]
    if broken:
        raise DataError("; ".join(broken), where=where, hint=hint)
