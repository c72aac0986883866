"""`walk`: the walk-based attack of Backstrom, Dwork and Kleinberg, which wants every degree and every tie as planted.

Paper: [multitype §4.1.1]. It collapses as soon as a single planted degree changes.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from sfumato.attacks._planting import Planted
from sfumato.attacks._trials import PlantedAttack
from sfumato.attacks._walking import Found, walk_attack


class Walk(PlantedAttack):
    """Plant accounts, then follow the path whose degrees and ties are exactly as planted."""

    name: ClassVar[str] = "walk"
    paper: ClassVar[str] = "multitype §4.1.1"

    limit: int = Field(default=400_000_000, ge=1, description="nodes to look at before giving up")

    def search(self, planted: Planted) -> Found:
        return walk_attack(planted, limit=self.limit)
