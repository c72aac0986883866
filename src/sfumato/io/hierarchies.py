"""Where hierarchies come from: the field's CSV files, and rules that build a tree over the values of a column.

A file has one row per leaf, ``leaf;level1;…;root``, with ``;`` or ``,`` between the cells and no header. Rules are
``intervals`` (numbers in ever wider bins), ``prefix`` (codes that lose their last characters), ``dates``, ``ranges`` (any
interval of numbers), nested YAML, and flat (kept or suppressed) when nothing is said.

>>> by_prefix(["71000", "71999", "72000"], 5).paths()[0]
['71000', '7100*', '710**', '71***', '7****', '*']
>>> by_intervals(["3", "17", "12"], [10, 20], column="age").paths()
[['3', '0-9', '0-19', '*'], ['12', '10-19', '0-19', '*'], ['17', '10-19', '0-19', '*']]
>>> by_dates(["2009-01-03"], ["month", "year"], column="born").paths()
[['2009-01-03', '2009-01', '2009', '*']]
"""

from __future__ import annotations

import csv
import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import Any

from sfumato.data.generalization import MISSING, Generalization, Ranges
from sfumato.data.hierarchy import ROOT, Hierarchy
from sfumato.errors import DataError, PolicyError
from sfumato.registry import nearest

_DATES: dict[str, Callable[[dt.date], str]] = {
    "week": lambda day: "{}-W{:02}".format(*day.isocalendar()[:2]),
    "month": lambda day: f"{day:%Y-%m}",
    "quarter": lambda day: f"{day.year}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year}",
    "decade": lambda day: f"{day.year // 10 * 10}s",
}


def load_hierarchy(path: Path) -> Hierarchy:
    """The hierarchy in a file of rows ``leaf;…;root``."""
    if not path.is_file():
        raise PolicyError(f"no such hierarchy file: {path.name}", where=str(path), hint="paths are relative to the policy file")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"{path.name} is not UTF-8 text", where=str(path), hint="save it as UTF-8") from None
    separator = ";" if sum(line.count(";") for line in lines) else ","
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator) if row]
    if not rows:
        raise DataError(f"hierarchy {path.name} is empty", where=str(path), hint="write one row 'leaf;…;root' per value")
    return Hierarchy.from_paths([_trimmed(row) for row in rows], name=f"hierarchy {path.name}")


def _trimmed(row: list[str]) -> list[str]:
    """Without empty cells at the end, which some editors add to shorter rows."""
    while len(row) > 1 and row[-1] == "":
        row = row[:-1]
    return row


def save_hierarchy(hierarchy: Hierarchy, path: Path) -> None:
    """Write rows ``leaf;…;root``, each leaf once."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";", lineterminator="\n").writerows(hierarchy.paths())


def is_standing(spec: Any) -> bool:
    """Whether a ``hierarchy:`` entry is a tree by itself, rather than a rule that grows one from the values of the data."""
    if isinstance(spec, Mapping):
        return not set(spec) & {"intervals", "prefix", "dates"}
    return isinstance(spec, Hierarchy) or (isinstance(spec, str | Path) and spec not in {"flat", "ranges"})


def build_generalization(spec: Any, values: Sequence[str], *, column: str, base: Path = Path(".")) -> Generalization:
    """The domain of a column from its ``hierarchy:`` entry and the distinct values of the data."""
    present = [value for value in values if value != MISSING]
    domain = _build(spec, present, column, base)
    if len(present) < len(values):
        if isinstance(domain, Ranges):
            raise DataError(f"column '{column}' has missing values, which have no place in a range", hint="give it intervals")
        domain = domain.with_missing()
    return domain


def _build(spec: Any, values: list[str], column: str, base: Path) -> Hierarchy | Ranges:
    if isinstance(spec, Hierarchy | Ranges):
        return spec
    if spec is None or spec == "flat":
        return Hierarchy.flat(sorted(values))
    if spec == "ranges":
        return Ranges.of(values, column=column)
    if isinstance(spec, str | Path):
        return load_hierarchy(base / spec)
    if isinstance(spec, Mapping) and len(spec) == 1:
        (rule, argument), *_ = spec.items()
        if rule == "intervals":
            return by_intervals(values, [_number(width, column) for width in argument], column=column)
        if rule == "prefix":
            return by_prefix(values, _whole(argument, column))
        if rule == "dates":
            return by_dates(values, list(argument), column=column)
        return Hierarchy.from_tree(spec, name=f"hierarchy of '{column}'")
    hint = "use a file, flat, ranges, {intervals: […]}, {prefix: n}, {dates: […]} or one nested root"
    raise PolicyError(f"the hierarchy of column '{column}' is not understood", hint=hint)


def by_prefix(values: Iterable[str], length: int) -> Hierarchy:
    """Codes of `length` characters that lose one character after the other."""
    rows = []
    for value in sorted(values):
        masked = [value[:keep] + "*" * (len(value) - keep) for keep in range(min(length, len(value)) - 1, 0, -1)]
        rows.append([value, *masked, ROOT])
    return Hierarchy.from_paths(rows)


def by_intervals(values: Iterable[str], widths: Sequence[Decimal | int], *, column: str) -> Hierarchy:
    """Numbers in bins of ever greater width, aligned at zero; each width must be a multiple of the one before."""
    steps = [Decimal(width) for width in widths]
    for narrow, wide in pairwise(steps):
        if narrow <= 0 or wide % narrow:
            what = f"intervals of column '{column}': {wide} is no multiple of {narrow}"
            raise PolicyError(what, hint="let each width be a multiple of the one before")
    numbers = sorted(((_number(value, column, DataError), value) for value in values), key=lambda pair: (pair[0], pair[1]))
    whole = all(number == int(number) for number, _ in numbers) and all(step == int(step) for step in steps)
    return Hierarchy.from_paths([[value, *(_bin(number, step, whole) for step in steps), ROOT] for number, value in numbers])


def _bin(number: Decimal, width: Decimal, whole: bool) -> str:
    low = Decimal(math.floor(number / width)) * width
    return f"{low}-{low + width - 1}" if whole else f"[{low}, {low + width})"


def by_dates(values: Iterable[str], units: Sequence[str], *, column: str) -> Hierarchy:
    """Dates (ISO 8601) in ever longer spans."""
    for unit in units:
        if unit not in _DATES:
            raise PolicyError(f"unknown date unit '{unit}' of column '{column}'", hint=nearest(unit, list(_DATES)))
    rows = []
    for value in sorted(values):
        try:
            day = dt.date.fromisoformat(value[:10])
        except ValueError:
            raise DataError(f"column '{column}' has values that are no dates", hint="write dates as 2024-12-31") from None
        rows.append([value, *(_DATES[unit](day) for unit in units), ROOT])
    return Hierarchy.from_paths(rows, name=f"dates of '{column}'")


def _number(value: Any, column: str, error: type[PolicyError | DataError] = PolicyError) -> Decimal:
    try:
        return Decimal(str(value).strip())
    except InvalidOperation:
        raise error(f"column '{column}' has a value that is no number", hint="clean it, or use another hierarchy") from None


def _whole(value: Any, column: str) -> int:
    number = _number(value, column)
    if number != int(number) or number < 1:
        raise PolicyError(f"prefix of column '{column}' must be a whole number of characters, at least 1")
    return int(number)
