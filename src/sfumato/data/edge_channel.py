"""The channel every pair of people passes on its way out: an edge is lost with probability `delete`, a non-edge becomes
one with probability `add`.

Guarantee
    Each pair alone is protected by randomized response: whatever is published, the odds that two people are joined
    change by a factor of at most e^ε with ε = max(ln((1 − delete)/add), ln((1 − add)/delete)); for delete = add = μ
    this is ln((1 − μ)/μ). This is a promise about one edge, not about one person.

Paper
    [multitype §4.2] for the symmetric flip, §4.3 for undoing it, §4.4.2 for the degree of one node.

Notation
    q, a      `delete`, `add`; the symmetric flip has q = a = μ.
    c         `slope` = 1 − q − a: an indicator x becomes a + c·x on average.
    v0, v1    variance of the unbiased indicator (y − a)/c for a non-edge and for an edge.

Departures
    [multitype Eq. 4.16] takes the original edges as random. For the graph at hand σ(ĥ)² = h·v1 + (M − h)·v0, for the
    symmetric flip σ(ĥ) = √(Mμ(1 − μ))/(1 − 2μ), whatever h is.

>>> flip = EdgeChannel.symmetric(0.01)
>>> round(flip.epsilon, 3), round(flip.edges_error(499_500, 99_900), 2)
(4.595, 71.76)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.arrays import FloatArray
from sfumato.core.errors import PolicyError, ReleaseError


@dataclass(frozen=True, slots=True)
class EdgeChannel:
    """Independent loss and gain of edges."""

    delete: float
    add: float

    def __post_init__(self) -> None:
        if not (0 <= self.delete < 1 and 0 <= self.add < 1 and self.delete + self.add < 1):
            raise PolicyError(
                "flip probabilities must be at least 0 and together less than 1",
                hint="the symmetric flip needs mu below 0.5",
            )

    @classmethod
    def symmetric(cls, mu: float) -> EdgeChannel:
        """Every pair flips with probability μ."""
        return cls(mu, mu)

    @classmethod
    def keeping_edges(cls, delete: float, edges: int, pairs: int) -> EdgeChannel:
        """Lose edges with probability `delete` and gain as many on average."""
        return cls(delete, delete * edges / (pairs - edges) if pairs > edges else 0.0)

    @classmethod
    def from_public(cls, public: Mapping[str, Any]) -> EdgeChannel:
        """The flip a release declares in its manifest."""
        try:
            return cls(float(public["delete"]), float(public["add"]))
        except (KeyError, TypeError, ValueError):
            raise ReleaseError("the manifest does not say how edges were flipped") from None

    def to_public(self) -> dict[str, float]:
        """Return what a release declares: both directions, and μ with the edge-level ε where both are alike."""
        both = {"delete": self.delete, "add": self.add}
        if not self.is_symmetric:
            return both
        return (
            {"mu": self.delete}
            | both
            | ({"edge_epsilon": round(self.epsilon, 4)} if math.isfinite(self.epsilon) else {})
        )

    @property
    def is_symmetric(self) -> bool:
        return self.delete == self.add

    @property
    def slope(self) -> float:
        return 1.0 - self.delete - self.add

    @property
    def epsilon(self) -> float:
        """The edge-level ε of randomized response; infinite when one direction never happens."""
        if self.delete == 0 or self.add == 0:
            return math.inf
        return max(math.log((1 - self.delete) / self.add), math.log((1 - self.add) / self.delete))

    @property
    def variance_without_edge(self) -> float:
        return self.add * (1 - self.add) / self.slope**2

    @property
    def variance_with_edge(self) -> float:
        return self.delete * (1 - self.delete) / self.slope**2

    def then(self, second: EdgeChannel) -> EdgeChannel:
        """The flip that does the work of both, one after the other.

        >>> EdgeChannel.symmetric(0.1).then(EdgeChannel.symmetric(0.1)).delete
        0.18
        """
        kept = (1 - self.delete) * (1 - second.delete) + self.delete * second.add
        gained = self.add * (1 - second.delete) + (1 - self.add) * second.add
        return EdgeChannel(round(1 - kept, 15), round(gained, 15))

    def expected_edges(self, pairs: int, edges: int) -> float:
        return edges * (1 - self.delete) + (pairs - edges) * self.add

    def edges_error(self, pairs: int, edges: float) -> float:
        """Standard error of the recovered number of edges."""
        inside = min(max(edges, 0.0), float(pairs))
        return math.sqrt(inside * self.variance_with_edge + (pairs - inside) * self.variance_without_edge)

    def published_density(self, density: float) -> float:
        """The chance that a pair is an edge after the flip when it was one with chance `density`."""
        return self.add + self.slope * density

    def degree_law(self, degree: int, nodes: int) -> tuple[int, FloatArray]:
        """Pr(published degree | original degree) as (first value, probabilities), to 1e-14 of the mass.

        [multitype §4.4.2], the sum over removals written as the convolution of two binomials.

        >>> first, law = EdgeChannel.symmetric(0.25).degree_law(1, 3)
        >>> first, law.round(4).tolist()
        (0, [0.1875, 0.625, 0.1875])
        """
        kept_from, kept = binomial_probabilities(degree, 1 - self.delete)
        gained_from, gained = binomial_probabilities(nodes - 1 - degree, self.add)
        return kept_from + gained_from, np.convolve(kept, gained)


def epsilon_of(flips: Iterable[EdgeChannel]) -> float:
    """The largest log odds about one tie that several independent flips of it give together; infinite when one never
    happens.

    >>> round(epsilon_of([EdgeChannel.symmetric(0.1), EdgeChannel.symmetric(0.2)]), 4)
    3.5835
    """
    seen = list(flips)
    if any(one.delete == 0 or one.add == 0 for one in seen):
        return math.inf
    tied = math.fsum(math.log((1 - one.delete) / one.add) for one in seen)
    untied = math.fsum(math.log((1 - one.add) / one.delete) for one in seen)
    return max(tied, untied)


def binomial_probabilities(trials: int, chance: float, tail: float = 1e-15) -> tuple[int, FloatArray]:
    """The binomial probabilities that matter, as (first value, probabilities).

    >>> first, law = binomial_probabilities(2, 0.5)
    >>> first, law.round(6).tolist()
    (0, [0.25, 0.5, 0.25])
    """
    from scipy.special import gammaln, xlog1py, xlogy

    mean, spread = trials * chance, math.sqrt(max(trials * chance * (1 - chance), 0.0))
    reach = 9 * spread + 25
    first, last = max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))
    value = np.arange(first, last + 1, dtype=np.float64)
    log = gammaln(trials + 1) - gammaln(value + 1) - gammaln(trials - value + 1)
    law = np.exp(log + xlogy(value, chance) + xlog1py(trials - value, -chance))
    heavy = np.flatnonzero(law > tail)
    first += int(heavy[0])
    law = law[heavy[0] : heavy[-1] + 1]
    return first, law / law.sum()
