"""A judge of sub-tables and anatomies by possible worlds.

A world says which row of every published table, and which listed value of its bucket, belongs to which person. All
worlds in which the tables agree on the columns that they share are equally likely. An adversary who knows columns of a
person believes a hidden combination with its share among all pairs of a world and a person with these known values.

Everything is read from the published files and counted in whole numbers; nothing of `sfumato` is imported.

>>> rows = Sheet(("b", "c"), (("0", "x"), ("0", "y"), ("1", "x")))
>>> belief = beliefs([rows, Sheet(("a",), (("u",), ("v",), ("v",)))], ["b"], ["c", "a"])
>>> sorted(belief.of[("1",)].items())
[(('x', 'u'), Fraction(1, 3)), (('x', 'v'), Fraction(2, 3))]
"""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

Row = tuple[str, ...]
Distribution = Mapping[Row, Fraction]
MOST_WORLDS = 200_000


class Unjudged(Exception):
    """The release has too many worlds, or says nothing about some hidden values."""


@dataclass(frozen=True)
class Sheet:
    """One published table: rows, and behind buckets the lists of hidden values."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    bucket: tuple[str, ...] = ()
    """The bucket of every row, where there are buckets."""
    lists: tuple[tuple[tuple[str, ...], Mapping[str, Counter[Row]]], ...] = field(default=())
    """Hidden columns, and per bucket their values with counts; lists of one table are dealt independently of each
    other."""


@dataclass(frozen=True)
class Beliefs:
    """For every combination of known values the distribution of what is hidden; and that of everybody."""

    of: Mapping[Row, Distribution]
    everybody: Distribution


def read_release(folder: Path, sensitive: str = "") -> list[Sheet]:
    """Read the tables of a release folder: ``table-n`` with ``table-n-sensitive``, or ``data`` with ``sensitive…``.

    `sensitive` names the column that the one list of an anatomy does not name itself.
    """
    files = {file.stem: file for file in sorted(folder.glob("*.csv"))}
    names = [
        name
        for name in files
        if name == "data" or (name.startswith("table-") and name.removeprefix("table-").isdigit())
    ]
    return [_sheet(name, files, sensitive) for name in names]


def _sheet(name: str, files: Mapping[str, Path], sensitive: str) -> Sheet:
    header, rows = _cells(files[name])
    if "bucket" not in header:
        return Sheet(header, tuple(rows))
    at = header.index("bucket")
    shown = tuple(place for place in range(len(header)) if place != at)
    beside = [other for other in files if other.startswith("sensitive" if name == "data" else f"{name}-sensitive")]
    lists = tuple(
        _list(sensitive if other == "sensitive" else other.removeprefix("sensitive-"), files[other]) for other in beside
    )
    bucket = tuple(row[at] for row in rows)
    if "*" in bucket:
        raise Unjudged("hidden values are withheld")
    return Sheet(
        tuple(header[place] for place in shown), tuple(tuple(row[p] for p in shown) for row in rows), bucket, lists
    )


def _list(name: str, file: Path) -> tuple[tuple[str, ...], dict[str, Counter[Row]]]:
    header, rows = _cells(file)
    hidden = tuple(column for column in header if column not in ("bucket", "count", "column"))
    found: dict[str, Counter[Row]] = defaultdict(Counter)
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        found[cells["bucket"]][tuple(cells[column] for column in hidden)] += int(cells["count"])
    if hidden == ("value",):
        hidden = ({row[header.index("column")] for row in rows}.pop() if "column" in header else name,)
    return hidden, dict(found)


def _cells(file: Path) -> tuple[Row, list[Row]]:
    with file.open(encoding="utf-8", newline="") as lines:
        header, *rows = (tuple(row) for row in csv.reader(lines))
    return header, rows


def beliefs(sheets: Sequence[Sheet], given: Sequence[str], hidden: Sequence[str]) -> Beliefs:
    """Count every world; raises `Unjudged` when there are too many."""
    return beliefs_of(records_in_worlds(sheets), given, hidden)


def records_in_worlds(sheets: Sequence[Sheet], most: int = MOST_WORLDS) -> Counter[tuple[tuple[str, str], ...]]:
    """How often a person has each record, over all worlds and people; raises `Unjudged` when there are more than `most`
    worlds."""
    found: Counter[tuple[tuple[str, str], ...]] = Counter()
    for many, people in enumerate(worlds(sheets)):
        if many >= most:
            raise Unjudged("too many worlds")
        found.update(tuple(person.items()) for person in people)
    return found


def beliefs_of(
    records: Mapping[tuple[tuple[str, str], ...], int], given: Sequence[str], hidden: Sequence[str]
) -> Beliefs:
    """What is believed of hidden columns by whoever knows the given ones; a column in no table tells nothing."""
    of: dict[Row, Counter[Row]] = defaultdict(Counter)
    everybody: Counter[Row] = Counter()
    for items, many in records.items():
        person = dict(items)
        value = tuple(person[name] for name in hidden if name in person)
        of[tuple(person[name] for name in given if name in person)][value] += many
        everybody[value] += many
    return Beliefs({known: _shares(counted) for known, counted in of.items()}, _shares(everybody))


def _shares(counted: Counter[Row]) -> dict[Row, Fraction]:
    return {value: Fraction(many, counted.total()) for value, many in counted.items()}


def worlds(sheets: Sequence[Sheet]) -> Iterator[list[dict[str, str]]]:
    """Every world, as the records of all people; equal rows are not told apart, which leaves all worlds equally
    likely."""
    people: list[dict[str, str]] = [{} for _ in sheets[0].rows]
    return _dealt(people, [_deals(sheet, place) for place, sheet in enumerate(sheets)])


Deal = Callable[[list[dict[str, str]]], Iterator[None]]


def _dealt(people: list[dict[str, str]], deals: Sequence[Sequence[Deal]]) -> Iterator[list[dict[str, str]]]:
    steps = [step for each in deals for step in each]

    def go(place: int) -> Iterator[list[dict[str, str]]]:
        if place == len(steps):
            yield people
            return
        for _ in steps[place](people):
            yield from go(place + 1)

    return go(0)


def _deals(sheet: Sheet, place: int) -> list[Deal]:
    """The steps that deal a table: its rows, then every list of hidden values."""
    key = f"bucket of {place}"
    names = (*sheet.columns, *([key] if sheet.bucket else []))
    buckets = sheet.bucket or ((),) * len(sheet.rows)
    rows = Counter((*row, *([bucket] if sheet.bucket else [])) for row, bucket in zip(sheet.rows, buckets, strict=True))
    steps: list[Deal] = [lambda people: _deal(people, 0, names, rows)]
    for hidden, listed in sheet.lists:
        entries = Counter(
            {(*value, bucket): many for bucket, values in listed.items() for value, many in values.items()}
        )
        steps.append(lambda people, hidden=hidden, entries=entries: _deal(people, 0, (*hidden, key), entries))
    return steps


def _deal(people: list[dict[str, str]], who: int, names: Sequence[str], left: Counter[Any]) -> Iterator[None]:
    """Give everybody from `who` on one of the rows that are left and agree with what the person has already."""
    if who == len(people):
        yield
        return
    person = people[who]
    new = [name for name in names if name not in person]
    for row in [row for row, many in left.items() if many]:
        cells = dict(zip(names, row, strict=True))
        if all(person.get(name, value) == value for name, value in cells.items()):
            left[row] -= 1
            person.update(cells)
            yield from _deal(people, who + 1, names, left)
            left[row] += 1
            for name in new:
                del person[name]


# Definitions
# -----------


def satisfied(model: str, level: Mapping[str, Any], seen: Beliefs) -> bool:
    """Whether every belief satisfies a model, computed from its definition."""
    return all(DEFINITIONS[model](level, belief, seen.everybody) for belief in seen.of.values())


def _diversity(level: Mapping[str, Any], belief: Distribution, everybody: Distribution) -> bool:
    kind, l = level.get("kind", "distinct"), Fraction(str(level["l"]))
    if kind == "distinct":
        return len(belief) >= l
    if kind == "frequency":
        return max(belief.values()) * l <= 1
    if kind == "entropy":
        return -sum(float(p) * math.log(p) for p in belief.values()) >= math.log(l) - 1e-9
    ranked = sorted(belief.values(), reverse=True)
    return ranked[0] < Fraction(str(level.get("c", 3))) * sum(ranked[math.ceil(l) - 1 :])


def _closeness(level: Mapping[str, Any], belief: Distribution, everybody: Distribution) -> bool:
    gap = {value: belief.get(value, Fraction(0)) - share for value, share in everybody.items()}
    distance = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}[level.get("distance", "equal")]
    return distance(gap, level) <= Fraction(str(level["t"]))


def _equal(gap: Mapping[Row, Fraction], level: Mapping[str, Any]) -> Fraction:
    return sum((abs(each) for each in gap.values()), Fraction(0)) / 2


def _ordered(gap: Mapping[Row, Fraction], level: Mapping[str, Any]) -> Fraction:
    """The mass that passes each step of the order of the values that occur, over the number of steps."""
    order = [(value,) for value in level["order"] if (value,) in gap]
    passed = [sum((gap[value] for value in order[: place + 1]), Fraction(0)) for place in range(len(order))]
    return sum(map(abs, passed), Fraction(0)) / max(len(order) - 1, 1)


def _hierarchical(gap: Mapping[Row, Fraction], level: Mapping[str, Any]) -> Fraction:
    """The least work of moving mass between leaves, where a move costs the height of the lowest common node over that
    of the tree; mass is exchanged as low in the tree as it can."""

    def visit(tree: Any) -> tuple[int, Fraction, Fraction]:
        """Height, mass that is left over, and work so far."""
        if isinstance(tree, str):
            return 0, gap.get((tree,), Fraction(0)), Fraction(0)
        below = [visit(each) for each in (tree.values() if isinstance(tree, dict) else tree)]
        height = 1 + max(each[0] for each in below)
        over = sum((left for _, left, _ in below if left > 0), Fraction(0))
        short = -sum((left for _, left, _ in below if left < 0), Fraction(0))
        return height, over - short, sum((work for *_, work in below), Fraction(0)) + height * min(over, short)

    (root,) = level["tree"].values()
    height, _, work = visit(root)
    return work / height


def _likeness(level: Mapping[str, Any], belief: Distribution, everybody: Distribution) -> bool:
    beta = Fraction(str(level["beta"]))
    for value, share in belief.items():
        gain = share / everybody[value] - 1
        if gain > beta or (
            level.get("kind") == "enhanced" and gain > 0 and float(gain) > -math.log(everybody[value]) + 1e-9
        ):
            return False
    return True


def _disclosure(level: Mapping[str, Any], belief: Distribution, everybody: Distribution) -> bool:
    return all(
        value in belief and abs(math.log(belief[value] / share)) < level["delta"] for value, share in everybody.items()
    )


DEFINITIONS: Mapping[str, Callable[[Mapping[str, Any], Distribution, Distribution], bool]] = {
    "l-diversity": _diversity,
    "p-sensitivity": lambda level, belief, everybody: len(belief) >= level["p"],
    "k-linkability": lambda level, belief, everybody: len(belief) >= level["k"],
    "k-diversity": lambda level, belief, everybody: max(belief.values()) * level["k"] <= 1,
    "t-closeness": _closeness,
    "beta-likeness": _likeness,
    "delta-disclosure": _disclosure,
}
