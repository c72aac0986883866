"""Personal columns by name and look: the eighteen kinds that HIPAA's safe harbor lists, and a few that other laws add.

A kind is recognized by the words of a column's name or by the look of most of its values; checksums are computed where there are
any. This errs on both sides: a personal column with a name of its own is not seen, and free text may hold anything.

Paper: 45 CFR 164.514(b)(2)(i), letters A to R.

>>> kind_of("patient_email", ["anna@example.org"]).name, kind_of("x", ["DE89 3704 0044 0532 0130 00"]).name
('e-mail addresses', 'account numbers')
>>> kind_of("town", ["Rome"]).hipaa, kind_of("shade", ["red", "blue"]) is None
('B', True)
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.data.words import says, words

MOST_LOOKED_AT = 400
"""Distinct values whose look is judged."""
MOST_OF_THEM = 0.8
_OWN_WORDS = 10
"""Rows for every different text, at most, in a column of free text."""


@dataclass(frozen=True, slots=True)
class PersonalKind:
    """One kind of personal column."""

    name: str
    hipaa: str
    """The letter of HIPAA's list; empty for kinds that other rules name."""
    phrases: tuple[str, ...] = ()
    looks: Callable[[str], bool] | None = None
    direct: bool = True
    """Whether it points at a person by itself; else it does together with other columns."""
    numbered: bool = False
    """Whether its values have digits, whatever the name says: a country of birth is no date."""


def _like(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda value: compiled.fullmatch(value) is not None


def is_iban(value: str) -> bool:
    """Whether the check digits of an international account number are right.

    >>> is_iban("GB82 WEST 1234 5698 7654 32"), is_iban("GB83 WEST 1234 5698 7654 32")
    (True, False)
    """
    text = re.sub(r"[\s-]", "", value).upper()
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}", text):
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1


def is_card(value: str) -> bool:
    """Whether the last digit of a payment card number is right.

    >>> is_card("4111 1111 1111 1111"), is_card("4111 1111 1111 1112")
    (True, False)
    """
    digits = re.sub(r"[\s-]", "", value)
    if not re.fullmatch(r"[2-6][0-9]{12,18}", digits):
        return False
    doubled = [int(sign) * (1 + place % 2) for place, sign in enumerate(reversed(digits))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def is_address(value: str) -> bool:
    """Whether it is an address of the internet protocol.

    >>> is_address("192.168.0.1"), is_address("2001:db8::1"), is_address("192.168")
    (True, True, False)
    """
    if value.count(".") != 3 and value.count(":") < 2:
        return False
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def is_phone(value: str) -> bool:
    """Whether it looks like a telephone number that people write: grouped, or with a leading plus.

    >>> is_phone("+49 30 901820"), is_phone("(555) 123-4567"), is_phone("5551234567"), is_phone("2024-01-31")
    (True, True, False, False)
    """
    digits = re.sub(r"\D", "", value)
    grouped = re.fullmatch(r"(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,5}\)[ .-]?)?\d{2,5}(?:[ .-]\d{2,5}){1,4}", value)
    plus = re.fullmatch(r"\+\d[\d .()-]{6,20}", value)
    dated = re.fullmatch(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}", value)
    return bool((grouped or plus) and 7 <= len(digits) <= 15 and not dated and (plus or re.search(r"[ ()-]", value)))


def is_point(value: str) -> bool:
    """Whether it is a pair of coordinates.

    >>> is_point("48.2082, 16.3738"), is_point("POINT(16.37 48.2)"), is_point("3, 4")
    (True, True, False)
    """
    found = re.fullmatch(r"(?:POINT ?\()?\(?(-?\d{1,3}\.\d{2,}),? (-?\d{1,3}\.\d+)\)*", value) or re.fullmatch(
        r"\(?(-?\d{1,3}\.\d{2,}), ?(-?\d{1,3}\.\d{2,})\)?", value
    )
    return bool(found and abs(float(found[1])) <= 180 and abs(float(found[2])) <= 180)


_NAMES = ("first name", "last name", "given name", "family name", "middle name", "maiden name", "full name", "surname", "forename")
_OF_PEOPLE = ("customer name", "patient name", "student name", "employee name", "person name", "client name", "member name")
_PLACES = ("address", "street", "zip", "postal", "postcode", "post code", "city", "town", "county", "district", "suburb", "village")
_DATES = ("birth", "dob", "born", "birthday", "death date", "admission", "admitted", "discharge date", "discharged", "visit date")

KINDS: tuple[PersonalKind, ...] = (
    PersonalKind("e-mail addresses", "F", ("email", "e mail"), _like(r"[^@\s]{1,64}@[^@\s]{1,190}\.[A-Za-z]{2,24}")),
    PersonalKind("web addresses", "N", ("url", "website", "homepage", "web page"), _like(r"(?:https?|ftp)://\S+|www\.\S+")),
    PersonalKind("internet protocol addresses", "O", ("ip address", "ip"), is_address),
    PersonalKind("social security numbers", "G", ("ssn", "social security", "national insurance"), _like(r"\d{3}-\d{2}-\d{4}")),
    PersonalKind("fax numbers", "E", ("fax",)),
    PersonalKind("telephone numbers", "D", ("phone", "telephone", "mobile number", "cell number", "tel"), is_phone),
    PersonalKind("account numbers", "J", ("iban", "account number", "credit card", "card number", "bank account"), is_iban),
    PersonalKind("payment cards", "J", (), is_card),
    PersonalKind("medical record numbers", "H", ("mrn", "medical record", "record number", "chart number")),
    PersonalKind("health plan numbers", "I", ("health plan", "insurance number", "policy number", "beneficiary")),
    PersonalKind("certificate and license numbers", "K", ("license", "licence", "certificate number", "passport", "permit number")),
    PersonalKind("vehicle numbers", "L", ("vin", "number plate", "plate"), _like(r"[A-HJ-NPR-Z0-9]{11}[0-9]{6}")),
    PersonalKind(
        "device numbers", "M", ("imei", "mac address", "device id"), _like(r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}")
    ),
    PersonalKind("biometric identifiers", "P", ("fingerprint", "iris scan", "retina", "voice print", "voiceprint", "biometric")),
    PersonalKind("photographs", "Q", ("photo", "photograph", "portrait", "mugshot"), _like(r"\S+\.(?:jpe?g|png|heic)")),
    PersonalKind("names", "A", (*_NAMES, *_OF_PEOPLE)),
    PersonalKind(
        "other identifying numbers", "R", ("uuid", "guid", "user name", "login"),
        _like(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"),
    ),
    PersonalKind("coordinates", "B", ("latitude", "longitude", "lat", "lon", "lng", "gps", "geo"), is_point, direct=False),
    PersonalKind("places smaller than a state", "B", _PLACES, direct=False),
    PersonalKind("dates of a person", "C", _DATES, direct=False, numbered=True),
)  # fmt: skip
"""In the order of asking: what is surest comes first."""

SAFE_HARBOR = {
    "A": "names", "B": "geographic subdivisions smaller than a state", "C": "dates (except the year) and ages above 89",
    "D": "telephone numbers", "E": "fax numbers", "F": "e-mail addresses", "G": "social security numbers",
    "H": "medical record numbers", "I": "health plan beneficiary numbers", "J": "account numbers",
    "K": "certificate and license numbers", "L": "vehicle identifiers and license plates", "M": "device identifiers",
    "N": "web addresses", "O": "internet protocol addresses", "P": "biometric identifiers", "Q": "full-face photographs",
    "R": "any other unique identifying number, characteristic or code",
}  # fmt: skip
FREE_TEXT = PersonalKind("free text", "R")
AGES = PersonalKind("ages above 89", "C", direct=False)


def kind_of(name: str, values: Sequence[str], rows: int = 0) -> PersonalKind | None:
    """The kind of a column by its name, else by the look of most of its distinct values; None when it shows none.

    Of `rows` that have a value, few say the same in free text: long labels of a list are none.
    """
    sample = [value for value in values if value][:MOST_LOOKED_AT]
    if len(words(name)) == 1 and words(name)[0] == "name":
        return next(kind for kind in KINDS if kind.hipaa == "A")
    for kind in KINDS:
        if any(says(name, phrase) for phrase in kind.phrases) and not (kind.numbered and _has_no_digits(sample)):
            return kind
    for kind in KINDS:
        if kind.looks and sample and sum(map(kind.looks, sample)) >= MOST_OF_THEM * len(sample):
            return kind
    return FREE_TEXT if _is_prose(sample) and _OWN_WORDS * len(values) >= rows else None


def _has_no_digits(sample: Sequence[str]) -> bool:
    return bool(sample) and sum(any(sign.isdigit() for sign in value) for value in sample) < MOST_OF_THEM * len(sample)


def _is_prose(sample: Sequence[str]) -> bool:
    """Whether most values are sentences, hardly any two of them the same length."""
    if len(sample) < 5:
        return False
    lengths = [len(value.split()) for value in sample]
    return sum(lengths) / len(sample) >= 6 and len({len(value) for value in sample}) > len(sample) / 4
