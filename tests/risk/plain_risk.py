"""Risks once more from their definitions: plain Python over rows, exact where it can be, no code of the product."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Sequence
from fractions import Fraction

Rows = list[tuple[str, ...]]


def prosecutor(rows: Rows, threshold: float) -> tuple[Fraction, Fraction, int]:
    """Highest, average, and how many records are above the threshold."""
    alike = Counter(rows)
    each = [Fraction(1, alike[row]) for row in rows]
    return max(each), sum(each, Fraction(0)) / len(rows), sum(risk > Fraction(str(threshold)) for risk in each)


def journalist(rows: Rows, population: Rows, threshold: float) -> tuple[Fraction, Fraction, int]:
    """El Emam: 1 / F; the average is the larger of |J| / Σ F and the marketer's."""
    everybody = Counter(population)
    each = [Fraction(1, everybody[row]) for row in rows]
    met = set(rows)
    average = max(Fraction(len(met), sum(everybody[row] for row in met)), marketer(rows, population))
    return max(each), average, sum(risk > Fraction(str(threshold)) for risk in each)


def marketer(rows: Rows, population: Rows) -> Fraction:
    everybody = Counter(population)
    return sum((Fraction(1, everybody[row]) for row in rows), Fraction(0)) / len(rows)


def individual(f: int, p: float) -> float:
    """E[1 / F] where P(F = h) = C(h − 1, f − 1) p^f (1 − p)^(h − f), summed until nothing is left."""
    total, mass, h = 0.0, 0.0, f
    log_p, log_q = math.log(p), math.log1p(-p) if p < 1 else -math.inf
    while mass < 1 - 1e-13 and h < f + 400_000:
        outside = 0.0 if h == f else (h - f) * log_q
        weight = math.exp(math.lgamma(h) - math.lgamma(f) - math.lgamma(h - f + 1) + f * log_p + outside)
        total, mass, h = total + weight / h, mass + weight, h + 1
    return total


def distinction(rows: Rows) -> Fraction:
    return Fraction(len(set(rows)), len(rows))


def separation(rows: Rows) -> Fraction:
    pairs = list(itertools.combinations(rows, 2))
    return Fraction(sum(one != two for one, two in pairs), len(pairs))


def minimal_uniques(rows: Rows, largest: int) -> list[list[tuple[int, ...]]]:
    """Per record all sets of columns in which it is unique and in no smaller part of which it is."""
    columns = range(len(rows[0]))
    sets = [chosen for size in range(1, largest + 1) for chosen in itertools.combinations(columns, size)]
    found = []
    for row in rows:
        unique = [s for s in sets if sum(all(other[c] == row[c] for c in s) for other in rows) == 1]
        found.append([s for s in unique if not any(set(t) < set(s) for t in unique)])
    return found


def suda_score(sets: Sequence[Collection[int]], columns: int, largest: int) -> float:
    """Σ Π_{i = size}^{M} (A − i)."""
    top = min(largest, columns - 1)
    return float(sum(math.prod(columns - i for i in range(len(s), top + 1)) for s in sets))


def zayatz(sizes: list[int], population: int) -> Fraction:
    """Uniques of the population: c₁ / π · P(unique | met once), by exact hypergeometric probabilities."""
    n, classes = sum(sizes), Counter(sizes)

    def once(size: int) -> Fraction:
        return Fraction(size * math.comb(population - size, n - 1), math.comb(population, n))

    met = sum((Fraction(count, len(sizes)) * once(size) for size, count in classes.items()), Fraction(0))
    conditional = Fraction(classes[1], len(sizes)) * once(1) / met
    return conditional * classes[1] * Fraction(population, n)


def pitman_likelihood(sizes: list[int], theta: float, alpha: float) -> float:
    """The Ewens-Pitman probability of a partition by its product formula, as a logarithm."""
    drawn = sum(math.log(theta + i * alpha) for i in range(1, len(sizes)))
    ordered = sum(math.log(theta + i) for i in range(1, sum(sizes)))
    return drawn - ordered + sum(math.log(i - alpha) for size in sizes for i in range(1, size))


def snb_classes(classes: float, alpha: float, beta: float, fraction: float, wanted: int) -> float:
    """Expected sample classes of one size when a class of the population has 1 + X members, X negative binomial."""
    total = 0.0
    for members in range(1, 4_000):
        x = members - 1
        weight = (
            math.exp(math.lgamma(x + alpha) - math.lgamma(alpha) - math.lgamma(x + 1)) * beta**alpha * (1 - beta) ** x
        )
        if members >= wanted:
            total += weight * math.comb(members, wanted) * fraction**wanted * (1 - fraction) ** (members - wanted)
    return classes * total
