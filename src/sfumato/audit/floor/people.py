"""People in several rows, counted a second time: rows as they are written, and a name behind each of them.

`broken_for_people` counts where somebody's rows *are*, with dictionaries and whole numbers. The audit counts where they could be,
which is never less; so whatever is broken here must be broken there.

Per class of n rows, for every person with m of them, and every value that f rows have
    k·m ≤ n, when a number of candidates is asked for
    f + m ≤ n, when something is asked of values
    people who have the value ≤ share × people of the class, when a share is asked for
Of subset anonymity there are classes for every choice of up to m columns. Of an anatomy the classes are its buckets, f is listed,
and of a person's m rows none has the value with C(n−f, m) / C(n, m), which leaves no more than the share that is asked for.

>>> rows = [("30", "flu")] * 4 + [("30", "gout")] * 3
>>> whose = ["Max"] * 5 + ["Ann", "Eve"]
>>> broken_classes(rows, whose, Asking(k=2, values=True, share=Fraction(1)), [0], [1])
1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path

from sfumato.audit.floor.definitions import NotCounted, level_of
from sfumato.audit.floor.files import Folder, Row, cells_at, open_folder, read_rows
from sfumato.audit.floor.groups import values_in_buckets
from sfumato.audit.floor.written import Asked, read_policy


@dataclass(frozen=True, slots=True)
class Asking:
    """What a claim comes to for people."""

    k: int = 1
    values: bool = False
    share: Fraction = Fraction(1)
    known: int | None = None
    """The most columns that an outsider knows; all that are given when it is not said."""


def broken_for_people(folder: Path, whose: Sequence[str]) -> int:
    """Classes of the published rows that break a claim for somebody; `whose` names a person for every row, in order."""
    opened = open_folder(folder)
    header, rows = read_rows(opened.listed["data"][0][0])
    if len(rows) != len(whose):
        return len(rows)
    if opened.form == "anatomy":
        return _broken_buckets(opened, [row[header.index("bucket")] for row in rows], whose)
    broken, classes = 0, dict[tuple[int, ...], ClassesOfRows]()
    for asked in read_policy(folder / "policy.yaml").asked:
        given, hide = ([header.index(name) for name in side] for side in (asked.given, asked.hide))
        wanted = asking(asked)
        many = [len(given)] if wanted.known is None else range(min(wanted.known, len(given)) + 1)
        for known in (known for one in many for known in combinations(given, one)):
            if known not in classes:
                classes[known] = ClassesOfRows(rows, whose, known)
            broken += classes[known].broken(wanted, hide)
    return broken


def _broken_buckets(folder: Folder, bucket: Sequence[str], whose: Sequence[str]) -> int:
    """Buckets that break a claim for somebody who has rows there."""
    policy, size = read_policy(folder.path / "policy.yaml"), Counter(bucket)
    most = dict.fromkeys(size, 0)
    for (place, _), many in Counter(zip(bucket, whose, strict=True)).items():
        most[place] = max(most[place], many)
    broken = 0
    for asked in policy.asked:
        wanted = asking(asked)
        found = {place for place, many in size.items() if wanted.k * most[place] > many}
        for column in asked.hide if wanted.values else ():
            for place, listed in values_in_buckets(folder, policy, column, size).items():
                n, f, m = size[place], max(listed.values()), most[place]
                if f + m > n or 1 - Fraction(comb(n - f, m), comb(n, m)) > wanted.share:
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
        self.most: dict[int, int] = {}
        self.people: Counter[int] = Counter()
        for (kind, _), many in Counter(zip(self.of, whose, strict=True)).items():
            self.most[kind] = max(many, self.most.get(kind, 0))
            self.people[kind] += 1

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
