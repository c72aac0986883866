"""What names suggest: whether a column numbers things, and whether it names a row of another table.

The words are those that schemas use; names are a hint and never enough by themselves to call a rule true.

>>> kinship(("manager", "staff", "id"), "store", ("staff", "id"), "staff", people=True)
-7.0
"""

from __future__ import annotations

from sfumato.data.words import words

_NUMBERING = frozenset(
    ("id", "key", "code", "no", "nr", "nbr", "num", "number", "uuid", "guid", "pk", "fk", "ref", "sku", "isbn", "iban", "ssn")
)
_PLACES = frozenset(("postal", "zip", "post", "area", "country", "currency", "language", "state", "dial"))
_NATURAL = frozenset(("email", "mail", "username", "login", "phone", "mobile", "handle", "slug", "barcode", "passport"))
_ABOVE = frozenset(("report", "parent", "supervisor", "manager", "boss", "superior", "leader", "lead", "mentor", "head"))
_SOMEBODY = frozenset(
    ("rep", "agent", "manager", "owner", "author", "seller", "assistant", "user", "creator", "editor", "approver", "by", "clerk")
) | frozenset(("assignee", "officer", "doctor", "driver", "teacher", "supervisor", "lead", "reviewer", "operator", "cashier"))

SAME, ENDS, TWIN, BEGINS, HIGHER, SOMEBODY, NUMBERS = -8.0, -7.0, -5.5, -4.0, -6.0, -5.0, -1.0
"""log10 weights: named after the parent; ends so; same name, other thing; shares a beginning; stands above; somebody; numbers."""


def stem(name: tuple[str, ...]) -> tuple[str, ...]:
    """A name without the words that only say that it numbers something."""
    while name and name[-1] in _NUMBERING:
        name = name[:-1]
    if len(name) == 1 and name[0].endswith("id") and len(name[0]) > 5:  # customerid
        return (name[0][:-2],)
    return name


def numbers_things(name: tuple[str, ...]) -> bool:
    """Whether a column of this name is an identifier: customer_id, isbn, id; a postal code is none."""
    return stem(name) != name and not (name[-1] == "code" and _PLACES & set(name))


def tells_apart(name: tuple[str, ...]) -> bool:
    """Whether no two people or things are expected to share a value: e-mail addresses, logins, telephone numbers."""
    return numbers_things(name) or bool(_NATURAL & set(name)) or name[:2] == ("user", "name")


def kinship(child: tuple[str, ...], own: str, parent: tuple[str, ...], table: str, *, people: bool) -> float:
    """How much the names say that column `child` of table `own` names rows of `table` by its column `parent`."""
    inner, thing = stem(child), words(table)
    aim = stem(parent) or thing
    numbering = NUMBERS if numbers_things(child) else 0.0
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
