"""``person:`` in the policy of a table: which columns name a person, so that candidates are people and not rows.

::

    person: patient_id                                            # one column, or a list of columns that name a person together
    person: {columns: patient_id, rows: linked}                   # a pseudonym ties the published rows of a person
    person: {columns: patient_id, together: household_id}         # whoever recognizes one member learns the others

Columns that name a person or a household are private: they are never published as they are. In a linked release every person gets a
pseudonym, drawn anew for every release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from sfumato.errors import PolicyError
from sfumato.policy.declared import declare
from sfumato.policy.read import Document

PSEUDONYM = "person"
"""The column of a linked release that ties rows."""


class Person(BaseModel):
    """Whose rows they are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: tuple[str, ...] = Field(min_length=1, description="the columns that name a person; never published as they are")
    rows: Literal["unlinked", "linked"] = Field(
        default="unlinked", description="linked: a pseudonym ties the published rows of a person; unlinked: nothing does"
    )
    together: tuple[str, ...] = Field(default=(), description="columns that name a household: then households are the candidates")

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

    shift: int = Field(ge=1, le=100_000, description="days at most, earlier or later; one number per person, drawn by chance")


def read_person(document: Document) -> Person | None:
    """What stands under ``person:``."""
    entry = document.tree.get("person")
    if entry is None or entry == "":
        return None
    values = entry if isinstance(entry, Mapping) else {"columns": entry}
    return declare(Person, dict(values), document, "person")


def require_private(person: Person, roles: Mapping[str, str], document: Document) -> None:
    """A column that names people has the role of an identifier, or none."""
    for name in person.private:
        if roles.get(name, "identifier") != "identifier":
            what = f"'{name}' names people and cannot have the role '{roles[name]}'"
            raise PolicyError(
                what, where=document.where("person"), hint=f"write '{name}: identifier', or leave it out of 'columns'"
            )
