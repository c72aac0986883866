"""Files: everything the manifest lists is there, unchanged, and nothing else is."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Check
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit


class Files(Check):
    """The folder holds exactly what was certified."""

    name: ClassVar[str] = "files"
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.damage is not None

    def examine(self, exhibit: Exhibit) -> Finding:
        damage = exhibit.damage or ()
        return Finding(self.name, not damage, {"damaged": 0}, {"damaged": len(damage)}, reason="; ".join(damage))
