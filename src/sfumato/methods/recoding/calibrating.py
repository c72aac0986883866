"""Calibrated survey weights: ``population: {weight: w, calibrate: [sex, region], round: 10}``.

Weights tell people apart, and suppressed records take their weight with them. Calibrated ones do neither: whoever looks alike has
the same weight, and the weighted totals of the named columns are those of everybody, the suppressed included.

Notation
    margin    the people that the original's weights count for each bin of a named column. Published labels that overlap (20-29
              beside 20-39) are one bin: the finest totals that both sides can tell
    kind      published rows that look alike in all quasi-identifiers and named columns

How
    1. Every row starts with the mean of the original weights of the rows that look like it in all quasi-identifiers.
    2. Raking: weights are scaled to one margin after the other until all of them are met (iterative proportional fitting).
    3. Rounding: within a kind some rows get the multiple of `round` below, others the one above, by lot, and how many follows
       from the running total: sums drift by half a step at most, in the order of the first column.

Guarantee (`audit.checks.weights` counts again)
    I1  A weight says nothing that the other cells of its row do not say, up to one step of rounding that is drawn by lot.
    I2  Every margin differs from the original's by at most `TOLERANCE` of it, or one step of rounding; refused otherwise.
    Means of classes are figures of at least as many people as a class has: who knows all weights of a class but one learns that one
    as far as rounding lets them.

Papers: Deming, Stephan (1940) for raking; Deville, Särndal (1992) for calibration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.data.generalization import Generalization
from sfumato.data.population import positive_numbers
from sfumato.data.table import Table, as_text
from sfumato.errors import Infeasible
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.population import TOLERANCE, SampledPopulation
from sfumato.randomness import Randomness

_MOST_ROUNDS = 2000
_CLOSE = 1e-9


def calibrated(
    policy: Policy, said: SampledPopulation, table: Table, shown: Mapping[str, pa.Array], rows: IntArray, randomness: Randomness
) -> pa.Array:
    """The weight of every published row, as text; `shown` are the published columns, `rows` the records behind them."""
    own = positive_numbers(table, str(said.weight))
    margins = [_margin(policy, table, shown[name], name, own) for name in said.calibrate]
    alike = group([as_text(pa.chunked_array([shown[name]]), name).codes for name in policy.quasi_identifiers], rows=len(rows))
    start = np.bincount(alike.of, weights=own[rows]) / alike.counts  # I1
    weights = raked(start[alike.of], margins)
    kinds = group([*(bins for bins, _ in margins), alike.of])  # sorted by the first margin
    rounded = _rounded(weights, kinds.of, float(said.round), randomness)
    _require_kept(rounded, margins, said)
    return pa.array([f"{weight:.10g}" for weight in rounded], pa.string())


def _margin(policy: Policy, table: Table, column: pa.Array, name: str, own: FloatArray) -> tuple[IntArray, FloatArray]:
    """The bin of every published row, and the total of every bin."""
    text, published = table.text(name), as_text(pa.chunked_array([column]), name)
    if name in policy.quasi_identifiers:
        domain = generalization_of(policy, name, text.labels)
        bin_of = _bins(domain, published.labels)
        mine = np.array([bin_of[(domain.interval(label) or (0, 0))[0]] for label in published.labels])
        theirs = np.array([bin_of[domain.code_of[label]] for label in text.labels])
    else:
        number_of = {label: place for place, label in enumerate(text.labels)}
        mine, theirs = np.array([number_of[label] for label in published.labels]), np.arange(len(text.labels))
        theirs = np.where(np.isin(theirs, mine), theirs, -1)
    if (theirs[text.codes] < 0).any():
        what = f"{int((theirs[text.codes] < 0).sum())} record(s) have values of '{name}' that no published row stands for"
        raise Infeasible(what, where="population.calibrate", hint="leave the column out of 'calibrate', or suppress less")
    totals: FloatArray = np.bincount(theirs[text.codes], weights=own).astype(np.float64)
    return mine[published.codes], totals


def _bins(domain: Generalization, labels: Sequence[str]) -> IntArray:
    """For every leaf the number of its bin: labels that overlap are joined; −1 where no label covers it."""
    covered = np.zeros(domain.size + 1, dtype=np.int64)
    inside = np.zeros(domain.size + 1, dtype=np.int64)
    for lo, hi in filter(None, map(domain.interval, labels)):
        covered[lo] += 1
        covered[hi] -= 1
        inside[lo + 1] += 1
        inside[hi] -= 1
    shown, tied = np.cumsum(covered)[:-1] > 0, np.cumsum(inside)[:-1] > 0
    return np.where(shown, np.cumsum(~tied) - 1, -1)


def raked(weights: FloatArray, margins: Sequence[tuple[IntArray, FloatArray]]) -> FloatArray:
    """Weights that meet every margin, as near to those that are given as scaling gets; `Infeasible` where none do."""
    weights = weights.copy()
    for _ in range(_MOST_ROUNDS):
        worst = 0.0
        for bins, totals in margins:
            sums = np.bincount(bins, weights=weights, minlength=len(totals))
            factor = np.divide(totals, sums, out=np.ones(len(totals)), where=sums > 0)
            worst = max(worst, float(np.abs(factor - 1).max(initial=0)))
            weights *= factor[bins]
        if worst < _CLOSE:
            return weights
    what = "no weights above zero meet all totals at once: raking does not settle"
    raise Infeasible(what, where="population.calibrate", hint="calibrate to fewer columns, or suppress less")


def _rounded(weights: FloatArray, kind: IntArray, step: float, randomness: Randomness) -> FloatArray:
    """Multiples of a step, with the sums of the weights in the order of kinds; who of a kind gets more is drawn."""
    order = np.lexsort((randomness.child("calibrated weights").permutation(len(weights)), kind))
    running = np.rint(np.cumsum(weights[order]) / step)
    found = np.empty_like(weights)
    found[order] = np.diff(running, prepend=0.0) * step
    return found


def _require_kept(weights: FloatArray, margins: Sequence[tuple[IntArray, FloatArray]], said: SampledPopulation) -> None:
    """What is promised (I2), and that everybody still stands for somebody."""
    if (weights <= 0).any():
        what = f"{int((weights <= 0).sum())} row(s) would stand for nobody"
        raise Infeasible(what, where="population.round", hint="round to a smaller step")
    for (bins, totals), name in zip(margins, said.calibrate, strict=True):
        off = np.abs(np.bincount(bins, weights=weights, minlength=len(totals)) - totals)
        if (off > np.maximum(TOLERANCE * totals, said.round) + _CLOSE).any():
            what = f"rounding to {said.round:g} moves a total of '{name}' by {off.max():.3g}"
            raise Infeasible(what, where="population.round", hint="round to a smaller step, or calibrate to fewer columns")
