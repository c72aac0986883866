"""Rules that hold in the data, from a narrow set of templates: keys, orders, linear relations, patterns.

A rule is proposed only when it holds in every record and would hardly do so by chance: the chance is estimated by pairing values of
different records. Constants of aggregates are not proposed; they are statistics of the data and would publish themselves.

Cost: pairs and triples of columns of the same kind; every proposal is judged by the audit's own evaluator before it is made.

>>> from sfumato.data.table import Table
>>> import pyarrow as pa
>>> table = Table(pa.table({"a": [str(i) for i in range(40)], "b": [str(i % 7 + i + i % 2) for i in range(40)]}))
>>> [found.rule for found in rules_that_hold(table)]
['unique(a)', 'a <= b']
"""

from __future__ import annotations

import itertools
import math
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.rules import Judge, Value, read
from sfumato.data.table import Table, Text
from sfumato.discover.base import Finder, Suggestion
from sfumato.policy.policy import Policy
from sfumato.policy.rules import parse

_LEAST_ROWS = 20
_UNLIKELY = -9.0
_MOST_COLUMNS = 14


@dataclass(frozen=True, slots=True)
class Found:
    """A rule in the language of `keep:`, with the logarithm (base 10) of its chance to hold by accident."""

    rule: str
    chance: float


class Rules(Finder):
    """Rules that hold in every record and hardly by chance."""

    name: ClassVar[str] = "rules"
    order: ClassVar[int] = 40

    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        found = rules_that_hold(table)
        return Suggestion({}, tuple(f"for 'keep', should columns be replaced: {each.rule!r} holds in every row" for each in found))


def rules_that_hold(table: Table) -> list[Found]:
    """All proposals, most surprising first inside each template."""
    if table.rows < _LEAST_ROWS:
        return []
    texts = {name: table.text(name) for name in table.names}
    judge = Judge({None: texts})
    values = {name: read(text) for name, text in texts.items()}
    found = [*_keys(texts, table.rows), *_orders(values), *_linear(values), *_patterns(texts, values)]
    return [each for each in found if each.chance <= _UNLIKELY and judge.broken(parse(each.rule)) == 0]


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def _keys(texts: dict[str, Text], rows: int) -> Iterator[Found]:
    """Columns, or pairs without a key, in which no combination repeats though repeats were to be expected."""
    single = [name for name, text in texts.items() if len(text.labels) == rows]
    yield from (Found(f"unique({_quoted(name)})", -math.inf) for name in single)
    rest = [name for name in texts if name not in single]
    for one, two in itertools.combinations(rest[:_MOST_COLUMNS], 2):
        first, second = texts[one], texts[two]
        pairs = first.codes.astype(np.int64) * len(second.labels) + second.codes
        expected = float(((first.counts() / rows) ** 2).sum() * ((second.counts() / rows) ** 2).sum()) * rows * (rows - 1) / 2
        if len(np.unique(pairs)) == rows:
            yield Found(f"unique({_quoted(one)}, {_quoted(two)})", -expected / math.log(10))


def _ordered(values: dict[str, Value]) -> dict[str, Value]:
    usable = {name: value for name, value in values.items() if value.denominator and len(np.unique(value.parts)) > 2}
    return dict(list(usable.items())[:_MOST_COLUMNS])


def _level(value: Value) -> NDArray[np.float64]:
    return np.asarray(value.parts, dtype=np.float64) / value.denominator


def _orders(values: dict[str, Value]) -> Iterator[Found]:
    """`a <= b` (or `<`) between columns whose ranges overlap."""
    for (one, first), (two, second) in itertools.permutations(_ordered(values).items(), 2):
        a, b, known = _level(first), _level(second), ~(first.missing | second.missing)
        if not known.any() or b[known].min() >= a[known].max() or (a[known] > b[known]).any():
            continue
        shifted = np.roll(b[known], max(1, known.sum() // 3))
        share = float((a[known] <= shifted).mean())
        sign = "<" if (a[known] < b[known]).all() else "<="
        if not (a[known] == b[known]).all():
            yield Found(f"{_quoted(one)} {sign} {_quoted(two)}", int(known.sum()) * math.log10(max(share, 1e-12)))


def _linear(values: dict[str, Value]) -> Iterator[Found]:
    """c = a + b, c = (a + b) / 2 and a = k · b with a small whole k, exactly in every record."""
    numbers = {name: value for name, value in _ordered(values).items() if not _is_day(value)}
    for (one, first), (two, second) in itertools.permutations(numbers.items(), 2):
        a, b, known = _level(first), _level(second), ~(first.missing | second.missing)
        factor = a[known].sum() / b[known].sum() if known.any() and b[known].sum() else 0
        if factor > 1 and abs(factor - round(factor)) < 1e-9 and np.allclose(a[known], round(factor) * b[known]):
            yield Found(f"{_quoted(one)} = {round(factor)} * {_quoted(two)}", -math.inf)
    for (one, first), (two, second) in itertools.combinations(numbers.items(), 2):
        total, known = _level(first) + _level(second), ~(first.missing | second.missing)
        for three, third in numbers.items():
            if three in (one, two) or not known.any():
                continue
            c = _level(third)
            for divisor, text in ((1, f"{_quoted(one)} + {_quoted(two)}"), (2, f"({_quoted(one)} + {_quoted(two)}) / 2")):
                if np.allclose(c[known] * divisor, total[known], rtol=1e-12):
                    yield Found(f"{_quoted(three)} = {text}", -math.inf)


def _is_day(value: Value) -> bool:
    """Day numbers stand in a narrow band; sums of days mean nothing."""
    return value.denominator == 1 and bool((np.asarray(value.parts) > 600_000).all() and (np.asarray(value.parts) < 800_000).all())


def _patterns(texts: dict[str, Text], values: dict[str, Value]) -> Iterator[Found]:
    """One class of characters per position, for codes of equal length."""
    for name, text in texts.items():
        labels = [label for label in text.labels if label]
        lengths = {len(label) for label in labels}
        coded = values[name].denominator == 0 or any(label.startswith("0") for label in labels)
        if len(labels) < _LEAST_ROWS or len(lengths) != 1 or not coded or not 3 <= min(lengths) <= 40:
            continue
        classes = [_class({label[place] for label in labels}) for place in range(min(lengths))]
        if "." not in classes:
            yield Found(f'match({_quoted(name)}, "{_joined(classes)}")', -math.inf)


def _class(signs: set[str]) -> str:
    if len(signs) == 1:
        (sign,) = signs
        return sign if sign.isalnum() else re.escape(sign)
    for pattern, chars in (("[0-9]", string.digits), ("[A-Z]", string.ascii_uppercase), ("[a-z]", string.ascii_lowercase)):
        if signs <= set(chars):
            return f"[{''.join(sorted(signs))}]" if len(signs) <= 4 else pattern
    return "."


def _joined(classes: list[str]) -> str:
    """Equal neighbours as a repetition."""
    found = ""
    for sign, run in itertools.groupby(classes):
        length = len(list(run))
        found += sign if length == 1 else f"{sign}{{{length}}}" if sign.startswith("[") else sign * length
    return found
