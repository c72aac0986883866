"""Microaggregated table: ``data.csv`` with the published columns; the quasi-identifiers of a group are its averages.

A cell does not cover anybody's value, so nothing can be said about single values; groups are rows that look alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form, differing_columns, differing_parts


class Microaggregated(Form):
    """One table in which quasi-identifiers are the averages of groups."""

    name: ClassVar[str] = "microaggregated table"
    shows_columns: ClassVar[bool] = True

    centre: Literal["mean", "median", "mode"] = Field(default="mean", description="what a group's numbers were replaced by")
    numbers: tuple[str, ...] = Field(default=(), description="the quasi-identifiers that are numbers; the others are modes")

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", exhibit.policy.published)
        strange = [name for name in self.numbers if name not in exhibit.policy.quasi_identifiers]
        if strange:
            yield f"{len(strange)} column(s) are said to be averaged and are no quasi-identifiers"

    def uncountable(self, exhibit: Exhibit) -> str:
        return "its cells are averages of groups, so a count of them is no count of people"
