"""Find planted accounts by walking along the backbone, letting degrees and ties be a little wrong.

Paper
    [multitype §4.4], Algorithm 3; the walk-based attack of Backstrom et al. is the case of exact degrees and ties.

Notation
    w      half-width of a degree interval; the exact law of the published degree gives the interval that holds a node with
           the wanted confidence (about ± 12 to 14 at μ = 10⁻³ among 21,000 people).
    m      wrong ties allowed on the whole path.

Departures
    [multitype Alg. 3] increases `level` in place and may revisit nodes; here a node stands on a path once. Intervals come from
    the exact law and not from a fixed w of 3 to 5, which Table 4.2, mislabelled by a factor of ten, suggests. When several
    paths fit, the likeliest is taken.

Cost
    Grows with the number of nodes whose degree fits and with m; counted in steps and capped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks._planting import Planted
from sfumato.data.arrays import IntArray
from sfumato.data.edge_channel import EdgeChannel


@dataclass(frozen=True, slots=True)
class Found:
    """What the adversary came up with, judged by the experiment."""

    accounts: bool
    victims: float
    paths: int
    steps: int
    gave_up: bool


def walk_attack(planted: Planted, *, limit: int = 10**9) -> Found:
    """The original walk: exact degrees, exact ties."""
    return _walk(planted, planted.degrees, planted.degrees, 0, limit)


def interval_walk_attack(
    planted: Planted,
    *,
    width: int | None = None,
    confidence: float = 0.9,
    errors: int = 0,
    limit: int = 4 * 10**8,
) -> Found:
    """Degree intervals of half-width `width`, or by default such that all accounts fall inside with `confidence`."""
    low, high = degree_intervals(planted.degrees, planted.published.nodes, planted.flip, width, confidence)
    return _walk(planted, low, high, errors, limit)


def degree_intervals(
    degrees: IntArray, nodes: int, flip: EdgeChannel, width: int | None, confidence: float
) -> tuple[IntArray, IntArray]:
    """For each account the published degrees to accept."""
    if width is not None:
        centre = np.rint(degrees * (1 - flip.delete) + (nodes - 1 - degrees) * flip.add).astype(np.int64)
        return centre - width, centre + width
    tail = (1 - confidence ** (1 / len(degrees))) / 2
    bounds = [_quantiles(*flip.degree_law(int(degree), nodes), tail) for degree in degrees]
    return np.array([low for low, _ in bounds]), np.array([high for _, high in bounds])


def _quantiles(first: int, law: NDArray[np.float64], tail: float) -> tuple[int, int]:
    cumulative = np.cumsum(law)
    low = int(np.searchsorted(cumulative, tail, side="right"))
    high = int(np.searchsorted(cumulative, 1 - tail, side="left"))
    return first + low, first + min(high, len(law) - 1)


def _walk(planted: Planted, low: IntArray, high: IntArray, errors: int, limit: int) -> Found:
    from sfumato.attacks.kernels.walk_search import walk_search

    graph, ties = planted.published, planted.ties
    backwards = _fitting(graph.degrees, low[-1], high[-1]) < _fitting(graph.degrees, low[0], high[0])
    turn = slice(None, None, -1) if backwards else slice(None)  # begin at the end with fewer candidates
    turned = np.ascontiguousarray(ties[turn, turn])
    paths, steps = walk_search(graph.starts, graph.neighbours, low[turn].copy(), high[turn].copy(), turned, errors, limit, 1000)
    paths = paths[:, turn]
    best = likeliest(planted, paths)
    right = best is not None and bool((best == planted.true_accounts).all())
    return Found(right, victims_found(planted, best) if best is not None else 0.0, len(paths), int(steps), steps >= limit)


def _fitting(degrees: IntArray, low: int, high: int) -> int:
    return int(((degrees >= low) & (degrees <= high)).sum())


def likeliest(planted: Planted, paths: IntArray) -> IntArray | None:
    """The path that explains ties and degrees best."""
    if not len(paths):
        return None
    return np.asarray(paths[int(np.argmax([_log_likelihood(planted, path) for path in paths]))])


def _log_likelihood(planted: Planted, path: IntArray) -> float:
    flip, graph = planted.flip, planted.published
    i, j = np.triu_indices(len(path), 1)
    seen, tied = graph.has_edges(path[i], path[j]), planted.ties[i, j]
    tiny = 1e-12
    chance = np.where(tied, np.where(seen, 1 - flip.delete, flip.delete), np.where(seen, flip.add, 1 - flip.add))
    spread = np.sqrt(graph.nodes * flip.add * (1 - flip.add) + planted.degrees * flip.delete + tiny)
    centre = planted.degrees * (1 - flip.delete) + (graph.nodes - 1 - planted.degrees) * flip.add
    off = (graph.degrees[path] - centre) / spread
    return float(np.log(np.maximum(chance, tiny)).sum() - (off**2).sum() / 2)


def victims_found(planted: Planted, accounts: IntArray) -> float:
    """The share of victims for whom the node tied most like them to `accounts` is unique and right."""
    graph = planted.published
    rows = np.zeros((graph.nodes, len(accounts)), dtype=bool)
    for column, account in enumerate(accounts):
        rows[graph.neighbours_of(int(account)), column] = True
    rows[accounts] = False
    near = np.flatnonzero(rows.any(axis=1))
    right = 0
    for victim, links in zip(planted.true_victims, planted.victims, strict=True):
        distance = (rows[near] != links).sum(axis=1)
        closest = near[distance == distance.min()] if len(near) else near
        right += len(closest) == 1 and closest[0] == victim
    return right / max(len(planted.true_victims), 1)
