"""What one column says about people, by its name, its values, its type and its table, and what a draft does about it.

>>> detect("Hauptdiagnose", ["I21.4", "C50.9", "B20.1"]).reason
'matched "diagnose" (health information); 100% of the values look like diagnosis codes (ICD)'
>>> detect("x", ["a", "b"]) is None, detect("telephone", ["yes", "no"]) is None
(True, True)
>>> [personal_kind(name, "customers") for name in ("FirstName", "email", "name", "quantity", "email_verified_at",
...     "address_id")]
['first name', 'email', 'name', '', '', '']
>>> personal_kind("name", "schools"), personal_kind("file_name", "users")
('', '')
>>> personal_kind("card", "orders", values=["4012888888881881"] * 12)
'card'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sfumato.data.personal_columns.looks import (
    Look,
    are_flags,
    has_document,
    is_free_text,
    kind_by_look,
    sample_of,
    value_shape,
)
from sfumato.data.personal_columns.names import (
    DATED,
    NamedKind,
    is_about_persons,
    is_about_things,
    kind_by_name,
    kinds_by_name,
    mentions_persons,
    words_of_name,
)
from sfumato.data.personal_columns.vocabulary import KINDS, ProposedRole, vocabulary

Certainty = Literal["high", "medium", "low"]
Action = Literal["replace", "ask", "keep"]
_NUMBERS = ("integer", "decimal", "float")
_DATES = ("date", "timestamp")
_CLOSED = (
    *_NUMBERS,
    *_DATES,
    "time",
    "boolean",
    "uuid",
    "enum",
    "interval",
    "inet",
    "cidr",
    "macaddr",
    "macaddr8",
    "year",
    "bit",
)
"""Types that hold no text of their own; columns of any other type are decided about one by one."""
_SILENT = ("boolean", "enum", "interval", "time", "uuid")
_OF_NUMBERS = frozenset(
    ("phone", "fax", "birth", "death", "national id", "paper", "health plan", "medical record", "card", "account")
)
_OF_NUMBERS |= {"postcode", "latitude", "longitude"}
_UNSPOKEN = frozenset(("text", "body", "content", "raw", "instruction", "description person", "subject", "statement"))
"""Words for texts that are a person's own only in a table about people or of what they write."""
_POINTING = frozenset(
    (
        "name",
        "first name",
        "last name",
        "login",
        "email",
        "phone",
        "fax",
        "street",
        "national id",
        "paper",
        "medical record",
    )
) | frozenset(("health plan", "account", "card", "birth", "death", "vehicle", "biometric", "photo"))
"""Kinds that make the rows of their table rows about people."""
_NAMES = frozenset(("name", "first name", "last name"))
_WITH_DIGITS = frozenset(
    ("vehicle", "account", "card", "paper", "national id", "device", "medical record", "health plan", "phone", "fax")
) | {"person number", "other number"}
_LABELS = 20
"""Different labels of a code, at most."""
_SPOKEN = ("occupation", "company", "education", "family")
"""Kinds that a survey also asks opinions about."""
_SENTENCE = 7
"""Words of a column name that is a question."""
_FEW, _OFTEN, _SHORT = 60, 3, 48
"""A code of an application has few values, each in several rows, and is short."""


@dataclass(frozen=True, slots=True)
class Detected:
    """What a column seems to hold."""

    kind: str
    reason: str
    certainty: Certainty

    @property
    def role(self) -> ProposedRole:
        return KINDS[self.kind].role

    @property
    def hipaa(self) -> str:
        return KINDS[self.kind].hipaa


def detect(
    column: str, values: Sequence[str], *, table: str = "", rows: int = 0, dated: bool = False
) -> Detected | None:
    """Return what the distinct values under a name say about people; None when neither name nor values are recognized.

    `rows` have a value; `dated` values are dates.
    """
    named = _plausible(column, table, values, dated)
    look = None if dated else kind_by_look(values, rows)
    if len(words_of_name(column)) >= _SENTENCE and (named is None or KINDS[named.kind].role == "quasi-identifier"):
        return _of_question(named, look)
    if named is None or look is None:
        return _alone(named, look, values)
    role, seen = KINDS[named.kind].role, KINDS[look.kind].role
    if named.kind == look.kind or (role == seen and role != "quasi-identifier"):
        return Detected(named.kind, f"{named.reason}; {look.reason.partition(' (')[0]}" + _rest(look), "high")
    stronger = (
        seen in ("identifier", "drop")
        and role not in ("identifier", "drop")
        and (look.sure or role == "quasi-identifier")
    )
    sensitive = (
        role == "quasi-identifier"
        and seen == "sensitive"
        and (look.sure or look.kind == "opinion")
        and named.kind in ("event date", "residence", "region", *(_SPOKEN if look.kind == "opinion" else ()))
    )
    if (stronger and not _contradicts(named, look)) or sensitive:
        return Detected(look.kind, look.reason, "medium")
    return Detected(named.kind, named.reason, "medium")


def _of_question(named: NamedKind | None, look: Look | None) -> Detected | None:
    """Return what is known of a column that is named by a whole sentence, in which one word proves little."""
    if look is not None:
        return Detected(look.kind, look.reason, "high" if look.sure else "medium")
    return None if named is None else Detected(named.kind, f"{named.reason} in a whole sentence", "low")


def _plausible(column: str, table: str, values: Sequence[str], dated: bool) -> NamedKind | None:
    """Return the likeliest kind by name that values can be: yes and no are neither a number of a person nor a date."""
    flags = are_flags(values)
    for named in kinds_by_name(column, table):
        known = KINDS[named.kind]
        if (dated and named.kind not in DATED) or _cannot_be(named.kind, values):
            continue
        if not flags or (known.role != "identifier" and named.kind not in DATED):
            return named
    return None


def _cannot_be(kind: str, values: Sequence[str]) -> bool:
    """Return whether a few values contradict a name: names are no numbers, and numbers of people have digits."""
    shown = [value for value in values if value]
    if not 1 < len(shown) <= _LABELS:
        return False
    if kind in _NAMES:
        return all(value.isdigit() for value in shown)
    return kind in _WITH_DIGITS and not any(sign.isdigit() for value in shown for sign in value)


def _rest(look: Look) -> str:
    return f" ({look.of.partition('(')[2]}" if "(" in look.of else ""


def _alone(named: NamedKind | None, look: Look | None, values: Sequence[str]) -> Detected | None:
    if named is not None:
        return Detected(named.kind, named.reason, "medium")
    return None if look is None else Detected(look.kind, look.reason, "high" if look.sure else "medium")


def _contradicts(named: NamedKind, look: Look) -> bool:
    """Return whether a look is what values of a named kind have: a city is called like a person, a title has several
    words."""
    if look.kind in ("first name", "last name", "name"):
        return named.kind in (
            "city",
            "region",
            "country",
            "origin",
            "company",
            "religion",
            "politics",
            "sex",
            "education",
            "residence",
        )
    return look.kind in ("phone", "vehicle", "secret", "street") and named.kind in (
        "money",
        "event date",
        "measurement",
        "birth",
        "age",
    )


# Databases
# ---------


@dataclass(frozen=True, slots=True)
class DatabaseColumn:
    """What is known of one column of a database."""

    name: str
    table: str = ""
    type: str = "text"
    values: Sequence[str] = ()
    """Distinct values, at least a sample of them."""
    rows: int = 0
    """Rows that have a value."""
    distinct: int = 0
    rarest: int = 0
    """Rows with the rarest of the values."""
    key: bool = False
    """Whether it is a key or refers to one."""
    listed: bool = False
    """Whether a check of the schema lists its values."""


@dataclass(frozen=True, slots=True)
class ColumnDecision:
    """What a draft does about a column of a database, and why."""

    action: Action
    kind: str
    reason: str


def personal_kind(column: str, table: str = "", kind: str = "text", values: Sequence[str] = ()) -> str:
    """Return the kind of personal data that a database column of that type holds, or nothing."""
    found = _personal(DatabaseColumn(column, table, kind, values, len(values), len(set(values))))
    return "" if found is None else found.kind


def decide(column: DatabaseColumn, people: bool, pointing: bool = False) -> ColumnDecision:
    """Return what to do about a column; `people`: the rows of its table are about people.

    With `pointing` another column of the table points at a person by itself, so that a city or an employer would tell
    who is meant.

    >>> decide(DatabaseColumn("phonenumber", "personphone"), True).action, decide(DatabaseColumn("flarb", "users"),
    ...     True).action
    ('replace', 'ask')
    >>> decide(DatabaseColumn("state", "users", values=["open", "shut"], rows=90, distinct=2, rarest=40), True).reason
    'a code of the application: 2 values in 90 rows, the rarest in 40'
    """
    found = _personal(column)
    if found is not None:
        return ColumnDecision("replace", found.kind, found.reason)
    if not column.listed and (reason := _secret_reason(column)):
        return ColumnDecision("ask", "secret", reason)
    if column.key or (column.type in _SILENT and column.type != "time"):
        return ColumnDecision("keep", "", "")
    if reason := _doer_reason(column) or _opaque_reason(column):
        return ColumnDecision("ask", "", reason)
    people = people or _holds_talk(column.table)
    if people and column.type == "tsvector":
        return ColumnDecision("ask", "free text", "search words of a text about people")
    named = kind_by_name(column.name, column.table, dated=column.type in _DATES)
    if named is not None and named.kind == "vehicle" and column.type not in _CLOSED:
        return ColumnDecision("ask", named.kind, named.reason)
    if not people:
        look = kind_by_look(column.values, column.rows) if column.type == "text" else None
        hidden = look is not None and look.kind == "secret"
        return ColumnDecision("ask", "secret", look.reason) if look and hidden else ColumnDecision("keep", "", "")
    asked = (
        named
        if named is not None and (KINDS[named.kind].treatment == "ask" or named.kind in ("birth", "death"))
        else None
    )
    if column.type in _CLOSED or value_shape(column.values) in ("whole numbers", "decimals", "dates"):
        own = asked is not None and is_about_persons(column.table)
        return ColumnDecision("ask", asked.kind, asked.reason) if asked and own else ColumnDecision("keep", "", "")
    if asked is not None and asked.kind != "outcome":
        return ColumnDecision("ask", asked.kind, asked.reason)
    numbered = bool(set(words_of_name(column.name)[-1:]) & vocabulary().group("number"))
    treatment = KINDS[named.kind].treatment if named is not None and not numbered else ""
    if named is not None and treatment == "beside" and pointing:
        return ColumnDecision("replace", named.kind, f"{named.reason} beside other personal columns")
    if reason := _code_reason(column):
        return ColumnDecision("keep", "", reason)
    if (
        named is not None
        and treatment in ("keep", "beside")
        and KINDS[named.kind].role != "identifier"
        and (named.matched != "title" or is_about_persons(column.table))
        and _are_labels(column)
    ):
        return ColumnDecision("keep", named.kind, named.reason)
    return ColumnDecision("ask", "", f"no word or pattern recognized in a column of type {column.type} about people")


def _doer_reason(column: DatabaseColumn) -> str:
    """Return why a text names somebody: it says who made or changed a row, as `created_by` and `log_user` do."""
    words = words_of_name(column.name)
    done = len(words) > 1 and words[-1] == "by" and words[-2].endswith(("ed", "made", "done", "sent", "paid"))
    named = len(words) > 1 and words[-1] in vocabulary().group("person")
    varied = column.distinct != 1 and not column.listed  # the same word in every row names nobody
    return f'"{column.name}" says who it was' if (done or named) and varied and column.type == "text" else ""


def _holds_talk(table: str) -> bool:
    """Return whether people write into a table of this name, or it says what they did, as `note` and `sessions` do."""
    return bool(set(words_of_name(table)[-1:]) & (vocabulary().group("talk") | vocabulary().group("trace")))


def _are_labels(column: DatabaseColumn) -> bool:
    """Return whether values are short labels, as those of a city or an occupation are, and no texts that a person
    wrote."""
    return all(len(value) <= _SHORT and len(value.split()) <= 4 for value in column.values)


def rows_are_people(table: str, columns: Sequence[DatabaseColumn]) -> bool:
    """Return whether the rows of a table belong to people: by its name, or by a column that numbers people.

    >>> rows_are_people("visits", [DatabaseColumn("patient_id", "visits", "integer")]), rows_are_people("film", [])
    (True, False)
    """
    if is_about_persons(table) or mentions_persons(table):
        return True
    return any(one.kind == "person number" for column in columns for one in kinds_by_name(column.name, table))


def points_at_persons(columns: Sequence[DatabaseColumn]) -> bool:
    """Return whether a column of a table points at a person by itself."""
    return any((found := _personal(column)) is not None and found.kind in _POINTING for column in columns)


def people_tables(
    columns: Mapping[str, Sequence[DatabaseColumn]], references: Iterable[tuple[str, str]]
) -> frozenset[str]:
    """Return the tables that are about people.

    These are tables whose rows belong to people, those that refer to one of them over any number of steps, except
    tables of things, and those with a column that points at a person by itself.

    >>> columns = {"customer": (), "orders": (), "lines": (), "film": ()}
    >>> sorted(people_tables(columns, [("lines", "orders"), ("orders", "customer"), ("orders", "film")]))
    ['customer', 'lines', 'orders']
    """
    found = {table for table, own in columns.items() if rows_are_people(table, own)}
    links = {(child, parent) for child, parent in references if not is_about_things(child)}
    while more := {child for child, parent in links if parent in found and child not in found}:
        found |= more
    return frozenset(found | {table for table, own in columns.items() if points_at_persons(own)})


def _personal(column: DatabaseColumn) -> Detected | None:
    """Return what a draft replaces."""
    if column.type in _SILENT:
        return None
    if typed := _by_type(column):
        return typed
    sample = sample_of(column.values)
    path = (
        next((path for value in sample[:100] if (path := has_document(value))), "")
        if column.type not in _CLOSED
        else ""
    )
    if path:
        return Detected("document", f"personal data inside, at {path}", "high")
    named = _held(column)
    if named is not None:
        plain = (
            column.type == "text"
            or column.type in _CLOSED
            or named.kind in ("photo", "biometric", "secret", "free text", "place")
        )
        return Detected(named.kind if plain else "document", named.reason, "medium")
    return _by_values(column, sample)


def _held(column: DatabaseColumn) -> NamedKind | None:
    """Return the likeliest personal kind by name that the type can hold; none where the likeliest kind is not
    personal."""
    for named in kinds_by_name(column.name, column.table):
        if column.type in _DATES and named.kind not in DATED:
            continue
        if KINDS[named.kind].treatment != "replace":
            return None
        if _can_hold(column, named):
            return named
    return None


def _by_values(column: DatabaseColumn, sample: list[str]) -> Detected | None:
    if column.type in _DATES or column.type == "float":
        return None
    look = (
        kind_by_look(sample, column.rows) if len(sample) >= 10 or (sample and len(sample) == column.distinct) else None
    )
    if (
        look is None
        or KINDS[look.kind].treatment != "replace"
        or (column.type in _NUMBERS and look.kind not in _OF_NUMBERS)
    ):
        return None
    if look.kind == "free text" and not _is_spoken(column):
        return None
    related = is_about_persons(column.table) or mentions_persons(column.table)
    if look.kind in ("photo", "link", "secret", "vehicle") and (not related or (look.kind == "secret" and column.key)):
        return None
    weak = not look.sure and look.kind in ("postcode", "vehicle", "street", "first name", "last name", "name")
    return None if weak and not related and look.share < 0.5 else Detected(look.kind, look.reason, "medium")


def _by_type(column: DatabaseColumn) -> Detected | None:
    if column.type in ("inet", "cidr"):
        return Detected("ip", f"type {column.type} (internet addresses)", "high")
    if column.type in ("macaddr", "macaddr8"):
        return Detected("mac", f"type {column.type} (hardware addresses)", "high")
    if column.type.split("(")[0] in ("geometry", "geography", "point"):
        place = set(words_of_name(column.table)[-1:]) & vocabulary().group("place")
        return None if place else Detected("place", f"type {column.type} (coordinates)", "high")
    return None


def _can_hold(column: DatabaseColumn, named: NamedKind) -> bool:
    """Return whether a column of that type and table can hold what its name says."""
    place = set(words_of_name(column.table)[-1:]) & vocabulary().group("place")
    if named.kind in ("latitude", "longitude", "place") and place:
        return False
    if column.type in _NUMBERS:
        return named.kind in _OF_NUMBERS
    if column.type in _DATES:
        return named.kind in ("birth", "death")
    if named.kind in ("birth", "death") and column.type not in ("text", "year"):
        return False
    if named.kind == "free text":
        return _is_spoken(column)
    if named.kind == "vehicle":
        return is_about_persons(column.table) or mentions_persons(column.table)
    if named.kind == "link" and not is_about_persons(column.table):
        return named.matched not in ("url", "website", "homepage", "blog", "web site", "web page")
    return not (are_flags(column.values) and column.rows > 0)


def _is_spoken(column: DatabaseColumn) -> bool:
    """Return whether long text is a person's own: where people write or are written about; the description of a film is
    not."""
    groups = vocabulary()
    named = any(one.kind == "free text" and one.matched not in _UNSPOKEN for one in kinds_by_name(column.name))
    told = is_about_persons(column.table) or bool(set(words_of_name(column.table)) & groups.group("talk"))
    return named or told


def _opaque_reason(column: DatabaseColumn) -> str:
    """Return why a column may hold anything: its name does not describe the content, or its table keeps secrets."""
    if column.type in (*_CLOSED, "tsvector") or _code_reason(column):
        return ""
    words = [word for word in words_of_name(column.name) if not word.isdigit()]
    if words and words[-1] in vocabulary().group("opaque"):
        return f'"{words[-1]}" may hold anything, and nothing in it was recognized'
    return ""


def _secret_reason(column: DatabaseColumn) -> str:
    """Return why a code or a key is a secret, also where rows are found by it: its table keeps secrets."""
    words = [word for word in words_of_name(column.name) if not word.isdigit()]
    secret = words[-1:] and words[-1] in ("code", "key", "hash", "string") and column.type not in _CLOSED
    return "a column of a table that keeps secrets" if secret and _keeps_secrets(column.table) else ""


def _keeps_secrets(table: str) -> bool:
    return any(one.kind == "secret" for one in kinds_by_name(table)) or bool(
        {"auth", "oauth"} & set(words_of_name(table))
    )


def _code_reason(column: DatabaseColumn) -> str:
    """Return why a column is a code of the application that can be kept; empty where it is none."""
    if column.listed:
        return "a code of the application: the schema lists its values"
    if column.rows:
        short = _are_labels(column)
        few = column.distinct <= _FEW and column.rows >= 10 * column.distinct and column.rarest >= _OFTEN
        told = (
            f"{column.distinct} value{'' if column.distinct == 1 else 's'} in {column.rows:,} rows, the rarest in"
            f" {column.rarest:,}"
        )
        return (
            f"a code of the application: {told}"
            if short and few and not is_free_text(list(column.values), column.distinct, column.rows)
            else ""
        )
    words = [word for word in words_of_name(column.name) if not word.isdigit()]
    codes = (vocabulary().group("about") | vocabulary().group("code")) - {"id"}
    if _keeps_secrets(column.table) or any(
        KINDS[one.kind].treatment == "replace" for one in kinds_by_name(" ".join(words[:-1]))
    ):
        codes = frozenset()
    return "a code of the application, by its name; it has no values yet" if words and words[-1] in codes else ""
