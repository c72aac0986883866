r"""What a column says about people, by its name, the name of its table, its type and the look of its values.

A guess that errs on the side of caution and is no proof: a personal column with a name of its own and values like any other is not
seen. Discovery proposes by it, and the audit warns by it; both ask here, so that what one sees the other sees.

Departures: a school has a name, too. `name` alone is a person's only in a table whose last word says so (`students`,
`user_profiles`).

>>> [personal_kind(name, "customers") for name in ("FirstName", "email", "name", "quantity", "email_verified_at", "address_id")]
['first name', 'email', 'name', '', '', '']
>>> personal_kind("name", "schools"), personal_kind("file_name", "users"), personal_kind("card", "orders", values=["4012888888881881"] * 12)
('', '', 'card')


Words
-----
The words of a name: what a column is called, in lower case and in the singular.

>>> words_of_name("SupportRepId"), words_of_name("order_details"), words_of_name("Categories")
(('support', 'rep', 'id'), ('order', 'detail'), ('category',))
>>> name_contains("date_of_birth", "birth date"), name_contains("birthdate", "birth date"), name_contains("gate", "date")
(True, True, False)
"""  # noqa: E501

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from sfumato.data.check_digits import iban_holds, luhn_holds

_GIVEN = frozenset(("first", "given", "fore", "firstname", "forename", "middle", "fname", "givenname", "middlename", "prename"))
_FAMILY = frozenset(("last", "family", "sur", "lastname", "surname", "maiden", "lname", "familyname", "patronymic"))
_SERVED = (
    "customer",
    "patient",
    "student",
    "client",
    "guest",
    "tenant",
    "participant",
    "subscriber",
    "visitor",
    "pupil",
    "passenger",
)
_SERVING = ("employee", "staff", "driver", "teacher", "doctor", "nurse", "manager", "owner", "author", "actor", "agent", "clerk")
_ANYBODY = ("person", "people", "user", "member", "contact", "citizen", "child", "parent", "player", "voter", "donor", "applicant")
_FURTHER = (
    "candidate",
    "resident",
    "attendee",
    "recipient",
    "sender",
    "holder",
    "cardholder",
    "beneficiary",
    "borrower",
    "payee",
    "payer",
)
_OTHERS = (
    "master",
    "man",
    "woman",
    "witness",
    "lead",
    "volunteer",
    "guardian",
    "spouse",
    "relative",
    "mother",
    "father",
    "professor",
    "instructor",
    "seller",
    "buyer",
    "physician",
    "referee",
)
PEOPLE = frozenset((*_SERVED, *_SERVING, *_ANYBODY, *_FURTHER, *_OTHERS, "account", "profile", "reporter", "assignee", "coach"))
_ABOUT = frozenset(
    ("profile", "detail", "info", "information", "record", "datum", "address", "card", "list", "account", "identity")
)
_CALLS = frozenset(("phone", "mobile", "telephone", "tel", "fax", "cell", "cellphone", "msisdn", "whatsapp", "pager", "handy"))
_BIRTH = frozenset(("birth", "born", "dob", "birthday", "birthdate", "birthyear", "dateofbirth", "deceased", "death"))
_PAPERS = frozenset(
    (
        "ssn",
        "passport",
        "licence",
        "license",
        "nino",
        "nhs",
        "personnummer",
        "dni",
        "nif",
        "curp",
        "cpf",
        "aadhaar",
        "pesel",
        "bsn",
        "tin",
    )
) | frozenset(("mrn", "imei", "imsi", "nino", "steuerid", "codicefiscale", "rut", "vat"))
_SECRET = frozenset(
    (
        "password",
        "passwd",
        "pwd",
        "secret",
        "token",
        "salt",
        "otp",
        "passphrase",
        "apikey",
        "cookie",
        "passhash",
        "cvv",
        "cvc",
        "pin",
    )
)
_LINKS = frozenset(
    (
        "website",
        "homepage",
        "twitter",
        "facebook",
        "linkedin",
        "github",
        "instagram",
        "skype",
        "avatar",
        "photo",
        "picture",
        "gravatar",
    )
) | frozenset(("icq", "aim", "jabber", "telegram", "portrait", "selfie", "mastodon", "xing", "whatsapp"))
_FREE = frozenset(
    ("note", "comment", "bio", "biography", "remark", "memo", "message", "signature", "complaint", "anamnesis", "testimony")
)
_TALK = frozenset(
    ("message", "comment", "chat", "ticket", "email", "mail", "conversation", "letter", "post", "review", "note", "journal")
)
_THINGS = frozenset(
    (
        "file",
        "host",
        "product",
        "company",
        "table",
        "domain",
        "school",
        "team",
        "role",
        "group",
        "event",
        "category",
        "tag",
        "class",
        "column",
    )
) | frozenset(
    ("brand", "model", "item", "project", "department", "bank", "city", "country", "state", "index", "type", "template", "key")
)
_NO_VALUE = (
    frozenset(
        (
            "id",
            "count",
            "type",
            "flag",
            "status",
            "verified",
            "enabled",
            "at",
            "on",
            "template",
            "subject",
            "frequency",
            "format",
            "level",
        )
    )
    | frozenset(
        (
            "notification",
            "digest",
            "required",
            "confirmed",
            "visible",
            "public",
            "attempt",
            "expiry",
            "expire",
            "expires",
            "by",
            "limit",
            "version",
        )
    )
    | frozenset(
        (
            "language",
            "locale",
            "validated",
            "hidden",
            "allowed",
            "setting",
            "preference",
            "option",
            "total",
            "number",
            "quantity",
            "class",
        )
    )
)
_PLACES = frozenset(
    ("city", "country", "station", "airport", "store", "branch", "region", "state", "stop", "port", "warehouse", "venue")
)

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
_PHONE = re.compile(r"(?:\+|00)\d[\d ()/.-]{6,20}\d|\(?0\d{2,4}\)?[ /-][\d ./-]{4,12}\d|\(?[2-9]\d{2}\)?[ .-]\d{3}[ .-]\d{4}")
_MAC = re.compile(r"[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}")
_PLATE_FREE = re.compile(r"(?=.{60,})\S+(?:\s+\S+){7,}", re.DOTALL)
_SAMPLE, _FEWEST = 500, 10
_NUMBERS = ("integer", "decimal", "float")
_SILENT = ("boolean", "enum", "interval", "binary")


def is_about_persons(table: str) -> bool:
    """Whether the rows of a table of this name are people.

    >>> [is_about_persons(name) for name in ("users", "user_profiles", "schools", "user_groups", "Person")]
    [True, True, False, False, True]
    """
    said = [word for word in words_of_name(table) if not word.isdigit()]
    while len(said) > 1 and said[-1] in _ABOUT:
        if said[-1] in PEOPLE:
            return True
        said = said[:-1]
    return bool(said) and said[-1] in PEOPLE


def personal_kind(column: str, table: str = "", kind: str = "text", values: Sequence[str] = ()) -> str:
    """What the column says about people, in a word, or nothing.

    name, first name, last name, email, phone, street, postcode, birth, paper (a number of a document), card, account, ip, mac,
    latitude, longitude, place (a geometry), login, secret, link, free text, document (json with such things inside).
    """
    if kind in _SILENT:
        return ""
    sample = [value for value in values[:_SAMPLE] if value]
    if kind == "json":
        return "document" if any(_in_document(value, table) for value in sample[:100]) else ""
    found = _by_type(kind, words_of_name(column), words_of_name(table)) or _by_name(column, table, kind) or _by_look(sample, kind)
    return "" if found == "free text" and not _spoken(column, table) else found


def _by_type(kind: str, name: tuple[str, ...], table: tuple[str, ...]) -> str:
    if kind in ("inet", "cidr"):
        return "ip"
    if kind in ("macaddr", "macaddr8"):
        return "mac"
    if kind in ("geometry", "geography", "point"):
        return "" if set(table[-1:]) & _PLACES else "place"
    return ""


def _by_name(column: str, table: str, kind: str) -> str:
    name, people = words_of_name(column), is_about_persons(table)
    own = set(name)
    if not name or (name[-1] in _NO_VALUE and not _numbered(own, name)):
        return ""
    if kind in ("date", "timestamp"):
        return "birth" if own & _BIRTH else ""
    if kind in _NUMBERS:
        return _number(own, table)
    thing = not people and bool(set(words_of_name(table)[-1:]) & _THINGS)
    return _called(name, own, people, thing) or _reached(name, own, table, people) or _written(name, own, table, people)


def _numbered(own: set[str], name: tuple[str, ...]) -> bool:
    """Names that end with number or id and are personal all the same."""
    papers = bool(own & (_PAPERS | _CALLS)) or {"national", "id"} <= own or {"tax", "id"} <= own or {"social", "security"} <= own
    accounts = name[-1] == "number" and bool(own & {"card", "account", "insurance", "security", "identity", "licence", "license"})
    return papers or accounts or name[-2:] == ("id", "number")


def _number(own: set[str], table: str) -> str:
    place = bool(set(words_of_name(table)[-1:]) & _PLACES)
    if own & {"latitude", "lat"}:
        return "" if place else "latitude"
    if own & {"longitude", "lon", "lng", "long"}:
        return "" if place else "longitude"
    if own & _CALLS:
        return "phone"
    if own & _BIRTH:
        return "birth year"
    if own & _PAPERS or {"social", "security"} <= own or {"national", "id"} <= own or {"tax", "id"} <= own:
        return "paper"
    if own >= {"card", "number"} or own >= {"credit", "card"}:
        return "card"
    return "postcode" if own & {"zip", "postcode", "zipcode"} else ""


def _called(name: tuple[str, ...], own: set[str], people: bool, thing: bool) -> str:
    """Names of people."""
    alone = len(name) == 1
    if own & _GIVEN and ("name" in own or alone) and not own & _FAMILY:
        return "first name"
    if own & _FAMILY and ("name" in own or alone):
        return "last name"
    if (
        own & {"username", "login", "handle", "nickname", "nick", "screenname"}
        or name[:2] == ("user", "name")
        or own >= {"screen", "name"}
    ):
        return "login"
    if name[-1] == "name" and name[-2:-1] and name[-2] in _THINGS:
        return ""
    if own & {"fullname", "displayname", "realname", "cardholder", "payee", "beneficiary"}:
        return "name"
    if thing and not own & PEOPLE:
        return ""
    if "name" in own and (
        own & {"full", "real", "legal", "contact"} or own & (PEOPLE - {"account"}) or (people and "display" in own)
    ):
        return "name"
    if own == {"name"} or (people and name[0] == "name" and len(name) == 2 and name[1] in {"prefix", "suffix"}):
        return "name" if people else ""
    return ""


def _reached(name: tuple[str, ...], own: set[str], table: str, people: bool) -> str:
    """Where somebody can be reached or found."""
    if own & {"email", "mail", "emailaddress"} and not own & {"server", "domain", "host"}:
        return "email"
    if own & _CALLS:
        return "phone"
    if own & {"ip", "ipaddress", "ipaddr", "ipv4", "ipv6"} or own >= {"remote", "addr"} or own >= {"remote", "address"}:
        return "ip"
    if "mac" in own and (own & {"address", "addr"} or name == ("mac",)):
        return "mac"
    if own & {"zip", "postal", "postcode", "zipcode", "plz"}:
        return "postcode"
    if own & {"address", "street", "addr", "addr1", "addr2", "streetname"} and not own & {"web", "url"}:
        return "street"
    if "line" in own and "address" in words_of_name(table):
        return "street"
    if own & {"latitude", "longitude", "lat", "lon", "lng"}:
        return "latitude" if own & {"latitude", "lat"} else "longitude"
    if own & _LINKS or (people and own & {"url", "site", "image", "blog"}):
        return "link"
    return ""


def _written(name: tuple[str, ...], own: set[str], table: str, people: bool) -> str:
    """Papers, accounts, secrets and free text."""
    if own & _BIRTH and not own & {"place", "country", "city", "state"}:
        return "birth"
    if (
        own & _PAPERS
        or own >= {"social", "security"}
        or own >= {"national", "id"}
        or own >= {"tax", "id"}
        or own >= {"identity", "number"}
    ):
        return "paper"
    if own >= {"insurance", "number"} or own >= {"insurance", "no"}:
        return "paper"
    if own & {"iban", "accountnumber"} or (own >= {"account", "number"}) or own >= {"account", "no"}:
        return "account"
    if (
        own & {"cardnumber", "creditcard", "pan"}
        or own >= {"card", "number"}
        or own >= {"credit", "card"}
        or own >= {"cc", "number"}
    ):
        return "card"
    if own & _SECRET or own >= {"api", "key"} or own >= {"recovery", "code"} or own >= {"session", "key"}:
        return "secret"
    talk = bool(set(words_of_name(table)) & _TALK)
    if own & _FREE or own == {"about"} or own >= {"about", "me"} or (talk and own & {"body", "text", "content", "raw"}):
        return "free text"
    return "free text" if people and own & {"description", "interest"} else ""


def _by_look(sample: Sequence[str], kind: str) -> str:
    if len(sample) < _FEWEST or kind not in ("text", "integer", "decimal"):
        return ""
    for what, looks, share in _LOOKS:
        if sum(map(looks, sample)) >= share * len(sample):
            return what
    return ""


def _spoken(column: str, table: str) -> bool:
    """Long text is somebody's own where people write or are written about; the description of a film is not."""
    return is_about_persons(table) or bool(set(words_of_name(table)) & _TALK) or bool(set(words_of_name(column)) & _FREE)


def _is_card(value: str) -> bool:
    digits = re.sub(r"[ -]", "", value)
    return 13 <= len(digits) <= 19 and digits.isdigit() and len(set(digits)) > 2 and luhn_holds(digits)


def _is_ip(value: str) -> bool:
    if value.count(".") != 3 and ":" not in value:
        return False
    try:
        ipaddress.ip_interface(value)
    except ValueError:
        return False
    return True


_LOOKS: tuple[tuple[str, Callable[[str], bool], float], ...] = (
    ("email", lambda value: _EMAIL.fullmatch(value) is not None, 0.5),
    ("card", _is_card, 0.9),
    ("account", lambda value: iban_holds(value.replace(" ", "")), 0.9),
    ("ip", _is_ip, 0.9),
    ("mac", lambda value: _MAC.fullmatch(value) is not None, 0.9),
    ("phone", lambda value: _PHONE.fullmatch(value) is not None, 0.8),
    ("free text", lambda value: _PLATE_FREE.fullmatch(value) is not None, 0.2),
)


def _in_document(text: str, table: str) -> bool:
    """Whether a json document holds a field that says something about people, or a text that looks so."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return any(value and (_named(key, table) or _EMAIL.fullmatch(value)) for key, value in _fields(found, ""))


def _named(key: str, table: str) -> bool:
    return bool(key) and _by_name(key, table, "text") not in ("", "free text", "link")


def _fields(value: Any, key: str) -> Iterable[tuple[str, str]]:
    if isinstance(value, dict):
        for inner, below in value.items():
            yield from _fields(below, f"{inner}")
    elif isinstance(value, list):
        for below in value:
            yield from _fields(below, key)
    elif isinstance(value, str):
        yield key, value


# Words
# -----


_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_IRREGULAR = {"people": "person", "children": "child", "men": "man", "women": "woman", "media": "medium", "data": "datum"}


@lru_cache(maxsize=4096)
def words_of_name(name: str) -> tuple[str, ...]:
    """The words of a name in lower case and in the singular."""
    return tuple(_singular(piece.lower()) for piece in _PIECE.findall(name))


def _singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def name_contains(name: str, phrase: str) -> bool:
    """Whether a name contains all words of a phrase in any order, or the phrase written as one word."""
    found, asked = words_of_name(name), phrase.split()
    return set(asked) <= set(found) or "".join(asked) in found
