"""Three attackers: the prosecutor knows that somebody is in the table, the journalist does not, the marketer wants many.

Notation
    f   records of the table that look alike (a class)
    F   people of the population who look like them; counted, or estimated as the sum of the survey weights, or f / π

Definitions
    prosecutor  1 / f for everybody in the class; on average the number of classes over the number of records
    journalist  1 / F; on average the larger of (classes / Σ F) and (Σ f / F) / n
    marketer    (Σ f / F) / n, the share of records that can be linked in one sweep
    individual  E[1 / F | f] where F is only estimated: F is negative binomial given f with p = f / F̂, so that the expectation
                is (p / f) · ₂F₁(1, 1; f + 1; 1 − p). Without weights it is 1 / f.

Paper: El Emam (2013) for the three attackers; Benedetti, Franconi (1998) for the individual risk.

Departures
    sdcMicro takes p / (f − (1 − p)) for classes of three and more, an approximation of the same expectation; here it is exact.

>>> sizes = np.array([1, 2, 5])
>>> prosecutor(sizes, (0.2,)).average
0.375
>>> individual_risk(np.array([1, 1]), np.array([1.0, 10.0])).round(4).tolist()
[1.0, 0.2558]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray

_STEPS, _TERMS = 25, 70
"""Smaller classes are computed by a recurrence, larger ones by so many terms of a series."""


@dataclass(frozen=True, slots=True)
class AboveThreshold:
    """How many records have a risk above a threshold."""

    threshold: float
    records: int
    share: float


@dataclass(frozen=True, slots=True)
class Attacker:
    """What one attacker achieves."""

    name: str
    highest: float
    """The probability of being right about the record most at risk."""
    average: float
    """The share of all records that he expects to be right about."""
    at_risk: tuple[AboveThreshold, ...]
    meaning: str


def prosecutor(sizes: IntArray, thresholds: Sequence[float]) -> Attacker:
    """Knows that a person is in the table and looks for the record."""
    words = "knows that somebody is in the table, knows the quasi-identifiers, and looks for the record"
    risk = 1 / sizes
    return Attacker("prosecutor", float(risk.max()), len(sizes) / int(sizes.sum()), _above(risk, sizes, thresholds), words)


def journalist(sizes: IntArray, population: FloatArray, thresholds: Sequence[float]) -> Attacker:
    """Does not know who of the population is in the table; `population` counts those who look like each class."""
    words = "does not know who of the population is in the table, and wants to show that one person can be found"
    risk = 1 / population
    average = max(len(sizes) / float(population.sum()), float((sizes / population).sum() / sizes.sum()))
    return Attacker("journalist", float(risk.max()), average, _above(risk, sizes, thresholds), words)


def marketer(sizes: IntArray, population: FloatArray) -> Attacker:
    """Links as many records as possible; a single success is worth nothing to him."""
    share = float((sizes / population).sum() / sizes.sum())
    words = "links everybody at once and is content with the share that is right"
    return Attacker("marketer", share, share, (), words)


def individual_risk(sizes: IntArray, estimated: FloatArray) -> FloatArray:
    """E[1 / F | f] of each class; 1 / f where the population is the sample."""
    share = np.minimum(sizes / estimated, 1.0)
    risk: FloatArray = np.where((sizes < _STEPS) & (share < 0.5), _climbed(sizes, share), _summed(sizes, share))
    return risk


def _summed(sizes: IntArray, share: FloatArray) -> FloatArray:
    """p / f · Σ n! / ((f + 1) … (f + n)) qⁿ, whose terms halve at least where the share or the class is not small."""
    term = np.ones(len(sizes))
    total = np.ones(len(sizes))
    for place in range(1, _TERMS):
        term = term * (1 - share) * place / (sizes + place)
        total += term
    risk: FloatArray = share / sizes * total
    return risk


def _climbed(sizes: IntArray, share: FloatArray) -> FloatArray:
    """p · G(f) by G(1) = log(1 / p) / q and G(f + 1) = (1 / f − p G(f)) / q; errors shrink with p / q."""
    kept = np.minimum(share, 0.5)
    odds = 1 - kept
    level = -np.log(kept) / odds
    found = level.copy()
    for step in range(1, _STEPS - 1):
        level = (1 / step - kept * level) / odds
        found = np.where(sizes == step + 1, level, found)
    risk: FloatArray = kept * found
    return risk


def _above(risk: FloatArray, sizes: IntArray, thresholds: Sequence[float]) -> tuple[AboveThreshold, ...]:
    total = int(sizes.sum())
    counts = [int(sizes[risk > threshold * (1 + 1e-12)].sum()) for threshold in thresholds]
    return tuple(AboveThreshold(float(t), count, count / total) for t, count in zip(thresholds, counts, strict=True))
