"""``person:`` in the policy of a table: which columns name a person, so that candidates are people and not rows.

::

    person: patient_id                                            # one column, or a list of columns that name a person
    together person: {columns: patient_id, rows: linked}                   # a pseudonym ties the published rows of a
    person person: {columns: patient_id, together: household_id}         # recognizing one member reveals the others

Columns that name a person or a household are private: they are never published as they are. In a linked release every
person gets a pseudonym, drawn anew for every release.


Population
----------
``population:`` in the policy of a table: whom the people in it are a sample of, so that requirements can speak of all
people.

::

    population: {file: residents.csv}              # a table with the quasi-identifiers of all people, the people of the
    table
                                                   # included
    population: {fraction: 0.05}                   # the share of the population that is in the table, a random sample
    population: {weight: survey_weight}            # a column: how many people each record stands for population:
    {weight: w, calibrate: [sex, region], round: 10}   # published anew: see `methods.recoding`

The file is private: a release states that there was one, but neither its path nor its content.


Series
------
What a policy says about several releases: what adversaries know of them, and what happens to people and values in
between.

>>> share_of("0.5%"), share_of(0.02)
(0.005, 0.02)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from sfumato.core.confinement import declared_path
from sfumato.core.errors import DataError, PolicyError
from sfumato.data.table import Table
from sfumato.data.text_values import parse_number
from sfumato.io.source import Source
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.yaml_document import Document, instantiate

PSEUDONYM = "person"
"""The column of a linked release that ties rows."""


class Person(BaseModel):
    """Whose rows they are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: tuple[str, ...] = Field(
        min_length=1, description="columns that identify a person; never published unchanged"
    )
    rows: Literal["unlinked", "linked"] = Field(
        default="unlinked",
        description="linked: a pseudonym links the published rows of a person; unlinked: nothing links them",
    )
    together: tuple[str, ...] = Field(
        default=(), description="columns that identify a household; households are then the unit of protection"
    )

    @field_validator("columns", "together", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @property
    def linked(self) -> bool:
        return self.rows == "linked"

    @property
    def private(self) -> tuple[str, ...]:
        """Columns that must not be published."""
        return tuple(dict.fromkeys((*self.columns, *self.together)))

    @property
    def unit(self) -> tuple[str, ...]:
        """The columns that name a candidate: a household where its members are recognized together, else a person."""
        return self.together or self.columns

    @property
    def word(self) -> str:
        """What candidates are."""
        return "households" if self.together else "people"


class DateShift(BaseModel):
    """How far the dates of a person are moved; intervals between them stay what they are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    shift: int = Field(
        ge=1, le=100_000, description="largest shift in days, earlier or later; one random number per person"
    )


def read_person(document: Document) -> Person | None:
    """What stands under ``person:``."""
    entry = document.tree.get("person")
    if entry is None or entry == "":
        return None
    values = entry if isinstance(entry, Mapping) else {"columns": entry}
    return instantiate(Person, dict(values), document, "person")


def require_private(person: Person, roles: Mapping[str, str], document: Document) -> None:
    """A column that names people has the role of an identifier, or none."""
    for name in person.private:
        if roles.get(name, "identifier") != "identifier":
            what = f"'{name}' names people and cannot have the role '{roles[name]}'"
            raise PolicyError(
                what, where=document.where("person"), hint=f"write '{name}: identifier', or leave it out of 'columns'"
            )


# Population
# ----------


UNNAMED = "population"
"""What a release says instead of the name of the file."""
_WAYS = ("file", "fraction", "weight")
TOLERANCE = 0.001
"""How far a calibrated total may be from the original's, as a share of it; one step of rounding is always allowed."""


class SampledPopulation(BaseModel):
    """Whom the table is a sample of: one of file, fraction and weight."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str | None = Field(
        default=None, min_length=1, description="a table of the whole population with the same quasi-identifiers"
    )
    fraction: float | None = Field(default=None, gt=0, le=1, description="share of the population that is in the table")
    weight: str | None = Field(
        default=None, min_length=1, description="a column with the number of people that each record represents"
    )
    confidence: float = Field(
        default=0.9, ge=0.5, lt=1, description="confidence of the bound that follows from a fraction"
    )

    calibrate: tuple[str, ...] = Field(
        default=(), description="columns whose weighted totals are preserved, suppressed records included"
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
            raise DataError(
                "the policy names no table of the population", hint="write 'population: {file: residents.csv}'"
            )
        table: Table = source.read(declared_path(base, self.file))
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
    return None if entry is None or entry == "" else instantiate(SampledPopulation, entry, document, "population")


def require_population(
    population: SampledPopulation | None, claims: tuple[PrivacyRequirement, ...], document: Document
) -> None:
    """Claims about a population need one, and those about everybody a table of them."""
    for claim in claims:
        if claim.model.of_population and population is None:
            hint = "write 'population: {fraction: 0.05}', or {file: residents.csv}, or {weight: column}"
            raise PolicyError(
                f"{claim.model.name} speaks of the population, and the policy does not", where=claim.where, hint=hint
            )
        if claim.model.needs_everybody and population is not None and population.file is None:
            hint = "write 'population: {file: residents.csv}'"
            raise PolicyError(f"{claim.model.name} needs a table of the population", where=claim.where, hint=hint)


# Series
# ------


def share_of(value: Any) -> float:
    """A share between 0 and 1 as it is written, with or without a percent sign."""
    text = str(value).strip()
    share = parse_number(text.removesuffix("%").rstrip())
    if share is None or not 0 <= share <= (100 if text.endswith("%") else 1):
        raise ValueError("must be a share between 0 and 1, or a percentage")
    return float(share) / (100 if text.endswith("%") else 1)


class Series(BaseModel):
    """What adversaries may know who see several releases, and what happens to people and values between them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cohorts: Literal["known", "unknown"] = Field(
        default="known", description="whether the adversary knows who is in which release"
    )
    by: Literal["class", "join"] = Field(
        default="class",
        description=(
            "class: every joint equivalence class satisfies the model; join: the paper's measure on the full match join"
        ),
    )
    leaving: Literal["withhold", "counterfeits", "refuse"] = Field(
        default="withhold",
        description="departed records: suppress members of their class, publish counterfeit records, or refuse",
    )
    counterfeits_at_most: float | None = Field(
        default=None,
        description="largest share of counterfeit records, like 1%; beyond it members of the class are suppressed",
    )
    waiting: float = Field(
        default=0.0,
        description="largest share of new records that may be deferred to a later release, like 0.5%",
    )
    changes: dict[str, str] = Field(
        default_factory=dict, description="columns whose values change: 'free', or a known step like '+1 per year'"
    )
    date: str | None = Field(default=None, description="date of this release, YYYY-MM-DD, for known steps")

    @field_validator("waiting", "counterfeits_at_most", mode="before")
    @classmethod
    def _share(cls, value: Any) -> float | None:
        return None if value is None else share_of(value)
