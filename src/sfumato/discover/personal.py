"""Columns that speak about people, by name and by the look of their values, and what could stand there instead.

A proposal errs on the side of caution and is no proof: a personal column with a name of its own is not seen, and free text may hold
anything. Bounds are rounded outwards (decades, powers of ten), because the oldest person's birthday is somebody's birthday.

>>> names_people(("first", "name")), names_people(("film", "title"))
(True, False)
>>> decades(np.array([date(1937, 9, 19).toordinal(), date(1966, 1, 27).toordinal()]))
['1930-01-01', '1969-12-31']
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.database import ColumnFacts
from sfumato.data.words import words
from sfumato.discover.names import numbers_things
from sfumato.discover.proposal import OFTEN
from sfumato.discover.view import ColumnView

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
_GIVEN = frozenset(("first", "given", "fore", "firstname", "forename", "middle"))
_FAMILY = frozenset(("last", "family", "sur", "lastname", "surname", "maiden"))
_SERVED = frozenset(("customer", "patient", "student", "client", "guest", "tenant", "participant", "subscriber", "visitor"))
_SERVING = frozenset(("employee", "staff", "driver", "teacher", "doctor", "nurse", "manager", "owner", "author", "actor"))
_ANYBODY = frozenset(("person", "people", "user", "member", "contact", "citizen", "child", "parent", "full"))
_PEOPLE = _SERVED | _SERVING | _ANYBODY
_CALLS = frozenset(("phone", "mobile", "telephone", "tel", "fax", "cell"))
_BIRTH = frozenset(("birth", "born", "dob", "birthday", "birthdate"))
_HOME = frozenset(("address", "street"))
_TYPES = {
    "fakes": ("text",),
    "pattern": ("text", "integer"),
    "integers": ("integer", "text"),
    "dates": ("date", "timestamp", "text"),
    "timestamps": ("timestamp", "text"),
}
_SECRET = frozenset(("password", "passwd", "pwd", "secret", "token"))
_PAPERS = frozenset(("ssn", "passport", "iban", "licence", "license"))


def names_people(name: tuple[str, ...]) -> bool:
    """Whether a column of this name holds people's names."""
    given = bool((_GIVEN | _FAMILY) & set(name)) and ("name" in name or len(name) == 1)
    return given or ("name" in name and bool(_PEOPLE & set(name)) and "user" not in name)


def names_somebody(column: ColumnView) -> bool:
    """Whether the column numbers people, as `patient_id` does."""
    return numbers_things(column.words) and bool((_SERVED | _ANYBODY) & set(column.words))


def is_personal(column: ColumnView) -> bool:
    """Whether the column by itself points at a person."""
    return _own(column) is not None


def replacement(column: ColumnView, neighbours: Collection[ColumnView], pattern: str) -> dict[str, Any] | None:
    """The domain of new values, None when the column does not look personal; `pattern` is the form its values have, if any."""
    found = _own(column)
    if found is not None:
        return {"pattern": pattern} if "pattern" in found and pattern and len(column.values) >= 10 * OFTEN else found
    if column.unit == "text" and any(is_personal(other) for other in neighbours):
        return _beside(column)
    return None


def _own(column: ColumnView) -> dict[str, Any] | None:
    name = set(column.words)
    if not column.values or (numbers_things(column.words) and not name & (_CALLS | _PAPERS)):
        return None
    if column.unit in ("day", "moment"):
        return _born(column) if name & _BIRTH else None
    return _text(column, name)


def _text(column: ColumnView, name: set[str]) -> dict[str, Any] | None:
    if column.unit == "text" and sum(bool(_EMAIL.fullmatch(value)) for value in column.values) >= 0.8 * len(column.values):
        return {"fakes": "email"}
    if names_people(column.words) or (name == {"name"} and _PEOPLE & set(words(column.table or ""))):
        part = "first_name" if name & _GIVEN else "last_name" if name & _FAMILY else "name"
        return {"fakes": part}
    if name & _CALLS:
        return {"pattern": "[2-9][0-9]{9}"}
    if name & _PAPERS:
        return {"pattern": "[0-9]{9}"}
    if name & _SECRET:
        return {"pattern": "[0-9a-f]{16}"}
    if name & {"username", "login"} or column.words[:2] == ("user", "name"):
        return {"pattern": "[a-z]{5}[0-9]{3}"}
    if name & _HOME and column.unit == "text" and not name & {"email", "mail", "ip", "mac", "web"}:
        return {"fakes": "street"}
    return {"pattern": "[0-9]{5}"} if name & {"zip", "postal", "postcode", "zipcode"} else None


def _beside(column: ColumnView) -> dict[str, Any] | None:
    """What is personal in a table about people only."""
    name = set(column.words)
    if name & {"city", "town", "suburb", "district"}:
        return {"fakes": "city"}
    return {"fakes": "company"} if name & {"company", "organisation", "organization", "employer"} else None


def _born(column: ColumnView) -> dict[str, Any]:
    if column.unit == "day":
        return {"dates": decades(column.levels[column.present])}
    days = np.array([date.fromisoformat(value[:10]).toordinal() for value in column.values])
    return {"timestamps": decades(days), "step": "day"}


def decades(days: NDArray[np.int64]) -> list[str]:
    """The decades around some days."""
    first, last = date.fromordinal(int(days.min())).year // 10 * 10, date.fromordinal(int(days.max())).year // 10 * 10 + 9
    return [f"{first:04}-01-01", f"{last:04}-12-31"]


def fits(domain: dict[str, Any], facts: ColumnFacts | None) -> bool:
    """Whether a column of that type can hold such values; a type that the rules of texts do not cover holds none."""
    if facts is None:
        return True
    kinds = next((kinds for key, kinds in _TYPES.items() if key in domain), ())
    return facts.kind in kinds and not facts.computed


def numbering(column: ColumnView) -> dict[str, Any] | None:
    """New numbers for a key: a round range that fits where the old ones fitted."""
    if not (column.is_key and column.unit == "number" and column.exact and column.scale == 1 and int(column.levels.min()) >= 0):
        return None
    top = int(column.levels.max())
    widest = 9_999 if top < 9_999 else 32_767 if top <= 32_767 else min(10 ** len(str(top)) - 1, 2_147_483_647)
    return {"integers": [1, widest]} if top <= widest else None
