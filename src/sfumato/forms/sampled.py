"""Sampled table: ``data.csv`` with drawn records, generalized alike, that look alike in every published column.

The manifest says how they were drawn. How many records the original had is not published: a certificate speaks of what is there.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from sfumato.forms.recoded import Recoded


class DrawnTable(Recoded):
    """Records drawn by chance and generalized alike, each among equals in every published column."""

    name: ClassVar[str] = "sampled table"
    remembered: ClassVar[bool] = False
    hides_size: ClassVar[bool] = True

    fraction: float = Field(default=1.0, gt=0, le=1, description="the probability with which each record was drawn")
    threshold: int = Field(default=1, ge=1, description="drawn records that look alike in every column, or they are left out")
    search: float = Field(default=0.0, ge=0, description="the part of epsilon that the choice of levels took")
    levels: dict[str, int] = Field(default_factory=dict, description="steps that each quasi-identifier is generalized by")

    @property
    def rests_on_chance(self) -> bool:
        return True
