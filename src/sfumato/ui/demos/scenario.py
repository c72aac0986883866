"""A scenario: data made on the spot, a policy for it, and a story that a steward would tell.

A new scenario is one file in this folder with one class; ``sfumato demo --scenario NAME`` runs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from sfumato.release.certificate import Finding
from sfumato.release.method import Progress, no_progress
from sfumato.workflow.measure import measure
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import Audit, verify

Say = Callable[[str], None]


class Scenario(ABC):
    """One situation, end to end."""

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def make(self, folder: Path) -> tuple[Path, Path]:
        """Write the data and the policy; return the paths of the policy and of the original data."""

    def play(self, folder: Path, say: Say, progress: Progress = no_progress) -> Path:
        """Make, publish, verify, measure; returns the public report."""
        policy, original = self.make(folder)
        say(f"policy    {policy}")
        publication = publish(policy, seed=None, progress=progress)
        release = publication.write(folder / "release")
        certificate = publication.certificate
        say(f"published {certificate.records.published:,} of {certificate.records.input:,} records with {certificate.method}")
        verdict = verify(release, original=original)
        for finding in verdict.findings:
            say(describe(finding))
        say("verified  " + spoken(verdict))
        figures = measure(release, original=original)
        shown = [(name, value) for name, value in figures.items() if isinstance(value, float | int)]
        say("utility   " + ", ".join(f"{name} {value:,.0f}" if value >= 1000 else f"{name} {value:.4g}" for name, value in shown))
        return release / "report.html"


def spoken(verdict: Audit) -> str:
    """The verdict in a few words."""
    if verdict.violated:
        return "VIOLATED"
    return "everything holds" if verdict.complete else "not everything could be judged"


def describe(finding: Finding) -> str:
    """One finding in one line."""
    level = ", ".join(f"{key} {value}" for key, value in finding.achieved.items())
    mark = {True: "✓", False: "✗", None: "?" if finding.open else "·"}[finding.verdict]
    return f"  {mark} {finding.model}: {level}"
