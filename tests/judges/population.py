"""A judge of samples: a release and the whole population that its people come from.

An adversary knows the quasi-identifiers of the whole population and not who is in the table.

    k-map             of every published row at least k people of the population fit it
    delta-presence    where everybody fits one class: of F people who fit f rows, each is in the table with f / F;
                      nobody who fits no row is

`fits` says whether a published row may be about a person. Nothing of `sfumato` is imported.

>>> fits = lambda row, person: person["a"] in row["a"]
>>> town = [{"a": "x"}, {"a": "x"}, {"a": "y"}]
>>> fewest([{"a": "x"}], town, fits), sorted(presence([{"a": "x"}], town, fits))
(2, [Fraction(0, 1), Fraction(1, 2), Fraction(1, 2)])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

Row = Mapping[str, str]
Fits = Callable[[Row, Row], bool]


def fewest(rows: Sequence[Row], population: Sequence[Row], fits: Fits) -> int:
    """The smallest number of people whom a published row may be about."""
    return min((sum(fits(row, person) for person in population) for row in rows), default=len(population))


def presence(rows: Sequence[Row], population: Sequence[Row], fits: Fits) -> list[Fraction]:
    """The probability of being in the table for everybody; classes must not overlap."""
    found = []
    for person in population:
        mine = [row for row in rows if fits(row, person)]
        alike = sum(fits(mine[0], other) for other in population) if mine else 1
        found.append(Fraction(len(mine), alike))
    return found


def broken(rows: Sequence[Row], population: Sequence[Row], fits: Fits, model: str, level: Mapping[str, float]) -> str:
    """How a release breaks a requirement; empty where it keeps it."""
    if model == "k-map":
        found = fewest(rows, population, fits)
        return f"a row fits {found} people" if found < level["k"] else ""
    chances = presence(rows, population, fits)
    low, high = Fraction(str(level.get("at_least", 0))), Fraction(str(level["at_most"]))
    return "" if all(low <= chance <= high for chance in chances) else f"presence {min(chances)} to {max(chances)}"
