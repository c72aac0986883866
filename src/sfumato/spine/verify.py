"""Verify: the independent audit of a release folder, from its published files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.audit.certify import certify
from sfumato.ledger import Ledger
from sfumato.release.certificate import Finding
from sfumato.release.folder import open_release
from sfumato.release.signature import VerifyingKey
from sfumato.release.statement import UNSIGNED, examine_signature
from sfumato.spine.load import verify_target


@dataclass(frozen=True, slots=True)
class Audit:
    """What an independent audit of a release folder found."""

    findings: tuple[Finding, ...]
    signature: str = UNSIGNED
    """Whether the folder is signed, and whether that was checked."""

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
        judged = {"holds": self.holds, "complete": self.complete, "not_judged": not_judged}
        return judged | {"signature": self.signature, "findings": findings}


def verify(
    folder: str | Path,
    *,
    original: Any = None,
    ledger: str | Path | None = None,
    target: str | None = None,
    signer: str | Path | VerifyingKey | None = None,
) -> Audit:
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
    signer
        The data holder's Ed25519 public key (PEM, ``ssh-ed25519 …`` or base64), or a file with it; then the folder must be signed
        with it, and every file must be the one that was signed.

    Returns
    -------
    Audit
        The findings, and whether everything holds.
    """
    key = signer if signer is None or isinstance(signer, VerifyingKey) else VerifyingKey.read(signer)
    exhibit = open_release(folder, original=original)
    if ledger is not None:
        exhibit = replace(exhibit, history=Ledger(ledger).history_until(Path(folder)))
    found = certify(exhibit)
    sentence, signed = examine_signature(Path(folder), key)
    loaded = () if target is None else verify_target(exhibit, target)
    return Audit((*found, *loaded, *signed), sentence)
