"""Whom a published cell fits: from what ``policy.yaml`` says of a column, which labels could stand for each value of a population.

By what the policy says
    a file, a nested tree    the labels on the way from the value to the root; a value that is no leaf fits nothing
    flat                     the value and ``*``
    numbers in intervals, between cuts, in ranges, or without a word   spans around the number; ``*`` save in ranges
    prefix                   the value with stars for its last characters
    dates                    the week, month, quarter, year and decade of the day
    order                    ``first to last`` where the value stands between them
    top, bottom, round, recode   the coded value, and what the rule beside these words makes of that

Invariants
    I1  A label that is written like a value of the population is that value: a text ``1-5`` holds no 3.
    I2  A missing value is a value of its own, below the root.
    I3  What is not said here (lists that everybody knows) is not guessed: nothing is counted.

>>> fits = labels_for({"top": "90", "intervals": ["10"]}, Path(), ["41", "93", ""], ["40-49", "≥90", "*"])
>>> [sorted(fits[value]) for value in ("41", "93", "")]
[['*', '40-49'], ['*', '≥90'], ['*']]
>>> labels_for({"all": {"south": ["Bari"]}}, Path(), ["Bari", "Rome"], ["south", "all"])["Rome"]
frozenset()
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

from sfumato.audit.floor.definitions import NotCounted, nested_rows
from sfumato.audit.floor.distances import number
from sfumato.errors import ReleaseError

Labels = frozenset[str]
ROOT = "*"
_WORDS = ("top", "bottom", "round", "recode")
_NUMERIC = frozenset({"intervals", "cuts"})
_RULES = _NUMERIC | {"prefix", "dates", "list", "order"}


def labels_for(written: Any, folder: Path, values: Collection[str], labels: Collection[str]) -> dict[str, Labels]:
    """Per value of the population those of the published labels that fit it."""
    words, rule = _coding(written)
    ends = _ends_of(words)
    coded = {value: _coded(value, words, ends) for value in values}
    aside = {*ends, ""}
    rows = _tree_rows(rule, folder)
    shown = frozenset(coded.values()) - aside
    fitting = _in_tree(rows, shown) if rows else _by_rule(rule, shown, frozenset(labels))
    root = rows[0][-1] if rows else ROOT
    fitting |= {value: frozenset((value, root)) for value in aside - fitting.keys()}  # I2
    return {value: fitting[one] & frozenset(labels) for value, one in coded.items()}


def _by_rule(rule: Any, values: Labels, labels: Labels) -> dict[str, Labels]:
    if rule in (None, "ranges") or (isinstance(rule, Mapping) and rule.keys() <= _NUMERIC):
        return _around_numbers(rule, values, labels)
    if rule == "flat":
        return {value: frozenset((value, ROOT)) for value in values}
    ((word, argument),) = rule.items()
    if word == "list":
        raise NotCounted("its hierarchy is a list that does not stand in the folder")  # I3
    if word == "prefix":
        return {value: _cut_short(value, int(argument)) for value in values}
    if word == "dates":
        return {value: _around_day(value, argument) for value in values}
    return _between(argument, values, labels)


# -- coding ---------------------------------------------------------------------------------------------------------------------


def _coding(written: Any) -> tuple[dict[str, Any], Any]:
    """The words that say what becomes of every value, and the rule for what became of it."""
    words = {word: written[word] for word in _WORDS if isinstance(written, Mapping) and _is_word(word, written)}
    rule = {word: argument for word, argument in written.items() if word not in words} if words else written
    return words, rule or None


def _is_word(word: str, written: Mapping[str, Any]) -> bool:
    return word in written and (word == "recode" or isinstance(written[word], str))


def _ends_of(words: Mapping[str, Any]) -> dict[str, Fraction]:
    """How the two ends are written, and where they lie."""
    signs = {"top": "≥", "bottom": "≤"}
    return {f"{sign}{Decimal(words[word]):f}": _number(words[word]) for word, sign in signs.items() if word in words}


def _coded(value: str, words: Mapping[str, Any], ends: Mapping[str, Fraction]) -> str:
    value = str((words.get("recode") or {}).get(value, value) or "")
    if not value or value in ends or not words.keys() & {"top", "bottom", "round"}:
        return value
    read = _number(value)
    for label, end in ends.items():
        if read >= end if label[0] == "≥" else read <= end:
            return label
    return value if "round" not in words else _nearest(read, words["round"])


def _nearest(value: Fraction, step: str) -> str:
    """The nearest multiple; halves go away from zero."""
    times = floor(abs(value) / Fraction(step) + Fraction(1, 2)) * (-1 if value < 0 else 1)
    with localcontext() as exact:
        exact.prec = 300
        return f"{Decimal(times) * Decimal(step):f}"


def _number(text: str) -> Fraction:
    if number(text) is None:
        raise ReleaseError("a value of the population is no number where the policy has numbers")
    return Fraction(Decimal(text))


# -- trees ----------------------------------------------------------------------------------------------------------------------


def _tree_rows(rule: Any, folder: Path) -> list[list[str]]:
    """Rows leaf, …, root of a file as a release writes them, or of a nested tree; none when it is another rule."""
    if isinstance(rule, Mapping) and not rule.keys() & _RULES:
        return [row[::-1] for row in nested_rows(rule, [])]
    if not isinstance(rule, str) or rule in ("flat", "ranges"):
        return []
    try:
        with (folder / rule).open(encoding="utf-8", newline="") as lines:
            return [row for row in csv.reader(lines, delimiter=";", strict=True) if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        raise ReleaseError("a hierarchy of the release cannot be read") from None


def _in_tree(rows: Iterable[Sequence[str]], values: Labels) -> dict[str, Labels]:
    above = {row[0]: frozenset(row) for row in rows}
    return {value: above.get(value, frozenset()) for value in (*values, *({""} & above.keys()))}


def _cut_short(value: str, length: int) -> Labels:
    kept = range(1, min(length, len(value)))
    return frozenset((value, ROOT, *(value[:keep] + "*" * (len(value) - keep) for keep in kept)))


def _around_day(value: str, units: Sequence[str]) -> Labels:
    try:
        day = date.fromisoformat(value[:10])
    except ValueError:
        raise ReleaseError("a value of the population is no day where the policy has days") from None
    year, week, _ = day.isocalendar()
    names = {
        "week": f"{year}-W{week:02d}",
        "month": f"{day.year:04d}-{day.month:02d}",
        "quarter": f"{day.year:04d}-Q{(day.month - 1) // 3 + 1}",
        "year": f"{day.year:04d}",
        "decade": f"{day.year // 10:03d}0s",
    }
    return frozenset((value, ROOT, *(names[unit] for unit in units)))


def _between(order: Sequence[str], values: Labels, labels: Labels) -> dict[str, Labels]:
    place = {value: at for at, value in enumerate(order)}
    found: dict[str, set[str]] = {value: {value, ROOT} if value in place else set() for value in values}
    for label in labels - place.keys():
        for cut in re.finditer(" to ", label):
            first, last = place.get(label[: cut.start()]), place.get(label[cut.end() :])
            if first is not None and last is not None:
                for value in values & frozenset(order[first : last + 1]):
                    found[value].add(label)
    return {value: frozenset(names) for value, names in found.items()}


# -- numbers --------------------------------------------------------------------------------------------------------------------


def _around_numbers(rule: Any, values: Labels, labels: Labels) -> dict[str, Labels]:
    """The spans around every number; where nothing is said, digits with leading zeros are codes and texts are kept."""
    read = [(_number(value), value) for value in values if rule is not None or _is_quantity(value)]
    ordered = sorted(read)
    places = [place for place, _ in ordered]
    if rule == "ranges" and len(set(places)) < len(places):
        raise NotCounted("one number is spelt in two ways")
    found: dict[str, set[str]] = defaultdict(set)
    for label in labels - values:  # I1
        ends = _ends(label)
        if ends is not None:
            stop = bisect_right(places, ends[1]) if ends[2] else bisect_left(places, ends[1])
            for _, value in ordered[bisect_left(places, ends[0]) : stop]:
                found[value].add(label)
    whole = () if rule == "ranges" else (ROOT,)
    return {value: frozenset((value, *whole, *found[value])) for value in values}


def _is_quantity(value: str) -> bool:
    return number(value) is not None and not (value[0] == "0" and value[1:2].isdigit())


def _ends(label: str) -> tuple[Fraction, Fraction, bool] | None:
    """The ends of a span, and whether the upper one belongs to it."""
    for cut in range(1, len(label)) if not label.startswith("[") else ():
        if label[cut] == "-" and number(label[:cut]) is not None and number(label[cut + 1 :]) is not None:
            return _number(label[:cut]), _number(label[cut + 1 :]), True
    low, comma, high = label[1:-1].partition(", ")
    if label.startswith("[") and label.endswith(")") and comma and None not in (number(low), number(high)):
        return _number(low), _number(high), False
    return None
