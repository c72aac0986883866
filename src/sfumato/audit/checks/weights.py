"""Calibrated weights: equal for rows that look alike, up to one step of rounding, and with the totals of the original.

From the published files: every weight is a positive multiple of the step, and rows that look alike in all quasi-identifiers and
calibrated columns have weights at most one step apart, so that a weight tells nobody apart. With the original: the weighted totals
of every calibrated column are the original's, by bins of labels that do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import group
from sfumato.data.population import positive_numbers
from sfumato.forms.recoded import Recoded
from sfumato.policy.population import TOLERANCE, SampledPopulation
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_SLACK = 1e-6


class CalibratedWeights(Check):
    """Calibrated survey weights tell nobody apart and keep the totals that they were calibrated to."""

    name: ClassVar[str] = "calibrated weights"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.policy.calibrated is not None

    def examine(self, exhibit: Exhibit) -> Finding:
        said = exhibit.policy.population
        assert said is not None
        weights = positive_numbers(exhibit.data, str(said.weight))
        wrong = [*_telling(exhibit, said, weights)]
        off = max((_off(exhibit, said, name, weights) for name in said.calibrate), default=0.0) if exhibit.private else 0.0
        wrong += [f"a total differs by {off:.3g} times what is allowed"] if off > 1 + _SLACK else []
        return Finding(self.name, not wrong, {"wrong": 0}, {"wrong": len(wrong)}, reason="; ".join(wrong))


def _telling(exhibit: Exhibit, said: SampledPopulation, weights: FloatArray) -> Iterator[str]:
    """What the published weights by themselves do wrong."""
    step = float(said.round)
    if (np.abs(weights / step - np.rint(weights / step)) > _SLACK).any():
        yield "weights are not rounded as the policy says"
    names = dict.fromkeys((*exhibit.policy.quasi_identifiers, *said.calibrate))
    alike = group([exhibit.data.text(name).codes for name in names], rows=exhibit.data.rows)
    order = np.lexsort((weights, alike.of))
    ends = np.cumsum(alike.counts)
    apart = weights[order[ends - 1]] - weights[order[ends - alike.counts]]
    if (apart > step * (1 + _SLACK)).any():
        yield f"{int((apart > step * (1 + _SLACK)).sum())} group(s) of rows that look alike have weights more than one step apart"


def _off(exhibit: Exhibit, said: SampledPopulation, name: str, weights: FloatArray) -> float:
    """The largest difference of a total of a column, over what is allowed."""
    own = positive_numbers(exhibit.original, str(said.weight))
    shown, bins = exhibit.data.text(name), _bins(exhibit, name)
    mine = np.array([bins.get(label, -1) for label in shown.labels])[shown.codes]
    values = exhibit.original.text(name)
    theirs = np.array([bins.get(value, -1) for value in _as_labels(exhibit, name, values.labels)])[values.codes]
    found = _totals(mine, weights, theirs, own)
    return max(float(abs(one - other) / max(TOLERANCE * other, said.round)) for one, other in found)


def _totals(mine: IntArray, weights: FloatArray, theirs: IntArray, own: FloatArray) -> Iterator[tuple[Fraction, Fraction]]:
    """Both totals of every bin; those of values that no row stands for are a bin of their own."""
    for place in np.union1d(mine, theirs).tolist():
        yield Fraction(float(weights[mine == place].sum())), Fraction(float(own[theirs == place].sum()))


def _as_labels(exhibit: Exhibit, name: str, values: tuple[str, ...]) -> list[str]:
    """A label under which each value of the original can be looked up among bins."""
    domain = exhibit.recoded.get(name)
    return list(values) if domain is None else [f"leaf {domain.code_of[value]}" for value in values]


def _bins(exhibit: Exhibit, name: str) -> dict[str, int]:
    """The number of the bin of every label, and of every leaf that one covers; labels that share a leaf are in one bin."""
    labels, domain = exhibit.data.text(name).labels, exhibit.recoded.get(name)
    if domain is None:
        return {label: place for place, label in enumerate(labels)}
    found: dict[str, int] = {}
    reach, number = -1, -1
    for lo, hi, label in sorted((*(domain.interval(label) or (0, 0)), label) for label in labels):
        number += lo >= reach
        reach = max(reach, hi)
        found |= {label: number} | {f"leaf {leaf}": number for leaf in range(lo, hi)}
    return found
