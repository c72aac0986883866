"""Three attackers: the prosecutor knows that a person is in the table, the journalist does not, the marketer wants
many.

Notation
    f   records of the table that look alike (a class)
    F   people of the population who look like them; counted, or estimated as the sum of the survey weights, or f / π

Definitions
    prosecutor  1 / f for all people in the class; on average the number of classes over the number of records
    journalist  1 / F; on average the larger of (classes / Σ F) and (Σ f / F) / n
    marketer    (Σ f / F) / n, the share of records that can be linked in one sweep
    individual  E[1 / F | f] where F is only estimated: F is negative binomial given f with p = f / F̂, so that the
                expectation is (p / f) · ₂F₁(1, 1; f + 1; 1 − p). Without weights it is 1 / f.

Paper: El Emam (2013) for the three attackers; Benedetti, Franconi (1998) for the individual risk.

Departures
    sdcMicro takes p / (f − (1 − p)) for classes of three and more, an approximation of the same expectation; here it is
    exact.

>>> sizes = np.array([1, 2, 5])
>>> prosecutor(sizes, (0.2,)).average
0.375
>>> individual_risk(np.array([1, 1]), np.array([1.0, 10.0])).round(4).tolist()
[1.0, 0.2558]


Combinations
------------
Which columns identify: distinction and separation of every combination of up to three columns.

Definitions
    distinction   different tuples over records: 1 when everybody is unique
    separation    share of the pairs of records that differ in at least one of the columns
    uniques       records that are alone with their tuple

Paper: Motwani, Xu (2007). Cost: combinations × records. Where that exceeds `MOST_WORK`, the columns that separate least
by themselves are left out of the combinations of three (then of two), and the result names them.

>>> table = {"sex": np.array([0, 1, 0, 1]), "age": np.array([0, 1, 2, 2])}
>>> [(each.columns, each.distinction, round(each.separation, 2)) for each in combinations(table).found]
[(('age', 'sex'), 1.0, 1.0), (('age',), 0.75, 0.83), (('sex',), 0.5, 0.67)]


Special uniques
---------------
Special uniques: records that are alone with only one, two or three of their values (SUDA).

Definitions
    minimal sample unique   a set of columns in which a record is unique, while it is unique in no smaller part of the
    set
    score                   Σ over its minimal sample uniques of Π_{i = size}^{M} (A − i), with A columns and sizes up
                            to M
    match                   P(a unique match is right) = U π / (U π + D (1 − π)), with U unique records and D records in
                            pairs
    dis                     the score as a probability: spread over the unique records so that it agrees with `match` as
                            a whole

Paper: Elliot, Manning, Ford (2002); Manning, Haglin, Keane (2008); the last step as sdcMicro takes it.
Invariants
    I1  Only records that are unique in all columns together have minimal sample uniques: so only those are looked at,
        and a different tuple counts once, whatever its size.
Cost: combinations × different tuples.

>>> found = special_uniques({"a": np.array([0, 0, 1, 1]), "b": np.array([0, 0, 0, 1]), "c": np.array([0, 0, 0, 0])})
>>> found.by_size, found.score.tolist()
({1: 1, 2: 1}, [0.0, 0.0, 1.0, 2.0])


Population
----------
Population uniqueness: how many people of the population the table is a sample of are alone with their
quasi-identifiers.

A record that is unique in the sample need not be unique in the population. Three models estimate how many are, from the
class sizes of the sample and the share of the population that was sampled; a rule of Dankar et al. chooses between
them.

Notation
    n, N, π   records, people of the population, π = n / N
    c_i       classes of size i in the sample;  u = Σ c_i

Models
    pitman    the Ewens-Pitman partition with (θ, α) of greatest likelihood; Γ(θ + 1) / Γ(θ + α) · N^α uniques, which is
              θ where α falls to 0 (Hoshino 2001)
    zayatz    P(unique in the population | unique in the sample) by Bayes, sizes of the population distributed as in the
              sample; times c_1 / π (Zayatz 1991)
    snb       classes of the population have 1 + NegBin(α, β) members, and each member is sampled with probability π; α
              and β make the expected c_1 and c_2 those that were found. K · β^α uniques, K by the modified estimator of
              Shlosser (Chen, Keller-McNulty 1998; Haas, Stokes 1998)
    dankar    π ≤ 0.1: pitman, or zayatz where it does not converge; else the smaller of snb and zayatz (Dankar et al.
              2012)

Departures
    ARX multiplies where the second equation of snb divides by (1 − (1 − π)(1 − β))^(α + 2), and lets a bracket of
    Shlosser's estimator end too early; the formulas here follow from the model, and a test derives them again from its
    distribution.

>>> estimates = population_uniques(np.array([1, 1, 1, 1, 2, 2, 3, 9]), 0.05)
>>> [each.model for each in estimates.models], estimates.chosen
(['pitman', 'zayatz', 'snb'], 'pitman')


People
------
People in several rows, as the table stands: who stands alone, and how large a part of a class one person has.

Notation
    class   rows with the same quasi-identifiers
    n, m    rows of a class, and how many of them are one person's

An adversary who knows the quasi-identifiers of a person, in all rows, finds a row of theirs in a class with probability
m/n. The number of different people in the class does not show that: of seven rows, five of one man, each is his with
5/7.

>>> import numpy as np
>>> found = people_at_risk(np.array([0, 0, 0, 1, 1]), np.array([7, 7, 8, 9, 9]))
>>> found.people, found.several, found.fewest, found.alone, found.alone_by_all_rows, found.highest
(3, 2, 1, 1, 3, 1.0)
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, minimize
from scipy.special import expit, gammaln

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.equivalence_classes import EquivalenceClasses, class_counts, equivalence_classes_of

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
    words = "knows that the person is in the table and looks for the record"
    risk = 1 / sizes
    return Attacker(
        "prosecutor", float(risk.max()), len(sizes) / int(sizes.sum()), _above(risk, sizes, thresholds), words
    )


def journalist(sizes: IntArray, population: FloatArray, thresholds: Sequence[float]) -> Attacker:
    """Does not know who of the population is in the table; `population` counts those who look like each class."""
    words = "does not know who is in the table and wants to show that one person can be found"
    risk = 1 / population
    average = max(len(sizes) / float(population.sum()), float((sizes / population).sum() / sizes.sum()))
    return Attacker("journalist", float(risk.max()), average, _above(risk, sizes, thresholds), words)


def marketer(sizes: IntArray, population: FloatArray) -> Attacker:
    """Links as many records as possible; a single success is worth nothing to him."""
    share = float((sizes / population).sum() / sizes.sum())
    words = "links all records at once and wants many to be right"
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


# Combinations
# ------------


MOST_WORK = 120_000_000
"""Records × combinations of one size that are looked at."""
LARGEST = 3


@dataclass(frozen=True, slots=True)
class Combination:
    """How far some columns tell records apart."""

    columns: tuple[str, ...]
    distinct: int
    uniques: int
    distinction: float
    separation: float


@dataclass(frozen=True, slots=True)
class Combinations:
    """All combinations, the most identifying first; `left_out` were too many to be combined."""

    found: tuple[Combination, ...]
    left_out: tuple[str, ...] = ()


def combinations(
    columns: Mapping[str, NDArray[np.integer]],
    largest: int = LARGEST,
    work: int = MOST_WORK,
    weights: IntArray | None = None,
) -> Combinations:
    """Every combination of up to `largest` of the coded columns; `weights` says for how many records a row stands."""
    rows = len(next(iter(columns.values()))) if columns else 0
    alone = [_measured((name,), [codes], weights) for name, codes in columns.items()]
    ranked = [
        each.columns[0] for each in sorted(alone, key=lambda each: (each.separation, each.distinction), reverse=True)
    ]
    found, kept = list(alone), ranked
    for size in range(2, min(largest, len(columns)) + 1):
        kept = kept[: _affordable(len(kept), size, rows, work)]
        for names in itertools.combinations(sorted(kept), size):
            found.append(_measured(names, [columns[name] for name in names], weights))
    found.sort(key=lambda each: (-each.separation, -each.distinction, len(each.columns), each.columns))
    return Combinations(tuple(found), tuple(name for name in columns if name not in kept))


def _affordable(columns: int, size: int, rows: int, work: int) -> int:
    """How many columns may be combined; never fewer than make one combination."""
    while columns > size and comb(columns, size) * rows > work:
        columns -= 1
    return columns


def _measured(names: tuple[str, ...], columns: Sequence[NDArray[np.integer]], weights: IntArray | None) -> Combination:
    counts = tuple_counts(columns, weights)
    rows = int(counts.sum())
    alike = float((counts * (counts - 1)).sum())
    pairs = rows * (rows - 1)
    return Combination(
        names, len(counts), int((counts == 1).sum()), len(counts) / max(rows, 1), 1 - alike / pairs if pairs else 0.0
    )


def tuple_counts(columns: Sequence[NDArray[np.integer]], weights: IntArray | None = None) -> IntArray:
    """How many records carry each different tuple, in no particular order; `weights` says for how many a row stands."""
    key = tuple_keys(columns)
    span = int(key.max(initial=0)) + 1
    if span <= 4 * len(key) + (1 << 20):
        tally = class_counts(key, weights, 1)
        return tally[tally > 0]
    different, of = np.unique(key, return_inverse=True)
    return class_counts(of, weights, len(different))


def tuple_keys(columns: Sequence[NDArray[np.integer]]) -> IntArray:
    """One number per record, equal where the tuples are."""
    key: IntArray = columns[0].astype(np.int64)
    span = int(key.max(initial=0)) + 1
    for column in columns[1:]:
        radix = int(column.max(initial=0)) + 1
        if span * radix >= 1 << 62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            span = int(key.max(initial=0)) + 1
        key = key * radix + column
        span *= radix
    return key


# Special uniques
# ---------------


DIS_FRACTION = 0.01
"""The sampling fraction of the last step where none is known."""


@dataclass(frozen=True, slots=True)
class SpecialUniques:
    """Minimal sample uniques of a table."""

    by_size: dict[int, int]
    """How many there are of each size."""
    records: int
    """Records that have at least one."""
    contribution: dict[str, float]
    """Share of all scores to which each column belongs; they add up to more than 1 where sets have several columns."""
    match: float
    score: FloatArray
    dis: FloatArray


def special_uniques(
    columns: Mapping[str, NDArray[np.integer]],
    *,
    largest: int = 3,
    fraction: float = DIS_FRACTION,
    classes: EquivalenceClasses | None = None,
) -> SpecialUniques:
    """Minimal sample uniques of up to `largest` columns; `classes` are the classes over all columns, when they are
    known."""
    names = list(columns)
    classes = classes if classes is not None else equivalence_classes_of([columns[name] for name in names])
    tuples = {name: columns[name][classes.first] for name in names}
    alone = np.flatnonzero(classes.counts == 1)  # I1
    largest = min(largest, len(names))
    weights = _weights(len(names), largest)
    found: dict[frozenset[str], BoolArray] = {}
    by_size: dict[int, int] = {}
    score = np.zeros(len(alone))
    share = dict.fromkeys(names, 0.0)
    for size in range(1, largest + 1):
        for chosen in itertools.combinations(names, size):
            minimal = _unique(tuple_keys([tuples[name] for name in chosen]), alone)
            for smaller in _parts(chosen):
                minimal &= ~found[smaller] if smaller in found else True
            if minimal.any():
                found[frozenset(chosen)] = minimal
                by_size[size] = by_size.get(size, 0) + int(minimal.sum())
                score += weights[size] * minimal
                share |= {name: share[name] + weights[size] * int(minimal.sum()) for name in chosen}
    total = float(score.sum()) or 1.0
    match = _match(classes.counts, fraction)
    rows = classes.first[alone]
    full = [np.zeros(len(classes.of)), np.zeros(len(classes.of))]
    full[0][rows], full[1][rows] = score, _disclosure(score, len(alone), match, len(names))
    contribution = {name: value / total for name, value in share.items()}
    return SpecialUniques(by_size, int((score > 0).sum()), contribution, match, full[0], full[1])


def _weights(columns: int, largest: int) -> dict[int, float]:
    """Π (A − i) for i from the size to M, where M is at most A − 1: a set of all columns weighs 1."""
    top = min(largest, columns - 1)
    return {size: float(np.prod([columns - i for i in range(size, top + 1)])) for size in range(1, largest + 1)}


def _parts(chosen: tuple[str, ...]) -> list[frozenset[str]]:
    return [frozenset(part) for size in range(1, len(chosen)) for part in itertools.combinations(chosen, size)]


def _unique(key: IntArray, asked: IntArray) -> BoolArray:
    """Which of the asked tuples share their key with no other tuple."""
    span = int(key.max(initial=0)) + 1
    if span <= 4 * len(key) + (1 << 20):
        answer: BoolArray = np.bincount(key, minlength=span)[key[asked]] == 1
        return answer
    values, counts = np.unique(key, return_counts=True)
    single = values[counts == 1]
    place = np.minimum(np.searchsorted(single, key[asked]), max(len(single) - 1, 0))
    return single[place] == key[asked] if len(single) else np.zeros(len(asked), dtype=np.bool_)


def _match(counts: IntArray, fraction: float) -> float:
    unique, paired = int((counts == 1).sum()), 2 * int((counts == 2).sum())
    return unique * fraction / (unique * fraction + paired * (1 - fraction)) if unique else 0.0


def _disclosure(score: FloatArray, uniques: int, match: float, columns: int) -> FloatArray:
    """1 / (1 + U (1 / match − 1) / (score^Q · Σ score^−Q)), with Q = 1 + (8 − A) / 20."""
    spread = np.zeros(len(score))
    positive = score > 0
    if match and positive.any():
        power = score[positive] ** (1 + (8 - columns) / 20)
        spread[positive] = 1 / (1 + uniques * (1 / match - 1) / (power * float((1 / power).sum())))
    return spread


# Population
# ----------


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
        found = {
            "pitman": _pitman(sizes, population),
            "zayatz": _zayatz(sizes, population),
            "snb": _snb(sizes, fraction),
        }
    found = {name: value if value is None or 0 <= value <= population else None for name, value in found.items()}
    models = tuple(
        UniquesEstimate(name, value, None if value is None else value / population) for name, value in found.items()
    )
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

    Written out as one member who is met, and the others one by one who are not; the statistics of scipy take a second
    to import."""
    others = np.arange(int(members.max()) - 1)
    missed = np.cumprod(np.append(1.0, np.maximum(population - records - others, 0) / (population - 1 - others)))
    return np.asarray(members * (records / population) * missed[members - 1], dtype=np.float64)


def _pitman(sizes: IntArray, population: int) -> float | None:
    values, counts = np.unique(sizes, return_counts=True)
    records, classes = int(sizes.sum()), len(sizes)
    if classes == records:
        return float(population)  # nobody looks like any person: the likelihood grows until α = 1
    start = np.array([0.0, np.log(max(classes, 2) / 2)])
    given = (values.astype(np.float64), counts.astype(np.float64), float(records), float(classes))
    fit = minimize(
        _pitman_cost, start, given, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-9}
    )
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
    """Expected numbers of sample classes of size one and two when a class of the population has 1 + NegBin(α, β)
    members."""
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


# People
# ------


@dataclass(frozen=True, slots=True)
class PeopleAtRisk:
    """What classes of rows come to for people."""

    people: int
    several: int
    """People with several rows."""
    fewest: int
    """People in the class with fewest."""
    alone: int
    """People who have a class for themselves."""
    alone_by_all_rows: int
    """People whose multiset of rows is unique."""
    highest: float
    """The largest part of a class that is one person's."""
    average: float
    """Over all people, the largest part of a class that is theirs."""


def people_at_risk(of: IntArray, person: IntArray) -> PeopleAtRisk:
    """From the class and the person of every row."""
    whose = np.unique(person, return_inverse=True)[1].astype(np.int64)
    pairs = equivalence_classes_of([of, whose])
    kind, one = of[pairs.first], whose[pairs.first]
    rows, heads = np.bincount(of), np.bincount(kind)
    part = pairs.counts / rows[kind]
    most = np.zeros(int(whose.max(initial=-1)) + 1)
    np.maximum.at(most, one, part)
    alone = np.unique(one[heads[kind] == 1])
    return PeopleAtRisk(
        len(most), int((np.bincount(whose) > 1).sum()), int(heads[heads > 0].min(initial=len(most))), len(alone),
        _bags_of_one(kind, one, pairs.counts), float(part.max(initial=0.0)), float(most.mean()) if len(most) else 0.0,
    )  # fmt: skip


def _bags_of_one(kind: IntArray, person: IntArray, count: IntArray) -> int:
    """Return how many people have a unique multiset of classes."""
    order = np.lexsort((kind, person))
    start = np.searchsorted(person[order], np.arange(int(person.max(initial=-1)) + 2))
    bags: dict[bytes, int] = {}
    for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        mine = order[first:last]
        text = kind[mine].tobytes() + count[mine].tobytes()
        bags[text] = bags.get(text, 0) + 1
    return sum(many == 1 for many in bags.values())
