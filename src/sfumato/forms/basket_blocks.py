"""Baskets in blocks: ``data.csv`` with ``block``, then ``items``, ``distance_items``, ``threshold`` and the labels.

Rows of a block stand for the records of that block, one each, in an order drawn uniformly among all; every record of a block fits
every row of it. Blocks are numbered by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.data.arrays import IntArray
from sfumato.data.published_baskets import OWN
from sfumato.forms.baskets import Basket
from sfumato.release.exhibit import Exhibit, of_parts
from sfumato.release.form import differing_columns, differing_parts
from sfumato.release.release import Trace

BLOCK = "block"


@dataclass(frozen=True)
class BlockTrace(Trace):
    """Also, per label column, the chance with which the labels of a block were hidden that could have been shown."""

    chances: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """By column and size of a block."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """By column the l by which labels were hidden: the strictest of all claims on it."""
    sparing: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """By column the sizes of blocks in which only the copies of one label may be hidden; blocks of other sizes are hidden whole."""


class BasketBlocks(Basket):
    """Set-valued records in disjoint blocks, the rows of each standing for its records in secret order."""

    name: ClassVar[str] = "basket blocks"
    made: ClassVar[frozenset[str]] = frozenset({BLOCK})

    insiders: int = Field(default=0, ge=0, description="known matches of a block beside which the promises hold")
    shows: Literal["vote", "dealt"] = Field(default="vote", description="what rows show: the vote of the block, or its items dealt")
    hides: Literal["whole", "sparing"] = Field(default="whole", description="how labels are hidden: block by block, or sparingly")

    correlated: Literal["refused", "accepted"] = Field(
        default="refused", description="whether the data holder accepts that labels may follow from items"
    )

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", [BLOCK, *OWN, *exhibit.policy.published])

    def trace_type(self) -> type[Trace]:
        return BlockTrace


@of_parts
def blocks_of(exhibit: Exhibit) -> IntArray:
    """The block of each published row, numbered from 0; ask for it with ``exhibit.once(blocks_of)``."""
    return np.asarray(exhibit.data.text(BLOCK).codes, dtype=np.int64)
