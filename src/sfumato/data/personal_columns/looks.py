"""What the values of a column look like: formats, check digits, words, names of people, free text, secrets.

A look is judged on a sample of the distinct values; most of them must have it. Check digits are computed where there
are any, and telephone numbers are compared with the numbering plans of the countries (phonenumberslite).

>>> kind_by_look(["anna@example.org", "bo@example.org"]).kind, kind_by_look(["DE89 3704 0044 0532 0130 00"]).kind
('email', 'account')
>>> kind_by_look(["+49 30 901820", "030 901821-11"]).kind, kind_by_look(["red", "blue"]) is None
('phone', True)
"""

from __future__ import annotations

import ipaddress
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from sfumato.data.check_digits import NUMBERS, iban_holds, luhn_holds
from sfumato.data.personal_columns.names import kinds_by_name
from sfumato.data.personal_columns.vocabulary import KINDS, fold, people_names, value_words, vocabulary
from sfumato.data.text_values import is_whole, parse_number, parse_timestamp

MOST_LOOKED_AT = 400
"""Distinct values whose look is judged."""
_SCANNED = 100
_REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "NL", "PT", "AT", "CH", "BE", "BR", "MX", "AR", "CA", "IE")
_PICTURES = ("89504e47", "ffd8ff", "47494638", "52494646", "424d", "49492a00", "4d4d002a", "25504446")
_PICTURES_AS_TEXT = ("iVBORw0KG", "/9j/", "R0lGOD", "JVBERi0", "data:image")
"""How PNG, JPEG, GIF, WebP, BMP, TIFF and PDF begin, as hexadecimal digits and in base64."""
_CONTAINER = "66747970"
"""What stands behind the first four bytes of HEIC, AVIF and films."""
Shape = Literal["nothing", "whole numbers", "decimals", "dates", "text"]
_SHAPED = 2_000
_MONEY = re.compile(
    r"[€$£]?\s?[+-]?(?:\d{1,3}(?:[.' \u00a0\u202f]\d{3})+|\d+)(?:,\d+)?\s?(?:€|\$|£|EUR|USD|CHF|GBP|BRL|R\$)?"
)
_GROUPED = re.compile(r"[€$£]?\s?[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\s?(?:€|\$|£|EUR|USD|CHF|GBP)?")
_CLOCK = r"(?:[ T]+\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"
_DAY = re.compile(rf"\d{{1,2}}[./-]\d{{1,2}}[./-]\d{{2,4}}{_CLOCK}|\d{{4}}[./]\d{{1,2}}[./]\d{{1,2}}{_CLOCK}")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Look:
    """A kind that values look like, and the share of them that do."""

    kind: str
    share: float
    of: str
    sure: bool
    """Whether hardly anything else looks so."""

    @property
    def reason(self) -> str:
        return f"{self.share:.0%} of the values look like {self.of} ({KINDS[self.kind].title})"


@dataclass(frozen=True, slots=True)
class _Format:
    """One look of single values."""

    kind: str
    of: str
    holds: Callable[[str], bool]
    share: float = 0.8
    fewest: int = 1
    sure: bool = True


def sample_of(values: Sequence[str]) -> list[str]:
    """Return some of the distinct values, evenly spaced."""
    found = [value.strip() for value in values if value and value.strip()]
    return found[:: max(1, len(found) // MOST_LOOKED_AT)][:MOST_LOOKED_AT]


def kind_by_look(values: Sequence[str], rows: int = 0, least: float = 1.0) -> Look | None:
    """Return the kind that most of the distinct values look like; None when they look like nothing in particular.

    `rows` is the number of rows that have a value: few of them say the same in free text. With `least` a smaller share
    is enough for formats that hardly anything else has."""
    sample = sample_of(values)
    if not sample:
        return None
    for form in _FORMATS:
        if len(sample) >= form.fewest:
            share = sum(map(form.holds, sample)) / len(sample)
            if share >= (min(form.share, least) if form.sure else form.share):
                return Look(form.kind, share, form.of, form.sure)
    return _by_words(sample) or _people(sample) or (_prose(sample) if is_free_text(sample, len(values), rows) else None)


def value_shape(values: Sequence[str]) -> Shape:
    """Return what kind of values a column has, judged by a sample of the distinct ones; codes with a leading zero are
    text.

    >>> value_shape(["10.026,09", "1,5"]), value_shape(["31.12.1999 07:30"]), value_shape(["01234"]), value_shape(["1",
    ...     "2"])
    ('decimals', 'dates', 'text', 'whole numbers')
    """
    sample = [value.strip() for value in values if value and value.strip()]
    sample = sample[:: max(1, len(sample) // _SHAPED)]
    if not sample:
        return "nothing"
    if not any(value[0] == "0" and value[1:2].isdigit() for value in sample):
        read = [parse_number(value) for value in sample]
        if all(value is not None for value in read):
            return "whole numbers" if all(value is not None and is_whole(value) for value in read) else "decimals"
        if all(_MONEY.fullmatch(value) for value in sample) or all(_GROUPED.fullmatch(value) for value in sample):
            return "decimals"
    if all(parse_timestamp(value) is not None for value in sample) or all(_DAY.fullmatch(value) for value in sample):
        return "dates"
    return "text"


# Formats
# -------


def _like(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda value: compiled.fullmatch(value) is not None


def is_iban(value: str) -> bool:
    """Return whether the check digits of an international account number are right.

    >>> is_iban("GB82 WEST 1234 5698 7654 32"), is_iban("GB83 WEST 1234 5698 7654 32")
    (True, False)
    """
    return iban_holds(re.sub(r"[\s-]", "", value).upper())


def is_card(value: str) -> bool:
    """Return whether the last digit of a payment card number is right.

    >>> is_card("4111 1111 1111 1111"), is_card("4111 1111 1111 1112")
    (True, False)
    """
    digits = re.sub(r"[\s-]", "", value)
    return re.fullmatch(r"[2-6][0-9]{12,18}", digits) is not None and len(set(digits)) > 1 and luhn_holds(digits)


def is_address(value: str) -> bool:
    """Return whether it is an address of the internet protocol, alone or of a network.

    >>> is_address("192.168.0.1"), is_address("2001:db8::1"), is_address("192.168")
    (True, True, False)
    """
    if value.count(".") != 3 and value.count(":") < 2:
        return False
    try:
        ipaddress.ip_interface(value)
    except ValueError:
        return False
    return True


def is_phone(value: str) -> bool:
    """Return whether it is a telephone number as people write it: grouped, with a leading plus, or valid in a country.

    >>> is_phone("+49 30 901820"), is_phone("(555) 123-4567"), is_phone("5551234567"), is_phone("2024-01-31")
    (True, True, False, False)
    >>> is_phone("030/901820"), is_phone("1 (11) 500 555-0132"), is_phone("17 rue 4")
    (True, True, False)
    """
    digits = re.sub(r"\D", "", value)
    if not 7 <= len(digits) <= 15 or not re.fullmatch(
        r"[+\d][\d ().,/-]*(?: ?(?:x|ext\.?) ?\d+)?|\([\d ][\d ().,/-]*", value
    ):
        return False
    if re.fullmatch(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|[\d.,]+|\d{4}-\d{4}|-?\d+", value) and not value.startswith(
        "0"
    ):
        return False
    if re.fullmatch(
        r"(?:\+\d{1,3}[ .-]?|\d )?(?:\(\d{2,5}\)[ .-]?)?\d{2,5}(?:[ .-]\d{2,5}){1,4}|\+\d[\d .()/-]{6,20}", value
    ):
        return not re.fullmatch(r"\d{1,3}([ .]\d{3})+", value)
    return value.startswith(("0", "(")) and _valid_somewhere(value)


def _valid_somewhere(value: str) -> bool:
    numbers = _phone_library()
    for region in _REGIONS:
        try:
            if numbers.is_valid_number(numbers.parse(value, region)):
                return True
        except numbers.NumberParseException:
            return False
    return False


@cache
def _phone_library() -> Any:
    import phonenumbers

    return phonenumbers


def is_point(value: str) -> bool:
    """Return whether it is a pair of coordinates.

    >>> is_point("48.2082, 16.3738"), is_point("POINT(16.37 48.2)"), is_point("3, 4")
    (True, True, False)
    """
    found = re.fullmatch(r"(?:POINT ?\()?\(?(-?\d{1,3}\.\d{2,}),? (-?\d{1,3}\.\d+)\)*", value) or re.fullmatch(
        r"\(?(-?\d{1,3}\.\d{2,}), ?(-?\d{1,3}\.\d{2,})\)?", value
    )
    return bool(found and abs(float(found[1])) <= 180 and abs(float(found[2])) <= 180)


def _is_french_number(value: str) -> bool:
    digits = re.sub(r"\s", "", value)
    return re.fullmatch(r"[1-478]\d{14}", digits) is not None and 97 - int(digits[:13]) % 97 == int(digits[13:])


def _is_brazilian_number(value: str) -> bool:
    digits = re.sub(r"[.\-\s]", "", value)
    if not re.fullmatch(r"\d{11}", digits) or len(set(digits)) == 1:
        return False
    for size in (9, 10):
        total = sum(int(digit) * (size + 1 - place) for place, digit in enumerate(digits[:size]))
        if total * 10 % 11 % 10 != int(digits[size]):
            return False
    return True


def _is_secret(value: str) -> bool:
    """Return whether a text is long, without blanks, and as disordered as a key or a hash."""
    if not 16 <= len(value) <= 512 or not re.fullmatch(r"[A-Za-z0-9+/=_$.:-]+", value):
        return False
    counts = Counter(value)
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    kinds = sum(bool(re.search(pattern, value)) for pattern in ("[a-z]", "[A-Z]", "[0-9]"))
    return kinds > 1 and entropy > min(3.2, 0.75 * math.log2(len(value))) and len(re.findall(r"\d", value)) > 1


def _is_picture(value: str) -> bool:
    digits = value.removeprefix("\\x").lower()
    return digits.startswith(_PICTURES) or digits[8:16] == _CONTAINER or value.startswith(_PICTURES_AS_TEXT)


def has_document(value: str) -> str:
    """Return the path of personal data inside a json or xml document or an hstore; empty where none is seen.

    >>> has_document('{"user": {"email": "anna@example.org"}, "size": 3}'), has_document('{"size": "3"}')
    ('$.user.email', '')
    >>> has_document('<Person><BirthDate>1980-01-01</BirthDate></Person>'), has_document('"phone"=>"1"')
    ('$.Person.BirthDate', '$.phone')
    """
    for path, text in _fields(value):
        key = path.rpartition(".")[2]
        kinds = (
            [found.kind for found in kinds_by_name(key, "") if KINDS[found.kind].treatment == "replace"] if text else []
        )
        if (kinds and kinds[0] not in ("free text", "link", "name")) or (kinds and len(key) > 4) or _EMAIL(text):
            return path
    return ""


def _fields(value: str) -> Iterator[tuple[str, str]]:
    text = value.lstrip()
    if text.startswith(("{", "[")):
        try:
            yield from _inside(json.loads(text), "$")
        except (ValueError, RecursionError):
            return
    elif text.startswith("<"):
        for tag, inner in re.findall(r"<(?:\w+:)?(\w+)[^<>]*>([^<>]+)</", text[:20_000]):
            above = re.match(r"<(?:\?[^>]*\?>\s*<)?(?:\w+:)?(\w+)", text)
            yield f"$.{above[1] if above else 'xml'}.{tag}", inner.strip()
    elif "=>" in text:
        for key, inner in re.findall(r'"([^"]+)"\s*=>\s*"([^"]*)"', text):
            yield f"$.{key}", inner


def _inside(value: Any, path: str) -> Iterable[tuple[str, str]]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _inside(below, f"{path}.{key}")
    elif isinstance(value, list):
        for below in value:
            yield from _inside(below, path)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, str(value)


_EMAIL = _like(r"[^@\s,;]{1,64}@[^@\s,;]{1,190}\.[A-Za-z]{2,24}")
_PLATES = "|".join(
    (
        r"[A-ZÄÖÜ]{1,3}[- ][A-Z]{1,2}[- ]?\d{1,4}[EH]?", r"[A-Z]{2}-\d{3}-[A-Z]{2}",
        r"\d{4} ?[BCDFGHJKLMNPRSTVWXYZ]{3}",
        r"[A-Z]{2} ?\d{3} ?[A-Z]{2}", r"\d{2}-[A-Z]{2,3}-\d{1,2}", r"[A-Z]{1,2}-\d{2,3}-[A-Z]{1,2}",
        r"[A-Z]{2}\d{2} [A-Z]{3}",
        r"[A-Z]{2}-\d{2}-\d{2}", r"\d{2}-\d{2}-[A-Z]{2}", r"\d-[A-Z]{3}-\d{2,3}", r"[A-Z]{3}-?\d[A-Z\d]\d{2}",
    )
)  # fmt: skip
_STREETS = (
    r"(?:\d{1,5}[a-z]? +)?(?:[A-Z][\w.'-]*"
    r" +){1,3}(?:Street|St|Road|Rd|Avenue|Ave|Lane|Drive|Boulevard|Blvd|Way|Court)\.?(?:,? .*)?"
    r"|(?i:.*(?:stra(?:ß|ss)e|str\.|weg|platz|gasse|allee|straat|laan|gracht|plein) +\d.*)"
    r"|(?i:(?:\d+[a-z]?(?: bis)?,? +)?"
    r"(?:rue|avenue|chemin|impasse|place|calle|avenida|plaza|via|viale|piazza|corso|rua|travessa)\b.*)"
)
_POSTCODES = r"\d{4} ?[A-Z]{2}|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{5}-\d{3,4}|\d{4}-\d{3}"
_FORMATS: tuple[_Format, ...] = (
    _Format("email", "e-mail addresses", _EMAIL, 0.5),
    _Format("photo", "pictures", _is_picture),
    _Format("link", "web addresses", _like(r"(?:https?|ftp)://\S+|www\.\S+")),
    _Format("ip", "internet addresses", is_address),
    _Format("mac", "hardware addresses", _like(r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}")),
    _Format("account", "account numbers with right check digits", is_iban),
    _Format("card", "card numbers with right check digits", is_card),
    _Format("national id", "social security numbers", _like(r"\d{3}-\d{2}-\d{4}")),
    _Format("national id", "Italian tax codes", _like(r"(?i)[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]")),
    _Format("national id", "Spanish identity numbers", lambda value: NUMBERS["dni"](value.replace("-", "").upper()),
    0.9, 3),
    _Format("national id", "British insurance numbers", _like(r"[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]"), 0.9,
    3),
    _Format("national id", "French social security numbers", _is_french_number, 0.9, 3),
    _Format("national id", "Brazilian tax numbers", _is_brazilian_number, 0.95, 5),
    _Format("national id", "Dutch citizen numbers", NUMBERS["bsn"], 0.95, 10),
    _Format("national id", "Polish identity numbers", NUMBERS["pesel"], 0.95, 10),
    _Format("national id", "German tax numbers", NUMBERS["german_tax"], 0.95, 10),
    _Format("vehicle", "vehicle numbers", _like(r"(?=.*[A-Z])[A-HJ-NPR-Z0-9]{11}[0-9]{6}")),
    _Format("other number", "identifiers of 128 bits", _like(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")),
    _Format("photo", "files of pictures", _like(r"(?i)\S+\.(?:jpe?g|png|heic|gif|webp)")),
    _Format("place", "pairs of coordinates", is_point),
    _Format("phone", "telephone numbers", is_phone, 0.8, 2, sure=False),
    _Format("vehicle", "license plates", _like(_PLATES), 0.9, 5, sure=False),
    _Format("postcode", "postcodes", _like(_POSTCODES), 0.9, 5, sure=False),
    _Format("street", "street addresses", _like(_STREETS), 0.6, 5, sure=False),
    _Format("drug", "drug codes (ATC)", _like(r"[A-DGHJLMNPRSV]\d\d[A-Z]{2}\d\d"), 0.8, 2),
    _Format("health", "diagnosis codes (ICD)",
    _like(r"[A-TV-Z]\d[0-9A-Z](?:\.[0-9A-Z-]{1,4}|\.?[0-9A-Z]{0,4}[ :-]+\S.*)"), 0.3, 2),
    _Format("secret", "keys or hashes", _is_secret, 0.8, 3, sure=False),
)  # fmt: skip
"""In the order of asking: what is surest comes first."""


# Words
# -----


def _by_words(sample: list[str]) -> Look | None:
    """Diagnoses, drugs, religions, parties, sexes and opinions by their words."""
    folded = [fold(value) for value in sample]
    if (
        set(folded) <= value_words("sex")
        and len(set(folded)) > 1
        and any(len(value) > 1 or value in "fw" for value in folded)
    ):
        return Look("sex", 1.0, "words for sex", True)
    for kind, of in (
        ("health", "diagnoses"),
        ("drug", "drugs"),
        ("religion", "religions"),
        ("politics", "parties"),
    ):
        words = value_words(kind)
        hits = sum(bool(words & set(_WORD.findall(value))) for value in folded)
        if hits > 1 and hits >= 0.4 * len(sample) and not _are_long(sample):
            return Look(kind, hits / len(sample), of, True)
    return _answers(folded)


_SCALE = 12
"""Answers of one question of a survey, at most."""
_ANSWER = 5
"""Words of an answer, at most: a longer label only mentions one of its words."""


def _answers(folded: list[str]) -> Look | None:
    """Return opinions where a few answers speak of importance, satisfaction or agreement, or of not knowing."""
    if not 2 <= len(folded) <= _SCALE:
        return None
    phrases = value_words("answer")
    words = [_WORD.findall(value) for value in folded]
    said = [" ".join(own) if len(own) <= _ANSWER else "" for own in words]
    hits = sum(any(f" {' '.join(_WORD.findall(phrase))} " in f" {one} " for phrase in phrases) for one in said)
    return Look("opinion", hits / len(folded), "answers about opinions", False) if hits else None


def _are_long(sample: list[str]) -> bool:
    return sum(len(value.split()) for value in sample) > 5 * len(sample)


def _people(sample: list[str]) -> Look | None:
    """Names of people by lists of common ones; a third of the different names of a column is in them."""
    if len(sample) < 5 or any(sign.isdigit() for value in sample[:_SCANNED] for sign in value):
        return None
    if sum(fold(value) in value_words("month") for value in sample) > 0.3 * len(sample):
        return None
    parts = [re.findall(r"[^\W\d_]+", fold(value).replace("-", " ")) for value in sample]
    short = [part for part in parts if 1 <= len(part) <= 4]
    if len(short) < 0.9 * len(sample) or sum(value[:1].isupper() for value in sample) < 0.7 * len(sample):
        return None
    given, family = people_names("given"), people_names("family")
    shares = {
        "first name": sum(part[0] in given for part in short) / len(sample),
        "last name": sum(bool({part[-1], "".join(part)} & family) for part in short) / len(sample),
    }
    both = sum(len(part) > 1 for part in short) >= 0.7 * len(sample)
    best = max(shares, key=lambda kind: shares[kind])
    if shares[best] < 0.3 or shares[best] * len(sample) < 3:
        return None
    return Look("name" if both else best, shares[best], "common names of people", False)


def is_free_text(sample: Sequence[str], distinct: int, rows: int) -> bool:
    """Return whether values are texts that a person wrote: several words each, many different ones, seldom repeated.

    Long labels of a list are repeated often; then they are none.
    """
    words = [value.split() for value in sample]
    sentences = sum(len(own) >= 8 and len(value) >= 60 for own, value in zip(words, sample, strict=True))
    if sample and sentences >= 0.2 * len(sample) and rows <= 10 * distinct:
        return True
    if len(sample) < 5:
        return False
    mean = sum(map(len, words)) / len(sample)
    different = len({fold(word) for own in words for word in own})
    repeated = rows > 10 * distinct
    lengths = len({len(value) for value in sample}) > min(len(sample) / 4, 8)
    return mean >= 3.5 and lengths and not repeated and different >= min(20, 2 * len(sample))


def _prose(sample: list[str]) -> Look:
    """Free text, with what personal data is seen inside."""
    found = {
        "e-mail addresses": r"\S+@\S+\.\w{2,}",
        "telephone numbers": r"(?:\+|\b0)\d[\d /.-]{6,}\d",
        "dates": r"\b\d{1,4}[./-]\d{1,2}[./-]\d{2,4}\b",
    }
    inside = [what for what, pattern in found.items() if any(re.search(pattern, value) for value in sample)]
    names = people_names("given")
    if sum(bool(names & set(_WORD.findall(fold(value)))) for value in sample) > 0.05 * len(sample):
        inside.append("names")
    return Look("free text", 1.0, "free text" + (f" with {' and '.join(inside)} inside" if inside else ""), True)


def are_flags(values: Sequence[str]) -> bool:
    """Return whether values say only yes or no."""
    found = {fold(value) for value in values if value}
    return 0 < len(found) <= 3 and found <= vocabulary().group("yes") | {"", "?", "unknown"} and len(found) > 1
