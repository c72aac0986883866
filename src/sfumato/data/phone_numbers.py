"""Mobile telephone numbers by country: a plus, the country's code, and digits that the country's public plan gives to
mobiles.

Numbers have the international form without spaces (E.164). The plans are the metadata of phonenumberslite, as regular
expressions. Such a number can be a person's, as any well-formed one can: nothing here is reserved for fiction.

>>> mobile_holds("+31622345678", "NL"), mobile_holds("+31222345678", "NL"), mobile_holds("0622345678", "NL")
(True, False, False)
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from phonenumbers import SUPPORTED_REGIONS, PhoneMetadata

LONGEST_NUMBER = 16
"""Signs of a number, the plus among them."""


@cache
def mobile_countries() -> tuple[str, ...]:
    """The countries, by their two letters, whose plan has mobiles."""
    return tuple(sorted(country for country in SUPPORTED_REGIONS if _mobiles(country)))


@cache
def mobile_pattern(country: str) -> str:
    """The regular expression that all mobile numbers of a country match, and no others."""
    return rf"\+{_metadata(country).country_code}(?:{_mobiles(country)})"


def mobile_holds(text: str, country: str = "") -> bool:
    """Whether a text is a mobile number of that country, or of any."""
    return any(_compiled(name).fullmatch(text) for name in ((country,) if country else _with_code(text)))


def _with_code(text: str) -> tuple[str, ...]:
    """Countries whose code a number may begin with."""
    return tuple(name for digits in (1, 2, 3) for name in _by_code().get(text[1 : 1 + digits], ()))


@cache
def _by_code() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for country in mobile_countries():
        code = str(_metadata(country).country_code)
        found[code] = (*found.get(code, ()), country)
    return found


@cache
def _compiled(country: str) -> re.Pattern[str]:
    return re.compile(mobile_pattern(country), re.ASCII)


def _metadata(country: str) -> Any:
    return PhoneMetadata.metadata_for_region(country)


def _mobiles(country: str) -> str:
    found = _metadata(country).mobile
    return str(found.national_number_pattern or "") if found is not None else ""
