"""How likely it is that someone who planted accounts before publication finds them again, whatever they compute.

Guarantee
    `path_bound`: any attack that must see its whole backbone of k − 1 ties survive (walk-based, interval-walk) succeeds with
    probability at most (1 − q)^(k − 1), whatever else the adversary knows.
    `any_bound`: any attack at all that looks at the ties *among* the planted accounts, with unlimited computing power and
    whatever ties were planted, puts all k names on the right nodes with probability at most f(1 / P), where P = N!/(N − k)! and
    f(α) is the power of the best test of size α between "all M planted pairs were tied" and "none was".

Why `any_bound` holds
    A guess partitions the published graphs into one region for each of the P places. Under the law Q without planting, the
    regions together have probability at most 1, so 1/P on average. Given everything else, the law with planting at Y and
    Q differ only in the M = k(k − 1)/2 pairs inside Y; by the data-processing inequality no test tells them apart better than one
    between M flipped ties and M flipped non-ties, whose power at size α is f(α). f is concave, so the average over places is
    at most f(1/P). Nothing is assumed about the other people's ties except that they do not depend on which nodes were planted.

What neither covers
    Ties from planted accounts to others. An account with a degree unlike anybody's can be recognized by its degree alone;
    `sfumato attack structural` plays that adversary.

Paper
    [multitype §4.4.5] Eqs. 4.19, 4.20 for paths; §4.5 for everything else.

Notation
    k, N     planted accounts, people. M = k(k − 1)/2 pairs inside. e = planted ties. m = pairs that flipped.
    p, p′    density before and after the flip; p′ = a + c·p.
    λ_Y      probability that the nodes Y are the planted ones, given the published graph.

Departures
    [multitype Thm 4.5.1] drops a factor that depends on Y. λ_Y is proportional to the likelihood *ratio* of the pairs inside Y,
    planted against background: `posterior`. Eq. 4.30 (density one half, mean of a logarithm) is not used; `log_odds` replaces it,
    as a figure to read, and `any_bound` as the figure to rely on. m counts the symmetric difference. Claim 3's probability is
    (2μ(1 − μ))^x · ((1 − μ)² + μ²)^(k − x), because both victims' ties are flipped.

>>> round(needed_flip(20, 0.05, 7115, against="paths"), 4)
0.1459
"""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np

from sfumato.data.arrays import FloatArray
from sfumato.data.edge_channel import EdgeChannel
from sfumato.data.graph import Graph


def path_bound(flip: EdgeChannel, planted: int) -> float:
    """The chance that a path through all planted accounts survives."""
    return (1 - flip.delete) ** max(planted - 1, 0)


def any_bound(flip: EdgeChannel, planted: int, nodes: int) -> float:
    """Most that any attack on the ties among `planted` of `nodes` accounts can succeed, whatever those ties are."""
    pairs = planted * (planted - 1) // 2
    places = log_places(planted, nodes)
    return max(_power(pairs, 1 - flip.delete, flip.add, places), _power(pairs, 1 - flip.add, flip.delete, places))


def log_places(planted: int, nodes: int) -> float:
    """ln of N!/(N − k)!, the ways to place the planted accounts."""
    return math.lgamma(nodes + 1) - math.lgamma(nodes - planted + 1)


def _power(pairs: int, chance: float, background: float, log_size: float) -> float:
    """Power at size e^−log_size of the best test of Bernoulli(chance)^pairs against Bernoulli(background)^pairs.

    The best test accepts the largest counts first, and the last count with a fraction.
    """
    hit, noise = _log_binomial(pairs, chance)[::-1], _log_binomial(pairs, background)[::-1]
    size = np.logaddexp.accumulate(noise) + log_size
    full = int(np.searchsorted(size, 0.0, side="right"))
    power = float(np.exp(hit[:full]).sum())
    if full <= pairs:
        spent = math.exp(size[full - 1]) if full else 0.0
        power += (1 - spent) * math.exp(hit[full] - noise[full] - log_size)
    return min(power, 1.0)


def _log_binomial(trials: int, chance: float) -> FloatArray:
    from scipy.special import gammaln, xlog1py, xlogy

    value = np.arange(trials + 1, dtype=np.float64)
    choices = gammaln(trials + 1) - gammaln(value + 1) - gammaln(trials - value + 1)
    return np.asarray(choices + xlogy(value, chance) + xlog1py(trials - value, -chance))


def needed_flip(planted: int, success: float, nodes: int, *, against: str = "any") -> float:
    """The smallest symmetric μ, rounded up to four digits after the point, that keeps the bounds at or below `success`.

    `against` is "paths" (only `path_bound`), "ties" (only `any_bound`) or "any" (both). The answer depends on the number of
    people alone, so publishing it tells nothing else about the graph; 0.5 when none exists.
    """
    by_path = 1 - success ** (1 / (planted - 1)) if planted > 1 else 0.5
    found = _rounded_up(by_path) if against != "ties" else 0.0
    while against != "paths" and found < 0.5 and any_bound(EdgeChannel.symmetric(found), planted, nodes) > success:
        found = _rounded_up(_bisected(found, planted, success, nodes))
    return min(found, 0.5)


def _bisected(low: float, planted: int, success: float, nodes: int) -> float:
    high = 0.5 - 1e-9
    if any_bound(EdgeChannel.symmetric(high), planted, nodes) > success:
        return 0.5
    while high - low > 1e-5:
        middle = (low + high) / 2
        if any_bound(EdgeChannel.symmetric(middle), planted, nodes) > success:
            low = middle
        else:
            high = middle
    return high


def _rounded_up(mu: float) -> float:
    return math.ceil(round(mu * 1e4, 6)) / 1e4


def log_odds(flip: EdgeChannel, planted: int, ties: int, nodes: int, density: float, *, lost: int = 0, gained: int = 0) -> float:
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
