"""What each column seems to be: identifier, quasi-identifier, sensitive or other, with the reason in a sentence.

No data says what an outsider knows; names and shapes only suggest it. The order of asking is: kinds that point at a person by
themselves; keys; words that describe a person (somebody may know them); words of what a person would rather keep; shape. What
nothing speaks for is a quasi-identifier, since that is the cautious answer, except for measurements and amounts: these
are rarely known outside, and a release in which they were generalized away would be of no use.

>>> import pyarrow as pa
>>> people = Table(pa.table({"id": ["1", "2", "3"], "sex": ["f", "m", "f"], "diagnosis": ["flu", "flu", "gout"]}))
>>> [(look.name, look.role) for look in infer_column_roles(people)]
[('id', 'identifier'), ('sex', 'quasi-identifier'), ('diagnosis', 'sensitive')]


Kinds
-----
Personal columns by name and look: the eighteen kinds that HIPAA's safe harbor lists, and a few that other laws add.

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
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sfumato.data.personal_columns import name_contains, words_of_name
from sfumato.data.table import Table, TextColumn
from sfumato.data.text_values import is_whole, parse_number, parse_timestamp

GuessedRole = Literal["identifier", "quasi-identifier", "sensitive", "other"]
Shape = Literal["nothing", "whole numbers", "decimals", "dates", "text"]
_FEW, _MANY = 20, 100
_KEY_SHARE = 0.9
_SAMPLE = 2_000
UNKNOWN = "nothing speaks against somebody knowing it"
OLDEST = 89
"""HIPAA: ages above are personal by themselves."""

_NUMBERING = frozenset(
    ("id", "uid", "pid", "key", "uuid", "guid", "nbr", "ident", "identifier", "subject", "rowname", "row", "index")
)
_SOMEBODY = frozenset(("patient", "customer", "person", "user", "member", "client", "student", "employee", "respondent", "case"))
_COUNTING = frozenset(("no", "nr", "num", "number", "code"))
_KNOWN_WORDS = """
    age agegroup birth born sex gender male female race ethnic ethnicity ancestry nationality citizenship citizen country native
    state province region county city town village district zip postal postcode address street latitude longitude location place
    urban rural metro area neighborhood marital married spouse widow single education educ school schooling degree college
    university graduate qualification major occupation job profession employer employment employed industry sector workclass
    department dept position title rank seniority tenure experience service hours hour household family child kid sibling sibsp
    parch parent relationship dependent language height eye hair hand handed veteran military pclass class cabin embarked deck
    black hispanic white asian immigrant foreign owner house home car year date day month admission admitted discharge hospital
    ward weight
"""
_PRIVATE_WORDS = """
    disease diagnosis diag icd illness condition cancer tumor tumour hiv aids infection covid symptom drug medication medicine
    treatment treat therapy dose surgery blood pressure systolic diastolic cholesterol glucose insulin bmi hba pulse pregnant
    pregnancy abortion smoke smoker smoking tobacco alcohol drink drinking cannabis abuse depression anxiety mental psych stress
    disability disabled genetic gene survived survival death died dead alive mortality relapse severity stage income salary wage
    earning pay payment debt credit loan balance wealth saving asset expenditure expense spend spending consumption bill tip
    fare amount charge cost price tax benefit bonus pension mortgage rent default arrest crime criminal offense offence convict
    conviction prison sentence recidivism religion religious church political politic party vote ideology union orientation
    sexual affair opinion attitude satisfaction happiness happy rating score grade gpa test exam mark iq performance evaluation
    result outcome target label response readmitted fraud churn complaint injury health doctor visit
"""

_KNOWN, _PRIVATE = tuple(_KNOWN_WORDS.split()), tuple(_PRIVATE_WORDS.split())


@dataclass(frozen=True, slots=True)
class InferredColumn:
    """What one column seems to be."""

    name: str
    role: GuessedRole
    reason: str
    shape: Shape
    distinct: int
    missing: int
    kind: str = ""
    """The personal kind, when it shows one."""
    hipaa: str = ""
    """The letter of HIPAA's list."""


def infer_column_roles(table: Table) -> tuple[InferredColumn, ...]:
    """All columns; two that say the same in other words have the same role."""
    looks = [_look(name, table.text(name), table.records) for name in table.names]
    return tuple(_shared(look, looks, table) for look in looks)


def value_shape(values: Sequence[str]) -> Shape:
    """What kind of values a column has, judged by a sample of the distinct ones; codes with a leading zero are text."""
    sample = [value for value in values if value]
    sample = sample[:: max(1, len(sample) // _SAMPLE)]
    if not sample:
        return "nothing"
    read = [parse_number(value) for value in sample]
    if all(value is not None for value in read) and not any(value[0] == "0" and value[1:2].isdigit() for value in sample):
        return "whole numbers" if all(value is not None and is_whole(value) for value in read) else "decimals"
    return "dates" if all(parse_timestamp(value) is not None for value in sample) else "text"


def _look(name: str, text: TextColumn, rows: int) -> InferredColumn:
    values = [label for label in text.labels if label]
    counts = text.counts()
    missing = sum(int(count) for label, count in zip(text.labels, counts, strict=True) if not label)
    plain = InferredColumn(name, "quasi-identifier", "", value_shape(values), len(values), missing)
    if len(values) <= 1:
        return replace(plain, role="other", reason="says the same in every row that has a value")
    kind = kind_of(name, values, rows - missing)
    if kind is not None and kind.direct:
        return _with_kind(plain, kind, "identifier", f"{kind.name}: points at a person by itself")
    if reason := _key_reason(plain, values, rows - missing):
        return replace(plain, role="identifier", reason=reason)
    if kind is not None:
        return _with_kind(plain, kind, "quasi-identifier", f"{kind.name}: somebody may know them")
    return _described(plain, values)


def _with_kind(look: InferredColumn, kind: PersonalKind, role: GuessedRole, reason: str) -> InferredColumn:
    return replace(look, role=role, reason=reason, kind=kind.name, hipaa=kind.hipaa)


def _key_reason(look: InferredColumn, values: Sequence[str], known: int) -> str:
    """Why a column is a key of rows or people; empty when it is none."""
    own = set(words_of_name(look.name))
    if not own and look.distinct == known:
        return "has no name and numbers the rows"
    named = bool(own & _NUMBERING) or bool(own & _SOMEBODY and own & _COUNTING)
    if named and (look.distinct > _FEW or look.distinct == known):
        return "its name says that it numbers people or records"
    if look.distinct <= _FEW or look.distinct < _KEY_SHARE * known or look.shape in ("decimals", "dates"):
        return ""
    if look.shape == "text":
        return "has a text of its own in almost every row"
    if look.distinct == known and _is_run(values):
        return "numbers the rows one after the other"
    unnamed = not any(name_contains(look.name, word) for word in (*_PRIVATE, *_KNOWN))
    return "has a number of its own in every row" if look.distinct == known > _MANY and unnamed else ""


def _is_run(values: Sequence[str]) -> bool:
    read = np.array([float(value) for value in values])
    return len(read) > 2 and float(read.max() - read.min()) <= 1.1 * len(read)


def _described(look: InferredColumn, values: Sequence[str]) -> InferredColumn:
    private = next((word for word in _PRIVATE if name_contains(look.name, word)), "")
    known = next((word for word in _KNOWN if name_contains(look.name, word)), "")
    if private and not (known and words_of_name(look.name)[-1] == known and private != words_of_name(look.name)[-1]):
        return replace(look, role="sensitive", reason=f"'{private}': what people would rather keep to themselves")
    if known:
        aged = known == "age" and any(float(parse_number(value) or 0) > OLDEST for value in values[:_SAMPLE])
        found = replace(look, reason=f"'{known}': somebody may know it")
        return replace(found, kind=AGES.name, hipaa=AGES.hipaa) if aged else found
    if look.shape == "dates":
        return replace(look, reason="a date: somebody may know what happened then", kind="dates of a person", hipaa="C")
    if look.distinct > (_FEW if look.shape == "decimals" else _MANY) and look.shape in ("decimals", "whole numbers"):
        return replace(look, role="sensitive", reason="a measurement or an amount, which outsiders rarely know exactly")
    return replace(look, reason=UNKNOWN)


def _shared(look: InferredColumn, looks: Sequence[InferredColumn], table: Table) -> InferredColumn:
    """Where nothing is known of a column, the role of a sensitive one with a one-to-one map between their values."""
    if look.reason != UNKNOWN or look.distinct > min(_SAMPLE, table.records // 2):
        return look
    for other in looks:
        if other.role == "sensitive" and other.distinct == look.distinct and other.missing == look.missing:
            one, two = table.text(look.name), table.text(other.name)
            pairs = np.unique(one.codes.astype(np.int64) * len(two.labels) + two.codes)
            if len(pairs) == len(one.labels):
                return replace(look, role="sensitive", reason=f"says the same as '{other.name}' in other words")
    return look


# Kinds
# -----


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
    if len(words_of_name(name)) == 1 and words_of_name(name)[0] == "name":
        return next(kind for kind in KINDS if kind.hipaa == "A")
    for kind in KINDS:
        if any(name_contains(name, phrase) for phrase in kind.phrases) and not (kind.numbered and _has_no_digits(sample)):
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
