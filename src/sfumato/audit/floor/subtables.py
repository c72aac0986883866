"""Several tables of the same people: what an outsider who knows Q believes about S through all of them.

Definitions
    reach(Q)   Q and every column that a chain of tables, each sharing a column with what is reached, connects with it
               [versatile Def. 3]
    guardian   a table with S that alone connects S with Q, and by itself keeps W → S, where W are its columns, S excepted, that
               are in Q or reachable through the other tables [versatile Def. 4]
    rule       Q → S, one for each hidden column; of a combination one column kept is enough
    known      a dependency X → Y that outsiders know counts as a further table; Q is closed under it, and hiding S with
               Y ∩ S ≠ ∅ demands hiding (S ∖ Y) ∪ X as well [versatile Thm 3.2]
    a table    joint weight of its columns: the rows themselves, or inside each bucket rows and listed values independently;
               rows of the bucket ``*`` are read as everybody together

    A column that nothing connects with Q shows its own distribution; a column in no table shows nothing.

Invariants
    I1  Weights of all buckets of a table are brought to one denominator and stay whole numbers.

Cost: for each rule and table with S, the sum over buckets of different rows times different entries, cut off at `MOST`.

>>> tables = [frozenset("ab"), frozenset("bc"), frozenset("de")]
>>> sorted(reach(frozenset("a"), tables))
['a', 'b', 'c']
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from sfumato.audit.floor.definitions import Groups, Level, NotCounted, counted, reaches, worse
from sfumato.audit.floor.files import Bag, Folder, Row
from sfumato.audit.floor.groups import MOST, MOST_ELSEWHERE, TIMES, add_up, added, cells, one_scale, whole_count
from sfumato.audit.floor.written import Asked, Written
from sfumato.errors import ReleaseError

_EVERYBODY = "*"
Columns = frozenset[str]
Rule = tuple[Columns, Columns]


@dataclass(frozen=True, slots=True)
class CountedTable:
    """One published table, with the values that its buckets hide."""

    visible: Bag
    entries: Mapping[str, Counter[Row]]
    """Per bucket the hidden cells and how often they occur; without buckets empty."""
    hidden: tuple[str, ...] = ()

    @property
    def columns(self) -> Columns:
        shown = frozenset(self.visible.columns)
        return shown - {"bucket"} | frozenset(self.hidden) if self.hidden else shown

    def believed(self, known: Sequence[str], column: str) -> Groups:
        """What the table by itself shows of a column to whoever knows others."""
        found: dict[Row, Counter[str]] = defaultdict(Counter)
        scale, joint = self._joint((*known, column))
        for values, weight in joint:
            found[values[:-1]][values[-1]] += weight
        fewest = min((spread.total() for spread in found.values()), default=0) // scale
        return Groups(fewest, {column: list(found.values())}, {column: added(found.values())})

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
            raise NotCounted("its buckets are too large to be counted here")
        scale = one_scale(each.total() for each in listed.values())  # I1
        return scale, (
            (self._woven(wanted, left, right), count * often * scale // size)
            for bucket, own in rows.items()
            for size in [listed[bucket].total()]
            for left, count in own.items()
            for right, often in listed[bucket].items()
        )

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
        raise NotCounted(f"more than {MOST_ELSEWHERE:,} rows with buckets are not counted a second time")
    visible = folder.part(name)
    if "bucket" not in visible.columns:
        return CountedTable(visible, {})
    hidden, entries = read_entries(folder.part(f"{name}-sensitive"))
    place = visible.place("bucket")
    rows: Counter[str] = Counter()
    for row, count in visible.rows.items():
        rows[row[place]] += count
    withheld = rows.pop(_EVERYBODY, 0)
    add_up(entries, rows)
    everybody = {_EVERYBODY: added(entries.values())} if withheld else {}
    return CountedTable(visible, entries | everybody, hidden)


def read_entries(part: Bag) -> tuple[tuple[str, ...], dict[str, Counter[Row]]]:
    """The hidden columns, and per bucket their cells with counts; one hidden column is named in a column of its own."""
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
        found[row[bucket]][pick(row)] += often * whole_count(row[count])
    return hidden, dict(found)


# -- rules ----------------------------------------------------------------------------------------------------------------------


def through_tables(folder: Folder, policy: Written, asked: Asked, level: Level) -> Level:
    """The level of a claim over all tables: the worst of its rules; empty when one of them is not kept."""
    if not asked.hide:
        raise NotCounted("sub-tables hide columns, and the claim hides none")
    tables = read_tables(folder)
    sides = [frozenset(asked.hide)] if asked.composite else [frozenset({name}) for name in asked.hide]
    rules = demanded([(frozenset(asked.given), hide) for hide in sides], policy.knows)
    if rules is None:
        return {}
    known = [given | determined for given, determined in policy.knows]
    levels = [_rule(tables, known, rule, asked.model, level) for rule in rules]
    if None in levels:
        return {}
    shown = [each for each in levels if each]
    return reduce(lambda one, other: worse(asked.model, one, other), shown) if shown else {"published": 0}


def demanded(rules: Sequence[Rule], knows: Sequence[Rule]) -> list[Rule] | None:
    """The rules and those that known dependencies add; None when a dependency gives a hidden column away by itself."""
    found: list[Rule] = []
    pending = list(rules)
    while pending:
        given, hide = pending.pop(0)
        given = _closed(given, knows)
        hide = hide - given
        if not hide:
            return None
        if any(given <= other and known <= hide for other, known in found):
            continue
        found.append((given, hide))
        pending += [(given, ((hide - determined) | by) - given) for by, determined in knows if determined & hide]
    return found


def _closed(columns: Columns, knows: Sequence[Rule]) -> Columns:
    while wider := columns.union(*(determined for by, determined in knows if by <= columns)) - columns:
        columns |= wider
    return columns


def reach(start: Columns, tables: Iterable[Columns]) -> Columns:
    """All columns that chains of tables connect with some."""
    tables = list(tables)
    while wider := start.union(*(table for table in tables if table & start)) - start:
        start |= wider
    return start


def _rule(tables: Sequence[CountedTable], known: Sequence[Columns], rule: Rule, model: str, level: Level) -> Level | None:
    """The level of the first hidden column that is kept: empty when it is in no table; None when none is kept."""
    given, hide = rule
    for column in sorted(hide):
        holders = [table for table in tables if column in table.columns]
        if column not in reach(given, [*(table.columns for table in tables), *known]):
            return counted(model, holders[0].believed((), column), level) if holders else {}
        for table in holders:
            needed = _needed(tables, known, table, given, column)
            if needed is not None:
                found = counted(model, table.believed(needed, column), level)
                if reaches(model, level, found):
                    return found
    return None


def _needed(
    tables: Sequence[CountedTable], known: Sequence[Columns], table: CountedTable, given: Columns, column: str
) -> list[str] | None:
    """The columns against which a table must guard another; None when it is not the only one that connects it with `given`."""
    others = [*(other.columns for other in tables if other is not table), *known]
    own = table.columns - {column}
    return None if column in reach(given, [*others, own]) else sorted(own & reach(given, others))
