"""``population:`` in the policy of a table: whom the people in it are a sample of, so that claims can speak of everybody.

::

    population: {file: residents.csv}              # a table with the quasi-identifiers of everybody, the people of the table
                                                   # included
    population: {fraction: 0.05}                   # the share of the population that is in the table, drawn by chance
    population: {weight: survey_weight}            # a column: how many people each record stands for
    population: {weight: w, calibrate: [sex, region], round: 10}   # published anew: see `methods.recoding.calibrating`

The file is private: a release says that there was one, not where it lies nor what stands in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sfumato.data.table import Table
from sfumato.errors import DataError, PolicyError
from sfumato.io.base import Source
from sfumato.policy.claims import Claim
from sfumato.policy.declared import declare
from sfumato.policy.read import Document

UNNAMED = "population"
"""What a release says instead of the name of the file."""
_WAYS = ("file", "fraction", "weight")
TOLERANCE = 0.001
"""How far a calibrated total may be from the original's, as a share of it; one step of rounding is always allowed."""


class SampledPopulation(BaseModel):
    """Whom the table is a sample of: one of file, fraction and weight."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str | None = Field(default=None, min_length=1, description="a table of everybody, with the quasi-identifiers")
    fraction: float | None = Field(default=None, gt=0, le=1, description="share of the population that is in the table")
    weight: str | None = Field(default=None, min_length=1, description="a column with how many people each record stands for")
    confidence: float = Field(default=0.9, ge=0.5, lt=1, description="of the bound on people that follows from a fraction")

    calibrate: tuple[str, ...] = Field(
        default=(), description="columns whose weighted totals published weights keep, suppressed records included"
    )
    round: float = Field(default=1.0, gt=0, description="calibrated weights are multiples of this")

    @model_validator(mode="after")
    def _one(self) -> SampledPopulation:
        if sum(getattr(self, way) is not None for way in _WAYS) != 1:
            raise ValueError("name one of file, fraction and weight")
        if self.calibrate and self.weight is None:
            raise ValueError("'calibrate' needs 'weight', the column with how many people each record stands for")
        if not self.calibrate and "round" in self.model_fields_set:
            raise ValueError("'round' is about calibrated weights: name the columns to 'calibrate' to")
        return self

    def read(self, source: Source, base: Path) -> Table:
        """The table of the population, read as the table of the policy is."""
        if self.file is None:
            raise DataError("the policy names no table of the population", hint="write 'population: {file: residents.csv}'")
        table: Table = source.read(base / self.file)
        return table

    def shown(self) -> dict[str, Any]:
        """What a release may say of it."""
        said = self.model_dump(exclude_defaults=True)
        return said | ({"file": UNNAMED} if self.file is not None else {})


def values_of(everybody: Table | None, table: Table, name: str) -> tuple[str, ...]:
    """The values of a column in the table and, where there is a table of the population, in that."""
    mine = table.text(name).labels
    return mine if everybody is None else tuple(dict.fromkeys((*mine, *everybody.text(name).labels)))


def read_population(document: Document) -> SampledPopulation | None:
    """What stands under ``population:``."""
    entry = document.tree.get("population")
    return None if entry is None or entry == "" else declare(SampledPopulation, entry, document, "population")


def require_population(population: SampledPopulation | None, claims: tuple[Claim, ...], document: Document) -> None:
    """Claims about a population need one, and those about everybody a table of them."""
    for claim in claims:
        if claim.model.of_population and population is None:
            hint = "write 'population: {fraction: 0.05}', or {file: residents.csv}, or {weight: column}"
            raise PolicyError(f"{claim.model.name} speaks of the population, and the policy does not", where=claim.where, hint=hint)
        if claim.model.needs_everybody and population is not None and population.file is None:
            hint = "write 'population: {file: residents.csv}'"
            raise PolicyError(f"{claim.model.name} needs a table of the population", where=claim.where, hint=hint)
