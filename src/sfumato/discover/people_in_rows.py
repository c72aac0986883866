"""Whose rows they are: a column that clearly names people, each of whom may stand in several rows.

What speaks for it
    its name     whom a table is about (`patient`, `customer`), alone or with a word of numbering (`patient_nbr`, `CustomerID`)
    its values   more than twenty, some of them in several rows, none missing

A column is proposed when it is the only one; of several candidates nobody but the data holder can choose, and they are named. Where
a sensitive column stays the same for nearly everybody with several rows, rows that nothing ties would give it away together, and
linked rows are proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.data.people import STAYS, people_of, staying
from sfumato.data.table import Table
from sfumato.data.words import words
from sfumato.discover.names import numbers_things
from sfumato.risks.roles import ColumnLook

_SUBJECT_WORDS = """
    patient customer person user member client student pupil employee respondent participant subscriber citizen resident
    applicant voter donor passenger subject guest tenant
"""
_SUBJECTS = frozenset(_SUBJECT_WORDS.split())
_FEW = 20
"""Values of a category, at most."""


@dataclass(frozen=True, slots=True)
class ProposedPerson:
    """A column that names people, and why."""

    column: str
    people: int
    rows: int
    lasting: tuple[str, ...]
    """Sensitive columns that stay with a person."""

    @property
    def entry(self) -> str | dict[str, str]:
        """What stands under ``person:``."""
        return {"columns": self.column, "rows": "linked"} if self.lasting else self.column

    @property
    def reason(self) -> str:
        said = (
            f"person: '{self.column}' names {self.people:,} people in {self.rows:,} rows, so candidates are people; "
            "take the line out if a value is not a person"
        )
        if self.lasting:
            said += (
                f"; rows: linked, because '{self.lasting[0]}' stays with a person, and rows that nothing ties would give it away"
            )
        return said


def named_people(looks: Sequence[ColumnLook], rows: int) -> list[str]:
    """Columns that name people in several rows by name and values."""
    return [look.name for look in looks if _names_somebody(look.name) and _repeats(look, rows)]


def _names_somebody(name: str) -> bool:
    own = words(name)
    return bool(_SUBJECTS & set(own)) and (len(own) == 1 or numbers_things(own))


def _repeats(look: ColumnLook, rows: int) -> bool:
    return not look.missing and _FEW < look.distinct < rows


def proposed_person(table: Table, looks: Sequence[ColumnLook]) -> ProposedPerson | None:
    """The column that names people, when there is one and only one."""
    found = named_people(looks, table.records)
    if len(found) != 1:
        return None
    person = people_of(table, found)
    hidden = [look.name for look in looks if look.role == "sensitive" and look.name not in found]
    lasting = tuple(name for name in hidden if staying(person, table.text(name).codes) >= STAYS)
    return ProposedPerson(found[0], int(person.max()) + 1, table.records, lasting)
