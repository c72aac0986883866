"""Tables under examination: every column once as codes, with what kind of values it holds and what its names suggest.

Notation
    unit      number, day, moment (a time stamp written always alike), text, or nothing (no value at all); columns are
              compared with columns of the same unit only. Digits with a leading zero are text: a code, no quantity.
    levels    a column's values as numbers, one per row; whole multiples of 1 / scale when `exact`
    sample    evenly spaced rows on which most candidates die before the full data is looked at

>>> import pyarrow as pa
>>> from sfumato.data.table import Table
>>> view = DataView.of({None: Table(pa.table({"age": ["30", "41", ""], "zip": ["01234", "20000", "3"]}))})
>>> [(column.name, column.unit, column.missing) for column in view.columns]
[('age', 'number', 1), ('zip', 'text', 0)]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DataError
from sfumato.data.personal_columns import words_of_name
from sfumato.data.table import Table, TextColumn
from sfumato.policy.constraint_language import parse
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.syntax_tree import References
from sfumato.workflow.discover.proposal import can_be_named, quoted

SAMPLE = 2_000
_DIGITS = 18
"""Digits that 64 bits hold; longer whole numbers are codes."""
_NUMBER = re.compile(r"[+-]?(\d+)(?:\.(\d+))?")
_CODE = re.compile(r"[+-]?0\d|\+")
"""Digits that are no quantity: leading zeros, and a plus sign as before the dialing code of a country."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d(?::?\d\d)?)?")


@dataclass(frozen=True, eq=False)
class ColumnView:
    """One column of one table."""

    table: str | None
    name: str
    text: TextColumn
    rows: int

    def __str__(self) -> str:
        return quoted(self.name) if self.table is None else f"{quoted(self.table)}.{quoted(self.name)}"

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words_of_name(self.name)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many rows carry each label."""
        return self.text.counts()

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Which rows have a value."""
        return self.filled[self.text.codes]

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        """Which labels are values."""
        return np.array([bool(label) for label in self.text.labels], dtype=bool)

    @cached_property
    def values(self) -> list[str]:
        """The distinct values, without the missing one."""
        return [label for label in self.text.labels if label]

    @cached_property
    def value_set(self) -> frozenset[str]:
        return frozenset(self.values)

    @cached_property
    def frequencies(self) -> NDArray[np.int64]:
        """How many rows carry each of `values`."""
        return self.counts[self.filled]

    @cached_property
    def missing(self) -> int:
        return int(self.rows - self.frequencies.sum())

    @property
    def known(self) -> int:
        return self.rows - self.missing

    @property
    def is_key(self) -> bool:
        """Every row has a value, and no two the same."""
        return self.rows > 0 and self.missing == 0 and len(self.values) == self.rows

    @cached_property
    def unit(self) -> str:
        if not self.values:
            return "nothing"
        if self._numbers is not None:
            return "number"
        return "day" if self._days is not None else "moment" if _alike(self.values) else "text"

    @cached_property
    def _numbers(self) -> tuple[NDArray[Any], int] | None:
        return _numbers(self.values)

    @cached_property
    def _days(self) -> NDArray[np.int64] | None:
        try:
            return np.array([date.fromisoformat(value).toordinal() for value in self.values], dtype=np.int64)
        except ValueError:
            return None

    @property
    def exact(self) -> bool:
        return self.unit == "day" or (self.unit == "number" and bool(np.issubdtype(self.levels.dtype, np.integer)))

    @property
    def scale(self) -> int:
        return self._numbers[1] if self._numbers is not None else 1

    @cached_property
    def levels(self) -> NDArray[Any]:
        """A number per row that sorts as the values do; 0 where missing."""
        if self._numbers is not None:
            found: NDArray[Any] = self._numbers[0]
        elif self._days is not None:
            found = self._days
        else:
            found = np.argsort(np.argsort(np.array(self.values, dtype=object))).astype(np.int64)
        by_label = np.zeros(len(self.text.labels), dtype=found.dtype)
        by_label[self.filled] = found
        return by_label[self.text.codes]

    @cached_property
    def quantities(self) -> NDArray[Any]:
        """Values as numbers that all columns of one unit share; time stamps as seconds of one clock."""
        if self.unit == "moment":
            moments = np.array([value[:19] for value in self.text.labels], dtype="datetime64[s]")
            return moments.astype(np.int64)[self.text.codes]
        return self.levels / self.scale if self.scale > 1 else self.levels

    @cached_property
    def magnitude(self) -> float:
        """The middle of the sizes."""
        return float(np.median(np.abs(self.quantities[self.present])))


@dataclass(frozen=True, eq=False)
class DataView:
    """All columns that rules can name, the evaluator, and who points at whom once that is known."""

    columns: tuple[ColumnView, ...]
    judge: ConstraintEvaluator
    pointing: set[ColumnView] = field(default_factory=set)
    """Columns found to be keys or references; templates about quantities leave them alone."""
    links: list[tuple[ColumnView, ColumnView]] = field(default_factory=list)
    """References found, child and parent."""
    naming: set[ColumnView] = field(default_factory=set)
    """Columns found to name people: several rows may be about one of them."""

    @classmethod
    def of(cls, tables: Mapping[str | None, Table]) -> DataView:
        """The tables of a database by name, or one table under None."""
        columns = []
        for table, rows in tables.items():
            if table is None or can_be_named(table):
                columns += [
                    ColumnView(table, name, rows.text(name), rows.rows) for name in rows.names if can_be_named(name)
                ]
        judged: dict[str | None, dict[str, TextColumn]] = {table: {} for table in tables}
        for column in columns:
            judged[column.table][column.name] = column.text
        return cls(tuple(columns), ConstraintEvaluator(judged))

    def tables(self) -> dict[str | None, list[ColumnView]]:
        """The columns of each table."""
        found: dict[str | None, list[ColumnView]] = {}
        for column in self.columns:
            found.setdefault(column.table, []).append(column)
        return found

    def link(self, child: ColumnView, parent: ColumnView) -> None:
        """From now on rules may speak about a child and its parent."""
        self.pointing.add(child)
        self.links.append((child, parent))
        reference = parse(f"{child} references {parent}").body
        if isinstance(reference, References):
            self.judge.references.append(reference)

    def holds(self, rule: str) -> bool:
        """Whether the audit's evaluator finds no record that breaks the rule."""
        try:
            return self.judge.broken(parse(rule)) == 0
        except DataError:
            return False


def sample_rows(rows: int) -> NDArray[np.int64]:
    """Evenly spaced row numbers, all of them in small tables."""
    return np.unique(np.linspace(0, max(rows - 1, 0), min(rows, SAMPLE)).astype(np.int64))


def pair_codes(
    one: ColumnView, two: ColumnView, rows: NDArray[np.int64] | NDArray[np.bool_] | slice = slice(None)
) -> NDArray[np.int64]:
    """A number per row that tells combinations of two columns apart."""
    return one.text.codes[rows].astype(np.int64) * len(two.text.labels) + two.text.codes[rows]


def _numbers(values: list[str]) -> tuple[NDArray[Any], int] | None:
    """Numbers and their scale (a power of ten); floats with scale 1 when they are too long for exact arithmetic."""
    found = [] if not all(map(_NUMBER.fullmatch, values)) else [_NUMBER.fullmatch(value) for value in values]
    if not found or any(_CODE.match(value) for value in values):
        return _floats(values)
    places = max(len(match[2] or "") for match in found if match)
    longest = max(len(match[1]) for match in found if match)
    if places + longest > _DIGITS:
        return _floats(values) if places else None
    if places == 0:
        return np.array([int(value) for value in values], dtype=np.int64), 1
    split = (value.partition(".") for value in values)
    return np.array([int(whole + part.ljust(places, "0")) for whole, _, part in split], dtype=np.int64), 10**places


def _floats(values: list[str]) -> tuple[NDArray[np.float64], int] | None:
    try:
        found = np.array([float(value) for value in values], dtype=np.float64)
    except ValueError:
        return None
    return (found, 1) if bool(np.isfinite(found).all()) and not any(_CODE.match(value) for value in values) else None


def _alike(values: list[str]) -> bool:
    """Time stamps of one length and one offset sort as texts."""
    if not all(map(_MOMENT.fullmatch, values)):
        return False
    found = [_MOMENT.fullmatch(value) for value in values]
    return len({(len(value), match[1]) for value, match in zip(values, found, strict=True) if match}) == 1
