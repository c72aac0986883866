"""Columns that speak about people, by name and by the look of their values, and what could stand there instead.

A proposal errs on the side of caution and is no proof: a personal column with a name of its own is not seen, and free
text may hold anything. Bounds are rounded outwards (decades, powers of ten), because the oldest person's birthday is
a person's birthday.

>>> names_people(("first", "name")), names_people(("film", "title"))
(True, False)
>>> decades(np.array([date(1937, 9, 19).toordinal(), date(1966, 1, 27).toordinal()]))
['1930-01-01', '1969-12-31']


Names
-----
What names suggest: whether a column numbers things, and whether it names a row of another table.

The words are those that schemas use; names are a hint and never enough by themselves to call a rule true.

>>> reference_score(("manager", "staff", "id"), "store", ("staff", "id"), "staff", people=True)
-7.0
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.database import ColumnFacts
from sfumato.data.document_paths import leaves_of_document, steps_of_path
from sfumato.data.personal_columns import PEOPLE, DatabaseColumn, decide, personal_kind, words_of_name
from sfumato.policy.database_policy import reason_not_fitting, usual_domain
from sfumato.policy.value_domains import read
from sfumato.workflow.discover.column_profiles import ColumnView
from sfumato.workflow.discover.proposal import OFTEN

_FAKES = {
    "city": "city",
    "company": "company",
    "name": "name",
    "first name": "first_name",
    "last name": "last_name",
    "email": "email",
    "street": "street",
}
_FORMS = {
    "phone": "[2-9][0-9]{9}",
    "fax": "[2-9][0-9]{9}",
    "national id": "[0-9]{9}",
    "paper": "[0-9]{9}",
    "medical record": "[0-9]{8}",
    "health plan": "[0-9]{10}",
    "card": "4[0-9]{15}",
    "account": "[1-9][0-9]{9}",
    "vehicle": "[A-Z]{2}[0-9]{5}",
    "device": "[0-9a-f]{16}",
    "postcode": "[1-9][0-9]{4}",
    "login": "[a-z]{5}[0-9]{3}",
    "secret": "[0-9a-f]{32}",
    "link": "[a-z]{8}",
}
_EMPTY = ("free text", "link", "document", "secret", "place", "photo", "biometric")
"""What nothing can stand for better than something."""
_WEAK = frozenset(
    ("", "city", "company", "free text", "secret", "link", "ip", "latitude", "longitude", "place")
) | frozenset(("document", "device", "mac", "photo"))
"""Kinds that only may point at a person."""


def names_people(name: tuple[str, ...]) -> bool:
    """Whether a column of this name holds people's names, in whatever table; `name` alone may be that of a thing."""
    return personal_kind("_".join(name), "things") in ("name", "first name", "last name")


def numbers_persons(column: ColumnView) -> bool:
    """Whether the column numbers people, as `patient_id` does."""
    return is_identifier_name(column.words) and bool(PEOPLE & set(column.words))


def is_personal(kind: str) -> bool:
    """Whether a column of this kind points at a person by itself; free text and secrets only may."""
    return kind not in _WEAK


def replacement_candidates(
    column: ColumnView, kind: str, pattern: str, facts: ColumnFacts | None
) -> Iterator[dict[str, Any]]:
    """Domains of new values for a personal column, the best one first."""
    yield from _domains(column, kind, pattern, facts)


def _domains(column: ColumnView, what: str, pattern: str, facts: ColumnFacts | None) -> Iterator[dict[str, Any]]:
    many = pattern and len(column.values) >= 10 * OFTEN
    if what in _EMPTY and (facts is None or facts.nullable or what != "secret") and not column.is_key:
        yield {"empty": True}
    if what in _FAKES:
        yield {"fakes": _FAKES[what]}
    if what in ("birth", "death") and column.values:
        yield from _born(column)
    if what in ("ip", "mac"):
        yield {"fakes": "ipv4" if what == "ip" else "mac"}
    if what in ("latitude", "longitude") and column.values:
        yield from _around(column, 90 if what == "latitude" else 180, facts)
    if what in _FORMS:
        if many and what not in ("secret", "card"):
            yield {"pattern": pattern}
        yield {"pattern": _FORMS[what]}
        if facts is not None and facts.length and what in ("secret", "device"):
            yield {"pattern": f"[0-9a-f]{{{facts.length}}}"}
        if facts is not None and facts.length:
            yield {"pattern": f"[1-9][0-9]{{{facts.length - 1}}}" if facts.length > 1 else "[0-9]"}
        yield {"integers": [10**8, 10**9 - 1]}
    yield {"empty": True}


def document_domain(texts: Iterable[str | None], table: str) -> dict[str, Any] | None:
    """Return new values for what is personal inside documents; None where something else in them is not understood.

    Every path is judged as a column of its own in a table about people: what is neither personal nor plainly a code
    would be published, so that the whole document is better emptied."""
    found: dict[str, Counter[str]] = {}
    for text in texts:
        try:
            for path, value in leaves_of_document(text or ""):
                found.setdefault(path, Counter())[value] += bool(value)
        except (ValueError, RecursionError):
            return None
    domains: dict[str, Any] = {}
    for path, counts in found.items():
        if not steps_of_path(path) or any(sign in path for sign in "[]*"):
            return None
        values = [value for value in counts if value]
        own = DatabaseColumn(
            path.rpartition(".")[2].removeprefix("@"),
            table,
            "text",
            values,
            counts.total(),
            len(values),
            min(counts.values()),
        )
        decision = decide(own, people=True)
        if decision.action == "ask":
            return None
        if decision.action == "replace":
            domains[path] = usual_domain(path)
    return {"paths": domains} if domains else None


def _around(column: ColumnView, most: int, facts: ColumnFacts | None) -> Iterator[dict[str, Any]]:
    """Coordinates inside the whole degrees around the old ones."""
    found = column.quantities[column.present]
    if column.unit == "number" and len(found):
        if facts is not None and facts.kind == "integer":
            step = 10 ** max(0, len(str(int(abs(found).max()))) - 3)
            yield {"integers": [int(found.min()) // step * step, (int(found.max()) // step + 1) * step]}
            return
        low, high = max(-most, math.floor(float(found.min()))), min(most, math.ceil(float(found.max())))
        places = facts.places if facts is not None and facts.places is not None else 6
        yield {"decimals": [low, max(high, low + 1)], "places": min(places, 6)}


def _born(column: ColumnView) -> Iterator[dict[str, Any]]:
    if column.unit == "day":
        yield {"dates": decades(column.levels[column.present])}
    elif column.unit == "moment":
        days = np.array([date.fromisoformat(value[:10]).toordinal() for value in column.values])
        yield {"timestamps": decades(days), "step": "day"}
    elif column.unit == "number" and column.exact and column.scale == 1:
        years = column.levels[column.present]
        yield {"integers": [int(years.min()) // 10 * 10, int(years.max()) // 10 * 10 + 9]}


def decades(days: NDArray[np.int64]) -> list[str]:
    """The decades around some days."""
    first, last = (
        date.fromordinal(int(days.min())).year // 10 * 10,
        date.fromordinal(int(days.max())).year // 10 * 10 + 9,
    )
    return [f"{first:04}-01-01", f"{last:04}-12-31"]


def fits(domain: dict[str, Any], facts: ColumnFacts | None) -> bool:
    """Whether a column of that type can hold such values."""
    return facts is None or not reason_not_fitting(read(domain), facts)


def propose_numbering(column: ColumnView) -> dict[str, Any] | None:
    """New numbers for a key: a round range that fits where the old ones fitted."""
    if not (
        column.is_key
        and column.unit == "number"
        and column.exact
        and column.scale == 1
        and int(column.levels.min()) >= 0
    ):
        return None
    top = int(column.levels.max())
    widest = 9_999 if top < 9_999 else 32_767 if top <= 32_767 else min(10 ** len(str(top)) - 1, 2_147_483_647)
    return {"integers": [1, widest]} if top <= widest else None


# Names
# -----


_NUMBERING = frozenset(
    (
        "id",
        "key",
        "code",
        "no",
        "nr",
        "nbr",
        "num",
        "number",
        "uuid",
        "guid",
        "pk",
        "fk",
        "ref",
        "sku",
        "isbn",
        "iban",
        "ssn",
    )
)
_PLACES = frozenset(("postal", "zip", "post", "area", "country", "currency", "language", "state", "dial"))
_NATURAL = frozenset(("email", "mail", "username", "login", "phone", "mobile", "handle", "slug", "barcode", "passport"))
_ABOVE = frozenset(
    ("report", "parent", "supervisor", "manager", "boss", "superior", "leader", "lead", "mentor", "head")
)
_SOMEBODY = frozenset(
    (
        "rep",
        "agent",
        "manager",
        "owner",
        "author",
        "seller",
        "assistant",
        "user",
        "creator",
        "editor",
        "approver",
        "by",
        "clerk",
    )
) | frozenset(
    ("assignee", "officer", "doctor", "driver", "teacher", "supervisor", "lead", "reviewer", "operator", "cashier")
)

SAME, ENDS, TWIN, BEGINS, HIGHER, SOMEBODY, NUMBERS = -8.0, -7.0, -5.5, -4.0, -6.0, -5.0, -1.0
"""log10 weights: named after the parent; ends so; same name, other thing; shares a beginning; stands above; a person;
numbers."""


def stem(name: tuple[str, ...]) -> tuple[str, ...]:
    """A name without the words that only say that it numbers something."""
    while name and name[-1] in _NUMBERING:
        name = name[:-1]
    if len(name) == 1 and name[0].endswith("id") and len(name[0]) > 5:  # customerid
        return (name[0][:-2],)
    return name


def is_identifier_name(name: tuple[str, ...]) -> bool:
    """Whether a column of this name is an identifier: customer_id, isbn, id; a postal code is none."""
    return stem(name) != name and not (name[-1] == "code" and _PLACES & set(name))


def is_unique_by_name(name: tuple[str, ...]) -> bool:
    """Whether no two people or things are expected to share a value: e-mail addresses, logins, telephone numbers."""
    return is_identifier_name(name) or bool(_NATURAL & set(name)) or name[:2] == ("user", "name")


def reference_score(child: tuple[str, ...], own: str, parent: tuple[str, ...], table: str, *, people: bool) -> float:
    """How much the names say that column `child` of table `own` names rows of `table` by its column `parent`."""
    inner, thing = stem(child), words_of_name(table)
    aim = stem(parent) or thing
    numbering = NUMBERS if is_identifier_name(child) else 0.0
    if inner and "".join(inner) == "".join(thing) and "".join(aim) == "".join(thing):
        return SAME
    if inner and child == parent and numbering:
        return TWIN
    if len(inner) > 1 and _ends(inner, aim) and (numbering or not stem(parent)):
        return ENDS
    if own == table and _ABOVE & set(inner):
        return HIGHER
    if people and _SOMEBODY & set(inner):
        return SOMEBODY + numbering
    if any(_begins(word, other) for word in inner for other in aim):
        return BEGINS + numbering
    return numbering


def _ends(name: tuple[str, ...], aim: tuple[str, ...]) -> bool:
    return name[-len(aim) :] == aim


def _begins(one: str, two: str) -> bool:
    short, long = sorted((one, two), key=len)
    return len(short) >= 4 and long.startswith(short)
