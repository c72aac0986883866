"""A template: one form of rule, how to find what fits it, and how likely it would fit by accident.


Keys
----
Keys: one column, or two, in which no combination repeats.

Notation
    D       values a column could have had: the whole numbers (or days) between its smallest and largest, or all texts
            with the same signs at the same places
    chance  one column: no repeat among n values drawn from D, ∏ (1 − i/D). Two columns: no repeat when the columns are
            paired at random, exp(−E) with E the pairs of rows expected to agree in both.

Departures
    Unique measurements are no keys: with D far above n uniqueness surprises nobody and the chance says so. The name
    makes an e-mail address or a two-row table's id a key, and the name is part of the weight, not of the probability.

Cost: one count per column; a pair is dropped when its uniqueness would surprise nobody, then on the sample, and only
then counted in full.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> table = Table(pa.table({"id": list(range(30)), "day": [i % 6 for i in range(30)],
...     "seat": [i // 6 for i in range(30)]}))
>>> [(each.rule, round(each.chance)) for each in Keys().propose(DataView.of({None: table}))]
[('unique(id)', -12), ('unique(day, seat)', -4)]


Foreign keys
------------
Foreign keys: a column whose every value is a key of some table, by name, by kind and by containment.

Small whole numbers from 1 upwards are contained in every numbered table, so containment alone proves nothing there.
Three things are added up: what containment proves, what the names say (`names.kinship`) and how much of the parent is
used.

Notation
    chance  that all d distinct values are keys of the parent when drawn from what they could have been: whole numbers
            from 0 to the largest one, or all texts of that length (at most 8) over 36 signs; (share of these that are
            keys) ^ d
    cover   −2 · (share of the parent's keys that occur), part of the weight

Departures
    For every column only the best parent is proposed. References of several columns are taken from the schema, never
    guessed. Into a table of one row, and from the key of a table to a later column of another, only a name that says so
    is enough. A column without any value, or of an empty table, is proposed by its name and switched off: no row speaks
    for it.

Cost: columns × keys of the same kind; most pairs end at the smallest and largest value, or at the first value that is
no key.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> tables = {"artist": Table(pa.table({"id": ["1", "2", "3"]})), "album": Table(pa.table({"artist_id": ["1", "1", "2",
...     "3"]}))}
>>> [each.rule for each in ForeignKeys().propose(DataView.of(tables))]
['album.artist_id references artist.id']


Dependencies
------------
Dependencies: records that agree in one column agree in another.

Notation
    chance  that every group of m equal left values carries m equal right values when these are assigned at random: ∏ Σ
            p(v)^m over the groups, p the frequencies of the right column

Departures
    Left sides that (almost) number the rows determine everything and are left out, as are constant right sides. What
    follows from other proposals is left out: of columns that determine each other one speaks for all.

Cost: pairs of columns; a pass over the sample for each and one over all rows for those that survive.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> table = Table(pa.table({"zip": [f"z{i % 8}" for i in range(80)], "town": [f"t{i % 8 // 2}" for i in range(80)]}))
>>> [(each.rule, round(each.chance)) for each in DependencyTemplate().propose(DataView.of({None: table}))]
[('zip determines town', -43)]


Value lists
-----------
Value lists: few different values, each of them often.

Guarantee
    A value is spelled out only when at least five rows carry it, and at least five people where the table refers to
    people (`OFTEN`): the policy must not carry a person's own value. Whom a row is about is known from references and
    from names like `patient_id` only.

Notation
    chance  that one more value, as frequent as the rarest one seen (m rows), has not shown up: exp(−m)

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> table = Table(pa.table({"state": ["open", "paid", "sent"] * 20}))
>>> [(each.rule, round(each.chance)) for each in ValueLists().propose(DataView.of({None: table}))]
[('state in {"open", "paid", "sent"}', -9)]


Totals
------
Totals: a column of a parent is the sum, or the number, of what its children say.

Notation
    chance  (probability that two random values of the parent's column agree) ^ (parents with children)

Departures
    Parents without children must say 0. Sums of one column and of the product of two are looked for, along references
    found before.

Cost: one sum per reference, column (or pair of columns) of the child and column of the parent.

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> from sfumato.workflow.discover.templates import ForeignKeys
>>> lines = {"bill_id": [i // 3 for i in range(90)], "price": [i * i % 37 for i in range(90)]}
>>> bills = {"bill_id": list(range(30)), "total": [sum(lines["price"][3 * i : 3 * i + 3]) for i in range(30)]}
>>> view = DataView.of({"bill": Table(pa.table(bills)), "line": Table(pa.table(lines))})
>>> _ = list(ForeignKeys().propose(view))
>>> [each.rule for each in TotalTemplate().propose(view)]
['bill.total = sum(line.price by line.bill_id)']
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sfumato.data.personal_columns import words_of_name
from sfumato.workflow.discover.column_profiles import ColumnView, DataView, pair_codes, sample_rows
from sfumato.workflow.discover.personal_columns import (
    HIGHER,
    TWIN,
    is_identifier_name,
    is_unique_by_name,
    names_people,
    numbers_persons,
    reference_score,
    stem,
)
from sfumato.workflow.discover.proposal import OFTEN, SURE, WORTH, Proposal


class Template(ABC):
    """One form of rule."""

    name: ClassVar[str]
    order: ClassVar[int] = 50
    """Templates run in this order: those about keys first, because they say which numbers are no quantities."""

    @abstractmethod
    def propose(self, view: DataView) -> Iterator[Proposal]:
        """Candidates that seem to hold; the audit's evaluator has the last word."""


# Keys
# ----


_LONGEST = 64
_FIRST = -3.0


class Keys(Template):
    """`unique(a)` and `unique(a, b)`."""

    name: ClassVar[str] = "keys"
    order: ClassVar[int] = 10

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for columns in view.tables().values():
            single = [column for column in columns if column.is_key and usable(column)]
            yield from (_single(column, first=column is columns[0]) for column in single)
            view.pointing.update(column for column in columns if is_identifier_name(column.words))
            rest = [column for column in columns if column not in single and usable(column) and len(column.values) > 1]
            yield from _pairs(rest)
            yield from _crossing(columns, single)


def usable(column: ColumnView) -> bool:
    """Short values; documents and pictures are no keys."""
    return column.unit != "nothing" and max(map(len, column.values)) <= _LONGEST


def _single(column: ColumnView, *, first: bool) -> Proposal:
    weight = SURE if is_unique_by_name(column.words) else 0.0
    if not weight and first and column.unit in ("number", "text") and column.exact:
        weight = _FIRST
    if not weight and column.unit == "text" and not any(" " in value for value in column.values):
        weight = WORTH
    return Proposal(f"unique({column})", Keys.name, column.rows, _no_repeat(column.rows, _room(column)), weight)


def _room(column: ColumnView) -> float:
    """How many values the column could have had."""
    if column.exact:
        return float(column.levels.max() - column.levels.min() + 1)
    if column.unit != "text":
        return math.inf
    longest = max(map(len, column.values))
    room = 1.0
    for place in range(longest):
        room *= len({value[place : place + 1] for value in column.values[:5_000]})
    return room


def _no_repeat(drawn: int, room: float) -> float:
    """log10 of the probability that `drawn` values out of `room` are all different."""
    if drawn < 2 or math.isinf(room) or room > 1e12:
        return 0.0
    room = max(room, float(drawn))
    return min(0.0, float(gammaln(room + 1) - gammaln(room - drawn + 1) - drawn * math.log(room)) / math.log(10))


def _pairs(columns: list[ColumnView]) -> Iterator[Proposal]:
    complete = [column for column in columns if column.missing == 0]
    chosen = sample_rows(complete[0].rows) if complete else np.zeros(0, dtype=np.int64)
    for one, two in combinations(complete, 2):
        weight = SURE / 2 if is_identifier_name(one.words) and is_identifier_name(two.words) else 0.0
        found = Proposal(f"unique({one}, {two})", Keys.name, one.rows, -_expected(one, two) / math.log(10), weight)
        if found.listed and not _repeats(pair_codes(one, two, chosen)) and not _repeats(pair_codes(one, two)):
            yield found


def _crossing(columns: list[ColumnView], single: list[ColumnView]) -> Iterator[Proposal]:
    """The two references of a table that only ties others together, though one of them alone is unique here.

    Which of the two rules is meant no data can tell; the wider one is safe to keep when the narrower one is switched
    off."""
    ties = [column for column in columns if is_identifier_name(column.words)]
    own = any("".join(stem(column.words)) in ("", "".join(words_of_name(_bare(column.table)))) for column in ties)
    if (
        len(ties) == 2
        and columns[:2] == ties
        and not own
        and set(ties) & set(single)
        and not any(c.missing for c in ties)
    ):
        yield Proposal(f"unique({ties[0]}, {ties[1]})", Keys.name, ties[0].rows, 0.0, SURE)


def _repeats(codes: np.ndarray) -> bool:
    return len(np.unique(codes)) < len(codes)


def _expected(one: ColumnView, two: ColumnView) -> float:
    """Pairs of rows that would agree in both columns if these had nothing to do with each other."""
    every = one.rows * (one.rows - 1) / 2
    agree = [float((column.counts * (column.counts - 1)).sum()) / 2 for column in (one, two)]
    return agree[0] * agree[1] / every


# Foreign keys
# ------------


_COVER = -2.0
_LISTED = -5.0
_SIGNS = 36


class ForeignKeys(Template):
    """`child.column references parent.key`."""

    name: ClassVar[str] = "foreign keys"
    order: ClassVar[int] = 20

    def propose(self, view: DataView) -> Iterator[Proposal]:
        if len(view.tables()) < 2 and None in view.tables():
            return
        firsts = {columns[0] for columns in view.tables().values()}
        parents = [_Parent(key, _is_people(view, key), key in firsts) for key in view.columns if _is_parent(key)]
        best = [link for column in view.columns if (link := _best(column, parents, column in firsts))]
        main = {link.ends: link.parent.column for link in best if link.related <= HIGHER}
        for link in best:
            copy = link.related > HIGHER and main.get(link.ends) not in (None, link.parent.column)
            if not copy:
                view.link(link.child, link.parent.column)
            if link.parent.people and len(link.ends) == 2:
                view.naming.add(link.child)
            yield link.proposal(copy=copy)
        yield from _unspoken(view)


@dataclass(frozen=True)
class _Parent:
    column: ColumnView
    people: bool
    first: bool = True
    """Whether it is the first column of its table, where keys stand."""


@dataclass(frozen=True)
class _Link:
    child: ColumnView
    parent: _Parent
    chance: float
    related: float

    @property
    def ends(self) -> frozenset[str | None]:
        return frozenset((self.child.table, self.parent.column.table))

    @property
    def weight(self) -> float:
        return self.related + _COVER * len(self.child.values) / len(self.parent.column.values)

    def proposal(self, *, copy: bool) -> Proposal:
        off = "a copy of what another reference to that table already gives" if copy else ""
        rule = f"{self.child} references {self.parent.column}"
        return Proposal(rule, ForeignKeys.name, self.child.known, self.chance, self.weight, off=off)


def _is_parent(column: ColumnView) -> bool:
    return column.is_key and usable(column) and _counts_or_names(column)


def _counts_or_names(column: ColumnView) -> bool:
    return column.unit == "text" or (column.unit == "number" and column.exact and column.scale == 1)


def _is_people(view: DataView, key: ColumnView) -> bool:
    return any(names_people(column.words) for column in view.tables()[key.table])


def _best(child: ColumnView, parents: list[_Parent], first: bool) -> _Link | None:
    """The parent for which most speaks, if enough does."""
    if not usable(child) or not _counts_or_names(child) or _is_own_key(child):
        return None
    links = [
        _link(child, parent) for parent in parents if parent.column is not child and _contained(child, parent.column)
    ]
    links = [link for link in links if link.related <= HIGHER or not _needs_a_name(link, first)]
    found = min(links, key=lambda link: link.chance + link.weight, default=None)
    return found if found is not None and found.chance + found.weight <= _LISTED else None


def _needs_a_name(link: _Link, first: bool) -> bool:
    """Whether values alone prove nothing: a table of one row, or the key of a table found again in the rows that refer
    to it."""
    return link.parent.column.rows == 1 or (first and link.child.is_key and not link.parent.first)


def _is_own_key(child: ColumnView) -> bool:
    """`customer.customer_id`, `customer.id`: what numbers the rows of its own table points nowhere."""
    return child.is_key and "".join(stem(child.words)) in ("", "".join(words_of_name(_bare(child.table))))


def _bare(table: str | None) -> str:
    """Return the name of a table without its schema."""
    return (table or "").rpartition(".")[2]


def _contained(child: ColumnView, parent: ColumnView) -> bool:
    if parent.unit not in (child.unit, "text") or len(child.values) > len(parent.values):
        return False
    if child.table == parent.table and child.is_key:
        return False
    return child.values[0] in parent.value_set and child.value_set <= parent.value_set


def _link(child: ColumnView, parent: _Parent) -> _Link:
    key = parent.column
    own = _bare(child.table) if child.table == key.table else child.table or ""
    related = reference_score(child.words, own, key.words, _bare(key.table), people=parent.people)
    return _Link(child, parent, len(child.values) * math.log10(_share(child, key)) if child.values else 0.0, related)


def _share(child: ColumnView, key: ColumnView) -> float:
    """The share of keys among the values that a column of this kind could have had."""
    if key.unit == "number":
        top = int(child.levels.max())
        inside = int(((key.levels >= min(0, int(child.levels.min()))) & (key.levels <= top)).sum())
        return min(1.0, inside / max(top - min(0, int(child.levels.min())) + 1, 1))
    length = min(max(map(len, key.values)), 8)
    return min(1.0, len(key.values) / float(_SIGNS**length))


def _unspoken(view: DataView) -> Iterator[Proposal]:
    """Columns without values whose names alone point at a table."""
    named = [
        _Parent(columns[0], False) for columns in view.tables().values() if columns[0].is_key or not columns[0].rows
    ]
    for child in view.columns:
        if child.values or _names_itself(child):
            continue
        links = [_link(child, parent) for parent in named if parent.column.table != child.table]
        best = min(links, key=lambda link: link.related, default=None)
        if best is not None and best.related <= TWIN:
            off = "no row speaks for it, only the name"
            yield Proposal(f"{child} references {best.parent.column}", ForeignKeys.name, 0, 0.0, best.related, off=off)


def _names_itself(child: ColumnView) -> bool:
    return "".join(stem(child.words)) == "".join(words_of_name(_bare(child.table)))


# Dependencies
# ------------


_KEY_SHARE = 0.5
_COMMON = 1_000


class DependencyTemplate(Template):
    """`a determines b`."""

    name: ClassVar[str] = "dependencies"
    order: ClassVar[int] = 50

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for columns in view.tables().values():
            varied = [column for column in columns if len(column.values) > 1]
            sample = sample_rows(columns[0].rows)
            found = {
                (a, b)
                for a, b in permutations(varied, 2)
                if _dependencies_repeats(a) and _determines(a, b, sample) and _determines(a, b)
            }
            for left, right in _needed(found, varied):
                support = left.rows - len(left.text.labels)
                yield Proposal(f"{left} determines {right}", DependencyTemplate.name, support, _chance(left, right))


def _dependencies_repeats(left: ColumnView) -> bool:
    return len(left.text.labels) <= _KEY_SHARE * left.rows


def _determines(left: ColumnView, right: ColumnView, rows: np.ndarray | slice = slice(None)) -> bool:
    if len(left.text.labels) < len(right.text.labels):
        return False
    given, told = left.text.codes[rows], right.text.codes[rows]
    answer = np.full(len(left.text.labels), -1, dtype=np.int32)
    answer[given] = told
    return bool((answer[given] == told).all())


def _needed(
    found: set[tuple[ColumnView, ColumnView]], columns: list[ColumnView]
) -> Iterator[tuple[ColumnView, ColumnView]]:
    """Those that do not follow from others; of columns that determine each other the first one speaks."""
    speaks = {one: next(two for two in columns if two is one or {(one, two), (two, one)} <= found) for one in columns}
    speakers = [one for one in columns if speaks[one] is one]
    for left, right in ((a, b) for a in columns for b in columns if (a, b) in found):
        if speaks[left] is speaks[right]:
            needed = speaks[left] in (left, right)
        else:
            between = any(
                (left, one) in found and (one, right) in found for one in speakers if one not in (left, right)
            )
            needed = left in speakers and right in speakers and not between
        if needed:
            yield left, right


def _chance(left: ColumnView, right: ColumnView) -> float:
    sizes, groups = np.unique(left.counts[left.counts > 1], return_counts=True)
    common = np.sort(right.counts)[::-1][:_COMMON] / right.rows
    equal = [
        float(size) * np.log10(common[0]) + np.log10(((common / common[0]) ** float(size)).sum()) for size in sizes
    ]
    return float((groups * np.array(equal)).sum()) if len(sizes) else 0.0


# Value lists
# -----------


_MOST_TEXTS, _MOST_NUMBERS, _VALUE_LISTS_LONGEST = 30, 10, 40


class ValueLists(Template):
    """`a in {…}`."""

    name: ClassVar[str] = "value lists"
    order: ClassVar[int] = 60

    def propose(self, view: DataView) -> Iterator[Proposal]:
        for column in view.columns:
            if column not in view.pointing and _is_list(column) and _is_shared(column, view):
                listed = ", ".join(
                    _written(value, column.unit) for value in sorted(column.values, key=_sorting(column.unit))
                )
                chance = -float(column.frequencies.min()) / math.log(10)
                yield Proposal(f"{column} in {{{listed}}}", ValueLists.name, column.known, chance)


def _is_list(column: ColumnView) -> bool:
    if column.unit not in ("text", "number") or (not column.exact and column.unit == "number"):
        return False
    most = _MOST_TEXTS if column.unit == "text" else _MOST_NUMBERS
    return (
        len(column.values) <= most
        and int(column.frequencies.min()) >= OFTEN
        and all(_short(value) for value in column.values)
    )


def _is_shared(column: ColumnView, view: DataView) -> bool:
    """Whether enough different people stand behind every value."""
    people = [one for one in view.columns if one.table == column.table and (one in view.naming or numbers_persons(one))]
    return all(int(_behind(column, one).min()) >= OFTEN for one in people if one is not column)


def _behind(column: ColumnView, people: ColumnView) -> NDArray[np.int64]:
    """How many different people carry each value of the column."""
    known = column.present & people.present
    combined = np.unique(pair_codes(column, people, known)) // len(people.text.labels)
    found: NDArray[np.int64] = np.bincount(combined, minlength=len(column.text.labels))
    return found[column.filled]


def _short(value: str) -> bool:
    return len(value) <= _VALUE_LISTS_LONGEST and "\\" not in value and value.isprintable()


def _sorting(unit: str) -> type[float] | type[str]:
    return float if unit == "number" else str


def _written(value: str, unit: str) -> str:
    return value if unit == "number" else '"' + value.replace('"', '\\"') + '"'


# Totals
# ------


_EXACT = float(1 << 52)
_Part = tuple[str, NDArray[np.float64] | None, int]


class TotalTemplate(Template):
    """`parent.total = sum(child.price by child.parent_id)`, `parent.n = count(by child.parent_id)`."""

    name: ClassVar[str] = "totals"
    order: ClassVar[int] = 45

    def propose(self, view: DataView) -> Iterator[Proposal]:
        tables = view.tables()
        for child, parent in view.links:
            if child.table == parent.table or child.missing:
                continue
            parts = list(_parts([one for one in tables[child.table] if _is_quantity(one, view)]))
            for total in tables[parent.table]:
                if _is_quantity(total, view) and len(total.values) > 2 and total.missing == 0:
                    yield from _fitting(total, parts, child, _rows(child, parent))


def _is_quantity(column: ColumnView, view: DataView) -> bool:
    return column not in view.pointing and column.unit == "number" and column.exact and column.missing == 0


def _parts(numbers: list[ColumnView]) -> Iterator[_Part]:
    """What may be summed: its words, its values as whole numbers, and their scale; no values for the number of
    children."""
    yield "count(", None, 1
    yield from ((f"sum({one} ", one.levels.astype(np.float64), one.scale) for one in numbers)
    for one, two in combinations(numbers, 2):
        if min(len(one.values), len(two.values)) > 1:
            yield f"sum({one} * {two} ", one.levels.astype(np.float64) * two.levels, one.scale * two.scale


def _rows(child: ColumnView, parent: ColumnView) -> NDArray[np.int64]:
    """The parent's row behind every row of the child."""
    place = {parent.text.labels[code]: row for row, code in enumerate(parent.text.codes.tolist())}
    return np.array([place.get(label, 0) for label in child.text.labels], dtype=np.int64)[child.text.codes]


def _fitting(total: ColumnView, parts: list[_Part], child: ColumnView, rows: NDArray[np.int64]) -> Iterator[Proposal]:
    used = len(np.unique(rows))
    for words, values, scale in parts:
        sums = np.bincount(rows, weights=values, minlength=total.rows).astype(np.float64)
        if max(float(np.abs(sums).max()) * total.scale, float(np.abs(total.levels).max()) * scale) > _EXACT:
            continue
        if (sums * total.scale == total.levels * float(scale)).all():
            guess = float(((total.counts / total.rows) ** 2).sum())
            yield Proposal(f"{total} = {words}by {child})", TotalTemplate.name, used, (used - 1) * math.log10(guess))
            return
