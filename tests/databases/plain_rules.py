"""Rules judged the slow way: dictionaries, sets and fractions on lists of texts, nothing shared with the evaluator of
the audit."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

NAME = r"(?:`[^`]+`|[^\W\d]\w*)"
COLUMN = rf"{NAME}(?:\.{NAME})?"


def holds(rule: str, tables: dict[str | None, dict[str, list[str]]]) -> bool:
    """Whether the rule is true; tables map names (None for a single one) to columns of texts, "" being a missing
    value."""
    for form, judge in FORMS:
        found = re.fullmatch(form, rule)
        if found:
            return judge(tables, *found.groups())
    return _arithmetic(tables, rule)


def _split(name: str) -> tuple[str | None, str]:
    parts = [part.strip("`") for part in re.findall(NAME, name)]
    return (None, parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def _column(tables, name: str) -> list[str]:
    table, column = _split(name)
    return tables[table][column]


def _rows(tables, names: str) -> list[tuple[str, ...]]:
    return list(zip(*(_column(tables, name) for name in re.findall(COLUMN, names)), strict=True))


def _unique(tables, names: str) -> bool:
    rows = _rows(tables, names)
    return len(set(rows)) == len(rows)


def _references(tables, child: str, parent: str) -> bool:
    return {row for row in _rows(tables, child) if any(row)} <= set(_rows(tables, parent))


def _determines(tables, left: str, right: str) -> bool:
    seen: dict[str, str] = {}
    return all(seen.setdefault(a, b) == b for a, b in zip(_column(tables, left), _column(tables, right), strict=True))


def _match(tables, name: str, pattern: str) -> bool:
    form = re.compile(pattern.replace('\\"', '"'), re.ASCII)
    return all(form.fullmatch(value) for value in _column(tables, name) if value)


def _listed(tables, name: str, options: str) -> bool:
    allowed = {a.replace('\\"', '"') if a else b for a, b in re.findall(r'"((?:[^"\\]|\\.)*)"|([^,\s]+)', options)}
    plain = {str(Fraction(option)) for option in allowed if re.fullmatch(r"-?\d+(\.\d+)?", option)}
    return all(
        value in allowed or (plain and str(Fraction(value)) in plain) for value in _column(tables, name) if value
    )


def _order(tables, left: str, sign: str, right: str) -> bool:
    pairs = [(a, b) for a, b in zip(_column(tables, left), _column(tables, right), strict=True) if a and b]
    try:
        compared = [(Fraction(a), Fraction(b)) for a, b in pairs]
    except ValueError:
        compared = pairs
    return all(a < b if sign == "<" else a <= b for a, b in compared)


def _grouped(tables, function: str, name: str | None, group: str, wanted: str) -> bool:
    groups = _column(tables, group)
    values = _column(tables, name) if name else ["1"] * len(groups)
    totals: Counter[str] = Counter()
    for key, value in zip(groups, values, strict=True):
        totals[key] += Fraction(value) if function == "sum" else 1
    return set(totals.values()) == {Fraction(wanted)}


def _total(tables, total: str, one: str | None, two: str | None, group: str) -> bool:
    """Every parent says the sum of its children; a parent is told by some column that has every value of the group
    once."""
    table, _ = _split(total)
    known = [
        keys
        for keys in tables[table].values()
        if len(set(keys)) == len(keys) and set(_column(tables, group)) <= set(keys)
    ]
    return any(_sums(tables, total, one, two, group, keys) for keys in known)


def _sums(tables, total: str, one: str | None, two: str | None, group: str, keys: list[str]) -> bool:
    sums = dict.fromkeys(keys, Fraction(0))
    columns = [_column(tables, name) for name in (one, two) if name]
    for row, key in enumerate(_column(tables, group)):
        value = Fraction(1)
        for column in columns:
            value *= Fraction(column[row])
        sums[key] += value
    return all(Fraction(said) == sums[key] for said, key in zip(_column(tables, total), keys, strict=True))


def _mean(tables, name: str, wanted: str) -> bool:
    values = [Fraction(value) for value in _column(tables, name) if value]
    return sum(values) / len(values) == Fraction(wanted)


def _arithmetic(tables, rule: str) -> bool:
    """Linear relations: names become values of a row, everything else is arithmetic in fractions."""
    from datetime import date

    def value(text: str) -> Fraction:
        return (
            Fraction(date.fromisoformat(text).toordinal()) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else Fraction(text)
        )

    names = list(dict.fromkeys(re.findall(COLUMN, rule)))
    left, right = rule.split(" = ")
    for row in zip(*(_column(tables, name) for name in names), strict=True):
        if all(row):
            places = {f"x{i}": value(text) for i, text in enumerate(row)}
            sides = [_placed(side, names) for side in (left, right)]
            if eval(sides[0], {"F": Fraction}, places) != eval(sides[1], {"F": Fraction}, places):
                return False
    return True


def _placed(side: str, names: list[str]) -> str:
    def placed(found: re.Match[str]) -> str:
        return f"x{names.index(found['name'])}" if found["name"] else f"F('{found['number']}')"

    return re.sub(rf"(?P<name>{COLUMN})|(?P<number>\d+(?:\.\d+)?)", placed, side)


FORMS = [
    (r"unique\((.*)\)", _unique),
    (r"(.*) references (.*)", _references),
    (r"(.*) determines (.*)", _determines),
    (rf'match\(({COLUMN}), "(.*)"\)', _match),
    (rf"({COLUMN}) in \{{(.*)\}}", _listed),
    (rf"({COLUMN}) (<=?) ({COLUMN})", _order),
    (rf"({COLUMN}) = (?:count|sum)\((?:({COLUMN}) )?(?:\* ({COLUMN}) )?by ({COLUMN})\)", _total),
    (rf"mean\(({COLUMN})\) = (.*)", _mean),
    (rf"(count|sum)\(({COLUMN})? ?by ({COLUMN})\) = (.*)", _grouped),
]
