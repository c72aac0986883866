"""Mobile telephone numbers by country, counted: a plus, the country's code, a prefix that its public plan gives to mobiles, digits.

Numbers have the international form without spaces (E.164). A plan lists prefixes of one length, so that number n is prefix
n // 10^d with d further digits. Such a number can be somebody's, as any well-formed one can: nothing here is reserved for fiction.

>>> size("NL"), number("NL", 12_345_678), holds("+31622345678", "NL"), holds("+31222345678", "NL")
(50000000, '+31622345678', True, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class NumberingPlan:
    """The code of a country, the prefixes of its mobiles, and how many digits follow."""

    code: str
    prefixes: tuple[str, ...]
    free: int


def _spread(start: str, ends: str) -> tuple[str, ...]:
    return tuple(start + end for end in ends)


@cache
def _american() -> NumberingPlan:
    """Some areas of large cities; an exchange has three digits from 200 on, none ends with 11, and 555 is not used."""
    areas = ("202", "206", "212", "213", "214", "215", "303", "305", "312", "313", "404", "415", "503", "512", "602", "617", "713")
    exchanges = [f"{first}{rest:02d}" for first in range(2, 10) for rest in range(100) if rest != 11]
    return NumberingPlan("1", tuple(area + exchange for area in areas for exchange in exchanges if exchange != "555"), 4)


PLANS: dict[str, NumberingPlan] = {
    "AT": NumberingPlan("43", ("650", "660", "664", "676", "680", "699"), 7),
    "AU": NumberingPlan("61", _spread("4", "013"), 7),
    "BE": NumberingPlan("32", _spread("4", "789"), 7),
    "CH": NumberingPlan("41", _spread("7", "6789"), 7),
    "CZ": NumberingPlan("420", ("72", "73", "77"), 7),
    "DE": NumberingPlan("49", _spread("17", "0123456789"), 7),
    "DK": NumberingPlan("45", tuple(f"2{ten}{one}" for ten in range(10) for one in range(1, 10)), 5),
    "ES": NumberingPlan("34", _spread("6", "0123456789"), 7),
    "FI": NumberingPlan("358", ("40", "44", "50"), 7),
    "FR": NumberingPlan("33", _spread("6", "01245678"), 7),
    "GB": NumberingPlan("44", ("772", "773", "774", "775", "776", "785", "786", "787", "788", "794", "795", "796", "798"), 7),
    "IE": NumberingPlan("353", _spread("8", "35679"), 7),
    "IN": NumberingPlan("91", ("98", "99"), 8),
    "IT": NumberingPlan("39", ("320", "328", "330", "333", "335", "338", "340", "347", "348"), 7),
    "JP": NumberingPlan("81", tuple(f"{start}0{one}" for start in "789" for one in range(1, 10)), 7),
    "LU": NumberingPlan("352", ("621", "661", "691"), 6),
    "NL": NumberingPlan("31", _spread("6", "12345"), 7),
    "NO": NumberingPlan("47", ("41", "46", "47", "48", "90", "91", "92", "93", "95", "97", "98", "99"), 6),
    "PL": NumberingPlan("48", ("50", "51", "60", "66", "69", "88"), 7),
    "PT": NumberingPlan("351", _spread("9", "1236"), 7),
    "SE": NumberingPlan("46", _spread("7", "0236"), 7),
    "US": _american(),
}
"""Countries by their two letters."""


def size(country: str) -> int:
    """How many numbers there are."""
    plan = PLANS[country]
    return int(len(plan.prefixes) * 10**plan.free)


def number(country: str, place: int) -> str:
    """The number at a place, from 0."""
    plan = PLANS[country]
    prefix, rest = divmod(place, 10**plan.free)
    return f"+{plan.code}{plan.prefixes[prefix]}{rest:0{plan.free}d}"


def holds(text: str, country: str = "") -> bool:
    """Whether a text is a mobile number of that country, or of any listed one."""
    if not text.startswith("+") or not text[1:].isascii() or not text[1:].isdigit():
        return False
    return any(_fits(text[1:], plan) for name, plan in PLANS.items() if country in ("", name))


def _fits(digits: str, plan: NumberingPlan) -> bool:
    start = len(plan.code)
    return (
        digits.startswith(plan.code)
        and len(digits) == start + len(plan.prefixes[0]) + plan.free
        and digits[start : start + len(plan.prefixes[0])] in _known(plan)
    )


@cache
def _known(plan: NumberingPlan) -> frozenset[str]:
    return frozenset(plan.prefixes)
