"""Have several walks forgotten where they started? Split R̂ and the effective sample size of every coordinate.

Paper
    A. Gelman et al., *Bayesian Data Analysis* (3rd ed.) §11.4-11.5; C. J. Geyer, "Practical Markov chain Monte Carlo" (1992)
    for the cut of the autocorrelation sum at the first negative pair.

Notation
    samples[c, t, v] coordinate v of walk c at time t;  W mean variance inside the half-walks;  V pooled variance estimate;
    R̂ = √(V/W);  ρ_t = 1 − (W − mean autocovariance at lag t)/V;  ESS = N / (1 + 2 Σ ρ_t).

Invariants
    I1  A coordinate that never moved in any walk says nothing and is left out; one that stands still at different places in
        different walks gives R̂ = ∞.

>>> import numpy as np
>>> worst, least = diagnose(np.zeros((2, 8, 1)))
>>> float(worst), float(least)
(1.0, 16.0)
"""

from __future__ import annotations

import numpy as np

from sfumato.compiled import jit
from sfumato.data.arrays import FloatArray


@jit
def diagnose(samples: FloatArray) -> tuple[float, float]:
    """The largest R̂ and the smallest effective sample size over all coordinates."""
    worst, least = 1.0, float(samples.shape[0] * samples.shape[1])
    draws = np.empty((samples.shape[0], samples.shape[1]))
    for coordinate in range(samples.shape[2]):
        for walk in range(samples.shape[0]):
            for time in range(samples.shape[1]):
                draws[walk, time] = samples[walk, time, coordinate]
        ratio, size = coordinate_mixing(draws)
        worst = max(worst, ratio)
        least = min(least, size)
    return worst, least


@jit
def coordinate_mixing(draws: FloatArray) -> tuple[float, float]:
    """R̂ and effective sample size of one coordinate; each walk counts as two half-walks."""
    walks, half = 2 * draws.shape[0], draws.shape[1] // 2
    means, spreads = np.empty(walks), np.empty(walks)
    for walk in range(walks):
        part = draws[walk // 2, (walk % 2) * half : (walk % 2) * half + half]
        means[walk] = part.mean()
        spreads[walk] = ((part - means[walk]) ** 2).sum() / (half - 1)
    within, between = spreads.mean(), ((means - means.mean()) ** 2).sum() / (walks - 1)
    if within == 0.0:  # I1
        return (1.0, float(walks * half)) if between == 0.0 else (np.inf, 0.0)
    pooled = within * (half - 1) / half + between
    return np.sqrt(pooled / within), walks * half / (1.0 + 2.0 * _autocorrelation_sum(draws, means, within, pooled))


@jit
def _autocorrelation_sum(draws: FloatArray, means: FloatArray, within: float, pooled: float) -> float:
    half, total, lag = draws.shape[1] // 2, 0.0, 1
    while lag + 1 < half:
        pair = _autocorrelation(draws, means, within, pooled, lag) + _autocorrelation(draws, means, within, pooled, lag + 1)
        if pair <= 0.0:
            break
        total += pair
        lag += 2
    return total


@jit
def _autocorrelation(draws: FloatArray, means: FloatArray, within: float, pooled: float, lag: int) -> float:
    half, total = draws.shape[1] // 2, 0.0
    for walk in range(means.size):
        start = (walk % 2) * half
        for time in range(start, start + half - lag):
            total += (draws[walk // 2, time] - means[walk]) * (draws[walk // 2, time + lag] - means[walk])
    return float(1.0 - (within - total / (means.size * half)) / pooled)


def plain_coordinate_mixing(draws: FloatArray) -> tuple[float, float]:
    """The twin on whole arrays."""
    half = draws.shape[1] // 2
    parts = np.concatenate([draws[:, :half], draws[:, half : 2 * half]])
    within, between = parts.var(axis=1, ddof=1).mean(), parts.mean(axis=1).var(ddof=1)
    if within == 0:
        return (1.0, float(parts.size)) if between == 0 else (float("inf"), 0.0)
    pooled = within * (half - 1) / half + between
    centred = parts - parts.mean(axis=1, keepdims=True)
    covariances = [(centred[:, : half - lag] * centred[:, lag:]).sum() / parts.size for lag in range(1, half)]
    correlations = [1 - (within - value) / pooled for value in covariances]
    total = 0.0
    for first, second in zip(correlations[::2], correlations[1::2], strict=False):
        if first + second <= 0:
            break
        total += first + second
    return float(np.sqrt(pooled / within)), float(parts.size / (1 + 2 * total))
