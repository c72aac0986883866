"""Models of a population once more from their publications, with loops and logarithms alone: no code of the product, no
solver.

pitman    Hoshino (2001): the two equations of greatest likelihood, solved by Newton's steps; then Γ(θ + 1) / Γ(θ + α) ·
          N^α uniques
zayatz    Zayatz (1991): Bayes with hypergeometric probabilities of being met once
snb       Chen, Keller-McNulty (1998): the generating function of 1 + NegBin(α, β), derived twice at 1 − π, against the
          classes of one and two that were met; K as Haas and Stokes (1998) estimate it
dankar    Dankar et al. (2012): which of them is believed
"""

from __future__ import annotations

import math
from collections import Counter


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def zayatz(sizes: list[int], population: int) -> float:
    n, classes = sum(sizes), Counter(sizes)

    def once(size: int) -> float:
        return size * math.exp(_log_choose(population - size, n - 1) - _log_choose(population, n))

    met = sum(count / len(sizes) * once(size) for size, count in classes.items())
    return classes[1] / len(sizes) * once(1) / met * classes[1] * population / n


def pitman(sizes: list[int], population: int) -> float:
    """Both derivatives of the logarithm of the partition's probability are zero; Hoshino's moments are where the steps
    begin."""
    n, u, classes = sum(sizes), len(sizes), Counter(sizes)
    one, c = classes[1], classes[1] * (classes[1] - 1) / classes[2]
    theta = (n * u * c - one * (n - 1) * (2 * u + c)) / (2 * one * u + one * c - n * c)
    alpha = (theta * (one - n) + (n - 1) * one) / (n * u)
    for _ in range(60):
        f, g, ft, fa, ga = _derivatives(theta, alpha, n, u, classes)
        wide = ft * ga - fa * fa
        down, aside = (f * ga - g * fa) / wide, (g * ft - f * fa) / wide
        size = 1.0
        while not (0 < alpha - size * aside < 1 and theta - size * down > 0):
            size /= 2
        theta, alpha = theta - size * down, alpha - size * aside
        if abs(down) < 1e-10 * theta and abs(aside) < 1e-12:
            break
    return math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population))


def _derivatives(
    theta: float, alpha: float, n: int, u: int, classes: Counter[int]
) -> tuple[float, float, float, float, float]:
    drawn = [1 / (theta + i * alpha) for i in range(1, u)]
    ordered = [1 / (theta + i) for i in range(1, n)]
    inside, inside_squared, once, twice = 0.0, 0.0, 0.0, 0.0
    for size in range(2, max(classes) + 1):
        once, twice = once + 1 / (size - 1 - alpha), twice + 1 / (size - 1 - alpha) ** 2
        inside, inside_squared = inside + classes[size] * once, inside_squared + classes[size] * twice
    by_theta = sum(drawn) - sum(ordered)
    by_alpha = sum(i * each for i, each in enumerate(drawn, 1)) - inside
    twice_theta = -sum(each * each for each in drawn) + sum(each * each for each in ordered)
    mixed = -sum(i * each * each for i, each in enumerate(drawn, 1))
    twice_alpha = -sum((i * each) ** 2 for i, each in enumerate(drawn, 1)) - inside_squared
    return by_theta, by_alpha, twice_theta, mixed, twice_alpha


def shlosser(sizes: list[int], fraction: float) -> float:
    q, classes = fraction, Counter(sizes)
    first = sum(i * q**2 * (1 - q**2) ** (i - 1) * c for i, c in classes.items())
    second = sum((1 - q) ** i * ((1 + q) ** i - 1) * c for i, c in classes.items())
    third = sum((1 - q) ** i * c for i, c in classes.items())
    fourth = sum(i * q * (1 - q) ** (i - 1) * c for i, c in classes.items())
    return len(sizes) + classes[1] * (first / second) * (third / fourth) ** 2


def snb(sizes: list[int], fraction: float) -> float:
    """Two nested halvings: β so that pairs stand to singles as found, α so that the singles are as many as found."""
    classes = Counter(sizes)
    many = shlosser(sizes, fraction)

    def ratio(alpha: float, beta: float) -> float:
        one, two = _expected(many, alpha, beta, fraction)
        return two / one

    def beta_of(alpha: float) -> float:
        low, high = 1e-12, 1 - 1e-12
        for _ in range(100):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if ratio(alpha, middle) > classes[2] / classes[1] else (low, middle)
        return low

    low, high = 1e-6, 50.0
    rising = _expected(many, high, beta_of(high), fraction)[0] > _expected(many, low, beta_of(low), fraction)[0]
    for _ in range(100):
        alpha = math.sqrt(low * high)
        below = _expected(many, alpha, beta_of(alpha), fraction)[0] < classes[1]
        low, high = (alpha, high) if below == rising else (low, alpha)
    return many * beta_of(low) ** low


def _expected(classes: float, alpha: float, beta: float, fraction: float) -> tuple[float, float]:
    """K · π · G′(1 − π) and K · π² / 2 · G″(1 − π) for G(s) = s (β / (1 − (1 − β) s))^α."""
    s, q = 1 - fraction, 1 - beta
    h = (beta / (1 - q * s)) ** alpha
    slope = alpha * q / (1 - q * s) * h
    bend = alpha * (alpha + 1) * (q / (1 - q * s)) ** 2 * h
    return classes * fraction * (h + s * slope), classes * fraction**2 / 2 * (2 * slope + s * bend)


def dankar(fraction: float, models: dict[str, float]) -> float:
    return models["pitman"] if fraction <= 0.1 else min(models["snb"], models["zayatz"])


def individual(f: int, p: float, steps: int = 4_000) -> float:
    """Benedetti, Franconi: E[1 / F | f] = ∫₀^∞ (p e^{−t} / (1 − (1 − p) e^{−t}))^f dt, which is p ∫₀¹ x^{f−1} / (p + (1
    − p) x) dx; by Simpson's rule."""

    def under(x: float) -> float:
        return p * x ** (f - 1) / (p + (1 - p) * x)

    points = [under(place / steps) for place in range(steps + 1)]
    return (points[0] + points[-1] + 4 * sum(points[1:-1:2]) + 2 * sum(points[2:-1:2])) / (3 * steps)
