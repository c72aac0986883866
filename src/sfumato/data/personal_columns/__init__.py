"""The one detector of personal columns: by name, by values, by type, with a role, a reason and how certain it is.

    vocabulary   words and kinds, read from data files in seven languages
    names        the words of a name, and the kinds that they stand for
    looks        what values look like: check digits, formats, names of people, free text, secrets
    detector     both together for one column
    databases    what a draft does with every column of a database
    roles        a role for every column of a table

Discovery drafts by it, `risk` and the studio show it, and the audit of a source warns by it. It errs on the side of
caution and is no proof: what is not recognized is marked for review."""

from sfumato.data.personal_columns.detector import (
    ColumnDecision,
    DatabaseColumn,
    Detected,
    decide,
    detect,
    people_tables,
    personal_kind,
    rows_are_people,
)
from sfumato.data.personal_columns.names import is_about_persons, name_contains, words_of_name
from sfumato.data.personal_columns.vocabulary import vocabulary

PEOPLE = vocabulary().group("person") | vocabulary().group("account")
"""Words for people."""

__all__ = [
    "PEOPLE",
    "ColumnDecision",
    "DatabaseColumn",
    "Detected",
    "decide",
    "detect",
    "is_about_persons",
    "name_contains",
    "people_tables",
    "personal_kind",
    "rows_are_people",
    "words_of_name",
]
