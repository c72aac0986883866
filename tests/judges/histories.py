"""A judge of several releases about the same people: it counts every possible world, from the published files alone.

A world gives every published row to a person. The rows of one person agree: in every column they have a value in
common, and the values of the columns that the adversary knows of the person. `HistoryJudge` counts the worlds exactly,
person by person, because equal rows can be exchanged: so it knows every row and every sensitive value that somebody can
have, and in which share of the worlds. Nothing here imports a method, a model or the audit of the product.

The adversary knows `given` of everybody in the population, and
    cohorts known      who is in which release
    cohorts unknown    of one person that this person is in one release
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

Row = tuple[tuple[str, frozenset[str]], ...]
"""Column and the values that a cell covers."""
MUST, MAY, NEVER = "must", "may", "never"
MOST_STEPS = 60_000


class TooManyWorlds(Exception):
    """The judge gives up."""


@dataclass(frozen=True)
class PublishedTable:
    """One published table: different rows with their counts."""

    release: int
    rows: tuple[Row, ...]
    counts: tuple[int, ...]
    partial: bool = False
    """Whether somebody of the release may be missing from it, as from a list of values that leaves some out."""


@dataclass(frozen=True)
class Release:
    """What the adversary has of one release, and who is in it."""

    tables: tuple[PublishedTable, ...]
    present: frozenset[int]
    """People behind its rows."""
    counterfeits: int = 0
    """Rows that represent people who left; their number is public."""


@dataclass
class HistoryJudge:
    """Counts the worlds of a history."""

    people: Sequence[Mapping[str, str]]
    """Everybody's true values."""
    releases: Sequence[Release]
    given: frozenset[str]
    known: bool
    """Whether the adversary knows who is in which release."""
    steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.tables = [table for release in self.releases for table in release.tables]
        self.full = tuple(table.counts for table in self.tables)
        self._found: dict[object, dict[tuple[int, ...], int]] = {}

    # -- worlds --------------------------------------------------------------------------------------------------------

    def presence(self, person: int, release: int) -> str:
        """Whether somebody has a row in a release, as far as the adversary knows."""
        if not self.known:
            return MAY
        if person in self.releases[release].present:
            return MUST
        before = any(person in earlier.present for earlier in self.releases[:release])
        return MAY if self.releases[release].counterfeits and before else NEVER

    def choices(self, person: int, inside: int | None = None) -> list[tuple[int, ...]]:
        """Every consistent set of rows of a person, one per table (−1: none); in a release that they are known to be
        `inside`."""
        found = []
        for pattern in self._patterns(person, inside):
            found += [tuple(rows) for rows in self._extend(person, pattern, 0, {}, [])]
        return found

    def _patterns(self, person: int, inside: int | None) -> Iterator[tuple[bool, ...]]:
        patterns: list[tuple[bool, ...]] = [()]
        for release in range(len(self.releases)):
            rule = MUST if release == inside else self.presence(person, release)
            ways = {MUST: (True,), NEVER: (False,), MAY: (True, False)}[rule]
            patterns = [(*pattern, way) for pattern in patterns for way in ways]
        return iter(patterns)

    def _extend(
        self, person: int, pattern: tuple[bool, ...], place: int, common: dict[str, frozenset[str]], rows: list[int]
    ) -> Iterator[list[int]]:
        if place == len(self.tables):
            yield rows
            return
        table = self.tables[place]
        if not pattern[table.release] or table.partial:
            yield from self._extend(person, pattern, place + 1, common, [*rows, -1])
        if not pattern[table.release]:
            return
        counterfeit = self.known and person not in self.releases[table.release].present
        for number, row in enumerate(table.rows):
            agreed = self._agree(person, row, common, counterfeit)
            if agreed is not None:
                yield from self._extend(person, pattern, place + 1, agreed, [*rows, number])

    def _agree(
        self, person: int, row: Row, common: dict[str, frozenset[str]], counterfeit: bool
    ) -> dict[str, frozenset[str]] | None:
        """What the rows of somebody have in common with one more; nothing where they contradict each other."""
        agreed = dict(common)
        for column, values in row:
            if column in self.given:
                if not counterfeit and self.people[person][column] not in values:
                    return None
                continue
            agreed[column] = agreed.get(column, values) & values
            if not agreed[column]:
                return None
        return agreed

    def worlds(self, person: int, inside: int | None = None) -> dict[tuple[int, ...], int]:
        """Per set of rows that somebody can have, the number of worlds in which they do; the same for people of whom
        the same is known."""
        patterns = frozenset(self._patterns(person, inside))
        alike = (tuple(self.people[person][name] for name in sorted(self.given)), patterns)
        if alike not in self._found:
            self._found[alike] = self._worlds(person, inside)
        return self._found[alike]

    def _worlds(self, person: int, inside: int | None) -> dict[tuple[int, ...], int]:
        others = [self.choices(other) for other in range(len(self.people)) if other != person]
        others.sort(key=len)

        @cache
        def ways(place: int, left: tuple[tuple[int, ...], ...]) -> int:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise TooManyWorlds
            if place == len(others):
                return int(not any(any(counts) for counts in left))
            if any(sum(counts) > len(others) - place for counts in left):
                return 0
            taken = (_taken(left, one) for one in others[place])
            return sum(many * ways(place + 1, rest) for many, rest in taken if many)

        found = {}
        for chosen in self.choices(person, inside):
            many, rest = _taken(self.full, chosen)
            if many and (count := many * ways(0, rest)):
                found[chosen] = count
        return found

    # -- what the adversary learns -------------------------------------------------------------------------------------

    def values(self, person: int, column: str, inside: int | None = None) -> dict[str | None, Fraction]:
        """Per value of a column that somebody can have, its share of all worlds; None stands for "not published"."""
        found: Counter[str | None] = Counter()
        worlds = self.worlds(person, inside)
        for chosen, count in worlds.items():
            found[self._value(chosen, column)] += count
        return {value: Fraction(count, sum(worlds.values())) for value, count in found.items()}

    def _value(self, chosen: tuple[int, ...], column: str) -> str | None:
        for place, row in enumerate(chosen):
            cells = dict(self.tables[place].rows[row]) if row >= 0 else {}
            if column in cells and len(cells[column]) == 1:
                return next(iter(cells[column]))
        return None

    def highest_belief(self, column: str) -> Fraction:
        """The highest share of all worlds in which somebody of a release has one published value of a column."""
        found = [Fraction(0)]
        for release, published in enumerate(self.releases):
            for person in published.present:
                values = self.values(person, column, release)
                found += [share for value, share in values.items() if value is not None]
        return max(found)

    def classes_are_apart(self) -> bool:
        """Whether no row of a joint class, people with equal rows in what the adversary knows, fits anybody of another
        one.

        Taken literally from what is published: each person's sets of rows name the joint classes that they fit.
        """
        known = [[tuple(cell for cell in row if cell[0] in self.given) for row in table.rows] for table in self.tables]
        fits = {}
        for person in range(len(self.people)):
            looks = {
                tuple(known[place][row] if row >= 0 else None for place, row in enumerate(rows))
                for rows in self.choices(person)
            }
            fits[person] = looks
        if any(len(looks) > 1 for looks in fits.values()):
            return False
        mine = {person: next(iter(looks)) for person, looks in fits.items() if looks}
        for place in range(len(self.tables)):
            classes: dict[object, set[object]] = {}
            for look in mine.values():
                if look[place] is not None:
                    classes.setdefault(look[place], set()).add(look)
            if any(len(several) > 1 for several in classes.values()):
                return False
        return True

    def candidates(self, person: int, release: int) -> int:
        """How many rows of the first table of a release somebody who is in it can have."""
        place = next(place for place, table in enumerate(self.tables) if table.release == release)
        rows = {chosen[place] for chosen in self.worlds(person, release)}
        return sum(self.tables[place].counts[row] for row in rows if row >= 0)

    def broken(self, claims: Sequence[tuple[str, str, int]], newest: int) -> list[str]:
        """Which of some claims (model, column, level) are broken, for whom and in which release."""
        found = []
        for release, published in enumerate(self.releases):
            if not published.tables:
                continue
            for person in sorted(published.present):
                for model, column, level in claims:
                    said = self._broken(model, column, level, person, release, newest)
                    if said:
                        found.append(f"{said} for person {person} of release {release + 1}")
        return found

    def _broken(self, model: str, column: str, level: int, person: int, release: int, newest: int) -> str:
        if model == "k-anonymity":
            candidates = self.candidates(person, release) if release == newest else level
            return f"{candidates} candidates where {level} were promised" if candidates < level else ""
        values = self.values(person, column, release)
        if None not in values and len(values) < level:
            return f"{len(values)} values of {column} where {level} were promised"
        return ""


def _taken(left: tuple[tuple[int, ...], ...], chosen: tuple[int, ...]) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """In how many ways rows can be taken from what is left, and what is left then."""
    many, rest = 1, []
    for counts, row in zip(left, chosen, strict=True):
        if row >= 0:
            many *= counts[row]
            counts = (*counts[:row], counts[row] - 1, *counts[row + 1 :])
        rest.append(counts)
    return many, tuple(rest)


# -- reading folders ---------------------------------------------------------------------------------------------------


def read_release(
    folder: Path, number: int, covers: Mapping[str, Mapping[str, frozenset[str]]]
) -> tuple[PublishedTable, ...]:
    """The tables of a folder: recoded, anatomy or sub-tables. `covers` has the values below every label of a
    hierarchy."""
    found = []
    for file in sorted(folder.glob("*.csv")):
        if file.stem.startswith("sensitive") or file.stem.endswith("-sensitive"):
            continue
        lines = _lines(file)
        found.append(table_of(number, [_row(line, number, file.stem, covers) for line in lines]))
        for values in (*folder.glob("sensitive*.csv"), *folder.glob(f"{file.stem}-sensitive.csv")):
            found += _lists(values, number, file.stem, len(lines), covers)
    return tuple(found)


def at_release(table: PublishedTable, changing: Collection[str]) -> PublishedTable:
    """The table with columns whose values change under a name of this release."""
    rows = tuple(
        tuple((f"{name}@{table.release}" if name in changing else name, values) for name, values in row)
        for row in table.rows
    )
    return replace(table, rows=rows)


def _lists(
    file: Path, number: int, table: str, rows: int, covers: Mapping[str, Mapping[str, frozenset[str]]]
) -> Iterator[PublishedTable]:
    """A list of values per bucket, one table for each of its columns."""
    lines = _lines(file)
    by_name = file.stem.removeprefix("sensitive-") if file.stem.startswith("sensitive-") else ""
    columns = dict.fromkeys(line.get("column", by_name or "s") for line in lines)
    for column in columns:
        mine = [line for line in lines if line.get("column", column) == column]
        entries = [
            _row({"bucket": line["bucket"], column: line["value"]}, number, table, covers)
            for line in mine
            for _ in range(int(line["count"]))
        ]
        yield table_of(number, entries, partial=len(entries) < rows)


def _lines(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines, strict=True))


def _row(line: Mapping[str, str], number: int, table: str, covers: Mapping[str, Mapping[str, frozenset[str]]]) -> Row:
    cells = []
    for column, label in line.items():
        name = f"bucket of {table} of release {number + 1}" if column == "bucket" else column
        cells.append((name, covers.get(column, {}).get(label, frozenset({label}))))
    return tuple(cells)


def table_of(number: int, rows: list[Row], *, partial: bool = False) -> PublishedTable:
    """Equal rows are counted together."""
    counted = Counter(rows)
    return PublishedTable(number, tuple(counted), tuple(counted.values()), partial)
