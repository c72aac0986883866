"""Noise for figures of a graph: OpenDP's discrete Laplace mechanism, and the ladder for counts whose sensitivity depends on the
graph.

Guarantee
    `laplace`: ε-differential privacy for figures that one tie changes by at most `sensitivity` in all; OpenDP's own proof and its
    own cryptographic source, so a seed of ours does not repeat it.
    `ladder`: ε-differential privacy for a count f with a ladder I_t: |f(G) − f(G′)| ≤ I_0 and I_t(G′) ≤ I_{t+1}(G) for neighbours.
    An output on
    the t-th rung (Σ_{s<t−1} I_s < |z − f| ≤ Σ_{s<t} I_s) has weight e^{−εt/2}, and the rung of any z differs by at most one between
    neighbours, so this is the exponential mechanism with a score of sensitivity one.
Paper
    Zhang, Cormode, Procopiuc, Srivastava, Xiao (2015) for the ladder.
Departures
    Weights of rungs are floating-point numbers: the chance of a rung is off by about 1e-15 of itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.errors import Infeasible
from sfumato.randomness import Randomness


def laplace(values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
    """Whole numbers with discrete Laplace noise, private at `epsilon` together."""
    try:
        from opendp import domains, measurements, metrics, mod  # its prelude takes seconds: it brings all it can work with
    except ImportError:
        raise Infeasible("the noise needs OpenDP", hint="pip install 'sfumato[privacy]'") from None
    mod.enable_features("contrib")
    domain = domains.vector_domain(domains.atom_domain(T=int))
    scale = sensitivity / epsilon
    measurement = measurements.make_laplace(domain, metrics.l1_distance(T=int), scale=scale)
    while measurement.map(sensitivity) > epsilon:  # type: ignore[no-untyped-call]  # the library rounds its own bound upwards
        scale *= 1 + 1e-12
        measurement = measurements.make_laplace(domain, metrics.l1_distance(T=int), scale=scale)
    drawn: list[int] = measurement([int(value) for value in values])
    return drawn


def ladder(count: int, first: int, most: int, epsilon: float, randomness: Randomness) -> int:
    """The count, moved to a rung: I_t = min(first + t, most); the last rung goes on for ever."""
    growing = max(most - first, 0)
    width = np.minimum(first + np.arange(growing + 1), most).astype(np.float64)  # I_0 … I_growing = most
    weight = np.append(1.0, 2 * width * np.exp(-epsilon * np.arange(1, growing + 2) / 2))
    beyond = weight[-1] * np.exp(-epsilon / 2) / (1 - np.exp(-epsilon / 2))
    place = float(randomness.uniform(1)[0]) * (weight.sum() + beyond)
    rung = int(np.searchsorted(np.cumsum(weight), place, side="right"))
    if rung >= len(weight):
        again = float(randomness.uniform(1)[0])
        rung = len(weight) + int(np.floor(np.log1p(-again) / (-epsilon / 2)))
    if rung == 0:
        return count
    inside = int(np.minimum(first + np.arange(min(rung - 1, growing)), most).sum()) + max(rung - 1 - growing, 0) * most
    step = inside + 1 + randomness.integer(max(min(first + rung - 1, most), 1))
    return count + (step if randomness.integer(2) else -step)


def laplace_error(sensitivity: int, epsilon: float) -> float:
    """The mean of |noise|, exactly: noise k has a chance in proportion to q^|k|, q = e^(−ε / sensitivity).

    >>> round(laplace_error(1, 1.0), 4)
    0.8509
    """
    ratio = float(np.exp(-epsilon / sensitivity))
    return 2 * ratio / (1 - ratio**2)


def ladder_error(first: int, most: int, epsilon: float) -> float:
    """The mean distance of what a ladder tells from the count, exactly but for rungs that carry less than 1e-16 of the weight."""
    rungs = int(np.ceil(80 / epsilon)) + max(most - first, 0) + 2
    width = np.maximum(np.minimum(first + np.arange(rungs), most), 1).astype(np.float64)
    inside = np.concatenate([[0.0], np.cumsum(np.minimum(first + np.arange(rungs), most))[:-1]])
    weight = 2 * np.minimum(first + np.arange(rungs), most) * np.exp(-epsilon * np.arange(1, rungs + 1) / 2)
    return float((weight * (inside + (width + 1) / 2)).sum() / (1 + weight.sum()))


def rung_of(value: int, count: int, first: int, most: int) -> int:
    """On which rung of the ladder around a count a value lies; 0 is the count itself.

    >>> [rung_of(20 + away, 20, 3, 4) for away in (0, 1, 3, 4, 7, 8)]
    [0, 1, 1, 2, 2, 3]
    """
    away, growing = abs(value - count), max(most - first, 0)
    reach = np.cumsum(np.minimum(first + np.arange(growing + 1), most))
    if away <= int(reach[-1]):
        return 0 if not away else int(np.searchsorted(reach, away)) + 1
    return growing + 1 + -(-(away - int(reach[-1])) // most)
