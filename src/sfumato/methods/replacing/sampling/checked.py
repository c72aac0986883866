"""Numbers of public systems, numbered: every body in turn, with the check digits it must carry.

A code is the number of a body, so that uniqueness and exact sampling work as with any other domain. A new system is one entry in
`SYSTEMS`: how many bodies there are, and the text of body n.

>>> levels = Checked("iban", "DE")
>>> levels.size, levels.texts(np.array([370400440532013000])).tolist()
(1000000000000000000, ['DE89370400440532013000'])
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data import phone_numbers
from sfumato.data.arrays import IntArray
from sfumato.data.check_digits import (
    BANKS,
    dutch_digit_holds,
    ean_digit,
    german_tax_digit,
    iban_digits,
    luhn_digit,
    pesel_digit,
    spanish_letter,
)
from sfumato.methods.replacing.sampling.vectors import Vector, texts
from sfumato.policy.own_texts import OwnTexts
from sfumato.policy.plugins import own_text

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FIRST_DAY, _LAST_DAY = date(1940, 1, 1).toordinal(), date(1999, 12, 31).toordinal()
Body = Callable[[int], str]


class Checked:
    """All numbers of one system."""

    kind = "text"

    def __init__(self, system: str, country: str = "") -> None:
        by_country = {"iban": _iban, "phone": _phone}
        self.size, self.body = by_country[system](country) if system in by_country else SYSTEMS[system]

    def vector(self, codes: IntArray) -> Vector:
        return texts(self.texts(codes))

    def texts(self, codes: IntArray) -> NDArray[Any]:
        return np.array([self.body(int(code)) for code in codes], dtype=np.str_)


class OwnNumbering:
    """Texts that the data holder's own code numbers; that no two are alike is judged where they must differ."""

    kind = "text"

    def __init__(self, domain: OwnTexts) -> None:
        self.domain, self.size = domain, domain.size

    def vector(self, codes: IntArray) -> Vector:
        return texts(self.texts(codes))

    def texts(self, codes: IntArray) -> NDArray[Any]:
        return np.array([own_text(self.domain.code, self.domain.name, int(code)) for code in codes], dtype=np.str_)


def _phone(country: str) -> tuple[int, Body]:
    return phone_numbers.size(country), lambda code: phone_numbers.number(country, code)


def _iban(country: str) -> tuple[int, Body]:
    """The bank's part by its form, as in `a4n10`: letters, then digits."""
    form = BANKS[country]
    size = 1
    for kind, length in form:
        size *= (26 if kind == "a" else 10) ** length

    def body(code: int) -> str:
        signs: list[str] = []
        for kind, length in reversed(form):
            for _ in range(length):
                code, place = divmod(code, 26 if kind == "a" else 10)
                signs.append(_LETTERS[place] if kind == "a" else str(place))
        account = "".join(reversed(signs))
        return country + iban_digits(country, account) + account

    return size, body


def _card(prefixes: tuple[str, ...], length: int) -> tuple[int, Body]:
    free = length - 1 - len(prefixes[0])

    def body(code: int) -> str:
        place, rest = divmod(code, 10**free)
        text = f"{prefixes[place]}{rest:0{free}d}"
        return text + luhn_digit(text)

    return len(prefixes) * 10**free, body


def _dutch(code: int) -> str:
    """Seven digits and the place among the nine next ones that allow a check digit."""
    start, place = divmod(code, 9)
    found = [f"{start + 10**6:07d}{eighth}{last}" for eighth in range(10) for last in range(10) if _is_dutch(start, eighth, last)]
    return found[place]


def _is_dutch(start: int, eighth: int, last: int) -> bool:
    return dutch_digit_holds(f"{start + 10**6:07d}{eighth}{last}")


def _polish(code: int) -> str:
    days, serial = divmod(code, 10_000)
    text = f"{date.fromordinal(_FIRST_DAY + days):%y%m%d}{serial:04d}"
    return text + pesel_digit(text)


def _german_tax(code: int) -> str:
    text = str(code + 10**9)
    return text + german_tax_digit(text)


def _german_vat(code: int) -> str:
    text = str(code + 10**7)
    return f"DE{text}{german_tax_digit(text)}"


def _ean(code: int) -> str:
    return f"{code:012d}{ean_digit(f'{code:012d}')}"


def _isbn(code: int) -> str:
    return _ean(978 * 10**9 + code if code < 10**9 else 979 * 10**9 + code - 10**9)


def _luhn(code: int) -> str:
    text = str(code + 10**8)
    return text + luhn_digit(text)


SYSTEMS: dict[str, tuple[int, Body]] = {
    "visa": _card(("4",), 16),
    "card": _card(("4",), 16),
    "mastercard": _card(("51", "52", "53", "54", "55"), 16),
    "amex": _card(("34", "37"), 15),
    "luhn": (9 * 10**8, _luhn),
    "ean": (10**12, _ean),
    "isbn": (2 * 10**9, _isbn),
    "german_tax": (9 * 10**9, _german_tax),
    "german_vat": (9 * 10**7, _german_vat),
    "bsn": (9 * 10**6 * 9, _dutch),
    "pesel": ((_LAST_DAY - _FIRST_DAY + 1) * 10_000, _polish),
    "dni": (10**8, lambda code: f"{code:08d}{spanish_letter(f'{code:08d}')}"),
}
