"""Set-valued records before a release: read so that what comes out of them can be foretold."""

from __future__ import annotations

from typing import ClassVar

from sfumato.audit.source import SourceAudit
from sfumato.policy.policy import Policy


class BasketSourceAudit(SourceAudit):
    """The records are read where the source can be: how they will look is the first thing a steward wants to know."""

    name: ClassVar[str] = "baskets"

    def reads_rows(self, policy: Policy) -> bool:
        return policy.data.source != ""
