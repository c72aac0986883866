"""A database for testing: it makes no promise about what outsiders believe, so no model can be claimed; its checks judge it."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.base import Reading
from sfumato.audit.evidence import Evidence
from sfumato.data.linkage import Linkage
from sfumato.errors import DataError
from sfumato.policy.claims import Claim


class DatabaseReading(Reading):
    """All tables of a database."""

    name: ClassVar[str] = "database"

    def read(self, evidence: Evidence, claim: Claim) -> Linkage:
        raise DataError(f"{claim} cannot be judged on a database", hint="publish its tables one by one")

    def published(self, evidence: Evidence) -> int:
        return sum(len(part) for part in evidence.parts.values())
