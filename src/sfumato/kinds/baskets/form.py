"""Baskets: ``data.csv`` with ``items`` (the base), ``distance_items`` (what may differ), ``threshold``, then labels.


Basket blocks
-------------
Baskets in blocks: ``data.csv`` with ``block``, then ``items``, ``distance_items``, ``threshold`` and the labels.

Rows of a block stand for the records of that block, one each, in an order drawn uniformly among all; every record of a
block fits every row of it. Blocks are numbered at random."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from sfumato.core.arrays import IntArray
from sfumato.data.baskets import Baskets
from sfumato.data.table import Table, TextColumn
from sfumato.kinds.baskets.published_baskets import OWN, WITHHELD, PublishedBaskets, from_table
from sfumato.policy.policy import Policy
from sfumato.release.form import Form, differing_columns, differing_parts
from sfumato.release.past_releases import Memory, RememberedTable, keys_of, rows_covered_once
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView, of_parts


@dataclass(frozen=True)
class BasketProvenance(Provenance):
    """Also all assignments that the true one was drawn from: assignment × published row → record."""

    assignments: IntArray | None = None


class Basket(Form):
    """Set-valued records, each as what several neighbours have in common."""

    name: ClassVar[str] = "baskets"
    kind: ClassVar[str] = "baskets"
    knowledge: ClassVar[str] = "all items of a person"

    degree: int = Field(default=1, ge=1, description="records that each published row may stand for")
    separator: str = Field(default=" ", min_length=1, max_length=1, description="what stands between items")

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", [*OWN, *exhibit.policy.published])

    @property
    def rests_on_chance(self) -> bool:
        return True

    def trace_type(self) -> type[Provenance]:
        return BasketProvenance


@of_parts
def published_baskets(exhibit: ReleaseView) -> PublishedBaskets:
    """The published records as sets; ask for it with ``exhibit.once(published_baskets)``."""
    assert isinstance(exhibit.form, Basket)
    return from_table(exhibit.data, exhibit.form.separator, beside=exhibit.form.made)


# Basket blocks
# -------------


BLOCK = "block"


@dataclass(frozen=True)
class BlockProvenance(Provenance):
    """Also, per label column, the chance with which the labels of a block were hidden that could have been shown."""

    chances: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """By column and size of a block."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """By column the l by which labels were hidden: the strictest of all requirements on it."""
    sparing: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """By column the sizes of blocks in which only the copies of one label may be hidden; blocks of other sizes are
    hidden whole."""

    def __post_init__(self) -> None:
        """As it was made, or as it comes from a file, where sizes are texts."""
        sized = {name: {int(size): float(chance) for size, chance in of.items()} for name, of in self.chances.items()}
        object.__setattr__(self, "chances", sized)
        object.__setattr__(self, "limits", {name: float(l) for name, l in self.limits.items()})
        object.__setattr__(self, "sparing", {name: frozenset(map(int, sizes)) for name, sizes in self.sparing.items()})


class BasketBlocks(Basket):
    """Set-valued records in disjoint blocks, the rows of each standing for its records in secret order."""

    name: ClassVar[str] = "basket blocks"
    made: ClassVar[frozenset[str]] = frozenset({BLOCK})
    company: ClassVar[str] = "baskets"
    remembered: ClassVar[bool] = True

    insiders: int = Field(default=0, ge=0, description="known matches of a block beside which the promises hold")
    shows: Literal["vote", "dealt"] = Field(
        default="vote",
        description=("what rows show: the majority of the block, or its items distributed with exact counts"),
    )
    hides: Literal["whole", "sparing"] = Field(
        default="whole", description="how labels are hidden: block by block, or sparingly"
    )

    correlated: Literal["refused", "accepted"] = Field(
        default="refused", description="whether the data holder accepts that labels may follow from items"
    )

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", [BLOCK, *OWN, *exhibit.policy.published])

    def trace_type(self) -> type[Provenance]:
        return BlockProvenance

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Provenance, original: Baskets) -> Memory:
        """Whose row is whose, and the labels; item sets are not kept."""
        behind = np.asarray(trace.rows["data"])
        keys = keys_of(policy, original)
        labels = {name: pa.array(original.labels[name][behind].tolist(), pa.string()) for name in policy.published}
        nobody = np.zeros(len(behind), dtype=np.bool_)
        return Memory(tuple(keys[record] for record in behind), np.arange(len(behind)), Table(pa.table(labels)), nobody)

    def sheets(self, exhibit: ReleaseView, memory: Memory) -> tuple[RememberedTable, ...]:
        """Return no tables: set-valued records have no known columns, and only their blocks link several releases."""
        return ()

    def shown(self, exhibit: ReleaseView) -> tuple[str, ...]:
        return tuple(exhibit.once(published_baskets).labels)

    def accounts(self, exhibit: ReleaseView, memory: Memory) -> bool:
        """Every row has a person behind it whose labels it shows, where it shows them."""
        labels = exhibit.once(published_baskets).labels
        if set(labels) != set(memory.values.names) or not rows_covered_once(memory.rows, exhibit.data.rows):
            return False
        return all(_says(column[memory.rows].tolist(), memory.values.text(name)) for name, column in labels.items())


def _says(shown: list[str], true: TextColumn) -> bool:
    return all(one in (WITHHELD, true.labels[code]) for one, code in zip(shown, true.codes.tolist(), strict=True))


@of_parts
def blocks_of(exhibit: ReleaseView) -> IntArray:
    """The block of each published row, numbered from 0; ask for it with ``exhibit.once(blocks_of)``."""
    return np.asarray(exhibit.data.text(BLOCK).codes, dtype=np.int64)
