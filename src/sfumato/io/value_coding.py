"""Coding: values that are never published as they are, one word each: ``top``, ``bottom``, ``round``, ``recode``.

    {top: 90}             90 and everything above is one value, written ≥90
    {bottom: 18}          18 and everything below is one value, written ≤18
    {round: 5}            the nearest multiple of 5 (halves away from zero); numbers stay numbers
    {recode: {NY: East}}  a value becomes another one, by a table: a mapping, or a file with rows old;new

Words may stand together, and beside one rule that makes coded values coarser, ``{bottom: 18, top: 90, round: 5,
intervals: [10]}``. A table comes first, ends before rounding; a value that the table does not name stays itself. The
rule is about coded values.

A coded value is a leaf of the hierarchy that several values of the data share (`Hierarchy.coded`). What turns values
into leaves (methods, audit, metrics) sees the coded one, and a cell that shows a value of the data has no such label:
the audit refuses it.

>>> coding = Coding.of({"top": "90", "round": "5"}, column="age")
>>> [coding.coded(value) for value in ("42", "43", "-42.5", "93", "≥90")]
['40', '45', '-45', '≥90', '≥90']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from sfumato.core.confinement import declared_path
from sfumato.core.errors import PolicyError
from sfumato.data.text_values import EXACT, format_number, not_a_number_error, parse_number
from sfumato.io.file_contents import is_there, read_bytes

WORDS = ("top", "bottom", "round", "recode")
MOST_RECODED = 100_000


def is_coded(spec: Any) -> bool:
    """Whether a ``hierarchy:`` entry has a word of coding; a nested tree may have a root of such a name."""
    return isinstance(spec, Mapping) and any(_is_word(word, spec[word]) for word in spec)


def without_coding(spec: Mapping[Any, Any]) -> dict[Any, Any]:
    """What is left of an entry: at most one rule."""
    return {word: argument for word, argument in spec.items() if not _is_word(word, argument)}


def _is_word(word: Any, argument: Any) -> bool:
    return word == "recode" or (word in WORDS and not isinstance(argument, Mapping | list | tuple))


def with_table(spec: Any, base: Path) -> Any:
    """The same entry with its table in it, where a file holds it: a policy that needs no other file."""
    if not is_coded(spec) or not isinstance(spec.get("recode"), str | Path):
        return spec
    return {**spec, "recode": _read(declared_path(base, str(spec["recode"])))}


def _read(path: Path) -> dict[str, str]:
    if not is_there(path):
        raise PolicyError(
            f"no such table of values: {path.name}", where=str(path), hint="paths are relative to the policy file"
        )
    try:
        lines = read_bytes(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise PolicyError(f"{path.name} is not UTF-8 text", where=str(path), hint="save it as UTF-8") from None
    separator = ";" if any(";" in line for line in lines) else ","
    rows = [[cell.strip() for cell in line.split(separator)] for line in lines if line.strip()]
    if any(len(row) != 2 or '"' in row[0] + row[1] for row in rows):
        raise PolicyError(
            f"{path.name} is no table of values", where=str(path), hint="write rows 'old;new', without quotes"
        )
    if len({old for old, _ in rows}) < len(rows):
        raise PolicyError(f"{path.name} names a value twice", where=str(path), hint="name every value once")
    return {row[0]: row[1] for row in rows}


@dataclass(frozen=True)
class Coding:
    """What becomes of the values of a column."""

    top: Decimal | None = None
    bottom: Decimal | None = None
    step: Decimal | None = None
    table: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: Mapping[str, Any], *, column: str) -> Coding:
        """The words of an entry whose table is in it; refuses what no data could make sense of."""
        top, bottom, step = (_number(spec, word, column) for word in ("top", "bottom", "round"))
        if top is not None and bottom is not None and bottom >= top:
            raise PolicyError(
                f"the bottom of column '{column}' is not below its top", hint="for example {bottom: 18, top: 90}"
            )
        if step is not None and step <= 0:
            raise PolicyError(
                f"column '{column}' is rounded to multiples of a number above zero", hint="for example {round: 5}"
            )
        table = spec.get("recode", {})
        if isinstance(table, str | Path):
            table = {}
        if (
            not isinstance(table, Mapping)
            or len(table) > MOST_RECODED
            or any(isinstance(v, Mapping | list) for v in table.values())
        ):
            what = f"the table of column '{column}' maps old values to new ones"
            raise PolicyError(
                what, hint="for example {recode: {NY: East, CA: West}}, or the name of a file with rows old;new"
            )
        return cls(top, bottom, step, {str(old): "" if new is None else str(new) for old, new in table.items()})

    def ends(self) -> list[str]:
        """The labels of the two ends."""
        top, bottom = self.top, self.bottom
        return [
            *([] if bottom is None else [f"≤{format_number(bottom)}"]),
            *([] if top is None else [f"≥{format_number(top)}"]),
        ]

    @property
    def _of_numbers(self) -> bool:
        return self.top is not None or self.bottom is not None or self.step is not None

    def coded(self, value: str) -> str | None:
        """What a value is published as; nothing when it is no number and should be one."""
        value = self.table.get(value, value)
        if not self._of_numbers or value in self.ends():
            return value
        read = parse_number(value)
        if read is None:
            return None
        if self.top is not None and read >= self.top:
            return f"≥{format_number(self.top)}"
        if self.bottom is not None and read <= self.bottom:
            return f"≤{format_number(self.bottom)}"
        return value if self.step is None else format_number(_rounded(read, self.step))

    def of_all(self, values: Sequence[str], column: str) -> dict[str, str]:
        """Every value with what it is published as."""
        found = {}
        for value in values:
            coded = self.coded(value)
            if coded is None:
                raise not_a_number_error(values, value, column)
            found[value] = coded
        return found


def _rounded(value: Decimal, step: Decimal) -> Decimal:
    times = EXACT.divide(value, step).quantize(Decimal(1), rounding=ROUND_HALF_UP, context=EXACT)
    return EXACT.multiply(times, step) + 0


def _number(spec: Mapping[str, Any], word: str, column: str) -> Decimal | None:
    if word not in spec or not _is_word(word, spec[word]):
        return None
    found = parse_number(str(spec[word]))
    if found is None:
        raise PolicyError(f"'{word}' of column '{column}' takes a number", hint=f"for example {{{word}: 90}}")
    return found
