"""A template: one form of rule, how to find what fits it, and how likely it would fit by accident."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from sfumato.discover.proposal import Proposal
from sfumato.discover.view import DataView


class Template(ABC):
    """One form of rule."""

    name: ClassVar[str]
    order: ClassVar[int] = 50
    """Templates run in this order: those about keys first, because they say which numbers are no quantities."""

    @abstractmethod
    def propose(self, view: DataView) -> Iterator[Proposal]:
        """Candidates that seem to hold; the audit's evaluator has the last word."""
