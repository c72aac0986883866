"""People in several rows, counted a second time: rows as they are written, and a name behind each of them.

`classes_violated_for_persons` counts with dictionaries and whole numbers: in classes where a person's rows *are*, in
buckets where they could be by what the table shows (`rows_that_fit`). The audit, which knows the original, never counts
less; so whatever is broken here must be broken there.

Per class of n rows, for every person with m of them, and every value that f rows have
    k·m ≤ n, when a number of candidates is asked for
    f + m ≤ n, when something is asked of values
    people who have the value ≤ share × people of the class, when a share is asked for
Of subset anonymity there are classes for every choice of up to m columns. In an Anatomy release the classes are its
buckets, f is listed, and of a person's m rows none has the value with C(n−f, m) / C(n, m), which must leave no more
than the required share; in sub-tables they are the buckets of the table with the sensitive column
(`people_in_subtables`).

>>> rows = [("30", "flu")] * 4 + [("30", "gout")] * 3
>>> whose = ["Max"] * 5 + ["Ann", "Eve"]
>>> broken_classes(rows, whose, PersonRequirement(k=2, values=True, share=Fraction(1)), [0], [1])
1


People in subtables
-------------------
People in several rows of sub-tables, counted a second time: every table as it is written, and a name behind each row.

A sensitive column is distributed over the rows of the one table that connects it with known columns. That table is
found here from the columns alone: what it hides leads, through the other tables, neither to a given column nor to one
that it shows.

Per bucket of n rows, for every person who could have m of them (`rows_that_fit`), and every value that is listed f
times
    f + m ≤ n
    1 − C(n−f, m) / C(n, m) ≤ the share that is asked for
A column that no chain of tables connects with what is given is one class of all rows, f counting what is shown or
listed; where it is shown, people who have the value ≤ share × people. Of a requirement that hides several columns
together one has to be kept.

The audit knows people who were left out, too, so that it never counts fewer; whatever is broken here is broken there.

>>> discloses_value(2, 1, 2, Fraction(1)), discloses_value(4, 1, 2, Fraction(1, 2)), discloses_value(4, 1, 3,
...     Fraction(1, 2))
(True, False, True)


Rows that fit
-------------
How many rows of a bucket could be one person's, by what the table itself shows: plain counters, a name behind each row.

A row could be a person's when its known cells are those of one of their rows, wherever that one stands. So for every
combination of known cells a bucket can hold as many rows of a person as it has such rows, and as the person has. People
with equal combinations are counted once.

>>> most_rows_of_one_person(["1", "1", "2", "2"], ["ann", "bob", "ann", "eve"], [("a",), ("b",), ("b",), ("a",)])
{'1': 2, '2': 2}
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations, compress
from math import ceil, comb
from pathlib import Path
from typing import Any

from sfumato.audit.recount.definitions import NotRecounted, level_of
from sfumato.audit.recount.equivalence_classes import (
    Columns,
    names_of_tables,
    reachable_columns,
    read_entries,
    sum_weights,
    values_in_buckets,
)
from sfumato.audit.recount.files import Folder, Row, cells_in_places, open_folder, read_rows
from sfumato.audit.recount.policy_text import WrittenRequirement, read_policy
from sfumato.core.errors import ReleaseError

MOST_CANDIDATES = 1 << 40
"""More candidates than any table has."""


@dataclass(frozen=True, slots=True)
class PersonRequirement:
    """What a requirement comes to for people."""

    k: int = 1
    values: bool = False
    share: Fraction = Fraction(1)
    known: int | None = None
    """The most columns that an adversary knows; all that are given when it is not said."""


def classes_violated_for_persons(folder: Path, whose: Mapping[str, Sequence[str]]) -> int:
    """Classes of the published rows that break a requirement for a person; `whose` names a person for every row of a
    table, in order."""
    opened = open_folder(folder)
    return {"sub-tables": _broken_in_subtables, "anatomy": _broken_buckets}.get(opened.form, _broken_classes)(
        opened, whose
    )


def _broken_classes(folder: Folder, whose: Mapping[str, Sequence[str]]) -> int:
    """Classes of rows that look alike."""
    (header, rows), names = read_rows(folder.listed["data"][0][0]), whose["data"]
    if len(rows) != len(names):
        return len(rows)
    broken, classes = 0, dict[tuple[int, ...], RowClasses]()
    for asked in read_policy(folder.path / "policy.yaml").asked:
        given, hide = ([header.index(n) for n in side if n in header] for side in (asked.given, asked.hide))
        wanted = person_requirement(asked)
        many = [len(given)] if wanted.known is None else range(min(wanted.known, len(given)) + 1)
        for known in (known for one in many for known in combinations(given, one)):
            if known not in classes:
                classes[known] = RowClasses(rows, names, known)
            broken += classes[known].broken(wanted, hide)
    return broken


def _broken_in_subtables(folder: Folder, whose: Mapping[str, Sequence[str]]) -> int:
    """Buckets of all tables, and columns that stand apart, that break a requirement for a person."""
    policy, tables, broken = read_policy(folder.path / "policy.yaml"), list(tables_with_persons(folder, whose)), 0
    for asked in policy.asked:
        wanted = person_requirement(asked)
        if wanted.k > 1 or policy.knows:
            raise NotRecounted("candidates, and what outsiders know, are not counted for people in sub-tables")
        if wanted.values:
            broken += violated_columns(tables, frozenset(asked.given), asked.hide, asked.composite, wanted.share)
    return broken


def _broken_buckets(folder: Folder, whose: Mapping[str, Sequence[str]]) -> int:
    """Buckets that break a requirement for a person who has rows there."""
    (header, rows), names = read_rows(folder.listed["data"][0][0]), whose["data"]
    if len(rows) != len(names):
        return len(rows)
    bucket = [row[header.index("bucket")] for row in rows]
    policy, size, broken = read_policy(folder.path / "policy.yaml"), Counter(bucket), 0
    for asked in policy.asked:
        wanted, known = person_requirement(asked), [header.index(name) for name in asked.given if name in header]
        most = most_rows_of_one_person(bucket, names, list(map(cells_in_places(known), rows)))
        found = {place for place, many in size.items() if wanted.k * most[place] > many}
        for column in asked.hide if wanted.values else ():
            for place, listed in values_in_buckets(folder, policy, column, size).items():
                n, f, m = size[place], max(listed.values()), most[place]
                if discloses_value(n, f, m, wanted.share):
                    found.add(place)
        broken += len(found)
    return broken


def person_requirement(asked: WrittenRequirement) -> PersonRequirement:
    """A requirement in numbers of people; what is not about numbers, different values and shares cannot be counted
    so."""
    level = level_of(asked.model, asked.level)
    if asked.model == "k-anonymity":
        return PersonRequirement(k=int(level["k"]))
    if asked.model == "subset-anonymity":
        return PersonRequirement(k=int(level["k"]), known=int(level["m"]))
    if asked.model == "p-sensitivity":
        return PersonRequirement(values=level["p"] > 0)
    if asked.model == "alpha-k-anonymity":
        return PersonRequirement(int(level["k"]), level["alpha"] < 1, Fraction(str(level["alpha"])))
    if asked.model == "l-diversity" and level["kind"] in ("distinct", "frequency"):
        return PersonRequirement(
            values=True, share=1 / Fraction(str(level["l"])) if level["kind"] == "frequency" else Fraction(1)
        )
    if asked.model == "profitability" and level.get("game") is None:
        return PersonRequirement(k=_fewest_worth_attacking(level))
    raise NotRecounted(f"{asked.model} is not counted for people in several rows")


def _fewest_worth_attacking(level: Mapping[str, Any]) -> int:
    """From how many candidates on an attack does not pay, or the benefit of a record covers its damage."""
    gain, cost, loss, benefit = (Fraction(str(level[name])) for name in ("gain", "cost", "loss", "benefit"))
    ends = [ceil(large / small) for large, small in ((gain, cost), (loss, benefit)) if small]
    return max(1, min(ends)) if gain and loss and ends else 1 if not (gain and loss) else MOST_CANDIDATES


class RowClasses:
    """Rows with equal cells in some columns: per class its size, its persons, and the most rows of one person."""

    def __init__(self, rows: Sequence[Row], whose: Sequence[str], given: Sequence[int]) -> None:
        self.rows, self.of, self.whose = rows, numbered(rows, given), whose
        self.size = Counter(self.of)
        self.most = dict.fromkeys(self.size, 1)
        several = {name for name, many in Counter(whose).items() if many > 1}  # every other person has one row
        pairs = compress(zip(self.of, whose, strict=True), map(several.__contains__, whose))
        for (kind, _), many in Counter(pairs).items():
            self.most[kind] = max(many, self.most[kind])

    @cached_property
    def people(self) -> Counter[int]:
        """Return the number of different persons in each class."""
        return Counter(kind for kind, _ in set(zip(self.of, self.whose, strict=True)))

    def broken(self, wanted: PersonRequirement, hide: Sequence[int]) -> int:
        """The classes in which a person has too many rows, or a value is had too surely."""
        broken = {kind for kind, many in self.size.items() if wanted.k * self.most[kind] > many}
        for column in hide if wanted.values else ():
            value = [row[column] for row in self.rows]
            frequent = Counter(zip(self.of, value, strict=True))
            broken |= {kind for (kind, _), many in frequent.items() if self.most[kind] + many > self.size[kind]}
            if wanted.share < 1:
                above, below = wanted.share.as_integer_ratio()
                having = Counter((kind, what) for kind, what, _ in set(zip(self.of, value, self.whose, strict=True)))
                broken |= {kind for (kind, _), many in having.items() if below * many > above * self.people[kind]}
        return len(broken)


def broken_classes(
    rows: Sequence[Row], whose: Sequence[str], wanted: PersonRequirement, given: Sequence[int], hide: Sequence[int]
) -> int:
    """The same of rows, and whose they are."""
    return RowClasses(rows, whose, given).broken(wanted, hide)


def numbered(rows: Sequence[Row], given: Sequence[int]) -> list[int]:
    """The class of every row, numbered as they come.

    >>> numbered([("a", "1"), ("b", "1"), ("a", "2")], [0])
    [0, 1, 0]
    """
    known: dict[Row, int] = {}
    cells = cells_in_places(given)
    return [known.setdefault(cells(row), len(known)) for row in rows]


# People in subtables
# -------------------


def discloses_value(n: int, f: int, m: int, share: Fraction) -> bool:
    """Whether a person with m of n rows certainly has a value that f of them have, or has it with more than a share."""
    return f + m > n or 1 - Fraction(comb(n - f, m), comb(n, m)) > share


@dataclass(frozen=True, slots=True)
class TableWithPersons:
    """A published table, and the person of each row."""

    header: Row
    rows: Sequence[Row]
    whose: Sequence[str]
    hidden: Row = ()
    entries: Mapping[str, Counter[Row]] = field(default_factory=dict)
    """Per bucket the sensitive values and their counts; rows whose values are suppressed have no list."""

    @property
    def shown(self) -> Columns:
        return frozenset(self.header) - ({"bucket"} if self.hidden else set())

    @property
    def columns(self) -> Columns:
        return self.shown | frozenset(self.hidden)

    def broken_buckets(self, column: str, given: Columns, share: Fraction) -> int:
        """Buckets in which a person could have too large a part."""
        bucket = [row[self.header.index("bucket")] for row in self.rows]
        known = [place for place, name in enumerate(self.header) if name in given & self.shown]
        size, most = (
            Counter(bucket),
            most_rows_of_one_person(bucket, self.whose, list(map(cells_in_places(known), self.rows))),
        )
        frequent = {place: max(listed.values()) for place, listed in self._listed(column).items()}
        return sum(discloses_value(size[place], f, most[place], share) for place, f in frequent.items())

    def broken_as_one(self, column: str, share: Fraction) -> bool:
        """Whether a person is too sure of a value when all rows are one class."""
        n, m = len(self.rows), max(Counter(self.whose).values(), default=0)
        if column in self.hidden:  # who has which value is not written, and so not how many people have it
            return discloses_value(n, max(sum_weights(self._listed(column).values()).values(), default=0), m, share)
        value = [row[self.header.index(column)] for row in self.rows]
        having = Counter(what for what, _ in set(zip(value, self.whose, strict=True)))
        people = len(set(self.whose))
        return (
            discloses_value(n, max(Counter(value).values(), default=0), m, share)
            or max(having.values(), default=0) > share * people
        )

    def _listed(self, column: str) -> dict[str, Counter[str]]:
        """Per bucket how often each value of a sensitive column is listed."""
        at, found = self.hidden.index(column), {place: Counter[str]() for place in self.entries}
        for place, entries in self.entries.items():
            for values, count in entries.items():
                found[place][values[at]] += count
        return found


def tables_with_persons(folder: Folder, whose: Mapping[str, Sequence[str]]) -> Iterator[TableWithPersons]:
    """Every table with the names behind its rows."""
    for name in names_of_tables(folder):
        header, rows = read_rows(folder.listed[name][0][0])
        if len(rows) != len(whose.get(name, ())):
            raise ReleaseError(f"there are not as many names as rows in {name}")
        hidden, entries = read_entries(folder.part(f"{name}-sensitive")) if "bucket" in header else ((), {})
        yield TableWithPersons(header, rows, whose[name], hidden, entries)


def violated_columns(
    tables: Sequence[TableWithPersons], given: Columns, hide: Sequence[str], together: bool, share: Fraction
) -> int:
    """Buckets that break a requirement for a person, over all its sensitive columns; where they are hidden together, of
    the best of them."""
    found = [_broken(tables, given, column, share) for column in hide]
    return min(found) if together else sum(found)


def _broken(tables: Sequence[TableWithPersons], given: Columns, column: str, share: Fraction) -> int:
    if column not in reachable_columns(given, [each.columns for each in tables]):
        return sum(each.broken_as_one(column, share) for each in tables if column in each.columns)
    for each in tables:
        others = [other.columns for other in tables if other is not each]
        if column in each.hidden and not reachable_columns(frozenset(each.hidden), others) & (given | each.shown):
            return each.broken_buckets(column, given, share)
    raise NotRecounted("a hidden column is connected with what is known by more than the buckets of one table")


# Rows that fit
# -------------


Seats = frozenset[tuple[Row, int]]
"""Combinations of known cells, and how many rows have each."""


def most_rows_of_one_person(bucket: Sequence[str], whose: Sequence[str], known: Sequence[Row]) -> dict[str, int]:
    """Per bucket the most rows that could be one person's."""
    people = set(_seats(whose, known).values())
    having = defaultdict[Row, list[Seats]](list)
    for person in people:
        for cells, _ in person:
            having[cells].append(person)
    of_bucket = _seats(bucket, known)
    most = {
        kind: max(_room(kind, person) for cells, _ in kind for person in having[cells])
        for kind in set(of_bucket.values())
    }
    return {place: most[kind] for place, kind in of_bucket.items()}


def _seats(of: Sequence[str], known: Sequence[Row]) -> dict[str, Seats]:
    found = defaultdict[str, Counter[Row]](Counter)
    for place, cells in zip(of, known, strict=True):
        found[place][cells] += 1
    return {place: frozenset(counted.items()) for place, counted in found.items()}


def _room(bucket: Seats, person: Seats) -> int:
    rows = dict(person)
    return sum(min(many, rows.get(cells, 0)) for cells, many in bucket)
