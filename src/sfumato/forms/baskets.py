"""Baskets: ``data.csv`` with ``items`` (the base), ``distance_items`` (what may differ), ``threshold``, then labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from sfumato.data.arrays import IntArray
from sfumato.data.published_baskets import OWN, from_table
from sfumato.data.worlds import PublishedBaskets
from sfumato.release.exhibit import Exhibit, of_parts
from sfumato.release.form import Form, differing_columns, differing_parts
from sfumato.release.release import Trace


@dataclass(frozen=True)
class BasketTrace(Trace):
    """Also all assignments that the true one was drawn from: assignment × published row → record."""

    assignments: IntArray | None = None


class Basket(Form):
    """Set-valued records, each as what several neighbours have in common."""

    name: ClassVar[str] = "baskets"
    kind: ClassVar[str] = "baskets"

    degree: int = Field(default=1, ge=1, description="records that each published row may stand for")
    separator: str = Field(default=" ", min_length=1, max_length=1, description="what stands between items")

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", [*OWN, *exhibit.policy.published])

    @property
    def rests_on_chance(self) -> bool:
        return True

    def trace_type(self) -> type[Trace]:
        return BasketTrace


@of_parts
def published_baskets(exhibit: Exhibit) -> PublishedBaskets:
    """The published records as sets; ask for it with ``exhibit.once(published_baskets)``."""
    assert isinstance(exhibit.form, Basket)
    return from_table(exhibit.data, exhibit.form.separator, beside=exhibit.form.made)
