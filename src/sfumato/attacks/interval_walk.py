"""`interval-walk`: the walk-based attack with degree intervals and a budget of wrong ties.

Paper: [multitype §4.4], Algorithm 3; intervals come from the exact law of the published degree unless a width is given.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from sfumato.attacks._planting import Planted
from sfumato.attacks._trials import PlantedAttack
from sfumato.attacks._walking import Found, interval_walk_attack


class IntervalWalk(PlantedAttack):
    """Plant accounts, then follow paths whose degrees lie in the likely intervals and whose ties are nearly as planted."""

    name: ClassVar[str] = "interval-walk"
    paper: ClassVar[str] = "multitype §4.4"

    width: int | None = Field(default=None, ge=0, description="half-width of every degree interval; absent: from the exact law")
    confidence: float = Field(default=0.9, gt=0, lt=1, description="chance that all planted degrees lie in their intervals")
    errors: int = Field(default=0, ge=0, description="wrong ties allowed along the path")
    limit: int = Field(default=400_000_000, ge=1, description="nodes to look at before giving up")

    def search(self, planted: Planted) -> Found:
        return interval_walk_attack(planted, width=self.width, confidence=self.confidence, errors=self.errors, limit=self.limit)
