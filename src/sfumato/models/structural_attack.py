"""structural-attack: an adversary who created accounts before publication finds them with at most a given probability.

Guarantee
    `against: any` (the default) holds two bounds at once. Attacks that follow a path through the planted accounts,
    knowing degrees and anything else: (1 − q)^(k − 1). Attacks of any kind on the ties among the planted accounts, with
    unlimited computing power: the power of the best test between tied and not tied (`models._planted.any_bound`).
    `paths` and `ties` hold one each. Neither covers an account that is recognized by its number of ties to others; see
    `models.structural_attack`.

Paper
    [multitype §4.4.5, §4.5]

>>> model = StructuralAttack(planted=20, success_at_most=0.05)
>>> model.needed_mu(7115)
0.2082
>>> bounds = model.bounds(EdgeChannel.symmetric(0.1459), 7115)
>>> bounds["paths"] <= 0.05, bounds["ties"] <= 0.05
(True, False)


Planted
-------
How likely it is that someone who planted accounts before publication finds them again, whatever they compute.

Guarantee
    `path_bound`: any attack that must see its whole backbone of k − 1 ties survive (walk-based, interval-walk) succeeds
    with probability at most (1 − q)^(k − 1), whatever else the adversary knows. `success_bound`: any attack at all that
    looks at the ties *among* the planted accounts, with unlimited computing power and whatever ties were planted, puts
    all k names on the right nodes with probability at most f(1 / P), where P = N!/(N − k)! and f(α) is the power of the
    best test of size α between "all M planted pairs were tied" and "none was".

Why `success_bound` holds
    A guess partitions the published graphs into one region for each of the P places. Under the law Q without planting,
    the regions together have probability at most 1, so 1/P on average. Given everything else, the law with planting at
    Y and Q differ only in the M = k(k − 1)/2 pairs inside Y; by the data-processing inequality no test tells them apart
    better than one between M flipped ties and M flipped non-ties, whose power at size α is f(α). f is concave, so the
    average over places is at most f(1/P). Nothing is assumed about the other people's ties except that they do not
    depend on which nodes were planted.

Several publications of the same graph
    Every one flips anew and renames anew, and the adversary has them all (`beside`). A path is found if each of its
    edges survives in some release: (1 − q₁q₂…)^(k − 1), even if the adversary can match the nodes of all releases.
    `success_bound` keeps its proof: the law with planting and Q differ in M pairs of each release, so f is the power of
    the best test between all of them tied and none, and names are drawn anew, so each release has its own P places and
    the smallest number of people counts. How often ties were seen in a release is sufficient, and releases are
    independent: the exact law is a product of binomials.

What neither covers
    Ties from planted accounts to others. An account with a degree unlike any person's can be recognized by its degree
    alone; `sfumato attack structural` plays that adversary.

Paper
    [multitype §4.4.5] Eqs. 4.19, 4.20 for paths; §4.5 for everything else.

Notation
    k, N     planted accounts, people. M = k(k − 1)/2 pairs inside. e = planted ties. m = pairs that flipped.
    p, p′    density before and after the flip; p′ = a + c·p.
    λ_Y      probability that the nodes Y are the planted ones, given the published graph.

Departures
    [multitype Thm 4.5.1] drops a factor that depends on Y. λ_Y is proportional to the likelihood *ratio* of the pairs
    inside Y, planted against background: `posterior`. Eq. 4.30 (density one half, mean of a logarithm) is not used;
    `log_odds` replaces it, as a figure to read, and `success_bound` as the figure to rely on. m counts the symmetric
    difference. Claim 3's probability is (2μ(1 − μ))^x · ((1 − μ)² + μ²)^(k − x), because both victims' ties are
    flipped.

>>> round(needed_flip(20, 0.05, 7115, against="paths"), 4)
0.1459
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations, product
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.arrays import FloatArray
from sfumato.core.errors import Infeasible
from sfumato.core.wording import Wording
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph
from sfumato.models.base import Example, Safer, round_significant
from sfumato.models.channel_model import ChannelModel, PublishedChannel

COVERED = {
    "paths": (
        "attacks that follow a path through the planted accounts (walk-based, interval-walk), whatever else they know"
    ),
    "ties": "attacks of any kind and any computing power on the ties among the planted accounts",
}


class StructuralAttack(ChannelModel):
    """An adversary who planted accounts before publication finds them with at most this probability."""

    name: ClassVar[str] = "structural-attack"
    words: ClassVar[Wording] = Wording(
        group="privacy",
        title="Planted accounts",
        holds=(
            "{asked.planted} planted accounts are found with probability at most "
            "{found.success_at_most %} (limit: {asked.success_at_most %})."
        ),
        violated=(
            "{asked.planted} planted accounts may be found with probability up to "
            "{found.success_at_most %} (limit: {asked.success_at_most %})."
        ),
        headline=(
            "An adversary who planted {asked.planted} accounts finds all of them again with "
            "probability at most {found.success_at_most %}."
        ),
        limit="Accounts with an unusual number of ties to others are not covered.",
    )
    sentence: ClassVar[str] = (
        "and has planted {planted} accounts may find them all again with a chance of at most {success_at_most} (along"
        " {against})"
    )
    paper: ClassVar[str] = "multitype §4.4.5, §4.5"
    levels: ClassVar[Mapping[str, Safer]] = {"success_at_most": "less"}
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            {"planted": 20, "success_at_most": 0.05},
            holds=PublishedChannel(EdgeChannel.symmetric(0.2082), 7115),
            fails=PublishedChannel(EdgeChannel.symmetric(0.1459), 7115),
        ),
    )

    planted: int = Field(ge=2, description="number of accounts that the adversary controls")
    success_at_most: float = Field(gt=0, lt=1, description="largest probability to find all of them")
    against: Literal["any", "paths", "ties"] = Field(
        default="any",
        description="paths: attacks that need a path of planted accounts; ties: any attack on the edges among them",
    )

    def required(self) -> dict[str, Any]:
        return self.model_dump()

    def bounds(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> dict[str, float]:
        """The bounds that apply, by the attacks they cover."""
        found = {}
        if "paths" in self.covered():
            found["paths"] = path_bound(flip, self.planted, beside)
        if "ties" in self.covered():
            found["ties"] = success_bound(flip, self.planted, nodes, beside) if nodes >= self.planted else 1.0
        return found

    def covered(self) -> Mapping[str, str]:
        return {kind: words for kind, words in COVERED.items() if self.against in ("any", kind)}

    @property
    def needs_new_ties(self) -> bool:
        """Attacks along paths are stopped by lost edges alone."""
        return "ties" in self.covered()

    def holds(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> bool:
        return max(self.bounds(flip, nodes, beside).values()) <= self.success_at_most

    def level(self, flip: EdgeChannel, nodes: int, beside: Sequence[EdgeChannel] = ()) -> dict[str, Any]:
        """What is achieved, under the name of the parameter, with each bound beside it."""
        bounds = self.bounds(flip, nodes, beside)
        each = {f"by_{name}": round_significant(value) for name, value in bounds.items()}
        return {"planted": self.planted, "success_at_most": round_significant(max(bounds.values())), **each}

    def needed_mu(self, nodes: int, beside: Sequence[EdgeChannel] = ()) -> float:
        """The smallest symmetric flip that holds; 0.5 when none does."""
        if self.planted > nodes:
            what = f"{self.planted} planted accounts are more than the {nodes} people of the graph"
            raise Infeasible(what, where=self.name, hint="plant fewer, or leave the claim out for a graph this small")
        return needed_flip(self.planted, self.success_at_most, nodes, against=self.against, beside=beside)


# Planted
# -------


_STATES = 2_000_000
"""Counts of all releases that are listed; beyond that the most alike channels are taken for the less noisy of them."""


def path_bound(flip: EdgeChannel, planted: int, beside: Sequence[EdgeChannel] = ()) -> float:
    """The chance that a path through all planted accounts survives, each tie in one of the releases at least."""
    lost = math.prod(one.delete for one in (flip, *beside))
    return float((1 - lost) ** max(planted - 1, 0))


def success_bound(flip: EdgeChannel, planted: int, nodes: int, beside: Sequence[EdgeChannel] = ()) -> float:
    """Most that any attack on the ties among `planted` of `nodes` accounts can succeed, whatever those ties are."""
    pairs = planted * (planted - 1) // 2
    kinds = _few(Counter((flip, *beside)), pairs)
    ways = product(
        *([(1 - one.delete, one.add), (1 - one.add, one.delete)][: 1 if one.is_symmetric else 2] for one in kinds)
    )
    trials = [pairs * often for often in kinds.values()]
    places = log_places(planted, nodes)
    return max(_power(trials, [chance for chance, _ in way], [noise for _, noise in way], places) for way in ways)


def _few(kinds: Counter[EdgeChannel], pairs: int) -> Counter[EdgeChannel]:
    """Channels whose counts can be listed: two alike ones say no more than their less noisy one twice, which both are
    noise on."""
    kinds = Counter(kinds)
    while len(kinds) > 1 and math.prod(pairs * often + 1 for often in kinds.values()) > _STATES:
        near = min(
            combinations(kinds, 2), key=lambda two: abs(two[0].delete - two[1].delete) + abs(two[0].add - two[1].add)
        )
        often = sum(kinds.pop(one) for one in near)
        kinds[EdgeChannel(min(one.delete for one in near), min(one.add for one in near))] += often
    return kinds


def log_places(planted: int, nodes: int) -> float:
    """ln of N!/(N − k)!, the ways to place the planted accounts."""
    return math.lgamma(nodes + 1) - math.lgamma(nodes - planted + 1)


def _power(trials: Sequence[int], chances: Sequence[float], backgrounds: Sequence[float], log_size: float) -> float:
    """Power at size e^−log_size of the best test between independent counts with these chances and with those of the
    background.

    The best test accepts the counts with the largest likelihood ratio first, and the last ones with a fraction.
    """
    hit, noise = _listed(trials, chances), _listed(trials, backgrounds)
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isneginf(hit), -np.inf, hit - noise)
    order = np.argsort(-ratio, kind="stable")
    hit, noise = hit[order], noise[order]
    size = np.logaddexp.accumulate(noise) + log_size
    full = int(np.searchsorted(size, 0.0, side="right"))
    power = float(np.exp(hit[:full]).sum())
    if full < len(hit):
        spent = math.exp(size[full - 1]) if full else 0.0
        power += (1 - spent) * math.exp(hit[full] - noise[full] - log_size)
    return min(power, 1.0)


def _listed(trials: Sequence[int], chances: Sequence[float]) -> FloatArray:
    """ln of the chance of every combination of counts."""
    found = np.zeros(1)
    for number, chance in zip(trials, chances, strict=True):
        found = (found[:, None] + _log_binomial(number, chance)[None, :]).reshape(-1)
    return found


def _log_binomial(trials: int, chance: float) -> FloatArray:
    from scipy.special import gammaln, xlog1py, xlogy

    value = np.arange(trials + 1, dtype=np.float64)
    choices = gammaln(trials + 1) - gammaln(value + 1) - gammaln(trials - value + 1)
    return np.asarray(choices + xlogy(value, chance) + xlog1py(trials - value, -chance))


def needed_flip(
    planted: int, success: float, nodes: int, *, against: str = "any", beside: Sequence[EdgeChannel] = ()
) -> float:
    """The smallest symmetric μ, rounded up to four digits after the point, that keeps the bounds at or below `success`.

    `against` is "paths" (only `path_bound`), "ties" (only `success_bound`) or "any" (both). The answer depends on the
    number of people and on how they were published before (`beside`), so publishing it tells nothing else about the
    graph; 0.5 when none exists."""
    lost = math.prod(one.delete for one in beside)
    by_path = (1 - success ** (1 / (planted - 1))) / max(lost, 1e-300) if planted > 1 else 0.5
    found = _rounded_up(min(by_path, 0.5)) if against != "ties" else 0.0
    while (
        against != "paths"
        and found < 0.5
        and success_bound(EdgeChannel.symmetric(found), planted, nodes, beside) > success
    ):
        found = _rounded_up(_bisected(found, planted, success, nodes, beside))
    return min(found, 0.5)


def _bisected(low: float, planted: int, success: float, nodes: int, beside: Sequence[EdgeChannel]) -> float:
    high = 0.5 - 1e-9
    if success_bound(EdgeChannel.symmetric(high), planted, nodes, beside) > success:
        return 0.5
    while high - low > 1e-5:
        middle = (low + high) / 2
        if success_bound(EdgeChannel.symmetric(middle), planted, nodes, beside) > success:
            low = middle
        else:
            high = middle
    return high


def _rounded_up(mu: float) -> float:
    return math.ceil(round(mu * 1e4, 6)) / 1e4


def log_odds(
    flip: EdgeChannel, planted: int, ties: int, nodes: int, density: float, *, lost: int = 0, gained: int = 0
) -> float:
    """ln of the odds that a place showing all planted ties but `lost`, and `gained` others, is the planted one.

    The mean likelihood ratio of a wrong place is 1, so the P places together weigh about P; an estimate, not a bound.
    """
    tied, untied = _ratios(flip, density)
    others = planted * (planted - 1) // 2 - ties
    ratio = (ties - lost) * tied[1] + lost * tied[0] + (others - gained) * untied[0] + gained * untied[1]
    return ratio - log_places(planted, nodes)


def _ratios(flip: EdgeChannel, density: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """ln likelihood ratios (published without, with an edge) for a planted tie and for a planted non-tie."""
    after = flip.published_density(density)
    tied = (_log_ratio(flip.delete, 1 - after), _log_ratio(1 - flip.delete, after))
    untied = (_log_ratio(1 - flip.add, 1 - after), _log_ratio(flip.add, after))
    return tied, untied


def _log_ratio(top: float, bottom: float) -> float:
    if top == 0 or bottom == 0:
        return -math.inf if top == 0 else math.inf
    return math.log(top / bottom)


def posterior(published: Graph, planted: Graph, flip: EdgeChannel, density: float) -> dict[tuple[int, ...], float]:
    """λ_Y for every ordered choice of nodes, by enumeration: for tiny graphs and for tests of everything else."""
    tied, untied = _ratios(flip, density)
    pairs = list(combinations(range(planted.nodes), 2))
    kinds = [tied if planted.has_edges([i], [j])[0] else untied for i, j in pairs]
    adjacency = published.to_networkx().has_edge
    weight = {}
    for place in permutations(range(published.nodes), planted.nodes):
        seen = (kind[adjacency(place[i], place[j])] for kind, (i, j) in zip(kinds, pairs, strict=True))
        weight[place] = math.exp(sum(seen))
    total = math.fsum(weight.values())
    return {place: value / total for place, value in weight.items()}


def same_victims(flip: EdgeChannel, accounts: int, differing: int) -> float:
    """The chance that two victims tied to `differing` different accounts look alike afterwards (Claim 3, put right)."""
    q, a = flip.delete, flip.add
    become_same = (1 - q) * a + q * (1 - a)
    stay_same = max((1 - q) ** 2 + q**2, (1 - a) ** 2 + a**2)
    return become_same**differing * stay_same ** (accounts - differing)
