"""Population uniqueness: how many people of the population the table is a sample of are alone with their quasi-identifiers.

A record that is unique in the sample need not be unique in the population. Three models estimate how many are, from the class
sizes of the sample and the share of the population that was sampled; a rule of Dankar et al. chooses between them.

Notation
    n, N, π   records, people of the population, π = n / N
    c_i       classes of size i in the sample;  u = Σ c_i

Models
    pitman    the Ewens-Pitman partition with (θ, α) of greatest likelihood; Γ(θ + 1) / Γ(θ + α) · N^α uniques, which is θ where
              α falls to 0 (Hoshino 2001)
    zayatz    P(unique in the population | unique in the sample) by Bayes, sizes of the population distributed as in the
              sample; times c_1 / π (Zayatz 1991)
    snb       classes of the population have 1 + NegBin(α, β) members, and each member is sampled with probability π; α and β make
              the expected c_1 and c_2 those that were found. K · β^α uniques, K by the modified estimator of Shlosser
              (Chen, Keller-McNulty 1998; Haas, Stokes 1998)
    dankar    π ≤ 0.1: pitman, or zayatz where it does not converge; else the smaller of snb and zayatz (Dankar et al. 2012)

Departures
    ARX multiplies where the second equation of snb divides by (1 − (1 − π)(1 − β))^(α + 2), and lets a bracket of Shlosser's
    estimator end too early; the formulas here follow from the model, and a test derives them again from its distribution.

>>> estimates = population_uniques(np.array([1, 1, 1, 1, 2, 2, 3, 9]), 0.05)
>>> [each.model for each in estimates.models], estimates.chosen
(['pitman', 'zayatz', 'snb'], 'pitman')
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares, minimize
from scipy.special import expit, gammaln

from sfumato.data.arrays import FloatArray, IntArray

_SMALL_SAMPLE = 0.1
_CLOSE = 1e-5


@dataclass(frozen=True, slots=True)
class UniquesEstimate:
    """What one model says; no figure where it does not fit."""

    model: str
    uniques: float | None
    """People of the population who are unique in it."""
    share: float | None
    """Of the population."""


@dataclass(frozen=True, slots=True)
class PopulationUniques:
    """All models, and the one that the rule of Dankar et al. chooses."""

    fraction: float
    population: int
    models: tuple[UniquesEstimate, ...]
    chosen: str
    uniques: float
    share: float


def population_uniques(sizes: IntArray, fraction: float) -> PopulationUniques:
    """Estimates from the class sizes of a sample that holds `fraction` of the population."""
    records = int(sizes.sum())
    population = max(records, round(records / fraction))
    uniques = int((sizes == 1).sum())
    if not uniques:
        found: dict[str, float | None] = {"pitman": 0.0, "zayatz": 0.0, "snb": 0.0}
    elif fraction >= 1:
        found = dict.fromkeys(("pitman", "zayatz", "snb"), float(uniques))
    else:
        found = {"pitman": _pitman(sizes, population), "zayatz": _zayatz(sizes, population), "snb": _snb(sizes, fraction)}
    found = {name: value if value is None or 0 <= value <= population else None for name, value in found.items()}
    models = tuple(UniquesEstimate(name, value, None if value is None else value / population) for name, value in found.items())
    chosen = _chosen(found, fraction)
    best = found[chosen] or 0.0
    return PopulationUniques(fraction, population, models, chosen, best, best / population)


def _chosen(found: dict[str, float | None], fraction: float) -> str:
    """The rule of Dankar et al. (2012); Zayatz always has an answer."""
    if fraction <= _SMALL_SAMPLE:
        return "zayatz" if found["pitman"] is None else "pitman"
    snb, zayatz = found["snb"], found["zayatz"]
    return "snb" if snb is not None and zayatz is not None and snb <= zayatz else "zayatz"


def _zayatz(sizes: IntArray, population: int) -> float:
    records, uniques = int(sizes.sum()), int((sizes == 1).sum())
    values, counts = np.unique(sizes, return_counts=True)
    met = float((counts / len(sizes)) @ _met_once(values, records, population))
    unique_and_met = uniques / len(sizes) * records / population
    return min(unique_and_met / met, 1.0) * uniques * population / records


def _met_once(members: IntArray, records: int, population: int) -> FloatArray:
    """P(a sample of so many records holds exactly one member of a class of the population), which is hypergeometric.

    Written out as one member who is met, and the others one by one who are not; the statistics of scipy take a second to import.
    """
    others = np.arange(int(members.max()) - 1)
    missed = np.cumprod(np.append(1.0, np.maximum(population - records - others, 0) / (population - 1 - others)))
    return np.asarray(members * (records / population) * missed[members - 1], dtype=np.float64)


def _pitman(sizes: IntArray, population: int) -> float | None:
    values, counts = np.unique(sizes, return_counts=True)
    records, classes = int(sizes.sum()), len(sizes)
    if classes == records:
        return float(population)  # nobody looks like anybody: the likelihood grows until α = 1
    start = np.array([0.0, np.log(max(classes, 2) / 2)])
    given = (values.astype(np.float64), counts.astype(np.float64), float(records), float(classes))
    fit = minimize(_pitman_cost, start, given, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-9})
    alpha, theta = expit(fit.x[0]), np.exp(fit.x[1]) - expit(fit.x[0])
    if not fit.success or not np.isfinite(fit.fun) or alpha > 1 - _CLOSE:
        return None
    return float(np.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * np.log(population)))


def _pitman_cost(at: FloatArray, values: FloatArray, counts: FloatArray, records: float, classes: float) -> float:
    """−log likelihood of the partition at (logit α, log(θ + α)), up to a constant."""
    alpha = float(np.clip(expit(at[0]), 1e-12, 1 - 1e-12))
    theta = float(np.exp(min(at[1], 50.0))) - alpha
    drawn = (classes - 1) * np.log(alpha) + gammaln(classes + theta / alpha) - gammaln(1 + theta / alpha)
    ordered = gammaln(records + theta) - gammaln(1 + theta)
    inside = float(counts @ (gammaln(values - alpha) - gammaln(1 - alpha)))
    return float(-(drawn - ordered + inside))


def _snb(sizes: IntArray, fraction: float) -> float | None:
    singles, pairs = int((sizes == 1).sum()), int((sizes == 2).sum())
    classes = _shlosser(sizes, fraction)
    if not pairs or classes is None or classes <= 0:
        return None

    def misfit(at: FloatArray) -> FloatArray:
        one, two = snb_expected(classes, float(np.exp(at[0])), float(expit(at[1])), fraction)
        return np.log(np.maximum([one, two], 1e-300)) - np.log([singles, pairs])

    for start in ((0.0, 0.0), (-2.0, -2.0), (-1.0, -5.0), (2.0, 2.0), (-4.0, -8.0)):
        fit = least_squares(misfit, start, bounds=([-30, -30], [30, 30]))
        if fit.success and float(np.abs(fit.fun).max()) < _CLOSE:
            return float(classes * expit(fit.x[1]) ** np.exp(fit.x[0]))
    return None


def snb_expected(classes: float, alpha: float, beta: float, fraction: float) -> tuple[float, float]:
    """Expected numbers of sample classes of size one and two when a class of the population has 1 + NegBin(α, β) members."""
    unseen = (1 - fraction) * (1 - beta)
    seen = 1 - unseen
    none = (beta / seen) ** alpha
    one = classes * fraction * none * (1 + alpha * unseen / seen)
    two = classes * alpha * none * fraction**2 * (1 - beta) * (2 - (1 - alpha) * unseen) / (2 * seen**2)
    return one, two


def _shlosser(sizes: IntArray, fraction: float) -> float | None:
    """Classes of the population, met or not: the third estimator of Haas and Stokes."""
    values, counts = np.unique(sizes, return_counts=True)
    square = fraction**2
    missed = (1 - fraction) ** values
    first = float((values * square * (1 - square) ** (values - 1.0)) @ counts)
    second = float((missed * ((1 + fraction) ** values.astype(np.float64) - 1)) @ counts)
    third = float(missed @ counts)
    fourth = float((values * fraction * (1 - fraction) ** (values - 1.0)) @ counts)
    if not second or not fourth:
        return None
    singles = int((sizes == 1).sum())
    return len(sizes) + singles * (first / second) * (third / fourth) ** 2
