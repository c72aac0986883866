"""How a table is written: signs for missing values, decimal commas, thousands, days; found where only one reading is possible.

Found here means suggested: `discover` writes it under ``data:`` with the reason, and nothing is changed unless a policy says so.

>>> found = suggested(pa.table({"pay": ["1,5", "2,25", "NA"], "born": ["31.12.1999", "01.02.2000", ""]}))
>>> found.keys()
{'missing': ['NA'], 'decimal_comma': ['pay'], 'date_format': {'born': '%d.%m.%Y'}}
>>> suggested(pa.table({"n": ["1,234", "5,678"]})).doubts
("'n': a comma stands for thousands or for decimals; say 'thousands: [n]' or 'decimal_comma: [n]' under data",)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.moments import moment
from sfumato.data.numbers import number
from sfumato.errors import DataError

NULL_WORDS = ("NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "?", ".", "-", "--", "#N/A", "missing", "<NA>")
_ALWAYS = ("?", "#N/A", "<NA>")
"""Texts that mean nothing else, also among texts."""
_COMMA = re.compile(r"[+-]?\d+,\d+")
_WHOLE = re.compile(r"[+-]?\d+")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DAY = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
_LOOKED_AT = 20_000
_BETWEEN = "' \u00a0\u202f"
"""Signs between thousands everywhere: an apostrophe and three kinds of blanks."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """Settings for ``data:`` and what could not be decided."""

    missing: tuple[str, ...] = ()
    decimal_comma: tuple[str, ...] = ()
    thousands: tuple[str, ...] = ()
    date_format: dict[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    def keys(self) -> dict[str, Any]:
        """What would stand in a policy."""
        listed = {"missing": self.missing, "decimal_comma": self.decimal_comma, "thousands": self.thousands}
        found: dict[str, Any] = {key: list(values) for key, values in listed.items() if values}
        return found | ({"date_format": self.date_format} if self.date_format else {})


def suggested(table: pa.Table) -> Suggested:
    """What the texts of a table suggest about how it is written."""
    words = _null_words(table)
    found: dict[str, list[str]] = {"decimal_comma": [], "thousands": []}
    days, doubts = {}, []
    for name in table.column_names:
        values = [value for value in _distinct(table.column(name)) if value not in words]
        kind = _commas(values)
        if kind in found:
            found[kind].append(name)
        elif kind:
            meant = f"say 'thousands: [{name}]' or 'decimal_comma: [{name}]' under data"
            doubts.append(f"'{name}': a comma stands for thousands or for decimals; {meant}")
        written = _days(values)
        if written == "?":
            doubts.append(f"'{name}': days or months come first; say 'date_format: {{{name}: \"%d/%m/%Y\"}}' under data")
        elif written:
            days[name] = written
    return Suggested(words, tuple(found["decimal_comma"]), tuple(found["thousands"]), days, tuple(doubts))


def _distinct(column: pa.ChunkedArray) -> list[str]:
    if not pa.types.is_string(column.type):
        return []
    return [value for value in pc.unique(column).slice(0, _LOOKED_AT).to_pylist() if value]


def _null_words(table: pa.Table) -> tuple[str, ...]:
    """Words for nothing: those that stand among numbers or days, and signs that mean nothing else."""
    found: dict[str, None] = {}
    for name in table.column_names:
        values = _distinct(table.column(name))
        words = [value for value in values if value in NULL_WORDS]
        rest = [value for value in values if value not in NULL_WORDS]
        plain = bool(rest) and (all(map(_quantity, rest)) or all(moment(value) is not None for value in rest))
        found |= dict.fromkeys(word for word in words if plain or word in _ALWAYS)
    return tuple(found)


def _quantity(value: str) -> bool:
    return number(value) is not None or _COMMA.fullmatch(value) is not None or _GROUPED.fullmatch(value) is not None


def _commas(values: Sequence[str]) -> str:
    """decimal_comma, thousands, doubt, or nothing."""
    with_comma = [value for value in values if "," in value]
    if not with_comma:
        return ""
    decimal = all(_COMMA.fullmatch(value) or _WHOLE.fullmatch(value) for value in values)
    grouped = all(_GROUPED.fullmatch(value) or number(value) is not None for value in values)
    if decimal and grouped:
        return "doubt"
    return "decimal_comma" if decimal else "thousands" if grouped else ""


def _days(values: Sequence[str]) -> str:
    """The format of days that are not written year first; a question mark when day and month cannot be told apart."""
    found = [_DAY.fullmatch(value) for value in values]
    if not values or not all(found):
        return ""
    parts = [(int(match[1]), match[2], int(match[3])) for match in found if match]
    signs = {sign for _, sign, _ in parts}
    if len(signs) > 1 or any(max(one, two) > 31 or min(one, two) < 1 for one, _, two in parts):
        return ""
    sign = signs.pop()
    first, second = max(one for one, _, _ in parts) > 12, max(two for _, _, two in parts) > 12
    if first == second:
        return "" if first else f"%d{sign}%m{sign}%Y" if sign == "." else "?"
    return f"%d{sign}%m{sign}%Y" if first else f"%m{sign}%d{sign}%Y"


def without_thousands(column: pa.ChunkedArray, *, comma: bool) -> pa.ChunkedArray:
    """Numbers without the signs between their groups; a point is one where the comma is the decimal sign."""
    pattern = rf"(\d)[{'.' if comma else ','}{_BETWEEN}](\d{{3}})"
    for _ in range(2):  # neighbouring groups share a digit
        column = pc.replace_substring_regex(column, pattern, r"\1\2")
    return column


def iso_days(column: pa.ChunkedArray, written: str, name: str) -> pa.ChunkedArray:
    """Days as ISO 8601 writes them; one that is written otherwise is an error with its row."""
    coded = pc.dictionary_encode(column).combine_chunks()
    days: list[str | None] = []
    for code, value in enumerate(coded.dictionary.to_pylist()):
        try:
            found = datetime.strptime(value, written) if value else None
        except ValueError:
            row = pc.index(coded.indices, pa.scalar(code, coded.indices.type)).as_py() + 1
            raise DataError(
                f"row {row} of column '{name}' is no day written as {written}", hint="see 'date_format' under data"
            ) from None
        clock = any(sign in written for sign in ("%H", "%I", "%M", "%S"))
        days.append(None if found is None else found.isoformat(" ", "seconds") if clock else found.date().isoformat())
    return pa.chunked_array([pa.array(days, pa.string()).take(coded.indices)])
