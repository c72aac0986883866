"""Files: everything the manifest lists is there, unchanged, and nothing else is."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.audit.evidence import Evidence
from sfumato.release.certificate import Finding


class Files(Check):
    """The folder holds exactly what was certified."""

    name: ClassVar[str] = "files"

    def applies(self, evidence: Evidence) -> bool:
        return evidence.damage is not None

    def examine(self, evidence: Evidence) -> Finding:
        damage = evidence.damage or ()
        return Finding(self.name, not damage, {"damaged": 0}, {"damaged": len(damage)}, reason="; ".join(damage))
