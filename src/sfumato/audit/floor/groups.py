"""A form of release as groups: people whom an outsider who knows the given columns cannot tell apart.

By form
    recoded table    rows with the same given cells; each hidden column by itself
    replaced table   the same with the columns that were not replaced: new values tell nothing of a person
    anatomy          rows with the same given cells are the mixture of their buckets, each with the listed counts over its rows
    linked table, related tables   people with the same rows, and with the same line of their own
    locally suppressed table   rows that look alike, for every choice of known columns
    graph            people with the same number of ties; people without a tie are in no edge, only in the manifest's number

Invariants
    I1  A mixture is counted in whole numbers: shares of buckets are brought to one denominator.
    I2  The counts of a bucket add up to its rows, or nothing is counted.

Cost: one pass over different rows per claim; groups inside one bucket stand for all groups inside it.

>>> rows = Counter({("30-39", "flu"): 2, ("30-39", "gout"): 1, ("*", "flu"): 2})
>>> seen = looking_alike(Bag(("age", "illness"), rows), ["age"], ["illness"])
>>> seen.fewest, [dict(spread) for spread in seen.spreads["illness"]]
(2, [{'flu': 2, 'gout': 1}, {'flu': 2}])
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from math import lcm
from typing import Any, TypeVar

from sfumato.audit.floor.definitions import Groups, NotCounted
from sfumato.audit.floor.distances import Weights
from sfumato.audit.floor.files import Bag, Folder, Row, cells_at
from sfumato.audit.floor.written import Asked, Written
from sfumato.errors import ReleaseError

K = TypeVar("K")
MOST, TIMES = 1_000_000, 50
"""Pairs of a group and a value that are counted in any folder, and how many more for each of its rows."""
MOST_ELSEWHERE = 200_000
"""Rows with buckets that are brought together from where they lie: almost every one is different."""
_WIDEST = 1 << 512


def cells(part: Bag, columns: Iterable[str]) -> Callable[[Sequence[str]], Row]:
    """What stands in some columns of a row."""
    return cells_at([part.place(column) for column in columns])


def looking_alike(part: Bag, given: Sequence[str], hide: Sequence[str]) -> Groups:
    """Rows with the same given cells."""
    spreads = {column: _spreads(part, given, column) for column in hide}
    sizes = tuple(map(_sum, next(iter(spreads.values())))) if spreads else tuple(part.alike(given).values())
    return Groups(min(sizes, default=0), spreads, {column: added(each) for column, each in spreads.items()}, sizes)


def _sum(spread: Weights) -> int:
    return sum(spread.values())


def _spreads(part: Bag, given: Sequence[str], column: str) -> list[Weights]:
    if ("spreads", column, *given) not in part.seen:
        found: dict[Any, dict[str, int]] = defaultdict(dict)
        if part.known is None:
            for (known, value), count in part.alike(given, column).items():
                found[known][value] = count
        else:  # rows that are at hand need not be kept a second time
            pick, place = cells(part, given), part.place(column)
            for row, count in part.known.items():
                values = found[pick(row)]
                values[row[place]] = values.get(row[place], 0) + count
        part.seen["spreads", column, *given] = list(found.values())
    spreads: list[Weights] = part.seen["spreads", column, *given]
    return spreads


def added(spreads: Iterable[Mapping[K, int]]) -> Counter[K]:
    """All weights together."""
    whole: Counter[K] = Counter()
    for spread in spreads:
        for value, weight in spread.items():
            whole[value] = whole.get(value, 0) + weight
    return whole


def of_recoded(folder: Folder, policy: Written, asked: Asked) -> Groups:
    """Rows that look alike in the given columns."""
    return looking_alike(folder.part("data"), asked.given, asked.hide)


def of_linked(folder: Folder, policy: Written, asked: Asked) -> Groups:
    """People with the same rows, as their pseudonyms tie them: what is written in each row of theirs, and who ever has a value."""
    if asked.model not in OF_PEOPLE or asked.level.get("kind", "distinct") not in ("distinct", "frequency"):
        raise NotCounted("it is not defined for people in several rows")
    part = folder.part("data")
    known, whose = cells(part, asked.given), part.place("person")
    rows: dict[str, list[tuple[Row, Row]]] = defaultdict(list)
    for row, count in part.rows.items():
        rows[row[whose]] += [(known(row), row)] * count
    groups: dict[tuple[Row, ...], list[list[tuple[Row, Row]]]] = defaultdict(list)
    for mine in rows.values():
        groups[tuple(sorted(cell for cell, _ in mine))].append(mine)
    shares = asked.model == "alpha-k-anonymity" or asked.level.get("kind") == "frequency"
    spreads = {column: _of_bags(groups.values(), part.place(column), shares) for column in asked.hide}
    fewest = min(map(len, groups.values()), default=0)
    return Groups(fewest, spreads, {column: added(each) for column, each in spreads.items()})


def of_related(folder: Folder, policy: Written, asked: Asked) -> Groups:
    """People with the same line and the same rows; what rows say is counted among people who have some."""
    if asked.model not in OF_PEOPLE or asked.level.get("kind", "distinct") not in ("distinct", "frequency"):
        raise NotCounted("it is not defined for people in several rows")
    lines, part = folder.part("people"), folder.part("rows")
    own = [name for name in asked.given if name in lines.columns]
    known, whose = cells(part, [name for name in asked.given if name not in own]), part.place("person")
    rows: dict[str, list[tuple[Row, Row]]] = {row[lines.place("person")]: [] for row in lines.rows}
    if len(rows) != sum(lines.rows.values()):
        raise ReleaseError("a pseudonym stands twice in the table of people")
    for row, count in part.rows.items():
        rows[row[whose]] += [(known(row), row)] * count
    line = {row[lines.place("person")]: (cells(lines, own)(row), row) for row in lines.rows}
    groups: dict[tuple[Row, tuple[Row, ...]], list[str]] = defaultdict(list)
    for name, mine in rows.items():
        groups[line[name][0], tuple(sorted(cell for cell, _ in mine))].append(name)
    shares = asked.model == "alpha-k-anonymity" or asked.level.get("kind") == "frequency"
    spreads = {}
    for column in asked.hide:
        of_people = column in lines.columns
        told = [[[line[name]] if of_people else rows[name] for name in names] for names in groups.values()]
        place = (lines if of_people else part).place(column)
        spreads[column] = _of_bags([people for people in told if people[0]], place, shares)
    fewest = min(map(len, groups.values()), default=0)
    return Groups(fewest, spreads, {column: added(each) for column, each in spreads.items()})


OF_PEOPLE = frozenset({"k-anonymity", "p-sensitivity", "l-diversity", "alpha-k-anonymity"})


def _of_bags(groups: Iterable[list[list[tuple[Row, Row]]]], place: int, shares: bool) -> list[Weights]:
    """Per group of people the values of rows written alike; and, of the value that most ever have, these people and others."""
    found: list[Weights] = []
    for people in groups:
        slots: dict[Row, Counter[str]] = defaultdict(Counter)
        for cell, row in (pair for mine in people for pair in mine):
            slots[cell][row[place]] += 1
        found += slots.values()
        most = max(Counter(value for mine in people for value in {row[place] for _, row in mine}).values())
        if most == len(people):
            found.append({"everybody": most})
        elif shares:
            found.append({"these": most} | {f"other {place}": 1 for place in range(len(people) - most)})
    return found


def of_suppressed(folder: Folder, policy: Written, asked: Asked) -> Groups:
    """Rows that look alike, for each choice of known columns."""
    part = folder.part("data")
    if asked.model != "subset-anonymity":
        return looking_alike(part, asked.given, asked.hide)
    known = combinations(asked.given, min(int(asked.level["m"]), len(asked.given)))
    sizes = [size for columns in known for size in part.alike(columns).values()]
    return Groups(min(sizes, default=0), sizes=sizes)


def of_release_alone(folder: Folder, policy: Written, asked: Asked) -> Groups:
    """For models of all releases: an outsider knows every quasi-identifier, and hidden columns may stand in other releases."""
    part = folder.part("data")
    known = [name for name, column in policy.columns.items() if column.role == "quasi-identifier" and name in part.columns]
    return looking_alike(part, known, [name for name in asked.hide if name in part.columns])


def of_replaced(folder: Folder, policy: Written, asked: Asked) -> Groups:
    """Rows that look alike in the given columns that were not replaced."""
    kept = [name for name in (*asked.given, *asked.hide) if policy.columns[name].role != "replaced"]
    if not set(asked.hide) <= set(kept):
        raise NotCounted("what is believed of a replaced column follows from its rules, not from a count")
    return looking_alike(folder.part("data"), [name for name in asked.given if name in kept], asked.hide)


# -- anatomy --------------------------------------------------------------------------------------------------------------------


def of_anatomy(folder: Folder, policy: Written, asked: Asked) -> Groups:
    """Rows that look alike, each with the values of its bucket."""
    if folder.rows_elsewhere("data") > MOST_ELSEWHERE:
        raise NotCounted(f"more than {MOST_ELSEWHERE:,} rows with buckets are not counted a second time")
    part = folder.part("data")
    buckets = _spreads(part, asked.given, "bucket")
    rows = added(buckets)
    spreads, overall = {}, {}
    for column in asked.hide:
        if column in part.columns:
            seen = looking_alike(part, asked.given, [column])
            spreads[column], overall[column] = seen.spreads[column], seen.overall[column]
        else:
            listed = values_in_buckets(folder, policy, column, rows)
            spreads[column], overall[column] = mixtures(buckets, listed), added(listed.values())
    return Groups(min(map(_sum, buckets), default=0), spreads, overall)


def values_in_buckets(folder: Folder, policy: Written, column: str, rows: Weights) -> dict[str, dict[str, int]]:
    """Per bucket the counts of one hidden column."""
    name = f"sensitive-{column}"
    if name not in folder.listed:
        hidden = [each for each, entry in policy.columns.items() if entry.role == "sensitive" and entry.published]
        if hidden != [column]:
            raise ReleaseError(f"no part lists the values of '{column}'")
        name = "sensitive"
    part = folder.part(name)
    bucket, value, count = part.place("bucket"), part.place("value"), part.place("count")
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for row, often in part.rows.items():
        values = found[row[bucket]]
        values[row[value]] = values.get(row[value], 0) + often * whole_count(row[count])
    add_up(found, rows)
    return found


def whole_count(text: str) -> int:
    """A listed count, which is a positive whole number."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ReleaseError("a listed count is no positive number")
    return int(text)


def add_up(listed: Mapping[str, Mapping[Any, int]], rows: Weights) -> None:
    """Every bucket lists as many values as it has rows (I2)."""
    wrong = sum(sum(listed.get(bucket, {}).values()) != rows.get(bucket, 0) for bucket in {*listed, *rows})
    if wrong:
        raise ReleaseError(f"{wrong} bucket(s) do not list as many values as they have rows")


def mixtures(kinds: Iterable[Weights], listed: Mapping[str, Weights]) -> list[Weights]:
    """The spread of every kind of person, given in how many rows of which buckets they stand; each bucket alone counts once."""
    most = MOST + TIMES * sum(map(len, listed.values()))
    alone: set[str] = set()
    mixed: list[Weights] = []
    for buckets in kinds:
        if len(buckets) == 1:
            alone.update(buckets)
        else:
            most -= sum(len(listed[bucket]) for bucket in buckets) - TIMES * len(buckets)
            if most < 0:
                raise NotCounted("its buckets are too large to be counted here")
            mixed.append(_mixture(buckets, listed))
    return [*(listed[bucket] for bucket in sorted(alone)), *mixed]


def _mixture(buckets: Weights, listed: Mapping[str, Weights]) -> Weights:
    sizes = {bucket: sum(listed[bucket].values()) for bucket in buckets}
    scale = one_scale(sizes.values())
    found: Counter[str] = Counter()
    for bucket, rows in buckets.items():
        for value, count in listed[bucket].items():
            found[value] += rows * count * scale // sizes[bucket]
    return found


def one_scale(sizes: Iterable[int]) -> int:
    """A number that all sizes divide (I1); where it would be absurdly long, one so large that rounding shows nowhere."""
    scale = 1
    for size in set(sizes):
        scale = lcm(scale, size)
        if scale > _WIDEST:
            return _WIDEST
    return scale


# -- graphs ---------------------------------------------------------------------------------------------------------------------


def of_graph(folder: Folder, policy: Written, asked: Asked) -> Groups:
    """People with the same number of ties."""
    if asked.model != "k-degree-anonymity":
        raise NotCounted("it is a bound on what planted accounts can do, no count")
    part = folder.part("edges")
    ends = cells(part, ("source", "target"))
    ties: Counter[str] = Counter()
    for pair in {frozenset(ends(row)) for row in part.rows}:
        if len(pair) == 2:
            ties.update(pair)
    people = Counter(ties.values())
    alone = int(folder.public.get("nodes", 0)) - len(ties)
    if alone < 0:
        raise ReleaseError("the edges join more people than the manifest says there are")
    return Groups(min([*people.values(), *([alone] if alone else [])], default=0))
