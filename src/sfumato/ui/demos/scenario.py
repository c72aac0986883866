"""A scenario: data made on the spot, a policy for it, and a story that a steward would tell.

A new scenario is one file in this folder with one class; ``sfumato demo --scenario NAME`` runs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from sfumato.release.method import Progress, no_progress
from sfumato.ui.cli._output import summary_lines
from sfumato.workflow.publication import Publication
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
        """Make, publish, verify; returns the public report."""
        policy, original = self.make(folder)
        say(f"Policy: {policy}")
        publication = publish(policy, seed=None, progress=progress)
        release = publication.write(folder / "release")
        say(published_line(publication))
        tell(publication, say, release)
        say(verified_line(verify(release, original=original), "with the original data"))
        return release / "report.html"


def published_line(publication: Publication) -> str:
    """How many records were published, and with which method."""
    records = publication.certificate.records
    return f"Published {records.published:,} of {records.input:,} records (method: {publication.certificate.method})."


def tell(publication: Publication, say: Say, release: Path) -> None:
    """The five questions about a release that was written."""
    for line in summary_lines(publication.summary(f"sfumato verify {release} shows what a recipient can check.")):
        say(line)


def verified_line(verdict: Audit, how: str) -> str:
    """What the audit of the folder came to."""
    if verdict.violated:
        return f"Verified {how}: a violation was found."
    return f"Verified {how}: " + (
        "everything holds." if verdict.complete else "no violation; not everything was assessed."
    )
