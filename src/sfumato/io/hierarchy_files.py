"""Where hierarchies come from: the field's CSV files, and rules that build a tree over the values of a column.

A file has one row per leaf, ``leaf;level1;…;root``, with ``;`` or ``,`` between the cells and no header, as ARX and
anjana write them; files of Amnesia are read, too (`io.hierarchy_files`). Rules are ``intervals`` (numbers in ever wider
bins), ``cuts`` (bins between chosen points, `io.hierarchy_files`), ``prefix`` (codes that lose their last characters),
``dates``, ``list`` (countries, diagnoses and other known lists), ``order`` (neighbours are joined), ``ranges`` (any
interval of numbers), nested YAML, flat (kept or suppressed), and the words of `io.value_coding` (top, bottom, round,
recode), alone or beside one of these. By default numbers are grouped into intervals at round numbers and everything
else is flat (`by_nature`).

Invariants
    I1  What `save_hierarchy` writes, `load_hierarchy` reads as the same tree, whatever characters the labels contain.
        Lines end with CR, LF or both and with nothing else; only blanks around unquoted cells are dropped.
    I2  A label that a rule makes from numbers is read back (`numbers.span`) as an interval around every leaf below it.
    I3  The intervals of `by_nature` are taken from one endless ladder (1, 5, 10, 50, 100 …), so that trees over more or
        other values know the same labels; no text that looks like such a label stands beside them.

>>> by_prefix(["71000", "71999", "72000"], 5).paths()[0]
['71000', '7100*', '710**', '71***', '7****', '*']
>>> by_intervals(["3", "17", "12"], [10, 20], column="age").paths()
[['3', '0-9', '0-19', '*'], ['12', '10-19', '0-19', '*'], ['17', '10-19', '0-19', '*']]
>>> by_dates(["2009-01-03"], ["month", "year"], column="born").paths()
[['2009-01-03', '2009-01', '2009', '*']]


Cut points
----------
``{cuts: …}``: numbers in bins between chosen points; several lists, from fine to coarse, make several levels.

A bin holds its lower point and everything below the next one. The first and the last point are the ends: a value
outside them is an error, so every label says what it stands for, and a table of the next year knows the same labels.

Invariants
    I1  Bins nest: the points of a coarser level are some of the points of the finer one, with the same ends.
    I2  A label is read back (`numbers.span`) as an interval around every leaf below it.

>>> by_cuts(["3", "18", "64"], cut_levels(["0", "18", "65"], "age"), column="age").paths()
[['3', '0-17', '*'], ['18', '18-64', '*'], ['64', '18-64', '*']]
>>> by_cuts(["0.5", "2"], cut_levels([["0", "1", "2", "3"], ["0", "2", "3"]], "dose"), column="dose").paths()[0]
['0.5', '[0, 1)', '[0, 2)', '*']


Amnesia
-------
Hierarchies as Amnesia writes them: a few lines about the file, then ``parent has child child …``, one level after the
other.

    distinct                          range
    name towns                        name ages
    type string                       type int
    height 3                          height 2

    South has Ulm Augsburg            0,99 has 0,17 18,64 65,99
    North has Kiel

    World has South North

Names are words without blanks, as in Amnesia itself. A *distinct* hierarchy is a tree over values. In a *range*
hierarchy the smallest entries are ranges of numbers rather than values; it becomes the rule ``{cuts: …}``, whose bins
begin where the ranges do.

>>> rows_of_amnesia("distinct\\nname t\\n\\nSouth has Ulm Augsburg\\n\\nWorld has South Kiel\\n", "t.txt")
[['Ulm', 'South', 'World'], ['Augsburg', 'South', 'World'], ['Kiel', 'World']]
>>> cuts_of_amnesia("range\\ntype int\\n\\n0,64 has 0,17 18,64\\n65,99 has 65,79 80,99\\n\\n0,99 has 0,64 65,99\\n",
...     "a.txt")
[['0', '18', '65', '80', '100'], ['0', '65', '100']]
"""

from __future__ import annotations

import datetime as dt
import difflib
import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from sfumato.core.confinement import declared_path
from sfumato.core.errors import DataError, PolicyError
from sfumato.core.registry import nearest
from sfumato.data.generalization import MISSING, Generalization, Ranges
from sfumato.data.hierarchy import ROOT, Hierarchy
from sfumato.data.text_values import (
    EXACT,
    first_row_of,
    format_number,
    is_whole,
    parse_interval,
    parse_number,
    parse_numbers,
    parse_timestamp,
    without_label,
)
from sfumato.io.csv_format import require_quotes
from sfumato.io.file_contents import is_there, read_bytes
from sfumato.io.known_hierarchies import LEVELS, LISTS, by_list
from sfumato.io.value_coding import Coding, is_coded, with_table, without_coding

MOST_POINTS = 1_000
MOST_LEVELS = 1_000
"""The most levels of a hierarchy in a file."""
MOST_CELLS = 2_000_000
"""The most cells that the rows of a file of parents and children may have: one for every entry above every value."""


def cut_levels(argument: Any, column: str) -> list[list[Decimal]]:
    """The points of every level, from fine to coarse."""
    listed = isinstance(argument, list | tuple) and bool(argument)
    levels = argument if listed and all(isinstance(entry, list | tuple) for entry in argument) else [argument]
    read = [_points(level, column) for level in levels]
    for fine, coarse in pairwise(read):
        if not set(coarse) <= set(fine) or (coarse[0], coarse[-1]) != (fine[0], fine[-1]):  # I1
            what = (
                f"cuts of column '{column}' do not nest: a coarser list holds some points of the finer one, with the"
                " same ends"
            )
            raise PolicyError(what, hint="for example {cuts: [[0, 18, 30, 65, 120], [0, 30, 120]]}")
    return read


def _points(level: Any, column: str) -> list[Decimal]:
    hint = "for example {cuts: [0, 18, 30, 65, 120]}; the first and the last one are the ends"
    points = [parse_number(str(entry)) for entry in level] if isinstance(level, list | tuple) else []
    found = [point for point in points if point is not None]
    if len(found) < max(2, len(points)) or len(found) > MOST_POINTS:
        raise PolicyError(f"cuts of column '{column}' are at least two numbers", hint=hint)
    if any(low >= high for low, high in pairwise(found)):
        raise PolicyError(f"cuts of column '{column}' do not rise", hint=hint)
    return found


def by_cuts(values: Sequence[str], levels: Sequence[Sequence[Decimal]], *, column: str) -> Hierarchy:
    """Numbers in the bins of every level."""
    ordered = sorted(zip(parse_numbers(values, column), values, strict=True))
    low, high = levels[0][0], levels[0][-1]
    for value, leaf in ordered:
        if not low <= value < high:
            row = first_row_of(values, leaf)
            what = f"row {row} of column '{column}'" if row else f"a value of column '{column}'"
            raise DataError(
                f"{what} lies outside its cuts ({format_number(low)} to below {format_number(high)})",
                hint="move the first or the last one",
            )
    whole = all(map(is_whole, (*levels[0], *(value for value, _ in ordered))))
    return Hierarchy.from_paths(
        [[leaf, *(_cut_points_bin(value, level, whole) for level in levels), ROOT] for value, leaf in ordered]
    )


def _cut_points_bin(value: Decimal, points: Sequence[Decimal], whole: bool) -> str:
    at = bisect_right(points, value)
    low, high = points[at - 1], points[at]
    return (
        f"{format_number(low)}-{format_number(EXACT.subtract(high, 1))}"
        if whole
        else f"[{format_number(low)}, {format_number(high)})"
    )  # I2


# Hierarchies
# -----------


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
    "use a file, flat, ranges, {intervals: […]}, {cuts: […]}, {prefix: n}, {dates: […]}, {list: countries}, {order:"
    " […]}, {top: 90}, {bottom: 18}, {round: 5}, {recode: {old: new}} or a nested root"
)


def load_hierarchy(path: Path) -> Hierarchy:
    """The hierarchy in a file of rows ``leaf;…;root``."""
    if not is_there(path):
        raise PolicyError(
            f"no such hierarchy file: {path.name}", where=str(path), hint="paths are relative to the policy file"
        )
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
        raise DataError(
            f"hierarchy {path.name} is empty", where=str(path), hint="write one row 'leaf;…;root' per value"
        )
    if max(map(len, rows)) > MOST_LEVELS:
        raise _too_deep(path.name)
    return Hierarchy.from_paths(rows, name=f"hierarchy {path.name}")


def _too_deep(name: str) -> DataError:
    return DataError(f"hierarchy {name} has more than {MOST_LEVELS:,} levels", hint="leave out levels")


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
    """Whether a ``hierarchy:`` entry is a tree by itself, rather than a rule that grows one from the values of the
    data."""
    if isinstance(spec, Mapping):
        return not is_coded(spec) and not set(spec) & set(RULES)
    return isinstance(spec, Hierarchy) or (isinstance(spec, str | Path) and spec not in {"flat", "ranges"})


# ---- what a policy says ----------------------------------------------------------------------------------------------


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
        raise PolicyError(
            f"the hierarchy of column '{column}' is nested too deep", where=where, hint="keep it in a file"
        ) from None


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
    widths = [parse_number(str(width)) for width in _listed(argument, "intervals", "[5, 10]", column)]
    read = [width for width in widths if width is not None and width > 0]
    if len(read) < len(widths):
        raise PolicyError(
            f"intervals of column '{column}' are widths above zero", hint="for example {intervals: [5, 10]}"
        )
    for narrow, wide in pairwise(read):
        if EXACT.remainder(wide, narrow):
            what = f"intervals of column '{column}': {format_number(wide)} is no multiple of {format_number(narrow)}"
            raise PolicyError(what, hint="let each width be a multiple of the one before")
    return read


def _length(argument: Any, column: str) -> int:
    length = parse_number(str(argument))
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


def level_names(spec: Any) -> list[str]:
    """Return the names of the levels of a ``hierarchy:`` entry, the values first; none where levels have no names.

    >>> level_names({"dates": ["month", "year"]}), level_names({"intervals": [5, 10]}), level_names({"list": "icd"})
    (['day', 'month', 'year'], ['value', 'width 5', 'width 10'], ['value', 'category', 'chapter'])
    """
    rule = without_coding(spec) if isinstance(spec, Mapping) else spec
    if spec is None or not isinstance(rule, Mapping) or len(rule) != 1:
        return []
    ((name, argument),) = rule.items()
    if name == "dates":
        return ["day", *_units(argument, "")]
    if name == "intervals":
        return ["value", *(f"width {format_number(width)}" for width in _widths(argument, ""))]
    return ["value", *LEVELS[str(argument)]] if name == "list" else []


def require_level(spec: Any, level: str, *, column: str, where: str = "") -> None:
    """Refuse the name of a level that the hierarchy of a column does not have."""
    names = level_names(spec)
    if spec is not None and level not in names:
        known = f"its levels are {', '.join(names)}" if names else "write its number: 0 is the value, 1 the next level"
        raise PolicyError(f"the hierarchy of column '{column}' has no level '{level}'", where=where, hint=known)


def level_number(spec: Any, level: str, values: Sequence[str], *, column: str) -> int:
    """Return how many steps above the values a level is, by its name."""
    rule = natural_rule(without_label(values, MISSING), column=column) if spec is None else spec
    require_level(rule if rule is not None else "flat", level, column=column)
    return level_names(rule).index(level)


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


# ---- from a policy and values to a domain ----------------------------------------------------------------------------


def build_generalization(spec: Any, values: Sequence[str], *, column: str, base: Path = Path(".")) -> Generalization:
    """The domain of a column from its ``hierarchy:`` entry and the distinct values of the data."""
    present = without_label(values, MISSING)
    missing = len(present) < len(values)
    if missing and spec == "ranges":
        what = (
            f"row {first_row_of(values, MISSING)} of column '{column}' is missing"
            if first_row_of(values, MISSING)
            else ""
        )
        what = what or f"column '{column}' has missing values"
        raise DataError(
            f"{what}, and what is missing has no place in a range", hint="give it {intervals: […]}, or leave it out"
        )
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
        return load_hierarchy(declared_path(base, spec))
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
            row = first_row_of(values, value)
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

    A few numbers (grades, codes of two sexes) are kept or suppressed, too, and so are digits with leading zeros, which
    are codes.

    >>> by_nature(["3", "17", "12", "41", "8", "9", "unknown"], column="age").paths()[1]
    ['8', '5-9', '0-9', '0-49', '*']
    >>> by_nature(["1", "2", "3"], column="class").paths()[0]
    ['1', '*']
    """
    _refuse_stars(values, column, ROOT.__eq__)
    split = _natural_numbers(values)
    if split is None:
        return Hierarchy.flat(sorted(values))
    found, others = split
    steps, whole = _natural_steps(found, others), _places(found) == 0
    rows = [[leaf, *(_bin(value, step, whole) for step in steps), ROOT] for value, leaf in found]
    return Hierarchy.from_paths([*rows, *([value, ROOT] for value in others)])


Quantities = list[tuple[Decimal, str]]


def _natural_numbers(values: Sequence[str]) -> tuple[Quantities, list[str]] | None:
    """Return the numbers in their order and the texts among them; None where intervals would not help (I3)."""
    read = {value: parse_number(value) for value in values if not _is_code(value)}
    found = sorted((quantity, value) for value, quantity in read.items() if quantity is not None)
    quantities = {value for _, value in found}
    others = sorted(value for value in values if value not in quantities)
    if len(found) <= _FEW or any(parse_interval(value) is not None for value in others):
        return None
    return found, others


def _places(found: Quantities) -> int:
    return max(max(-int(quantity.as_tuple().exponent), 0) for quantity, _ in found)


def _natural_steps(found: Quantities, others: Sequence[str]) -> list[Decimal]:
    steps = _ladder(_places(found), EXACT.subtract(found[-1][0], found[0][0]))
    return steps if others or len(steps) == 1 else steps[:-1]  # the widest tells numbers from texts


def natural_rule(values: Sequence[str], *, column: str) -> Any:
    """Return the rule that `by_nature` follows for these values; None where it keeps or suppresses them."""
    found = _natural_numbers(values)
    if found is None:
        return None
    quantities, others = found
    steps = _natural_steps(quantities, others)
    return {"intervals": [format_number(step) for step in steps]}


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
    ordered = sorted(zip(parse_numbers(values, column), values, strict=True))
    whole = all(map(is_whole, (*steps, *(value for value, _ in ordered))))
    return Hierarchy.from_paths(
        [[leaf, *(_bin(value, step, whole) for step in steps), ROOT] for value, leaf in ordered]
    )


def _bin(value: Decimal, width: Decimal, whole: bool) -> str:
    """Around `value`; the ends are multiples of the width, exact at any size (I2)."""
    over = EXACT.remainder(value, width)
    times = EXACT.divide_int(EXACT.subtract(value, over), width)
    low = EXACT.multiply(EXACT.subtract(times, 1) if over < 0 else times, width)
    high = EXACT.add(low, width)
    return (
        f"{format_number(low)}-{format_number(EXACT.subtract(high, 1))}"
        if whole
        else f"[{format_number(low)}, {format_number(high)})"
    )


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
        if parse_timestamp(value) is None:
            row = first_row_of(values, value)
            what = (
                f"row {row} of column '{column}' is no date"
                if row
                else f"column '{column}' has a value that is no date"
            )
            raise DataError(
                what, hint="write dates as 2024-12-31, or list what means nothing in 'missing: […]' under data"
            )
        day = dt.date.fromisoformat(value[:10])
        rows.append([value, *(_DATES[unit](day) for unit in units), ROOT])
    return Hierarchy.from_paths(rows, name=f"dates of '{column}'")


# Amnesia
# -------


_ABOUT = ("distinct", "range", "name", "type", "height")
_HAS = "has"


def is_amnesia(text: str) -> bool:
    """Whether a text begins like a hierarchy of Amnesia: with a line of one word, which no file of rows does."""
    return text.lstrip("\ufeff \t\r\n").split("\n", 1)[0].strip() in ("distinct", "range")


def is_range(text: str) -> bool:
    """Whether its entries are ranges of numbers."""
    return text.lstrip("\ufeff \t\r\n").split("\n", 1)[0].strip() == "range"


def rows_of_amnesia(text: str, name: str) -> list[list[str]]:
    """Rows ``leaf, …, root``, in the order of the file."""
    parents: dict[str, str] = {}
    children: list[str] = []
    inner: set[str] = set()
    for line, parent, below in _families(text, name):
        inner.add(parent)
        for child in below:
            if child in parents:
                what = f"hierarchy {name} is not a tree: '{child}' has two parents, '{parents[child]}' and '{parent}'"
                raise DataError(what, where=f"{name}:{line}", hint="give each entry one parent")
            parents[child] = parent
            children.append(child)
    rows: list[list[str]] = []
    cells = 0
    for leaf in (child for child in children if child not in inner):
        rows.append(_climbed(leaf, parents, name))
        cells += len(rows[-1])
        if cells > MOST_CELLS:
            what = f"hierarchy {name} has more than {MOST_CELLS:,} entries above its values"
            raise DataError(what, hint="leave out levels, or values that do not occur")
    return rows


def _climbed(leaf: str, parents: dict[str, str], name: str) -> list[str]:
    row, met = [leaf], {leaf}
    while row[-1] in parents:
        row.append(parents[row[-1]])
        if row[-1] in met:
            raise DataError(f"hierarchy {name} is not a tree: '{row[-1]}' stands above itself", hint="break the circle")
        if len(row) > MOST_LEVELS:
            raise _too_deep(name)
        met.add(row[-1])
    return row


def cuts_of_amnesia(text: str, name: str) -> list[list[str]]:
    """The points of ``{cuts: …}``, level by level from fine to coarse."""
    ends: dict[str, tuple[Decimal, Decimal]] = {}
    depth: dict[str, int] = {}
    families = list(_families(text, name))
    for line, parent, below in families:
        for entry in (parent, *below):
            ends[entry] = _range(entry, f"{name}:{line}")
    above = {child: parent for _, parent, below in families for child in below}
    parents = set(above.values())
    for entry in ends:
        depth[entry] = _steps(entry, above, name)
    deepest = max(depth.values(), default=0)
    last = max(high for _, high in ends.values()) if ends else Decimal(0)
    levels = []
    for level in range(deepest, 0, -1):
        shown = {entry for entry in ends if depth[entry] == level or (depth[entry] < level and entry not in parents)}
        levels.append(sorted({ends[entry][0] for entry in shown} | {_after(last)}))
    return [[format_number(point) for point in level] for level in levels]


def _steps(entry: str, above: dict[str, str], name: str) -> int:
    steps = 0
    while entry in above:
        entry, steps = above[entry], steps + 1
        if steps > len(above):
            raise DataError(f"hierarchy {name} is not a tree: an entry stands above itself", hint="break the circle")
        if steps >= MOST_LEVELS:
            raise _too_deep(name)
    return steps


def _range(entry: str, where: str) -> tuple[Decimal, Decimal]:
    low, comma, high = entry.partition(",")
    ends = parse_number(low), parse_number(high)
    if not comma or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
        raise DataError(f"'{entry}' is no range", where=where, hint="ranges are written low,high")
    return _plain(ends[0]), _plain(ends[1])


def _plain(value: Decimal) -> Decimal:
    """Without zeros that nobody needs: 18.0 is 18."""
    whole = value.to_integral_value()
    return whole if whole == value else value.normalize()


def _after(last: Decimal) -> Decimal:
    """The upper end belongs to the last range: the next number of as many places is the first outside."""
    return last + Decimal(1).scaleb(min(int(last.as_tuple().exponent), 0))


def _families(text: str, name: str) -> Iterator[tuple[int, str, list[str]]]:
    """Number of the line, parent, children."""
    begun = False
    for line, content in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        words = content.split()
        if not words or (not begun and words[0] in _ABOUT and _HAS not in words[1:2]):
            continue
        begun = True
        if len(words) < 3 or words[1] != _HAS:
            raise DataError(
                f"line {line} is not 'parent has child …'",
                where=f"{name}:{line}",
                hint="names are words without blanks",
            )
        yield line, words[0], words[2:]
