"""Perturbed table: ``data.csv`` with the published columns, some of them with values that changed by chance.

The manifest says how, so that whoever analyses the table can correct for it on average: `sfumato recover`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form, differing_columns, differing_parts


class PerturbedTable(Form):
    """One table in which values of some columns changed by chance; it promises nothing about anybody."""

    name: ClassVar[str] = "perturbed table"
    shows_columns: ClassVar[bool] = True
    promises: ClassVar[bool] = False

    how: Literal["swapping", "shuffling", "noise", "pram"] = Field(description="what changed the values")
    columns: tuple[str, ...] = Field(description="the columns whose values changed")
    window: float = Field(
        default=0.0, ge=0, le=1, description="how far apart ranks may be that changed places, as a share of all rows"
    )
    covariance: dict[str, dict[str, float]] = Field(default_factory=dict, description="of the noise that was added to numbers")
    keep: dict[str, float] = Field(default_factory=dict, description="probability that a category stayed as it was for certain")
    shares: dict[str, dict[str, float]] = Field(default_factory=dict, description="what the others were drawn from")

    @property
    def rests_on_chance(self) -> bool:
        return True

    @property
    def recoverable(self) -> bool:
        return True

    @property
    def keeps_values(self) -> bool:
        """Whether every column still has the values it had, in other rows."""
        return self.how in ("swapping", "shuffling")

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", exhibit.policy.published)
        if not set(self.columns) <= set(exhibit.policy.published):
            yield "columns are said to have changed that are not published"

    def uncountable(self, exhibit: Exhibit) -> str:
        return "its values changed by chance, so a count of them is no count of people"
