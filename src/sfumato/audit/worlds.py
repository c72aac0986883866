"""What an outsider who knows the algorithm may believe: possible worlds, the confidence of a link, and how often to ask.

Paper
    [obfuscation §4]: Eq. 1 (posterior of a world), p_{id,s} (confidence of a link), l = 1 / max p, and the number of repetitions t
    after which all estimated confidences lie within d of the truth with probability 1 − α (Thompson 1987).

Notation
    likelihood[w]   probability that the algorithm turns world w into what was published
    t               max over m of z²(1 − α/2m)·(1/m)(1 − 1/m)/d²: the worst case is m equally likely values

Departures
    Table 1 prints 0.2 for α = 0.02 and 3899 where the rule gives 3900.

>>> confidence({"T1": 0.5, "T3": 0.01}, {"T1": {("Joe", "a"), ("Bob", "b")}, "T3": {("Joe", "a"), ("Bob", "c")}})[("Bob", "b")]
0.9803921568627451
>>> repetitions(0.05, 0.05)
510
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

World = TypeVar("World", bound=Hashable)
Link = TypeVar("Link", bound=Hashable)


def posterior(likelihood: Mapping[World, float]) -> dict[World, float]:
    """Eq. 1: how probable each world is when all were equally so before."""
    total = sum(likelihood.values())
    return {world: weight / total for world, weight in likelihood.items() if weight > 0}


def confidence(likelihood: Mapping[World, float], links: Mapping[World, set[Link]]) -> dict[Link, float]:
    """p_{id,s}: the total probability of the worlds that contain the link."""
    found: dict[Link, float] = {}
    for world, probability in posterior(likelihood).items():
        for link in links[world]:
            found[link] = found.get(link, 0.0) + probability
    return found


def diversity(confidences: Mapping[Link, float]) -> float:
    """l: the inverse of the largest confidence."""
    return 1.0 / max(confidences.values())


def repetitions(d: float, alpha: float) -> int:
    """How many worlds to draw so that every estimated confidence is within d, with probability 1 − α."""
    from statistics import NormalDist

    normal = NormalDist()
    worst = max((normal.inv_cdf(1 - alpha / (2 * m)) ** 2) * (1 / m) * (1 - 1 / m) for m in range(2, 20))
    return math.ceil(worst / d**2 - 1e-9)


def margin(rows: int, alpha: float) -> float:
    """The d that so many draws give at 1 − α."""
    from statistics import NormalDist

    normal = NormalDist()
    worst = max((normal.inv_cdf(1 - alpha / (2 * m)) ** 2) * (1 / m) * (1 - 1 / m) for m in range(2, 20))
    return math.sqrt(worst / rows)
