"""What claims on shares say of numbers: how many records a group needs when one of its values occurs m times.

Guarantee: a group that satisfies the claims, and in which some value of the column occurs m times, has at least
``needed[m]`` records.

Notation
    V    different values of the column among all records
    h    the least entropy that a claim asks for

Invariants
    I1  Every rounding lowers `needed`, by more than the tolerance with which models compare.
    I2  `needed` never falls: with more equal values a group needs no fewer records, or is said to need no more than it does.

Departures
    One column is looked at: that of the smallest share. What claims say of other columns, and of different values beside shares, is
    left out, which can only lower a bound.
    Entropy: with one value m times among n records the others are spread evenly over the V − 1 other values at best, so n is enough
    only where that has entropy h.
"""

from __future__ import annotations

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.methods.recoding.claims import Claims
from sfumato.methods.recoding.problem import RecodingProblem
from sfumato.models.base import Demand

_SMALL = 1e-6


def shared_column(problem: RecodingProblem, claims: Claims) -> str:
    """The hidden column in which the largest share of a value is limited most; empty when no claim limits one."""
    limits = {name: _limit(problem, name) for name in claims.hidden}
    return min((name for name in limits if limits[name] < 1.0), key=lambda name: limits[name], default="")


def needed_records(problem: RecodingProblem, name: str, least: int) -> IntArray:
    """Per number of records with one value: the fewest records of a group that shows it so often."""
    values = np.bincount(problem.cell_values[name], weights=problem.row_cell.counts)
    often = np.arange(int(values.max()) + 1, dtype=np.float64)
    share = min((demand.largest_share for demand in _demands(problem, name)), default=1.0)
    needed = np.maximum(np.ceil((often - _SMALL) / share * (1 - 1e-9)), least)  # I1
    entropy = max((demand.entropy for demand in _demands(problem, name)), default=0.0)
    if entropy > 0:
        needed = np.maximum(needed, _varied_enough(often, entropy, int(np.count_nonzero(values))))
    return np.minimum.accumulate(needed[::-1])[::-1].astype(np.int64)  # I2


def _demands(problem: RecodingProblem, name: str) -> list[Demand]:
    return [requirement.model.demand() for requirement in problem.requirements if name in requirement.hide]


def _limit(problem: RecodingProblem, name: str) -> float:
    """The largest share of a value in a large group."""
    needed = needed_records(problem, name, 1)
    return (len(needed) - 1) / float(needed[-1])


def _varied_enough(often: FloatArray, entropy: float, values: int) -> FloatArray:
    """The fewest records among which one value may occur so often, by halving: until shares are equal, more have more entropy."""
    low, high = often.copy(), np.maximum(often * values, 1.0)
    if values < 2:
        return high
    for _ in range(64):
        middle = np.floor((low + high) / 2)
        enough = _most_entropy(often, middle, values) >= entropy - _SMALL  # I1
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
    return high


def _most_entropy(often: FloatArray, records: FloatArray, values: int) -> FloatArray:
    """The entropy of so many records when one value occurs so often and the others are spread evenly over all other values."""
    share = np.divide(often, records, out=np.ones(len(often)), where=records > 0)
    rest, others = 1.0 - share, np.clip(records - often, 1.0, values - 1.0)
    own = np.where(share > 0, -share * np.log(np.where(share > 0, share, 1.0)), 0.0)
    return own + np.where(rest > 0, -rest * np.log(np.where(rest > 0, rest, 1.0) / others), 0.0)
