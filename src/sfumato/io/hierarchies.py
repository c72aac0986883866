"""Where hierarchies come from: the field's CSV files, and rules that build a tree over the values of a column.

A file has one row per leaf, ``leaf;level1;…;root``, with ``;`` or ``,`` between the cells and no header, as ARX and anjana write
them; files of Amnesia are read, too (`io.amnesia`). Rules are ``intervals`` (numbers in ever wider bins), ``cuts`` (bins between
chosen points, `io.cut_points`), ``prefix`` (codes that lose their last characters), ``dates``, ``list`` (countries, diagnoses and
other known lists), ``order`` (neighbours are joined), ``ranges`` (any interval of numbers), nested YAML, flat (kept or suppressed),
and the words of `io.coding` (top, bottom, round, recode), alone or beside one of these. When nothing is said, numbers stand in
intervals at round numbers and everything else is flat (`by_nature`).

Invariants
    I1  What `save_hierarchy` writes, `load_hierarchy` reads as the same tree, whatever stands in the labels. Lines end with
        CR, LF or both and with nothing else; only blanks around unquoted cells are dropped.
    I2  A label that a rule makes from numbers is read back (`numbers.span`) as an interval around every leaf below it.
    I3  The intervals of `by_nature` are taken from one endless ladder (1, 5, 10, 50, 100 …), so that trees over more or other
        values know the same labels; no text that looks like such a label stands beside them.

>>> by_prefix(["71000", "71999", "72000"], 5).paths()[0]
['71000', '7100*', '710**', '71***', '7****', '*']
>>> by_intervals(["3", "17", "12"], [10, 20], column="age").paths()
[['3', '0-9', '0-19', '*'], ['12', '10-19', '0-19', '*'], ['17', '10-19', '0-19', '*']]
>>> by_dates(["2009-01-03"], ["month", "year"], column="born").paths()
[['2009-01-03', '2009-01', '2009', '*']]
"""

from __future__ import annotations

import datetime as dt
import difflib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from sfumato.data.generalization import MISSING, Generalization, Ranges
from sfumato.data.hierarchy import ROOT, Hierarchy
from sfumato.data.labels import row_of, without
from sfumato.data.moments import moment
from sfumato.data.numbers import EXACT, is_whole, number, numbers, plain, span
from sfumato.errors import DataError, PolicyError
from sfumato.io.amnesia import cuts_of_amnesia, is_amnesia, is_range, rows_of_amnesia
from sfumato.io.coding import Coding, is_coded, with_table, without_coding
from sfumato.io.contents import is_there, read_bytes
from sfumato.io.cut_points import by_cuts, cut_levels
from sfumato.io.known_lists import LISTS, by_list
from sfumato.io.quoting import require_quotes
from sfumato.registry import nearest

_DATES: dict[str, Callable[[dt.date], str]] = {
    "week": lambda day: "{}-W{:02}".format(*day.isocalendar()[:2]),
    "month": lambda day: day.isoformat()[:7],
    "quarter": lambda day: f"{day.isoformat()[:4]}-Q{(day.month + 2) // 3}",
    "year": lambda day: day.isoformat()[:4],
    "decade": lambda day: f"{day.isoformat()[:3]}0s",
}
RULES = ("intervals", "cuts", "prefix", "dates", "list")
"""The rules that grow a tree from the values of a column."""
ORDER = "order"
"""The rule that is a tree by itself: values from least to most, of which neighbours are joined."""
_FEW = 5
"""So many numbers need no intervals."""
LONGEST_PREFIX = 100
"""The most levels that a prefix hierarchy may have."""
_USE = (
    "use a file, flat, ranges, {intervals: […]}, {cuts: […]}, {prefix: n}, {dates: […]}, {list: countries}, {order: […]}, "
    "{top: 90}, {bottom: 18}, {round: 5}, {recode: {old: new}} or a nested root"
)


def load_hierarchy(path: Path) -> Hierarchy:
    """The hierarchy in a file of rows ``leaf;…;root``."""
    if not is_there(path):
        raise PolicyError(f"no such hierarchy file: {path.name}", where=str(path), hint="paths are relative to the policy file")
    content = read_bytes(path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path.name} is not UTF-8 text", where=str(path), hint="save it as UTF-8") from None
    if is_amnesia(text):
        return _of_amnesia(text, path)
    separator = ";" if ";" in re.sub(r'"[^"]*"', "", text) else ","
    require_quotes(content, separator, path)
    rows = [_trimmed(row) for row in _rows(text, separator) if row != [""]]
    if not rows:
        raise DataError(f"hierarchy {path.name} is empty", where=str(path), hint="write one row 'leaf;…;root' per value")
    return Hierarchy.from_paths(rows, name=f"hierarchy {path.name}")


def _of_amnesia(text: str, path: Path) -> Hierarchy:
    if is_range(text):
        cuts = cuts_of_amnesia(text, path.name)
        written = ", ".join(f"[{', '.join(level)}]" for level in cuts)
        hint = f"write the rule instead: hierarchy: {{cuts: [{written}]}}"
        raise PolicyError(f"{path.name} groups ranges of numbers, not values", where=str(path), hint=hint)
    return Hierarchy.from_paths(rows_of_amnesia(text, path.name), name=f"hierarchy {path.name}")


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    """The cells of every line; the quotes are known to be in order."""
    cell = re.compile(rf'(?:"((?:[^"]|"")*)"|([^"{separator}\r\n]*))({separator}|\r\n|\n|\r|\Z)')
    row: list[str] = []
    at = 0
    while at < len(text):
        found = cell.match(text, at)
        assert found is not None
        row.append(found[2].strip(" \t") if found[1] is None else found[1].replace('""', '"'))
        at = found.end()
        if found[3] != separator:
            yield row
            row = []
    if row:
        yield [*row, ""]


def _trimmed(row: list[str]) -> list[str]:
    """Without empty cells at the end, which some editors add to shorter rows."""
    while len(row) > 1 and row[-1] == "":
        row = row[:-1]
    return row


def save_hierarchy(hierarchy: Hierarchy, path: Path) -> None:
    """Write rows ``leaf;…;root``, each leaf once."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(";".join(map(_cell, row)) + "\n" for row in hierarchy.paths())


def _cell(label: str) -> str:
    """Quoted where it would be read otherwise (I1); also an empty one, which would be no cell at the end of a row."""
    safe = label and not re.search(r'[";\r\n]', label) and label == label.strip(" \t\ufeff")
    return label if safe else '"' + label.replace('"', '""') + '"'


def is_standing(spec: Any) -> bool:
    """Whether a ``hierarchy:`` entry is a tree by itself, rather than a rule that grows one from the values of the data."""
    if isinstance(spec, Mapping):
        return not is_coded(spec) and not set(spec) & set(RULES)
    return isinstance(spec, Hierarchy) or (isinstance(spec, str | Path) and spec not in {"flat", "ranges"})


# ---- what a policy says ------------------------------------------------------------------------------------------------


def require_rule(spec: Any, *, column: str, where: str = "") -> None:
    """Refuses a ``hierarchy:`` entry that no data could make sense of."""
    try:
        if isinstance(spec, Mapping):
            _require_mapping(spec, column)
        elif spec is not None and not isinstance(spec, str | Path | Generalization):
            raise PolicyError(f"the hierarchy of column '{column}' is not understood", hint=_USE)
    except (PolicyError, DataError) as error:
        raise PolicyError(error.what, where=where, hint=error.hint) from None
    except RecursionError:
        raise PolicyError(f"the hierarchy of column '{column}' is nested too deep", where=where, hint="keep it in a file") from None


def _require_mapping(spec: Mapping[Any, Any], column: str) -> None:
    if is_coded(spec):
        Coding.of(spec, column=column)
        spec = without_coding(spec)
        if not spec:
            return
    if len(spec) != 1:
        strange = next((str(key) for key in spec if key not in RULES), "")
        hint = nearest(strange, list(RULES)) if strange else "name one rule"
        raise PolicyError(f"the hierarchy of column '{column}' names {len(spec)} rules or roots, not one", hint=hint)
    ((rule, argument),) = spec.items()
    if rule in (*RULES, ORDER):
        _ARGUMENTS[rule](argument, column)
        return
    meant = difflib.get_close_matches(str(rule).lower(), (*RULES, ORDER), n=1, cutoff=0.75)
    if meant or not isinstance(argument, Mapping | list | tuple):
        hint = f"did you mean '{meant[0]}'?" if meant else _USE
        raise PolicyError(f"unknown rule '{rule}' in the hierarchy of column '{column}'", hint=hint)
    Hierarchy.from_tree(spec, name=f"hierarchy of '{column}'")


def _widths(argument: Any, column: str) -> list[Decimal]:
    widths = [number(str(width)) for width in _listed(argument, "intervals", "[5, 10]", column)]
    read = [width for width in widths if width is not None and width > 0]
    if len(read) < len(widths):
        raise PolicyError(f"intervals of column '{column}' are widths above zero", hint="for example {intervals: [5, 10]}")
    for narrow, wide in pairwise(read):
        if EXACT.remainder(wide, narrow):
            what = f"intervals of column '{column}': {plain(wide)} is no multiple of {plain(narrow)}"
            raise PolicyError(what, hint="let each width be a multiple of the one before")
    return read


def _length(argument: Any, column: str) -> int:
    length = number(str(argument))
    if length is None or not 1 <= length <= LONGEST_PREFIX or not is_whole(length):
        what = f"prefix of column '{column}' must be a whole number of characters"
        raise PolicyError(what, hint=f"from 1 to {LONGEST_PREFIX}, for example {{prefix: 5}}")
    return int(length)


def _units(argument: Any, column: str) -> list[str]:
    units = [str(unit) for unit in _listed(argument, "dates", "[month, year]", column)]
    for unit in units:
        if unit not in _DATES:
            raise PolicyError(f"unknown date unit '{unit}' of column '{column}'", hint=nearest(unit, list(_DATES)))
    return units


def _listed(argument: Any, rule: str, example: str, column: str) -> list[Any]:
    if not isinstance(argument, list | tuple) or not argument:
        raise PolicyError(f"{rule} of column '{column}' takes a list", hint=f"for example {{{rule}: {example}}}")
    return list(argument)


def _known_list(argument: Any, column: str) -> str:
    if str(argument) not in LISTS:
        hint = nearest(str(argument), list(LISTS))
        raise PolicyError(f"unknown list '{argument}' in the hierarchy of column '{column}'", hint=hint)
    return str(argument)


def _ordered(argument: Any, column: str) -> list[str]:
    values = [str(value) for value in _listed(argument, ORDER, "[mild, moderate, severe]", column)]
    if len(set(values)) < len(values) or ROOT in values:
        raise PolicyError(f"the order of column '{column}' names a value twice, or '*'", hint="name every value once")
    return values


_ARGUMENTS: dict[str, Callable[[Any, str], Any]] = {
    "intervals": _widths, "cuts": cut_levels, "prefix": _length, "dates": _units, "list": _known_list, ORDER: _ordered
}  # fmt: skip


# ---- from a policy and values to a domain ------------------------------------------------------------------------------


def build_generalization(spec: Any, values: Sequence[str], *, column: str, base: Path = Path(".")) -> Generalization:
    """The domain of a column from its ``hierarchy:`` entry and the distinct values of the data."""
    present = without(values, MISSING)
    missing = len(present) < len(values)
    if missing and spec == "ranges":
        what = f"row {row_of(values, MISSING)} of column '{column}' is missing" if row_of(values, MISSING) else ""
        what = what or f"column '{column}' has missing values"
        raise DataError(f"{what}, and what is missing has no place in a range", hint="give it {intervals: […]}, or leave it out")
    if missing and not present and not is_standing(spec):
        return Hierarchy.flat([MISSING])
    domain = _coded(spec, present, column, base) if is_coded(spec) else _build(spec, present, column, base)
    return domain.with_missing() if missing and isinstance(domain, Hierarchy) else domain


def _coded(spec: Mapping[Any, Any], values: Sequence[str], column: str, base: Path) -> Hierarchy:
    """The tree over coded values, by the rule beside the words, with the two ends directly under its root."""
    require_rule(spec, column=column)
    coding = Coding.of(with_table(spec, base), column=column)
    found = coding.of_all(values, column)
    shown = [value for value in dict.fromkeys(found.values()) if value not in coding.ends() and value != MISSING]
    rule = without_coding(spec) or None
    built = _build(rule, shown, column, base) if shown or is_standing(rule) else None  # everybody may lie at an end
    assert built is None or isinstance(built, Hierarchy)
    root = ROOT if built is None else built.names[built.root]
    ends = [[label, root] for label in coding.ends() if label in found.values()]
    blank = [[MISSING, root]] if MISSING in found.values() else []
    tree = Hierarchy.from_paths([*([] if built is None else built.paths()), *ends, *blank])
    return replace(tree, coded={value: label for value, label in found.items() if value != label})


def _build(spec: Any, values: Sequence[str], column: str, base: Path) -> Hierarchy | Ranges:
    if isinstance(spec, Hierarchy | Ranges):
        return spec
    if spec is None:
        return by_nature(values, column=column)
    if spec == "flat":
        _refuse_stars(values, column, ROOT.__eq__)
        return Hierarchy.flat(sorted(values))
    if spec == "ranges":
        return Ranges.of(values, column=column)
    if isinstance(spec, str | Path):
        return load_hierarchy(base / spec)
    require_rule(spec, column=column)
    ((rule, argument),) = spec.items()
    if rule == "intervals":
        return by_intervals(values, _widths(argument, column), column=column)
    if rule == "cuts":
        return by_cuts(values, cut_levels(argument, column), column=column)
    if rule == "prefix":
        return by_prefix(values, _length(argument, column), column=column)
    if rule == "dates":
        return by_dates(values, _units(argument, column), column=column)
    if rule == "list":
        _refuse_stars(values, column, ROOT.__eq__)
        return by_list(list(values), _known_list(argument, column))
    if rule == ORDER:
        return by_order(_ordered(argument, column))
    return Hierarchy.from_tree(spec, name=f"hierarchy of '{column}'")


def _refuse_stars(values: Sequence[str], column: str, starred: Callable[[str], bool]) -> None:
    """A value that looks like one the release makes could not be told from it."""
    for value in values:
        if starred(value):
            row = row_of(values, value)
            what = f"row {row} of column '{column}'" if row else f"a value of column '{column}'"
            hint = "list it in 'missing: [\"*\"]' under data if it means nothing, or clean the column"
            raise DataError(f"{what} holds '*', which stands for what is not published", hint=hint)


def by_prefix(values: Sequence[str], length: int, *, column: str = "prefix") -> Hierarchy:
    """Codes of `length` characters that lose one character after the other."""
    _refuse_stars(values, column, lambda value: ROOT in value)
    rows = []
    for value in sorted(values):
        masked = [value[:keep] + "*" * (len(value) - keep) for keep in range(min(length, len(value)) - 1, 0, -1)]
        rows.append([value, *masked, ROOT])
    return Hierarchy.from_paths(rows)


def by_nature(values: Sequence[str], *, column: str) -> Hierarchy:
    """What is best where nothing is said: numbers in intervals at round numbers, everything else kept or suppressed.

    A few numbers (grades, codes of two sexes) are kept or suppressed, too, and so are digits with leading zeros, which are codes.

    >>> by_nature(["3", "17", "12", "41", "8", "9", "unknown"], column="age").paths()[1]
    ['8', '5-9', '0-9', '0-49', '*']
    >>> by_nature(["1", "2", "3"], column="class").paths()[0]
    ['1', '*']
    """
    _refuse_stars(values, column, ROOT.__eq__)
    read = {value: number(value) for value in values if not _is_code(value)}
    found = sorted((quantity, value) for value, quantity in read.items() if quantity is not None)
    quantities = {value for _, value in found}
    others = sorted(value for value in values if value not in quantities)
    if len(found) <= _FEW or any(span(value) is not None for value in others):  # I3
        return Hierarchy.flat(sorted(values))
    places = max(max(-int(quantity.as_tuple().exponent), 0) for quantity, _ in found)
    steps = _ladder(places, EXACT.subtract(found[-1][0], found[0][0]))
    steps = steps if others or len(steps) == 1 else steps[:-1]  # the widest tells numbers from texts
    rows = [[leaf, *(_bin(value, step, places == 0) for step in steps), ROOT] for value, leaf in found]
    return Hierarchy.from_paths([*rows, *([value, ROOT] for value in others)])


def _is_code(value: str) -> bool:
    return value[:1] == "0" and value[1:2].isdigit()


def _ladder(places: int, whole: Decimal) -> list[Decimal]:
    """5, 10, 50, 100 … units of the last decimal place, until one of them is wider than all values together (I3)."""
    steps: list[Decimal] = []
    width, times = Decimal(1).scaleb(-places), itertools.cycle((5, 2))
    while not steps or steps[-1] <= whole:
        width = EXACT.multiply(width, Decimal(next(times)))
        steps.append(width)
    return steps


def by_intervals(values: Sequence[str], widths: Sequence[Decimal | int], *, column: str) -> Hierarchy:
    """Numbers in bins of ever greater width, aligned at zero; each width must be a multiple of the one before."""
    steps = _widths(list(widths), column)
    ordered = sorted(zip(numbers(values, column), values, strict=True))
    whole = all(map(is_whole, (*steps, *(value for value, _ in ordered))))
    return Hierarchy.from_paths([[leaf, *(_bin(value, step, whole) for step in steps), ROOT] for value, leaf in ordered])


def _bin(value: Decimal, width: Decimal, whole: bool) -> str:
    """Around `value`; the ends are multiples of the width, exact at any size (I2)."""
    over = EXACT.remainder(value, width)
    times = EXACT.divide_int(EXACT.subtract(value, over), width)
    low = EXACT.multiply(EXACT.subtract(times, 1) if over < 0 else times, width)
    high = EXACT.add(low, width)
    return f"{plain(low)}-{plain(EXACT.subtract(high, 1))}" if whole else f"[{plain(low)}, {plain(high)})"


def by_order(values: Sequence[str]) -> Hierarchy:
    """Two neighbours are joined, and two pairs, and so on.

    >>> by_order(["none", "mild", "severe"]).paths()
    [['none', 'none to mild', '*'], ['mild', 'none to mild', '*'], ['severe', '*']]
    """
    level = [(value, value) for value in values]
    rows = {value: [value] for value in values}
    place = {value: number for number, value in enumerate(values)}
    while len(level) > 2:
        level = [(pair[0][0], pair[-1][1]) for pair in (level[at : at + 2] for at in range(0, len(level), 2))]
        for first, last in level:
            for value in values[place[first] : place[last] + 1]:
                rows[value].append(f"{first} to {last}" if first != last else value)
    return Hierarchy.from_paths([[*rows[value], ROOT] for value in values])


def by_dates(values: Sequence[str], units: Sequence[str], *, column: str) -> Hierarchy:
    """Dates (ISO 8601) in ever longer spans."""
    _units(list(units), column)
    rows = []
    for value in sorted(values):
        if moment(value) is None:
            row = row_of(values, value)
            what = f"row {row} of column '{column}' is no date" if row else f"column '{column}' has a value that is no date"
            raise DataError(what, hint="write dates as 2024-12-31, or list what means nothing in 'missing: […]' under data")
        day = dt.date.fromisoformat(value[:10])
        rows.append([value, *(_DATES[unit](day) for unit in units), ROOT])
    return Hierarchy.from_paths(rows, name=f"dates of '{column}'")
