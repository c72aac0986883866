"""Orders: `a <= b` (or `a < b`) between columns of the same unit, in every record that has both.

Notation
    share   the probability that a value of `a` is at most a value of `b` when records are paired at random
    chance  share ^ (distinct pairs of values): equal pairs are one witness

Departures
    `<` is proposed only when ties are missing for a reason: the smallest gaps are so dense that some seven ties were to
    be expected, or the smallest gap is ten times wider than the distance between small gaps. Otherwise `<=`, the weaker
    promise. An order that follows from two others is left out. Columns whose ranges hardly overlap (share above 0.95)
    are ordered by what they measure, not by a rule: such proposals are switched off. Ranges that do not overlap at all
    give none. Keys and references are no quantities.

Cost: pairs of columns of one unit; most die on the sample; one sort per column.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> table = Table(pa.table({"low": [str(i % 17) for i in range(90)], "high": [str(i % 17 + i % 5) for i in range(90)]}))
>>> [each.rule for each in Orders().propose(DataView.of({None: table}))]
['low <= high']


Linear
------
Linear relations: two or three columns that lie exactly on a line or a plane with small whole coefficients.

The coefficients are read off a few rows: differences of rows span the directions the data moves in, and what is
perpendicular to all of them is the relation. Everything is in whole numbers.

Notation
    k · x = s   coefficients k (whole, without a common divisor, at most 100), right side s
    witnesses   distinct rows of the columns beyond those that fix the relation
    chance      (probability that two random values of the hardest-to-guess column agree) ^ witnesses, times the number
                of relations that were possible

Departures
    Days only meet as a difference: b − a = s, or b − a = a number of days. A relation that contains a smaller one is
    left out. Keys and references are no quantities.

    Columns with hardly a value in the sample are not looked at.

Cost: triples of columns on 64 rows, then on the sample; all rows for the few that survive.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> net, tax = [i * i % 89 for i in range(90)], [7 * i % 31 for i in range(90)]
>>> gross = [a + b for a, b in zip(net, tax)]
>>> table = Table(pa.table({"net": net, "tax": tax, "gross": gross}))
>>> [each.rule for each in LinearTemplate().propose(DataView.of({None: table}))]
['gross = net + tax']


Aggregates
----------
Constant aggregates: a mean that is a whole number, a total or a count that is the same in every group.

Guarantee
    Never switched on. Such a constant is a statistic of the data: keeping it publishes it. The data holder decides.

Notation
    chance  mean: one in n sums is a multiple of n, so 1/n. Groups: G totals all agree though they scatter by σ (from
            the spread of single values), (1/σ)^(G − 1).

Cost: one sum per column; groups only by columns with 2 to 50 values.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> table = Table(pa.table({"team": ["a", "b"] * 50, "score": [str(80 + i // 2 % 21) for i in range(100)]}))
>>> [(each.rule, each.active) for each in Aggregates().propose(DataView.of({None: table}))]
[('count(by team) = 50', False), ('sum(score by team) = 4448', False)]


Patterns
--------
Patterns: every value has the form of one expression, sign by sign for codes of one length, run by run for others.

Guarantee
    A sign is spelled out at a place, and a length is stated, only when at least five different values have it there
    (`OFTEN`); a column with fewer than twenty different values gets no pattern. So no pattern spells out a single
    value.

Notation
    chance  that d different values all fit although one value in ten looks otherwise: 0.9^d

Cost: one pass over the distinct values.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> plates, rooms = [f"{'AB'[i % 2]}X-{i:03}" for i in range(200)], [f"R{i}.{i % 7}" for i in range(200)]
>>> table = Table(pa.table({"plate": plates, "room": rooms}))
>>> [each.rule for each in PatternTemplate().propose(DataView.of({None: table}))]
['match(plate, "[AB]X-[01][0-9]{2}")', 'match(room, "R[0-9]{1,3}\\\\.[0-9]")']
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, groupby, permutations, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.workflow.discover.column_profiles import ColumnView, DataView, pair_codes, sample_rows
from sfumato.workflow.discover.proposal import OFTEN, Proposal
from sfumato.workflow.discover.templates import Template

_SEPARATE = 0.95
_NEAR, _EXPECTED = 10, 7.0
_APART = 10.0
"""Numbers whose medians differ by more than this factor measure different things, unless their names share a word."""


class Orders(Template):
    """`a <= b`."""

    name: ClassVar[str] = "orders"
    order: ClassVar[int] = 30

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for columns in view.tables().values():
            yield from _orders([column for column in columns if _varies(column) and column not in view.pointing])


def _varies(column: ColumnView) -> bool:
    return column.unit in ("number", "day", "moment") and len(column.values) > 2


def _orders(columns: list[ColumnView]) -> Iterator[Proposal]:
    sample = sample_rows(columns[0].rows) if columns else np.zeros(0, dtype=np.int64)
    found = {
        (one, two): ties for one, two in permutations(columns, 2) if (ties := _ordered(one, two, sample)) is not None
    }
    for (one, two), ties in found.items():
        implied = any(
            (one, middle) in found and (middle, two) in found and (middle, one) not in found for middle in columns
        )
        if not implied and (two, one) not in found:
            yield _proposal(one, two, ties)


def _ordered(one: ColumnView, two: ColumnView, sample: np.ndarray) -> bool | None:
    """Whether ties occur; None when the order does not hold, or cannot be told from two different scales."""
    if one.unit != two.unit or not _same_scale(one, two):
        return None
    for rows in (sample, slice(None)):
        both = one.present[rows] & two.present[rows]
        a, b = one.quantities[rows][both], two.quantities[rows][both]
        if not len(a) or (a > b).any():
            return None
    return None if b.min() >= a.max() else bool((a == b).any())


def _same_scale(one: ColumnView, two: ColumnView) -> bool:
    if one.unit != "number" or set(one.words) & set(two.words):
        return True
    small, large = sorted((one.magnitude, two.magnitude))
    return large <= _APART * max(small, 1.0)


def _is_strict(gaps: NDArray[Any]) -> bool:
    """Whether ties are missing for a reason: they were to be expected, or the smallest gap is far from none at all."""
    near = np.sort(gaps)[:_NEAR].astype(np.float64)
    step = float(np.gcd.reduce(gaps)) if np.issubdtype(gaps.dtype, np.integer) else 0.0
    expected = len(near) * step / float(near[-1])
    apart = float(near[-1] - near[0]) / max(len(near) - 1, 1)
    return expected >= _EXPECTED or float(near[0]) > _NEAR * max(apart, step)


def _proposal(one: ColumnView, two: ColumnView, ties: bool) -> Proposal:
    both = one.present & two.present
    a, b = one.quantities[both], two.quantities[both]
    sign = "<=" if ties or not _is_strict(b - a) else "<"
    share = float(1 - np.searchsorted(np.sort(b), a, side="left").mean() / len(b))
    witnesses = len(np.unique(pair_codes(one, two, both)))
    off = "the ranges hardly overlap" if share > _SEPARATE else ""
    chance = witnesses * math.log10(max(share, 1e-300))
    return Proposal(f"{one} {sign} {two}", Orders.name, int(both.sum()), chance, off=off if chance <= -2 else "")


# Linear
# ------


_LARGEST = 100
_TRIED = 64
_WIDEST = 1 << 40
_LEAST_TIED, _MOST_TIED, _ADDENDS = 4, 6, 18
"""Columns of a long sum, and among how many it is looked for."""


class LinearTemplate(Template):
    """`c = a + b`, `2 * a = 3 * b`, `end - start = days`."""

    name: ClassVar[str] = "linear"
    order: ClassVar[int] = 40

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for columns in view.tables().values():
            usable = [column for column in columns if column not in view.pointing and _usable(column)]
            tied: list[set[ColumnView]] = []
            for size in (2, 3):
                for chosen in combinations(usable, size):
                    if not any(smaller <= set(chosen) for smaller in tied) and (found := _relation(chosen)):
                        tied.append(set(chosen))
                        yield found
            yield from _long_sums(usable, tied)


def _long_sums(usable: list[ColumnView], tied: list[set[ColumnView]]) -> Iterator[Proposal]:
    """`total = net + tax + freight - discount`: columns added and subtracted, four to six of them, none missing
    anywhere.

    A weighted sum over all rows, modulo 2^64, stands for a column; where the sums of some columns cancel out, the
    columns do, too, and the audit's evaluator has the last word."""
    columns = [column for column in usable if column.unit == "number" and not column.missing][:_ADDENDS]
    if len(columns) < _LEAST_TIED or not columns[0].rows:
        return
    scale = math.lcm(*(column.scale for column in columns))
    weights = np.random.default_rng(columns[0].rows).integers(1, 1 << 62, columns[0].rows, dtype=np.uint64)
    levels = [column.levels.astype(np.int64) * (scale // column.scale) for column in columns]
    marks = np.array([(one.astype(np.uint64) * weights).sum(dtype=np.uint64) for one in levels], dtype=np.uint64)
    for size in range(_LEAST_TIED, min(_MOST_TIED, len(columns)) + 1):
        chosen = np.array(list(combinations(range(len(columns)), size)))
        for signs in product((1, -1), repeat=size - 1):
            if -1 not in signs:
                continue
            signed = np.array((1, *signs), dtype=np.int64).astype(np.uint64)
            for places in chosen[(marks[chosen] * signed).sum(axis=1, dtype=np.uint64) == 0].tolist():
                own = {columns[place] for place in places}
                if any(smaller <= own for smaller in tied):
                    continue
                tied.append(own)
                coefficients = dict(zip((columns[place] for place in places), (1, *signs), strict=True))
                yield Proposal(_long_sum(coefficients), LinearTemplate.name, *_evidence(tuple(coefficients)))


def _long_sum(coefficients: dict[ColumnView, int]) -> str:
    """The relation with the largest quantity on the left, which others are added to or taken from."""
    total = max(coefficients, key=lambda column: (column.magnitude, str(column)))
    others = [(column, sign != coefficients[total]) for column, sign in coefficients.items() if column is not total]
    (first, *rest), taken = (
        [column for column, added in others if added],
        [column for column, added in others if not added],
    )
    return f"{total} = {first}" + "".join(f" + {one}" for one in rest) + "".join(f" - {one}" for one in taken)


def _usable(column: ColumnView) -> bool:
    return column.exact and len(column.values) > 2 and int(np.abs(column.levels).max()) < _WIDEST


def _relation(columns: tuple[ColumnView, ...]) -> Proposal | None:
    days = [column.unit == "day" for column in columns]
    if sum(days) not in (0, 2):
        return None
    scale = math.lcm(*(column.scale for column in columns))
    some = _points(columns, scale, sample_rows(columns[0].rows))
    if len(some) <= len(columns) + 1:
        return None
    normal = _normal(some[:: max(1, len(some) // _TRIED)])
    if normal is None or (any(days) and sum(int(k) for k, day in zip(normal, days, strict=True) if day) != 0):
        return None
    side = int(some[0] @ normal)
    if (some @ normal != side).any() or (_points(columns, scale, slice(None)) @ normal != side).any():
        return None
    rule = written([int(k) for k in normal], [str(column) for column in columns], side, scale)
    return Proposal(rule, LinearTemplate.name, *_evidence(columns))


def _points(columns: tuple[ColumnView, ...], scale: int, rows: NDArray[np.int64] | slice) -> NDArray[np.int64]:
    """Whole numbers, one column each, of those rows in which none is missing."""
    known = np.logical_and.reduce([column.present[rows] for column in columns])
    return np.column_stack(
        [column.levels[rows][known].astype(np.int64) * (scale // column.scale) for column in columns]
    )


def _normal(points: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The one direction in which the points do not move, as whole numbers; None when there is none or it is no small
    one."""
    moves = [[int(part) for part in move] for move in points[1:] - points[0] if move.any()]
    if not moves:
        return None
    first = moves[0]
    if len(first) == 2:
        normal = [first[1], -first[0]]
    else:
        crosses = ([a * d - b * c for a, b, c, d in _minors(first, move)] for move in moves[1:])
        normal = next((cross for cross in crosses if any(cross)), [])
    divisor = math.gcd(*normal) if normal else 0
    normal = [part // divisor for part in normal] if divisor else []
    if not normal or 0 in normal or max(map(abs, normal)) > _LARGEST:
        return None
    if any(sum(k * part for k, part in zip(normal, move, strict=True)) for move in moves):
        return None
    return np.array(normal if normal[0] > 0 else [-part for part in normal], dtype=np.int64)


def _minors(one: list[int], two: list[int]) -> list[tuple[int, int, int, int]]:
    """Entries (a, b, c, d) whose a·d − b·c are the components of the cross product."""
    (a, b, c), (d, e, f) = one, two
    return [(b, c, e, f), (c, a, f, d), (a, b, d, e)]


def written(coefficients: list[int], names: list[str], side: int, scale: int) -> str:
    """The relation with the column that stands alone on the left.

    >>> written([1, 1, -2], ["a", "b", "c"], 0, 1), written([1, 1, 1], ["a", "b", "c"], 100, 1), written([1, -1], ["a",
    ...     "b"], -7, 1)
    ('c = (a + b) / 2', 'a + b + c = 100', 'b = a + 7')
    """
    positive = [place for place, k in enumerate(coefficients) if k > 0]
    negative = [place for place, k in enumerate(coefficients) if k < 0]
    if not negative or not positive:
        sign = "-" if side and (side < 0) == bool(positive) else ""
        return f"{_sum(coefficients, names, positive or negative)} = {sign}{_constant(abs(side), scale)}"
    alone, others = (negative, positive) if len(negative) == 1 else (positive, negative)
    if len(coefficients) == 2 and (
        abs(coefficients[alone[0]]) != 1 or (side >= 0 and abs(coefficients[others[0]]) == 1)
    ):
        alone, others = others, alone
    offset = -side if alone is negative else side
    rest = _sum(coefficients, names, others)
    if offset:
        rest += f" {'+' if offset > 0 else '-'} {_constant(abs(offset), scale)}"
    factor = abs(coefficients[alone[0]])
    if factor == 1:
        return f"{names[alone[0]]} = {rest}"
    if len(others) == 1 and not offset and abs(coefficients[others[0]]) != 1:
        return f"{factor} * {names[alone[0]]} = {rest}"
    return f"{names[alone[0]]} = {f'({rest})' if ' ' in rest else rest} / {factor}"


def _sum(coefficients: list[int], names: list[str], places: list[int]) -> str:
    return " + ".join(names[p] if abs(coefficients[p]) == 1 else f"{abs(coefficients[p])} * {names[p]}" for p in places)


def _constant(side: int, scale: int) -> str:
    whole, rest = divmod(side, scale)
    return str(whole) if not rest else f"{whole}.{str(rest).zfill(len(str(scale)) - 1).rstrip('0')}"


def _evidence(columns: tuple[ColumnView, ...]) -> tuple[int, float]:
    """Rows that speak for the relation, and the chance."""
    known = np.logical_and.reduce([column.present for column in columns])
    codes = np.column_stack([column.text.codes[known] for column in columns])
    witnesses = len(np.unique(codes, axis=0)) - len(columns) - 1
    guess = min(float(((column.counts / column.rows) ** 2).sum()) for column in columns)
    chance = max(witnesses, 0) * math.log10(max(guess, 1e-300)) + len(columns) * math.log10(2 * _LARGEST + 1)
    return int(known.sum()), min(0.0, chance)


# Aggregates
# ----------


OFF = "a statistic of the data, published by being kept"
_LEAST_ROWS, _MOST_GROUPS = 20, 50


class Aggregates(Template):
    """`mean(a) = c`, `sum(a by g) = c`, `count(by g) = c`: always switched off."""

    name: ClassVar[str] = "aggregates"
    order: ClassVar[int] = 80

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for columns in view.tables().values():
            if columns[0].rows < _LEAST_ROWS:
                continue
            numbers = [column for column in columns if column not in view.pointing and _is_quantity(column)]
            yield from (found for column in numbers if (found := _mean(column)))
            for group in columns:
                if group.missing == 0 and 2 <= len(group.values) <= _MOST_GROUPS:
                    yield from _grouped(group, numbers)


def _is_quantity(column: ColumnView) -> bool:
    return column.unit == "number" and column.exact and len(column.values) > 2


def _mean(column: ColumnView) -> Proposal | None:
    known = column.levels[column.present]
    mean, rest = divmod(int(known.sum()), len(known) * column.scale)
    if rest:
        return None
    return Proposal(f"mean({column}) = {mean}", Aggregates.name, len(known), -math.log10(len(known)), off=OFF)


def _grouped(group: ColumnView, numbers: list[ColumnView]) -> Iterator[Proposal]:
    codes, groups = group.text.codes, len(group.text.labels)
    if len(set(group.counts.tolist())) == 1 and group.counts[0] > 1:
        chance = -(groups - 1) * math.log10(max(math.sqrt(group.counts[0]), 1.0))
        yield Proposal(f"count(by {group}) = {group.counts[0]}", Aggregates.name, group.rows, chance, off=OFF)
    for column in numbers:
        if column is group or column.missing:
            continue
        totals = np.zeros(groups, dtype=np.int64)
        np.add.at(totals, codes, column.levels)
        if (totals == totals[0]).all():
            spread = float(column.levels.std()) * math.sqrt(group.rows / groups)
            total = f"{int(totals[0]) / column.scale:.12g}"
            chance = -(groups - 1) * math.log10(max(spread, 1.0))
            yield Proposal(f"sum({column} by {group}) = {total}", Aggregates.name, group.rows, chance, off=OFF)


# Patterns
# --------


_LEAST, _LONGEST, _FEW = 20, 40, 4
_CLASSES = (
    ("[0-9]", string.digits),
    ("[A-Z]", string.ascii_uppercase),
    ("[a-z]", string.ascii_lowercase),
    ("[0-9a-f]", "0123456789abcdef"),
    ("[0-9A-F]", "0123456789ABCDEF"),
    ("[A-Za-z]", string.ascii_letters),
    ("[0-9A-Z]", string.digits + string.ascii_uppercase),
    ("[0-9a-z]", string.digits + string.ascii_lowercase),
    ("[0-9A-Za-z]", string.digits + string.ascii_letters),
)


class PatternTemplate(Template):
    """`match(a, "…")`."""

    name: ClassVar[str] = "patterns"
    order: ClassVar[int] = 70

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for column in view.columns:
            pattern, different = pattern_of(column), len(column.values)
            if pattern:
                escaped = pattern.replace('"', '\\"')
                yield Proposal(
                    f'match({column}, "{escaped}")', PatternTemplate.name, different, different * math.log10(0.9)
                )


def pattern_of(column: ColumnView) -> str:
    """The form that all values share, empty when they share none worth saying."""
    values = column.values
    if (
        column.unit != "text"
        or len(values) < _LEAST
        or max(map(len, values)) > _LONGEST
        or not all(map(str.isprintable, values))
    ):
        return ""
    return _by_place(values) if len({len(value) for value in values}) == 1 else _by_run(values)


def _by_place(values: list[str]) -> str:
    """One class of signs per place."""
    if len(values[0]) < 2:
        return ""
    classes = [_class(Counter(signs)) for signs in zip(*values, strict=True)]
    return "" if "" in classes else "".join(_repeated(sign, len(list(run))) for sign, run in groupby(classes))


def _class(signs: Counter[str]) -> str:
    """The narrowest class; single signs only when each occurs often."""
    if len(signs) == 1:
        return _literal(next(iter(signs)))
    for written, members in _CLASSES:
        if signs.keys() <= set(members):
            return _listed(signs) if len(signs) <= _FEW and min(signs.values()) >= OFTEN else written
    return ""


def _listed(signs: Counter[str]) -> str:
    """Signs that may stand at a place; neighbours as a range."""
    return f"[{''.join(sorted(signs))}]"


def _literal(sign: str) -> str:
    return sign if sign.isalnum() or sign in "-_ @:;,'\"/" else re.escape(sign)


def _repeated(sign: str, times: int) -> str:
    if times == 1:
        return sign
    return f"{sign}{{{times}}}" if sign.startswith("[") else sign * times


def _by_run(values: list[str]) -> str:
    """One class per run of letters, run of digits or other sign, when all values are cut into runs alike."""
    cut = [_runs(value) for value in values]
    shapes = {tuple(kind for kind, _ in runs) for runs in cut}
    if len(shapes) != 1 or len(cut[0]) < 2:
        return ""
    return "".join(_run(kind, [runs[place][1] for runs in cut]) for place, kind in enumerate(shapes.pop()))


def _runs(value: str) -> list[tuple[str, str]]:
    """The value cut where the kind of sign changes; kinds are D(igit), L(etter) and every other sign for itself."""
    return [(kind, "".join(run)) for kind, run in groupby(value, key=_kind)]


def _kind(sign: str) -> str:
    return "D" if sign in string.digits else "L" if sign in string.ascii_letters else sign


def _run(kind: str, found: list[str]) -> str:
    texts = Counter(found)
    if len(texts) == 1:
        return "".join(_literal(sign) for sign in found[0])
    if kind not in "DL":
        return _literal(kind) + _times(Counter(map(len, found)))
    signs = Counter(sign for text in texts for sign in set(text))
    lengths = Counter(map(len, found))
    sign = _class(Counter(found)) if set(lengths) == {1} else _wide(set(signs))
    return sign + _times(lengths)


def _wide(signs: set[str]) -> str:
    return next(written for written, members in _CLASSES if signs <= set(members))


def _times(lengths: Counter[int]) -> str:
    """How often; an end that only a few values reach is left open."""
    low, high = min(lengths), max(lengths)
    if low == high:
        return "" if low == 1 else f"{{{low}}}"
    upper = str(high) if lengths[high] >= OFTEN else ""
    lower = low if lengths[low] >= OFTEN else 1
    return "+" if lower == 1 and not upper else f"{{{lower},{upper}}}"
