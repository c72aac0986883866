"""Verify: the independent audit of a release folder, from its published files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.audit.certify import certify
from sfumato.ledger import Ledger
from sfumato.release.certificate import Finding
from sfumato.release.folder import open_release
from sfumato.spine.load import verify_target


@dataclass(frozen=True, slots=True)
class Audit:
    """What an independent audit of a release folder found."""

    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Nothing that could be judged is violated; `complete` says whether everything could be."""
        return all(finding.holds for finding in self.findings)

    @property
    def open(self) -> tuple[Finding, ...]:
        """Claims that the evidence at hand neither shows nor refutes."""
        return tuple(finding for finding in self.findings if not finding.judged)

    @property
    def complete(self) -> bool:
        return not self.open

    def to_json(self) -> dict[str, Any]:
        findings = [finding.to_json() for finding in self.findings]
        not_judged = [finding.model for finding in self.open]
        return {"holds": self.holds, "complete": self.complete, "not_judged": not_judged, "findings": findings}


def verify(folder: str | Path, *, original: Any = None, ledger: str | Path | None = None, target: str | None = None) -> Audit:
    """Audit a release folder from its published files.

    Parameters
    ----------
    folder
        The release folder.
    original
        The data it was made from; then also truthfulness, boundaries and rules are judged.
    ledger
        The ledger it was entered in; then it is judged together with all releases before it.
    target
        URL of the test database that was loaded from it; then what stands there is judged, too.

    Returns
    -------
    Audit
        The findings, and whether everything holds.
    """
    history = None if ledger is None else Ledger(ledger).history_until(Path(folder))
    exhibit = open_release(folder, original=original, history=history)
    found = certify(exhibit)
    return Audit(found if target is None else (*found, *verify_target(exhibit, target)))
