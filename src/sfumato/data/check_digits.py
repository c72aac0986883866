"""Check digits of public numbering systems: whether a number carries the right one, and which one it should carry.

>>> luhn_holds("4111111111111111"), luhn_digit("411111111111111"), iban_holds("DE89370400440532013000")
(True, '1', True)
>>> iban_digits("DE", "370400440532013000"), ean_digit("978030640615"), isbn10_digit("030640615")
('89', '7', '2')
"""

from __future__ import annotations

from collections.abc import Sequence


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
