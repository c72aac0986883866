"""Report: the page that shows a release, written only when its certificate is what the audit finds.

A page repeats what the certificate says, in large letters. So the certificate is compared with the files first, and a page is
refused as long as the two disagree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.engines.local import HERE
from sfumato.errors import ReleaseError
from sfumato.release.folder import REPORT, read_folder
from sfumato.report.write import write_private, write_public
from sfumato.spine.verify import Audit, audit_of

_ABOUT = frozenset({"certificate", "form", "method"})
"""Findings of which one that does not hold says that the certificate is not about these files."""


def write_report(folder: Path, original: Any = None, out: Path | None = None, **parameters: Any) -> Path:
    """The public report into the folder, or with the original the data holder's private one beside it."""
    release = read_folder(folder, engine=HERE)
    damage = tuple(entry for entry in release.damage or () if not entry.startswith(REPORT))
    if not damage:
        _require_agreement(audit_of(release), folder)
    return write_public(folder) if original is None else write_private(folder, original, out, parameters)


def _require_agreement(found: Audit, folder: Path) -> None:
    wrong = [finding.reason for finding in found.findings if finding.model in _ABOUT and not finding.holds]
    if wrong:
        what = "the certificate does not agree with the published files: " + "; ".join(wrong)
        raise ReleaseError(what, where=str(folder), hint="run 'sfumato verify' on it")
