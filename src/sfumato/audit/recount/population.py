"""Claims about a population, counted a second time: from a fraction, published weights, or a table of all people.

Fraction  A class of f rows stands for at least F people at confidence c when every smaller number is refuted: had there
          been F − 1, then f rows or more of those that chance puts into the table, one at least, would have had a
          chance of at most 1 − c.
Table     Everybody is held against every class (`floor.fitting`). People who fit the same classes are one kind: of its
          G people at most all rows of its classes are theirs, at least those of classes that no other kind fits; 0 who
          fits none.

>>> [people_behind(rows, Fraction("0.1"), Fraction("0.9")) for rows in (1, 2, 3, 5)]
[1, 3, 10, 25]


Fitting
-------
Whom a published cell fits: from what ``policy.yaml`` says of a column, which labels could stand for each value of a
population.

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
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import comb, exp, expm1, floor, fsum, lgamma, log, log1p
from pathlib import Path
from typing import Any

from sfumato.audit.recount.definitions import NotRecounted, RecountedClasses, nested_rows, parse_number
from sfumato.audit.recount.equivalence_classes import MOST, TIMES, cells
from sfumato.audit.recount.files import Folder, Row, read_people
from sfumato.audit.recount.policy_text import WrittenPolicy, WrittenRequirement
from sfumato.core.errors import ReleaseError

_EXACT = 60
"""Larger classes are counted in floating point, where whole numbers of many thousand digits would be needed."""


def speaks_of_population(asked: WrittenRequirement) -> bool:
    """Whether candidates are people of the population."""
    return asked.model in ("k-map", "delta-presence") or bool({"game", "attacker"} & asked.level.keys())


def in_population(
    groups: RecountedClasses, folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement
) -> RecountedClasses:
    """The same groups, with people of the population as candidates."""
    if "fraction" in policy.population:
        sure = (Fraction(policy.population["fraction"]), Fraction(policy.population.get("confidence", "0.9")))
        people = [people_behind(rows, *sure) for rows in groups.sizes]
        return replace(groups, fewest=min(people, default=0), sizes=people, rows=groups.sizes)
    if "file" in policy.population:
        return _among_everybody(groups, folder, policy, asked)
    part, weight = folder.part("data"), policy.population.get("weight", "")
    if weight not in part.columns:
        raise NotRecounted("the people of the population are not in the folder")
    stands: dict[object, Fraction] = defaultdict(Fraction)
    rows: dict[object, int] = defaultdict(int)
    for (known, value), count in part.alike(asked.given, weight).items():
        stands[known] += Fraction(value) * count
        rows[known] += count
    sums = [int(sum_) for sum_ in stands.values()]
    return replace(groups, fewest=min(sums, default=0), sizes=sums, rows=list(rows.values()))


# -- a table of all people
# ----------------------------------------------------------------------------------------------


def _among_everybody(
    groups: RecountedClasses, folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement
) -> RecountedClasses:
    """The same groups, with the people who fit them as candidates."""
    if folder.everybody is None:
        raise NotRecounted("the people of the population are not in the folder")
    part = folder.part("data")
    known, rows = cells(part, asked.given), Counter[Row]()
    for row, count in part.rows.items():
        rows[known(row)] += count
    people = read_people(folder.everybody, asked.given)
    ways = [
        labels_for(policy.columns[name].hierarchy, folder.path, {one[at] for one in people}, {row[at] for row in rows})
        for at, name in enumerate(asked.given)
    ]
    met = _met(list(people), list(rows), ways)
    fitting: Counter[Row] = Counter()
    for one, classes in met.items():
        for each in classes:
            fitting[each] += people[one]
    sizes = [fitting[each] for each in rows]
    return replace(
        groups, fewest=min(sizes, default=0), sizes=sizes, rows=list(rows.values()), chances=_chances(rows, people, met)
    )


def _met(people: Sequence[Row], classes: Sequence[Row], ways: Sequence[Mapping[str, Labels]]) -> dict[Row, list[Row]]:
    """The classes that everybody fits: column by column, people and classes part by what stands there."""
    found: dict[Row, list[Row]] = defaultdict(list)
    waiting, left = [(0, people, classes)], MOST + TIMES * len(people)
    while waiting:
        at, some, these = waiting.pop()
        left -= len(some)
        if left < 0:
            raise NotRecounted("too many people fit too many classes to be counted here")
        if at == len(ways):
            for one in some:
                found[one] += these
            continue
        by_label: dict[str, list[Row]] = defaultdict(list)
        for each in these:
            by_label[each[at]].append(each)
        inside: dict[str, list[Row]] = defaultdict(list)
        for one in some:
            for label in ways[at][one[at]] & by_label.keys():
                inside[label].append(one)
        waiting += [(at + 1, inside[label], by_label[label]) for label in inside]
    return found


def _chances(rows: Counter[Row], people: Counter[Row], met: Mapping[Row, Sequence[Row]]) -> list[Fraction]:
    """For every kind of people the least and the largest chance to be in the table."""
    kinds: Counter[frozenset[Row]] = Counter()
    for one, count in people.items():
        kinds[frozenset(met.get(one, ()))] += count
    fits = Counter(each for kind in kinds for each in kind)
    found = [Fraction(0)] if frozenset() in kinds else []
    for kind, many in kinds.items():
        for sure in (sum(rows[each] for each in kind), sum(rows[each] for each in kind if fits[each] == 1)):
            found.append(min(Fraction(sure, many), Fraction(1)))
    return found


# -- a fraction --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def people_behind(rows: int, fraction: Fraction, confidence: Fraction) -> int:
    """Return the smallest number of people of which a sample of so many rows is plausible."""
    if fraction >= 1:
        return rows
    low, high = rows, int(rows / fraction) + 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _chance(rows, middle, fraction) > 1 - confidence else (middle + 1, high)
    return low


def _chance(rows: int, people: int, fraction: Fraction) -> Fraction | float:
    """That so many rows or more are drawn of so many people, given that one is: from the terms below."""
    if rows > _EXACT or people > _EXACT / fraction:
        return _in_floats(rows, people, float(fraction))
    none = (1 - fraction) ** people
    below = sum(
        (comb(people, drawn) * fraction**drawn * (1 - fraction) ** (people - drawn) for drawn in range(rows)),
        Fraction(0),
    )
    return (1 - below) / (1 - none)


def _in_floats(rows: int, people: int, share: float) -> float:
    terms = (
        exp(
            lgamma(people + 1)
            - lgamma(drawn + 1)
            - lgamma(people - drawn + 1)
            + drawn * log(share)
            + (people - drawn) * log1p(-share)
        )
        for drawn in range(rows)
    )
    return (1 - fsum(terms)) / -expm1(people * log1p(-share))


# Fitting
# -------


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
        raise NotRecounted("its hierarchy is a list that is not in the folder")  # I3
    if word == "prefix":
        return {value: _cut_short(value, int(argument)) for value in values}
    if word == "dates":
        return {value: _around_day(value, argument) for value in values}
    return _between(argument, values, labels)


# -- coding ------------------------------------------------------------------------------------------------------------


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
    if parse_number(text) is None:
        raise ReleaseError("a value of the population is no number where the policy has numbers")
    return Fraction(Decimal(text))


# -- trees -------------------------------------------------------------------------------------------------------------


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


# -- numbers -----------------------------------------------------------------------------------------------------------


def _around_numbers(rule: Any, values: Labels, labels: Labels) -> dict[str, Labels]:
    """The spans around every number; where nothing is said, digits with leading zeros are codes and texts are kept."""
    read = [(_number(value), value) for value in values if rule is not None or _is_quantity(value)]
    ordered = sorted(read)
    places = [place for place, _ in ordered]
    if rule == "ranges" and len(set(places)) < len(places):
        raise NotRecounted("one number is spelt in two ways")
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
    return parse_number(value) is not None and not (value[0] == "0" and value[1:2].isdigit())


def _ends(label: str) -> tuple[Fraction, Fraction, bool] | None:
    """The ends of a span, and whether the upper one belongs to it."""
    for cut in range(1, len(label)) if not label.startswith("[") else ():
        if label[cut] == "-" and parse_number(label[:cut]) is not None and parse_number(label[cut + 1 :]) is not None:
            return _number(label[:cut]), _number(label[cut + 1 :]), True
    low, comma, high = label[1:-1].partition(", ")
    if label.startswith("[") and label.endswith(")") and comma and None not in (parse_number(low), parse_number(high)):
        return _number(low), _number(high), False
    return None
