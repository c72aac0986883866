"""A form of release as groups: people whom an adversary who knows the given columns cannot tell apart.

By form
    recoded table    rows with the same given cells; each sensitive column by itself
    replaced table   the same with the columns that were not replaced: new values tell nothing of a person
    anatomy          rows with the same given cells are the mixture of their buckets, each with the listed counts over
                     its rows
    linked table, related tables   people with the same rows, and with the same line of their own
    locally suppressed table   rows that look alike, for every choice of known columns
    graph            people with the same number of ties; people without a tie are in no edge, only in the manifest's
                     number

Invariants
    I1  A mixture is counted in whole numbers: shares of buckets are brought to one denominator.
    I2  The counts of a bucket add up to its rows, or nothing is counted.

Cost: one pass over different rows per requirement; groups inside one bucket stand for all groups inside it.

>>> rows = Counter({("30-39", "flu"): 2, ("30-39", "gout"): 1, ("*", "flu"): 2})
>>> seen = looking_alike(RowMultiset(("age", "illness"), rows), ["age"], ["illness"])
>>> seen.fewest, [dict(spread) for spread in seen.spreads["illness"]]
(2, [{'flu': 2, 'gout': 1}, {'flu': 2}])


Subtables
---------
Several tables of the same people: what an adversary who knows Q believes about S through all of them.

Definitions
    reach(Q)   Q and every column that a chain of tables, each sharing a column with what is reached, connects with it
               [versatile Def. 3]
    guardian   a table with S that alone connects S with Q, and by itself keeps W → S, where W are its columns, S
               excepted, that are in Q or reachable through the other tables [versatile Def. 4]
    rule       Q → S, one for each sensitive column; of a combination one column kept is enough where values may be
               split (`Definition.split`), else the joint weight of the combination over all tables counts
    known      a dependency X → Y that adversaries know counts as a further table; Q is closed under it, and hiding S
               with Y ∩ S ≠ ∅ demands hiding (S ∖ Y) ∪ X as well [versatile Thm 3.2]
    a table    joint weight of its columns: the rows themselves, or inside each bucket rows and listed values
    independently;
               rows of the bucket ``*`` are read as everybody together

    A column that nothing connects with Q shows its own distribution; a column in no table shows nothing.

Invariants
    I1  Weights of all buckets of a table are brought to one denominator and stay whole numbers.

Cost: for each rule and table with S, the sum over buckets of different rows times different entries, cut off at `MOST`.

>>> tables = [frozenset("ab"), frozenset("bc"), frozenset("de")]
>>> sorted(reachable_columns(frozenset("a"), tables))
['a', 'b', 'c']
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import combinations
from math import lcm
from typing import Any, TypeVar

from sfumato.audit.recount.definitions import (
    DEFINITIONS,
    Level,
    NotRecounted,
    RecountedClasses,
    Weights,
    count_level,
    is_at_least_as_private,
    less_private,
)
from sfumato.audit.recount.files import Folder, Row, RowMultiset, cells_in_places
from sfumato.audit.recount.policy_text import WrittenPolicy, WrittenRequirement
from sfumato.core.errors import ReleaseError

K = TypeVar("K")
MOST, TIMES = 1_000_000, 50
"""Pairs of a group and a value that are counted in any folder, and how many more for each of its rows."""
MOST_ELSEWHERE = 200_000
"""Rows with buckets that are brought together from where they lie: almost every one is different."""
_WIDEST = 1 << 512


def cells(part: RowMultiset, columns: Iterable[str]) -> Callable[[Sequence[str]], Row]:
    """Return the cells of a row in some columns."""
    return cells_in_places([part.place(column) for column in columns])


def looking_alike(part: RowMultiset, given: Sequence[str], hide: Sequence[str]) -> RecountedClasses:
    """Rows with the same given cells."""
    spreads = {column: _spreads(part, given, column) for column in hide}
    sizes = tuple(map(_sum, next(iter(spreads.values())))) if spreads else tuple(part.alike(given).values())
    return RecountedClasses(
        min(sizes, default=0), spreads, {column: sum_weights(each) for column, each in spreads.items()}, sizes
    )


def _sum(spread: Weights) -> int:
    return sum(spread.values())


def _spreads(part: RowMultiset, given: Sequence[str], column: str) -> list[Weights]:
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


def sum_weights(spreads: Iterable[Mapping[K, int]]) -> Counter[K]:
    """All weights together."""
    whole: Counter[K] = Counter()
    for spread in spreads:
        for value, weight in spread.items():
            whole[value] = whole.get(value, 0) + weight
    return whole


def classes_of_recoded(folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement) -> RecountedClasses:
    """Rows that look alike in the given columns."""
    if needs_joint(asked):
        return _combination_in_rows(folder.part("data"), asked)
    told = [name for name in asked.hide if name not in policy.columns or policy.columns[name].published]
    return looking_alike(folder.part("data"), asked.given, told)


def needs_joint(asked: WrittenRequirement) -> bool:
    """Whether a combination of sensitive columns must be counted as one column."""
    definition = DEFINITIONS[asked.model]
    return asked.composite and definition.hides and not definition.split


def _combination_in_rows(part: RowMultiset, asked: WrittenRequirement) -> RecountedClasses:
    """Rows that look alike, with the combination of the hidden cells as one value."""
    known, hidden = cells(part, asked.given), cells(part, [name for name in asked.hide if name in part.columns])
    found: dict[Row, Counter[Any]] = defaultdict(Counter)
    for row, count in part.rows.items():
        found[known(row)][hidden(row)] += count
    sizes = tuple(map(_sum, found.values()))
    return RecountedClasses(min(sizes, default=0), {"": list(found.values())}, {"": sum_weights(found.values())}, sizes)


def classes_of_linked(folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement) -> RecountedClasses:
    """People with the same rows, as their pseudonyms tie them: what is written in each row of theirs, and who ever has
    a value."""
    if asked.model not in OF_PEOPLE or asked.level.get("kind", "distinct") not in ("distinct", "frequency"):
        raise NotRecounted("it is not defined for people in several rows")
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
    return RecountedClasses(fewest, spreads, {column: sum_weights(each) for column, each in spreads.items()})


def classes_of_related(folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement) -> RecountedClasses:
    """People with the same line and the same rows; what rows say is counted among people who have some."""
    if asked.model not in OF_PEOPLE or asked.level.get("kind", "distinct") not in ("distinct", "frequency"):
        raise NotRecounted("it is not defined for people in several rows")
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
    return RecountedClasses(fewest, spreads, {column: sum_weights(each) for column, each in spreads.items()})


OF_PEOPLE = frozenset({"k-anonymity", "p-sensitivity", "l-diversity", "alpha-k-anonymity"})


def _of_bags(groups: Iterable[list[list[tuple[Row, Row]]]], place: int, shares: bool) -> list[Weights]:
    """Per group of people the values of rows written alike; and, of the value that most ever have, these people and
    others."""
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


def classes_of_suppressed(folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement) -> RecountedClasses:
    """Rows that look alike, for each choice of known columns."""
    part = folder.part("data")
    if asked.model != "subset-anonymity":
        return looking_alike(part, asked.given, asked.hide)
    known = combinations(asked.given, min(int(asked.level["m"]), len(asked.given)))
    sizes = [size for columns in known for size in part.alike(columns).values()]
    return RecountedClasses(min(sizes, default=0), sizes=sizes)


def classes_of_release_alone(folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement) -> RecountedClasses:
    """For models over all releases the adversary knows every quasi-identifier, and other releases may publish sensitive
    columns."""
    part = folder.part("data")
    known = [
        name for name, column in policy.columns.items() if column.role == "quasi-identifier" and name in part.columns
    ]
    return looking_alike(part, known, [name for name in asked.hide if name in part.columns])


def classes_of_replaced(folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement) -> RecountedClasses:
    """Rows that look alike in the given columns that were not replaced."""
    kept = [name for name in (*asked.given, *asked.hide) if policy.columns[name].role != "replaced"]
    if not set(asked.hide) <= set(kept):
        raise NotRecounted("what is believed of a replaced column follows from its rules, not from a count")
    return looking_alike(folder.part("data"), [name for name in asked.given if name in kept], asked.hide)


# -- anatomy -----------------------------------------------------------------------------------------------------------


def classes_of_anatomy(folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement) -> RecountedClasses:
    """Rows that look alike, each with the values of its bucket."""
    if folder.rows_elsewhere("data") > MOST_ELSEWHERE:
        raise NotRecounted(f"more than {MOST_ELSEWHERE:,} rows with buckets are not counted a second time")
    part = folder.part("data")
    buckets = _spreads(part, asked.given, "bucket")
    rows = sum_weights(buckets)
    spreads, overall = {}, {}
    for column in asked.hide:
        if column in part.columns:
            seen = looking_alike(part, asked.given, [column])
            spreads[column], overall[column] = seen.spreads[column], seen.overall[column]
        else:
            listed = values_in_buckets(folder, policy, column, rows)
            spreads[column], overall[column] = mixtures(buckets, listed), sum_weights(listed.values())
    return RecountedClasses(min(map(_sum, buckets), default=0), spreads, overall)


def values_in_buckets(folder: Folder, policy: WrittenPolicy, column: str, rows: Weights) -> dict[str, dict[str, int]]:
    """Per bucket the counts of one sensitive column."""
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
        values[row[value]] = values.get(row[value], 0) + often * parse_count(row[count])
    bucket_totals_agree(found, rows)
    return found


def parse_count(text: str) -> int:
    """A listed count, which is a positive whole number."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ReleaseError("a listed count is no positive number")
    return int(text)


def bucket_totals_agree(listed: Mapping[str, Mapping[Any, int]], rows: Weights) -> None:
    """Every bucket lists as many values as it has rows (I2)."""
    wrong = sum(sum(listed.get(bucket, {}).values()) != rows.get(bucket, 0) for bucket in {*listed, *rows})
    if wrong:
        raise ReleaseError(f"{wrong} bucket(s) do not list as many values as they have rows")


def mixtures(kinds: Iterable[Weights], listed: Mapping[str, Weights]) -> list[Weights]:
    """The spread of every kind of person, given in how many rows of which buckets they stand; each bucket alone counts
    once."""
    most = MOST + TIMES * sum(map(len, listed.values()))
    alone: set[str] = set()
    mixed: list[Weights] = []
    for buckets in kinds:
        if len(buckets) == 1:
            alone.update(buckets)
        else:
            most -= sum(len(listed[bucket]) for bucket in buckets) - TIMES * len(buckets)
            if most < 0:
                raise NotRecounted("its buckets are too large to be counted here")
            mixed.append(_mixture(buckets, listed))
    return [*(listed[bucket] for bucket in sorted(alone)), *mixed]


def _mixture(buckets: Weights, listed: Mapping[str, Weights]) -> Weights:
    sizes = {bucket: sum(listed[bucket].values()) for bucket in buckets}
    scale = common_denominator(sizes.values())
    found: Counter[str] = Counter()
    for bucket, rows in buckets.items():
        for value, count in listed[bucket].items():
            found[value] += rows * count * scale // sizes[bucket]
    return found


def common_denominator(sizes: Iterable[int]) -> int:
    """A number that all sizes divide (I1); where it would be absurdly long, one so large that rounding shows
    nowhere."""
    scale = 1
    for size in set(sizes):
        scale = lcm(scale, size)
        if scale > _WIDEST:
            return _WIDEST
    return scale


# -- graphs ------------------------------------------------------------------------------------------------------------


def classes_of_graph(folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement) -> RecountedClasses:
    """People with the same number of ties."""
    if asked.model != "k-degree-anonymity":
        raise NotRecounted("it is a bound on what planted accounts can do, no count")
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
    return RecountedClasses(min([*people.values(), *([alone] if alone else [])], default=0))


# Subtables
# ---------


_EVERYBODY = "*"
Columns = frozenset[str]
Rule = tuple[Columns, Columns]
Factor = tuple[tuple[str, ...], Mapping[Row, Fraction]]
"""Columns, and the weight of every row of cells."""


@dataclass(frozen=True, slots=True)
class CountedTable:
    """One published table, with the values that its buckets hide."""

    visible: RowMultiset
    entries: Mapping[str, Counter[Row]]
    """Per bucket the hidden cells and how often they occur; without buckets empty."""
    hidden: tuple[str, ...] = ()

    @property
    def columns(self) -> Columns:
        shown = frozenset(self.visible.columns)
        return shown - {"bucket"} | frozenset(self.hidden) if self.hidden else shown

    def believed(self, known: Sequence[str], column: str) -> RecountedClasses:
        """Return what the table alone reveals about a column to an adversary who knows other columns."""
        found: dict[Row, Counter[str]] = defaultdict(Counter)
        scale, joint = self._joint((*known, column))
        for values, weight in joint:
            found[values[:-1]][values[-1]] += weight
        fewest = min((spread.total() for spread in found.values()), default=0) // scale
        return RecountedClasses(fewest, {column: list(found.values())}, {column: sum_weights(found.values())})

    def _joint(self, wanted: Sequence[str]) -> tuple[int, Iterable[tuple[Row, int]]]:
        """The denominator of all weights, and (cells of the wanted columns, weight)."""
        if not self.hidden:
            pick = cells(self.visible, wanted)
            return 1, ((pick(row), count) for row, count in self.visible.rows.items())
        rows = self._per_bucket([name for name in wanted if name not in self.hidden])
        places = [self.hidden.index(name) for name in wanted if name in self.hidden]
        listed = {bucket: _projected(self.entries[bucket], places) for bucket in rows}
        most = MOST + TIMES * (self.visible.rows.total() + sum(map(len, listed.values())))
        if sum(len(rows[bucket]) * len(listed[bucket]) for bucket in rows) > most:
            raise NotRecounted("its buckets are too large to be counted here")
        scale = common_denominator(each.total() for each in listed.values())  # I1
        return scale, (
            (self._woven(wanted, left, right), count * often * scale // size)
            for bucket, own in rows.items()
            for size in [listed[bucket].total()]
            for left, count in own.items()
            for right, often in listed[bucket].items()
        )

    def factors(self, place: int) -> list[Factor]:
        """The table as weights of rows; one with buckets as rows and listed values that share the bucket."""
        if not self.hidden:
            return [(tuple(self.visible.columns), {row: Fraction(count) for row, count in self.visible.rows.items()})]
        names = [f"bucket of {place}" if name == "bucket" else name for name in self.visible.columns]
        listed = {
            (*values, bucket): Fraction(count)
            for bucket, each in self.entries.items()
            for values, count in each.items()
        }
        rows = {row: Fraction(count) for row, count in self.visible.rows.items()}
        return [(tuple(names), rows), ((*self.hidden, f"bucket of {place}"), listed)]

    def _per_bucket(self, names: Sequence[str]) -> dict[str, Counter[Row]]:
        pick, place = cells(self.visible, names), self.visible.place("bucket")
        found: dict[str, Counter[Row]] = defaultdict(Counter)
        for row, count in self.visible.rows.items():
            found[row[place]][pick(row)] += count
        return found

    def _woven(self, wanted: Sequence[str], left: Row, right: Row) -> Row:
        visible, hidden = iter(left), iter(right)
        return tuple(next(hidden) if name in self.hidden else next(visible) for name in wanted)


def _projected(entries: Counter[Row], places: Sequence[int]) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for values, count in entries.items():
        found[tuple(values[place] for place in places)] += count
    return found


def names_of_tables(folder: Folder) -> list[str]:
    """``table-1``, ``table-2``, …"""
    names = [name for name in folder.listed if name.startswith("table-") and name.removeprefix("table-").isdigit()]
    return sorted(names, key=lambda name: int(name.removeprefix("table-")))


def read_tables(folder: Folder) -> list[CountedTable]:
    """All tables, with the values that their buckets hide."""
    tables = [_table(folder, name) for name in names_of_tables(folder)]
    if len({table.visible.rows.total() for table in tables}) != 1:
        raise ReleaseError("the tables do not speak about the same number of people")
    return tables


def _table(folder: Folder, name: str) -> CountedTable:
    if f"{name}-sensitive" in folder.listed and folder.rows_elsewhere(name) > MOST_ELSEWHERE:
        raise NotRecounted(f"more than {MOST_ELSEWHERE:,} rows with buckets are not counted a second time")
    visible = folder.part(name)
    if "bucket" not in visible.columns:
        return CountedTable(visible, {})
    hidden, entries = read_entries(folder.part(f"{name}-sensitive"))
    place = visible.place("bucket")
    rows: Counter[str] = Counter()
    for row, count in visible.rows.items():
        rows[row[place]] += count
    withheld = rows.pop(_EVERYBODY, 0)
    bucket_totals_agree(entries, rows)
    everybody = {_EVERYBODY: sum_weights(entries.values())} if withheld else {}
    return CountedTable(visible, entries | everybody, hidden)


def read_entries(part: RowMultiset) -> tuple[tuple[str, ...], dict[str, Counter[Row]]]:
    """The sensitive columns, and per bucket their cells with counts; one sensitive column is named in a column of its
    own."""
    if "value" in part.columns:
        named = {row[part.place("column")] for row in part.rows}
        if len(named) != 1:
            raise ReleaseError("one part of hidden values speaks about several columns")
        hidden, stand = tuple(named), ["value"]
    else:
        hidden = tuple(name for name in part.columns if name not in ("bucket", "count"))
        stand = list(hidden)
    pick, bucket, count = cells(part, stand), part.place("bucket"), part.place("count")
    found: dict[str, Counter[Row]] = defaultdict(Counter)
    for row, often in part.rows.items():
        found[row[bucket]][pick(row)] += often * parse_count(row[count])
    return hidden, dict(found)


# -- rules -------------------------------------------------------------------------------------------------------------


def level_over_tables(folder: Folder, policy: WrittenPolicy, asked: WrittenRequirement, level: Level) -> Level:
    """The level of a requirement over all tables: the worst of its rules; empty when one of them is not kept."""
    if not asked.hide:
        raise NotRecounted("sub-tables hide columns, and the claim hides none")
    tables = read_tables(folder)
    sides = [frozenset(asked.hide)] if asked.composite else [frozenset({name}) for name in asked.hide]
    rules = demanded([(frozenset(asked.given), hide) for hide in sides], policy.knows, DEFINITIONS[asked.model].split)
    if rules is None:
        return {}
    known = [given | determined for given, determined in policy.knows]
    levels = [_rule(tables, known, rule, asked.model, level) for rule in rules]
    if None in levels:
        return {}
    shown = [each for each in levels if each]
    return reduce(lambda one, other: less_private(asked.model, one, other), shown) if shown else {"published": 0}


def demanded(rules: Sequence[Rule], knows: Sequence[Rule], split: bool) -> list[Rule] | None:
    """The rules and those that known dependencies add; None when a dependency gives a sensitive column away by
    itself."""
    found: list[Rule] = []
    pending = list(rules)
    while pending:
        given, hide = pending.pop(0)
        given = _closed(given, knows)
        hide = hide - given
        if not hide:
            return None
        if any(given <= other and (known == hide or (split and known < hide)) for other, known in found):
            continue
        found.append((given, hide))
        pending += [(given, ((hide - determined) | by) - given) for by, determined in knows if determined & hide]
    return found


def _closed(columns: Columns, knows: Sequence[Rule]) -> Columns:
    while wider := columns.union(*(determined for by, determined in knows if by <= columns)) - columns:
        columns |= wider
    return columns


def reachable_columns(start: Columns, tables: Iterable[Columns]) -> Columns:
    """All columns that chains of tables connect with some."""
    tables = list(tables)
    while wider := start.union(*(table for table in tables if table & start)) - start:
        start |= wider
    return start


def _rule(
    tables: Sequence[CountedTable], known: Sequence[Columns], rule: Rule, model: str, level: Level
) -> Level | None:
    """The level of the first way in which the rule is kept; else of the first way: empty when nothing is published,
    None when tables connect what must not be."""
    given, hide = rule
    tried: list[Level | None] = []
    for count in _ways(tables, known, given, sorted(hide), model, level):
        found = count()
        if found is not None and (not found or is_at_least_as_private(model, level, found)):
            return found
        tried.append(found)
    return tried[0]


def _ways(
    tables: Sequence[CountedTable],
    known: Sequence[Columns],
    given: Columns,
    hide: Sequence[str],
    model: str,
    level: Level,
) -> Iterator[Callable[[], Level | None]]:
    """One column after the other, where that is enough; then the combination."""
    if len(hide) == 1 or DEFINITIONS[model].split:
        yield from (partial(_column, tables, known, given, column, model, level) for column in hide)
    if len(hide) > 1:
        yield lambda: _combination(tables, known, given, hide, model, level)


def _column(
    tables: Sequence[CountedTable], known: Sequence[Columns], given: Columns, column: str, model: str, level: Level
) -> Level | None:
    """The level of one sensitive column: empty when it is in no table; None when no table guards it."""
    holders = [table for table in tables if column in table.columns]
    if column not in reachable_columns(given, [*(table.columns for table in tables), *known]):
        return count_level(model, holders[0].believed((), column), level) if holders else {}
    for table in holders:
        needed = _needed(tables, known, table, given, column)
        if needed is not None:
            found = count_level(model, table.believed(needed, column), level)
            if is_at_least_as_private(model, level, found):
                return found
    return None


def _combination(
    tables: Sequence[CountedTable],
    known: Sequence[Columns],
    given: Columns,
    hide: Sequence[str],
    model: str,
    level: Level,
) -> Level | None:
    """The level of the joint weight of several sensitive columns; empty when none is in a table."""
    columns = [table.columns for table in tables]
    shown = [name for name in hide if any(name in each for each in columns)]
    if not shown:
        return {}
    tied = not reachable_columns(given, [*columns, *known]).isdisjoint(shown)
    if known and (tied or model not in _COMPARING):
        return None
    if not tied and model in _COMPARING:
        return _column(tables, known, given, shown[0], model, level)
    told = sorted(name for name in given if any(name in each for each in columns)) if tied else []
    found: dict[Row, Counter[Any]] = defaultdict(Counter)
    for row, weight in joint_weights(tables, [*told, *shown]).items():
        found[row[: len(told)]][row[len(told) :]] += weight
    return count_level(model, RecountedClasses(0, {"": list(found.values())}, {"": sum_weights(found.values())}), level)


_COMPARING = frozenset({"t-closeness", "beta-likeness", "delta-disclosure"})
"""Models that compare with everybody: one distribution for all people satisfies them, whatever it is."""


def joint_weights(tables: Sequence[CountedTable], wanted: Sequence[str]) -> Counter[Row]:
    """The joint weight of some columns, as whole numbers with a common factor: ears of the tables are folded in one by
    one.

    An ear shares columns with one other factor only. A person who has a row there has any row of the ear that agrees
    with it, each with its share. Tables without an ear overlap in a cycle, and are not counted."""
    factors = [factor for place, table in enumerate(tables) for factor in table.factors(place)]
    while len(factors) > 1:
        place = next((place for place in range(len(factors)) if _home(factors, place) is not None), None)
        if place is None:
            raise NotRecounted("the tables overlap in a cycle")
        ear, home = factors[place], _home(factors, place)
        assert home is not None
        folded = _folded(factors[home], ear, frozenset(wanted))
        factors = [folded if at == home else each for at, each in enumerate(factors) if at != place]
    ((names, rows),) = factors
    at = [names.index(name) for name in wanted]
    scale = common_denominator(weight.denominator for weight in rows.values())
    if scale >= _WIDEST:
        raise NotRecounted("its weights are too fine to be counted here")
    found: Counter[Row] = Counter()
    for row, weight in rows.items():
        found[tuple(row[each] for each in at)] += int(weight * scale)
    return found


def _home(factors: Sequence[Factor], place: int) -> int | None:
    """The factor that has every column which the factor at `place` shares with others; None when there is none."""
    mine = frozenset(factors[place][0])
    shared = mine & frozenset(name for at, (names, _) in enumerate(factors) if at != place for name in names)
    return next((at for at, (names, _) in enumerate(factors) if at != place and shared <= frozenset(names)), None)


def _folded(into: Factor, ear: Factor, wanted: Columns) -> Factor:
    (names, rows), (others, away) = into, ear
    shared, brought = (
        [name for name in others if name in names],
        [name for name in others if name in wanted and name not in names],
    )
    joins, brings = [others.index(name) for name in shared], [others.index(name) for name in brought]
    listed: dict[Row, Counter[Row]] = defaultdict(Counter)
    for row, weight in away.items():
        listed[tuple(row[at] for at in joins)][tuple(row[at] for at in brings)] += weight  # type: ignore[assignment]
    at_home, found, pairs = [names.index(name) for name in shared], defaultdict[Row, Fraction](Fraction), 0
    for row, weight in rows.items():
        matching = listed[tuple(row[at] for at in at_home)]
        whole, pairs = sum(matching.values()), pairs + len(matching)
        if pairs > MOST + TIMES * (len(rows) + len(away)):
            raise NotRecounted("its tables join to too many combinations to be counted here")
        for more, share in matching.items():
            found[row + more] += weight * Fraction(share) / whole
    return (*names, *brought), found


def _needed(
    tables: Sequence[CountedTable], known: Sequence[Columns], table: CountedTable, given: Columns, column: str
) -> list[str] | None:
    """The columns against which a table must guard another; None when it is not the only one that connects it with
    `given`."""
    others = [*(other.columns for other in tables if other is not table), *known]
    own = table.columns - {column}
    return (
        None if column in reachable_columns(given, [*others, own]) else sorted(own & reachable_columns(given, others))
    )
