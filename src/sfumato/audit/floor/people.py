"""People in several rows, counted a second time: rows as they are written, and a name behind each of them.

`broken_for_people` counts with dictionaries and whole numbers: in classes where somebody's rows *are*, in buckets where they could
be by what the table shows (`rows_that_fit`). The audit, which knows the original, never counts less; so whatever is broken here
must be broken there.

Per class of n rows, for every person with m of them, and every value that f rows have
    k·m ≤ n, when a number of candidates is asked for
    f + m ≤ n, when something is asked of values
    people who have the value ≤ share × people of the class, when a share is asked for
Of subset anonymity there are classes for every choice of up to m columns. Of an anatomy the classes are its buckets, f is listed,
and of a person's m rows none has the value with C(n−f, m) / C(n, m), which leaves no more than the share that is asked for; of
sub-tables they are the buckets of the table in which a hidden column is dealt (`people_in_subtables`).

>>> rows = [("30", "flu")] * 4 + [("30", "gout")] * 3
>>> whose = ["Max"] * 5 + ["Ann", "Eve"]
>>> broken_classes(rows, whose, Asking(k=2, values=True, share=Fraction(1)), [0], [1])
1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, compress
from pathlib import Path

from sfumato.audit.floor.definitions import NotCounted, level_of
from sfumato.audit.floor.files import Folder, Row, cells_at, open_folder, read_rows
from sfumato.audit.floor.groups import values_in_buckets
from sfumato.audit.floor.people_in_subtables import broken_columns, seated, too_sure
from sfumato.audit.floor.rows_that_fit import most_that_fit
from sfumato.audit.floor.written import Asked, read_policy


@dataclass(frozen=True, slots=True)
class Asking:
    """What a claim comes to for people."""

    k: int = 1
    values: bool = False
    share: Fraction = Fraction(1)
    known: int | None = None
    """The most columns that an outsider knows; all that are given when it is not said."""


def broken_for_people(folder: Path, whose: Mapping[str, Sequence[str]]) -> int:
    """Classes of the published rows that break a claim for somebody; `whose` names a person for every row of a table, in order."""
    opened = open_folder(folder)
    return {"sub-tables": _broken_in_subtables, "anatomy": _broken_buckets}.get(opened.form, _broken_classes)(opened, whose)


def _broken_classes(folder: Folder, whose: Mapping[str, Sequence[str]]) -> int:
    """Classes of rows that look alike."""
    (header, rows), names = read_rows(folder.listed["data"][0][0]), whose["data"]
    if len(rows) != len(names):
        return len(rows)
    broken, classes = 0, dict[tuple[int, ...], ClassesOfRows]()
    for asked in read_policy(folder.path / "policy.yaml").asked:
        given, hide = ([header.index(name) for name in side] for side in (asked.given, asked.hide))
        wanted = asking(asked)
        many = [len(given)] if wanted.known is None else range(min(wanted.known, len(given)) + 1)
        for known in (known for one in many for known in combinations(given, one)):
            if known not in classes:
                classes[known] = ClassesOfRows(rows, names, known)
            broken += classes[known].broken(wanted, hide)
    return broken


def _broken_in_subtables(folder: Folder, whose: Mapping[str, Sequence[str]]) -> int:
    """Buckets of all tables, and columns that stand apart, that break a claim for somebody."""
    policy, tables, broken = read_policy(folder.path / "policy.yaml"), list(seated(folder, whose)), 0
    for asked in policy.asked:
        wanted = asking(asked)
        if wanted.k > 1 or policy.knows:
            raise NotCounted("candidates, and what outsiders know, are not counted for people in sub-tables")
        if wanted.values:
            broken += broken_columns(tables, frozenset(asked.given), asked.hide, asked.composite, wanted.share)
    return broken


def _broken_buckets(folder: Folder, whose: Mapping[str, Sequence[str]]) -> int:
    """Buckets that break a claim for somebody who has rows there."""
    (header, rows), names = read_rows(folder.listed["data"][0][0]), whose["data"]
    if len(rows) != len(names):
        return len(rows)
    bucket = [row[header.index("bucket")] for row in rows]
    policy, size, broken = read_policy(folder.path / "policy.yaml"), Counter(bucket), 0
    for asked in policy.asked:
        wanted, known = asking(asked), [header.index(name) for name in asked.given if name in header]
        most = most_that_fit(bucket, names, list(map(cells_at(known), rows)))
        found = {place for place, many in size.items() if wanted.k * most[place] > many}
        for column in asked.hide if wanted.values else ():
            for place, listed in values_in_buckets(folder, policy, column, size).items():
                n, f, m = size[place], max(listed.values()), most[place]
                if too_sure(n, f, m, wanted.share):
                    found.add(place)
        broken += len(found)
    return broken


def asking(asked: Asked) -> Asking:
    """A claim in numbers of people; what is not about numbers, different values and shares cannot be counted so."""
    level = level_of(asked.model, asked.level)
    if asked.model == "k-anonymity":
        return Asking(k=int(level["k"]))
    if asked.model == "subset-anonymity":
        return Asking(k=int(level["k"]), known=int(level["m"]))
    if asked.model == "p-sensitivity":
        return Asking(values=level["p"] > 0)
    if asked.model == "alpha-k-anonymity":
        return Asking(int(level["k"]), level["alpha"] < 1, Fraction(str(level["alpha"])))
    if asked.model == "l-diversity" and level["kind"] in ("distinct", "frequency"):
        return Asking(values=True, share=1 / Fraction(str(level["l"])) if level["kind"] == "frequency" else Fraction(1))
    raise NotCounted(f"{asked.model} is not counted for people in several rows")


class ClassesOfRows:
    """Rows that look alike in some columns: how many there are of each class, of whom, and the most of one person."""

    def __init__(self, rows: Sequence[Row], whose: Sequence[str], given: Sequence[int]) -> None:
        self.rows, self.of, self.whose = rows, numbered(rows, given), whose
        self.size = Counter(self.of)
        self.most = dict.fromkeys(self.size, 1)
        several = {name for name, many in Counter(whose).items() if many > 1}  # of nobody else there is more than one row
        pairs = compress(zip(self.of, whose, strict=True), map(several.__contains__, whose))
        for (kind, _), many in Counter(pairs).items():
            self.most[kind] = max(many, self.most[kind])

    @cached_property
    def people(self) -> Counter[int]:
        """How many different people stand in each class."""
        return Counter(kind for kind, _ in set(zip(self.of, self.whose, strict=True)))

    def broken(self, wanted: Asking, hide: Sequence[int]) -> int:
        """The classes in which somebody has too many rows, or a value is had too surely."""
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


def broken_classes(rows: Sequence[Row], whose: Sequence[str], wanted: Asking, given: Sequence[int], hide: Sequence[int]) -> int:
    """The same of rows, and whose they are."""
    return ClassesOfRows(rows, whose, given).broken(wanted, hide)


def numbered(rows: Sequence[Row], given: Sequence[int]) -> list[int]:
    """The class of every row, numbered as they come.

    >>> numbered([("a", "1"), ("b", "1"), ("a", "2")], [0])
    [0, 1, 0]
    """
    known: dict[Row, int] = {}
    cells = cells_at(given)
    return [known.setdefault(cells(row), len(known)) for row in rows]
