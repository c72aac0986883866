"""Check digits of public numbering systems: whether a number carries the right one, and which one it should carry.

>>> luhn_holds("4111111111111111"), luhn_digit("411111111111111"), iban_holds("DE89370400440532013000")
(True, '1', True)
>>> iban_digits("DE", "370400440532013000"), ean_digit("978030640615"), isbn10_digit("030640615")
('89', '7', '2')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import date
from functools import cache
from typing import Any


@cache
def _phones() -> Any:
    """The plans of all countries, read when a person asks for a telephone number."""
    from sfumato.data import phone_numbers

    return phone_numbers


def luhn_digit(body: str) -> str:
    """The digit behind `body` that makes the Luhn sum a multiple of ten."""
    total = 0
    for place, digit in enumerate(reversed(body)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return str(-total % 10)


def luhn_holds(digits: str) -> bool:
    """Whether the last digit is the Luhn digit of the others."""
    return len(digits) > 1 and digits.isascii() and digits.isdigit() and luhn_digit(digits[:-1]) == digits[-1]


def iban_digits(country: str, account: str) -> str:
    """The two digits behind the country (ISO 7064, mod 97-10)."""
    return f"{98 - _letters_as_numbers(account + country + '00') % 97:02d}"


def iban_holds(text: str) -> bool:
    """Whether the text has the form of an IBAN and its remainder is one."""
    plain = text.isascii() and text.isalnum() and text == text.upper() and 15 <= len(text) <= 34
    if not plain or not text[:2].isalpha() or not text[2:4].isdigit():
        return False
    return _letters_as_numbers(text[4:] + text[:4]) % 97 == 1


def _letters_as_numbers(text: str) -> int:
    return int("".join(str(int(sign, 36)) for sign in text))


def weighted(digits: str, weights: Sequence[int]) -> int:
    """Σ digit · weight."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def ean_digit(body: str) -> str:
    """The last digit of an EAN, a GTIN or an ISBN of thirteen digits."""
    return str(-sum(int(digit) * (3 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(body))) % 10)


def isbn10_digit(body: str) -> str:
    """The last sign of an ISBN of ten."""
    value = -weighted(body, range(10, 1, -1)) % 11
    return "X" if value == 10 else str(value)


# ---- whole numbers by name -------------------------------------------------------------------------------------------

_IBAN_LENGTHS = {
    "AT": 20, "BE": 16, "CH": 21, "CZ": 24, "DE": 22, "DK": 18, "ES": 24, "FI": 18, "FR": 27, "GB": 22, "IE": 22,
    "IT": 27,
    "LU": 20, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "SE": 24,
}  # fmt: skip
BANKS: dict[str, tuple[tuple[str, int], ...]] = {
    "AT": (("n", 16),), "BE": (("n", 12),), "CH": (("n", 17),), "CZ": (("n", 20),), "DE": (("n", 18),), "DK": (("n",
    14),),
    "ES": (("n", 20),), "FI": (("n", 14),), "FR": (("n", 23),), "GB": (("a", 4), ("n", 14)), "IE": (("a", 4), ("n",
    14)),
    "IT": (("a", 1), ("n", 22)), "LU": (("n", 16),), "NL": (("a", 4), ("n", 10)), "NO": (("n", 11),), "PL": (("n",
    24),),
    "PT": (("n", 21),), "SE": (("n", 20),),
}  # fmt: skip
"""The bank's part of an IBAN: letters (a) and digits (n), those that a country computes from the others among them."""
_CARDS = {"visa": (("4",), 16), "mastercard": (("51", "52", "53", "54", "55"), 16), "amex": (("34", "37"), 15)}


def _iban(text: str) -> bool:
    if not iban_holds(text) or len(text) != _IBAN_LENGTHS.get(text[:2], len(text)):
        return False
    holds = NATIONAL.get(text[:2])
    return holds is None or holds(text[4:])


def _spanish_account_digit(body: str) -> str:
    value = 11 - weighted(body, (1, 2, 4, 8, 5, 10, 9, 7, 3, 6)) % 11
    return str({10: 1, 11: 0}.get(value, value))


def spanish_account_digits(bank: str, account: str) -> str:
    """The two digits between the branch and the account of a Spanish bank."""
    return _spanish_account_digit(f"00{bank}") + _spanish_account_digit(account)


def belgian_account_digits(body: str) -> str:
    """The last two digits of a Belgian bank account."""
    return f"{int(body) % 97 or 97:02d}"


def french_account_digits(body: str) -> str:
    """The key behind bank (5 digits), branch (5) and account (11) in France."""
    return f"{97 - (89 * int(body[:5]) + 15 * int(body[5:10]) + 3 * int(body[10:])) % 97:02d}"


def portuguese_account_digits(body: str) -> str:
    """The last two digits of a Portuguese bank account."""
    return f"{98 - int(body) * 100 % 97:02d}"


def polish_bank_digit(body: str) -> str:
    """The eighth digit of a Polish bank."""
    return str(-weighted(body, (3, 9, 7, 1, 3, 9, 7)) % 10)


_ODD_PLACES = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (
            1,
            0,
            5,
            7,
            9,
            13,
            15,
            17,
            19,
            21,
            1,
            0,
            5,
            7,
            9,
            13,
            15,
            17,
            19,
            21,
            2,
            4,
            18,
            20,
            11,
            3,
            6,
            8,
            12,
            14,
            16,
            10,
            22,
            25,
            24,
            23,
        ),
        strict=True,
    )
)


def italian_account_letter(body: str) -> str:
    """The letter before bank, branch and account in Italy."""
    values = (
        _ODD_PLACES[sign] if place % 2 == 0 else int(sign, 36) - (10 if sign.isalpha() else 0)
        for place, sign in enumerate(body)
    )
    return chr(ord("A") + sum(values) % 26)


NORWEGIAN = (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)
CZECH_PREFIX, CZECH_ACCOUNT = (10, 5, 8, 4, 2, 1), (6, 3, 7, 9, 10, 5, 8, 4, 2, 1)
"""Weights under which the digits sum up to a multiple of eleven."""


def _norwegian(body: str) -> bool:
    """Of an account that begins with two zeros behind the bank, the bank is left out of the sum."""
    return weighted(body[6:], NORWEGIAN[6:]) % 11 == 0 if body[4:6] == "00" else weighted(body, NORWEGIAN) % 11 == 0


def _only_digits(check: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda body: body.isdigit() and check(body)


NATIONAL: dict[str, Callable[[str], bool]] = {
    "BE": _only_digits(lambda body: belgian_account_digits(body[:10]) == body[10:]),
    "CZ": _only_digits(
        lambda b: weighted(b[4:10], CZECH_PREFIX) % 11 == 0 and weighted(b[10:], CZECH_ACCOUNT) % 11 == 0
    ),
    "ES": _only_digits(lambda body: spanish_account_digits(body[:8], body[10:]) == body[8:10]),
    "FI": luhn_holds,
    "FR": lambda body: french_account_digits(_french_digits(body[:21])) == body[21:],
    "IT": lambda body: italian_account_letter(body[1:]) == body[0],
    "NO": _only_digits(_norwegian),
    "PL": _only_digits(lambda body: polish_bank_digit(body[:7]) == body[7]),
    "PT": _only_digits(lambda body: portuguese_account_digits(body[:19]) == body[19:]),
}
"""Whether the bank's part of an IBAN carries the check digits of its country."""


def _french_digits(body: str) -> str:
    """Letters of an account as the digits that stand for them in France."""
    return "".join(sign if sign.isdigit() else "12345678912345678923456789"[ord(sign) - ord("A")] for sign in body)


def _card(text: str) -> bool:
    return 13 <= len(text) <= 19 and luhn_holds(text)


def _scheme(name: str) -> Callable[[str], bool]:
    starts, length = _CARDS[name]
    return lambda text: len(text) == length and text.startswith(starts) and luhn_holds(text)


def _ean(text: str) -> bool:
    return len(text) in (8, 13) and text.isascii() and text.isdigit() and ean_digit(text[:-1]) == text[-1]


def _isbn(text: str) -> bool:
    plain = text.replace("-", "")
    if len(plain) == 10 and plain[:9].isascii() and plain[:9].isdigit():
        return isbn10_digit(plain[:9]) == plain[9]
    return plain.startswith(("978", "979")) and len(plain) == 13 and _ean(plain)


def german_tax_digit(body: str) -> str:
    """The last digit of a German tax number of eleven (ISO 7064, mod 11,10), which also ends a German VAT number."""
    product = 10
    for digit in body:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return str((11 - product) % 10)


def _german_tax(text: str) -> bool:
    """Ten digits of which one occurs twice or three times and the others at most once, and the check digit."""
    if not _digits(text, 11) or text[0] == "0" or german_tax_digit(text[:-1]) != text[-1]:
        return False
    several = [count for count in Counter(text[:10]).values() if count > 1]
    return several in ([2], [3]) and not any(digit * 3 in text[:10] for digit in "0123456789")


def _german_vat(text: str) -> bool:
    body = text[2:]
    return text.startswith("DE") and _digits(body, 9) and body[0] != "0" and german_tax_digit(body[:-1]) == body[-1]


def dutch_digit_holds(text: str) -> bool:
    """The test of eleven of a Dutch citizen number of nine digits."""
    return _digits(text, 9) and text != "0" * 9 and weighted(text, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


_CENTURIES = {0: 1900, 20: 2000, 40: 2100, 60: 2200, 80: 1800}


def _pesel(text: str) -> bool:
    """A Polish personal number: a day, whose month also tells the century, a serial number, the check digit."""
    if not _digits(text, 11) or pesel_digit(text[:10]) != text[10]:
        return False
    century, month = divmod(int(text[2:4]), 20)
    try:
        return bool(date(_CENTURIES[20 * century] + int(text[:2]), month, int(text[4:6])))
    except (ValueError, KeyError):
        return False


def pesel_digit(body: str) -> str:
    """The last digit of a Polish personal number."""
    return str(-weighted(body, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10)


def spanish_letter(body: str) -> str:
    """The letter of a Spanish identity number."""
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(body) % 23]


def _digits(text: str, count: int) -> bool:
    return len(text) == count and text.isascii() and text.isdigit()


NUMBERS: dict[str, Callable[[str], bool]] = {
    "iban": _iban,
    "luhn": luhn_holds,
    "card": _card,
    "visa": _scheme("visa"),
    "mastercard": _scheme("mastercard"),
    "amex": _scheme("amex"),
    "ean": _ean,
    "isbn": _isbn,
    "german_tax": _german_tax,
    "german_vat": _german_vat,
    "bsn": dutch_digit_holds,
    "pesel": _pesel,
    "dni": lambda text: _digits(text[:-1], 8) and spanish_letter(text[:8]) == text[8:],
    "phone": lambda text: _phones().mobile_holds(text),
}
"""Public numbering systems, with a check digit where they have one."""


def countries_of(kind: str) -> Collection[str]:
    """The countries of a system that has a form of its own in every country; none for the others."""
    return _phones().mobile_countries() if kind == "phone" else BANKS if kind == "iban" else ()


def of_country(kind: str, text: str, country: str) -> bool:
    """Whether a valid number belongs to a country."""
    return bool(_phones().mobile_holds(text, country)) if kind == "phone" else text.startswith(country)


def is_valid(kind: str, text: str) -> bool:
    """Whether a text is a number of that system with the right check digits."""
    return bool(text) and NUMBERS[kind](text)
