"""People in several rows, counted a second time: rows as they are written, and a name behind each of them.

`broken_for_people` counts where somebody's rows *are*, with dictionaries and whole numbers. The audit counts where they could be,
which is never less; so whatever is broken here must be broken there.

Per class of n rows, for every person with m of them, and every value that f rows have
    k·m ≤ n, when a number of candidates is asked for
    f + m ≤ n, when something is asked of values
    people who have the value ≤ share × people of the class, when a share is asked for
Of subset anonymity there are classes for every choice of up to m columns.

>>> rows = [("30", "flu")] * 4 + [("30", "gout")] * 3
>>> whose = ["Max"] * 5 + ["Ann", "Eve"]
>>> broken_classes(rows, whose, Asking(k=2, values=True, share=Fraction(1)), [0], [1])
1
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from sfumato.audit.floor.definitions import NotCounted, level_of
from sfumato.audit.floor.files import Row, open_folder, read_rows
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
    header, rows = read_rows(open_folder(folder).listed["data"][0][0])
    if len(rows) != len(whose):
        return len(rows)
    broken = 0
    for asked in read_policy(folder / "policy.yaml").asked:
        given, hide = ([header.index(name) for name in side] for side in (asked.given, asked.hide))
        wanted = asking(asked)
        many = [len(given)] if wanted.known is None else range(min(wanted.known, len(given)) + 1)
        choices = [known for one in many for known in combinations(given, one)]
        broken += sum(broken_classes(rows, whose, wanted, known, hide) for known in choices)
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


def broken_classes(rows: Sequence[Row], whose: Sequence[str], wanted: Asking, given: Sequence[int], hide: Sequence[int]) -> int:
    """The classes in which somebody has too many rows, or a value is had too surely."""
    classes: dict[Row, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        classes[tuple(row[column] for column in given)].append(place)
    return sum(_is_broken([(rows[i], whose[i]) for i in members], wanted, hide) for members in classes.values())


def _is_broken(members: Sequence[tuple[Row, str]], wanted: Asking, hide: Sequence[int]) -> bool:
    n, held = len(members), Counter(name for _, name in members)
    most = max(held.values())
    if wanted.k * most > n:
        return True
    for column in hide if wanted.values else ():
        if most + max(Counter(row[column] for row, _ in members).values()) > n:
            return True
        if _most_people({(row[column], name): 1 for row, name in members}) > wanted.share * len(held):
            return True
    return False


def _most_people(having: Mapping[tuple[str, str], int]) -> int:
    return max(Counter(value for value, _ in having).values())
