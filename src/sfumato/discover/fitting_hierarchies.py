"""Hierarchies that fit a column: known lists first, then orders, then what its values look like.

Each way of fitting looks at the distinct values and answers with what may stand under ``hierarchy:`` and a sentence, or not at all.
Known lists: countries (ISO 3166) to regions (UN M49), states of the US to census divisions, diagnoses (ICD-10, ICD-9) to chapters,
occupations (ISCO-08) to major groups. Numbers get intervals at round numbers, days months and years, codes prefixes, and words of a
known scale are joined with their neighbours. Values are written into a policy only where at least five rows carry each of them.

>>> fitting("age", ["17", "23", "41", "88", "65", "30", "52"]).hierarchy
{'intervals': [5, 10, 20]}
>>> fitting("zip", [f"{n:05}" for n in range(0, 90000, 999)]).hierarchy
{'prefix': 5}
>>> fitting("pain", ["none", "mild", "severe", "moderate"]).hierarchy
{'order': ['none', 'mild', 'moderate', 'severe']}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.data.numbers import number, span
from sfumato.data.words import says
from sfumato.discover.proposal import OFTEN
from sfumato.io.known_lists import folded, path_in
from sfumato.risks.roles import shape_of

_MOST_KNOWN = 0.8
_FEW = 5
_SKEWED = 20.0
_SCALES = (
    "none mild moderate severe", "none low medium high", "very low,low,medium,high,very high", "low middle high",
    "small medium large",
    "never rarely sometimes often always", "no seldom sometimes often", "poor fair good very_good excellent", "bad average good",
    "strongly disagree,disagree,neutral,agree,strongly agree", "very dissatisfied,dissatisfied,neutral,satisfied,very satisfied",
    "not at all,a little,some,a lot", "primary secondary tertiary", "first second third", "minor moderate major",
    "young middle old",
    "child adult", "normal elevated high", "negative trace positive", "light moderate heavy", "never former current",
    "no school,primary school,high school,some college,college,graduate school", "freshman sophomore junior senior",
    "monday tuesday wednesday thursday friday saturday sunday", "mon tue wed thu fri sat sun", "thur fri sat sun",
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec", "spring summer autumn winter", "morning afternoon evening night",
)  # fmt: skip
_LISTS = (
    ("countries", ("country", "nationality", "nation", "citizenship"), "countries, joined to parts of the world"),
    ("states", ("state",), "states of the US, joined to census divisions"),
    ("icd", ("icd", "diag", "diagnosis", "dx"), "diagnoses, joined to categories and chapters (ICD)"),
    ("isco", ("isco",), "occupations, joined to major groups (ISCO-08)"),
)


@dataclass(frozen=True, slots=True)
class Fitting:
    """A hierarchy for a policy, and why."""

    hierarchy: Any
    reason: str


def fitting(name: str, values: Sequence[str], counts: Sequence[int] = ()) -> Fitting | None:
    """The first hierarchy that fits; None when the values are best kept or suppressed."""
    present = [value for value in values if value]
    missing = len(present) < len(values)
    often = all(count >= OFTEN for count in counts)
    for fit in (_known_list, _scale, _bins, _dates, _codes):
        found = fit(name, present)
        if found is not None and (often or fit is not _bins):
            return found
    return _numbers(present, missing)


# ---- known lists -------------------------------------------------------------------------------------------------------


def _known_list(name: str, values: Sequence[str]) -> Fitting | None:
    """A list that knows most values; short codes and bare numbers mean something only where the name says so."""
    if len(values) <= 2:
        return None
    for known, phrases, what in _LISTS:
        named = any(says(name, phrase) for phrase in phrases)
        spoken = [value for value in values if named or (known != "isco" and _speaks(known, value))]
        if sum(bool(path_in(known, value)) for value in spoken) >= _MOST_KNOWN * len(values):
            return Fitting({"list": known}, what)
    return None


def _speaks(known: str, value: str) -> bool:
    """Whether a value can be told without the name of its column: a word, or a diagnosis with its point."""
    return bool(re.fullmatch(r"[A-Z]\d\d\.\w+", value)) if known == "icd" else len(value) > 3


# ---- orders ------------------------------------------------------------------------------------------------------------


def _scale(name: str, values: Sequence[str]) -> Fitting | None:
    """Words of a known scale in its order."""
    own = {folded(value): value for value in values}
    if len(own) < 3 or len(own) < len(values):
        return None
    for scale in _SCALES:
        words = [word.replace("_", " ") for word in (scale.split(",") if "," in scale else scale.split())]
        if set(own) <= set(words):
            return Fitting({"order": [own.get(word, word) for word in words]}, "a scale: neighbours are joined")
    return None


def _bins(name: str, values: Sequence[str]) -> Fitting | None:
    """Ranges of numbers that came as text: ``20-29``, ``[70-80)``."""
    read = {value: _ends(value) for value in values}
    ends = [found for found in read.values() if found is not None]
    if len(ends) < 3 or len(ends) < len(values) - 2:
        return None
    ordered = sorted((value for value in values if read[value]), key=lambda value: read[value] or (0.0, 0.0))
    others = [value for value in values if not read[value]]
    return Fitting({"order": [*ordered, *sorted(others)]}, "ranges in their order: neighbours are joined")


def _ends(value: str) -> tuple[float, float] | None:
    found = span(value)
    if found is not None:
        return float(found[0]), float(found[1])
    match = re.fullmatch(r"[\[(]?(\d+(?:\.\d+)?)\s*(?:-|–|,| to )\s*(\d+(?:\.\d+)?)[\])]?", value.strip())
    if match:
        return float(match[1]), float(match[2])
    match = re.fullmatch(r"(?:>|>=|≥)?\s*(\d+(?:\.\d+)?)\s*\+?", value.strip())
    return (float(match[1]), float("inf")) if match and not value.strip().isdigit() and number(value) is None else None


# ---- looks -------------------------------------------------------------------------------------------------------------


def _dates(name: str, values: Sequence[str]) -> Fitting | None:
    if shape_of(values) != "dates":
        return None
    years = sorted(int(value[:4]) for value in values)
    if years[-1] - years[0] >= 20:
        return Fitting({"dates": ["month", "year", "decade"]}, "days, joined to months, years and decades")
    return Fitting({"dates": ["month", "quarter", "year"]}, "days, joined to months, quarters and years")


def _codes(name: str, values: Sequence[str]) -> Fitting | None:
    """Codes of one length, at least one digit in most of them; plain numbers only where the name says that they are places."""
    lengths = {len(value) for value in values}
    if len(values) <= 20 or len(lengths) != 1 or not 2 <= (length := lengths.pop()) <= 12 or any("*" in value for value in values):
        return None
    placed = any(says(name, word) for word in ("zip", "postal", "postcode", "zipcode", "code"))
    coded = all(re.fullmatch(r"[A-Za-z0-9.-]+", value) for value in values)
    numbered = shape_of(values) in ("whole numbers", "decimals")
    digits = sum(any(sign.isdigit() for sign in value) for value in values)
    if not coded or (numbered and not placed) or digits < _MOST_KNOWN * len(values):
        return None
    return Fitting({"prefix": length}, "codes of one length, which lose their last characters")


def _numbers(values: Sequence[str], missing: bool) -> Fitting | None:
    if shape_of(values) not in ("whole numbers", "decimals") or len(values) <= _FEW:
        return None
    if any(number(value) is None for value in values):
        return None  # a sample looked like numbers, and one value is none
    read = np.array([float(value) for value in values])
    low, middle, high = float(read.min()), float(np.median(read)), float(read.max())
    if not missing and high - middle > _SKEWED * max(middle - low, 1e-12):
        return Fitting("ranges", "a few large numbers: any range may stand for some of them")
    return Fitting({"intervals": round_widths(high - low, whole=shape_of(values) == "whole numbers")}, "intervals at round numbers")


def round_widths(whole_range: float, *, whole: bool) -> list[float]:
    """Three round widths, each a multiple of the one before, the first about a twentieth of the range.

    >>> round_widths(73, whole=True), round_widths(12, whole=True), round_widths(0.9, whole=False), round_widths(80_000, whole=True)
    ([5, 10, 20], [2, 4, 8], [0.05, 0.1, 0.2], [5000, 10000, 20000])
    """
    power = int(np.floor(np.log10(whole_range / 24)))
    first = next(times for times in (1, 5, 10) if times * 10.0**power >= whole_range / 24)
    if whole and first * 10.0**power < 2:
        return [2, 4, 8]
    if power < 0:
        return [float(f"{first * times * 10.0**power:.6g}") for times in (1, 2, 4)]
    return [first * times * 10**power for times in (1, 2, 4)]
