"""Which labels of a block are not shown, so that neither what is shown nor that something is hidden gives a label away.

A block *breaks* when one of its labels stands more often than `most` times, the share that l allows. The labels of a
block that breaks cannot be shown; but if only such blocks were hidden, hiding would say that some label is frequent
there.

Guarantee
    Labels are drawn independently from a law that the adversary knows, with the rule; then no label of a person has a
    posterior above 1/l, in any block, shown or hidden. With `insiders` m the same holds for an adversary who knows the
    labels of m others of the block.
Rules
    whole    (R1)  all labels of a block that breaks are hidden, and those of any other block with the chance q. Then
                   P(v | hidden) = (P(v, breaks) + q P(v, fits)) / (P(breaks) + q P(fits)), and q is the least chance
                   that keeps all of these at 1/l or below. q = 1 hides everything and leaves P(v) ≤ 1/l, so there is
                   one.
    sparing  (R2)  where one label v alone stands too often, c times, only its copies are hidden, if the adversary, who
                   sees c hidden labels and the others S, still believes v no more than 1/l: v is then one of the labels
                   not in S, with weights p_v^c, and a person has it with c/g of that. The test looks at S and c alone,
                   never at v, so that it was passed tells nothing more. Blocks that fail it are hidden whole, and q is
                   counted for those. Without insiders only: a person whose own label is hidden knows v.
Why
    A shown block has each label at most `most` ≤ (g − m)/l times, and its rows are permuted uniformly. For hidden ones
    see above. An adversary who knows less believes a mean of such posteriors.
Invariants
    I1  The test of `sparing` counts only the `_TOP` most frequent labels among those that v may be, so that the chance
        of passing it can be summed exactly; leaving candidates out makes the test stricter.
    I2  With several insiders q = l · max p: then even a block that surely breaks under what they know is believed at
        1/l.
    I3  `sparing` is taken only where some q keeps the blocks that are hidden whole at 1/l, and where it hides fewer
        labels: taking blocks out of those hidden whole may leave a frequent label behind even at q = 1.
Cost
    Products of short power series: labels x size², and 2^_TOP of them for `sparing`.

>>> rule = LabelHidingRule.of(np.full(10, 0.1), size=4, l=2.0)
>>> rule.most, round(rule.chance, 4)
(2, 0.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Rule = Literal["whole", "sparing"]
_TOP = 8
_SAFE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LabelHidingRule:
    """The rule for blocks of one size: no label more than `most` times, and the chance to hide a block that fits."""

    shares: NDArray[np.float64]
    size: int
    l: float
    most: int
    chance: float
    rule: Rule = "whole"

    @classmethod
    def of(
        cls, shares: NDArray[np.float64], size: int, l: float, rule: Rule = "whole", insiders: int = 0
    ) -> LabelHidingRule:
        """The rule with the least chance that keeps every posterior at 1/l."""
        most = int(np.floor((size - insiders) / l + _SAFE))
        if insiders > 1:
            return cls(shares, size, l, most, min(1.0, l * float(shares.max())))  # I2
        if insiders == 1:
            return cls(shares, size, l, most, max(_chance_beside(shares, size, most, l)))
        fits = _fitting(shares, size, most)
        chance, withheld = _weighed(shares, fits, _Spared(np.zeros(len(shares))), l)
        if rule == "sparing":
            sparing, less = _weighed(shares, fits, _Spared.of(shares, size, most, l), l)
            if less < withheld:  # I3
                return cls(shares, size, l, most, sparing, rule)
        return cls(shares, size, l, most, chance)

    def spares(self, shown: NDArray[np.int64], hidden: int) -> bool:
        """Whether `hidden` copies of one label may be hidden beside the labels shown, of which there is one at least
        (I1)."""
        open_ = np.ones(len(self.shares), dtype=bool)
        open_[shown] = False
        return (
            self.rule == "sparing"
            and len(shown) > 0
            and _passes(self.shares, _top(self.shares), open_, hidden, self.size, self.l)
        )


def _top(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.argsort(-shares, kind="stable")[:_TOP]


def _passes(
    shares: NDArray[np.float64], top: NDArray[np.int64], open_: NDArray[np.bool_], hidden: int, size: int, l: float
) -> bool:
    """Whether the likeliest of the open labels, weighed against the open ones of the top alone, stays below 1/l."""
    weights = shares[top][open_[top]] ** hidden
    if not len(weights) or weights.sum() <= 0:
        return False
    return bool(weights.max() * hidden * l <= weights.sum() * size * (1 - _SAFE))


def _weighed(shares: NDArray[np.float64], fits: NDArray[np.float64], spared: _Spared, l: float) -> tuple[float, float]:
    """The least chance, and the share of labels that is hidden with it; no share is less than all when no chance is
    enough."""
    broken = np.maximum(shares - fits - spared.each, 0.0)
    all_broken = max(1.0 - float(fits.sum()) - spared.total, 0.0)
    chance = _least_chance(broken, all_broken, fits, l)
    whole = all_broken + chance * float(fits.sum())
    if ((broken + chance * fits) * l > whole * (1 + 10 * _SAFE) + 1e-15).any() and spared.total:
        return 1.0, np.inf
    return chance, whole + spared.withheld


def _least_chance(broken: NDArray[np.float64], all_broken: float, fits: NDArray[np.float64], l: float) -> float:
    """The least q with broken_v + q fits_v ≤ (P(broken) + q P(fits)) / l for all v; beyond the top `broken` is a
    bound."""
    excess = broken - all_broken / l
    room = fits.sum() / l - fits
    over = excess > 0
    if not over.any():
        return 0.0
    needed = np.where(room[over] > 0, excess[over] / np.maximum(room[over], 1e-300), np.inf)
    return float(min(1.0, needed.max() * (1 + _SAFE)))


def _fitting(shares: NDArray[np.float64], size: int, most: int) -> NDArray[np.float64]:
    """P(label of a person is v, and the block fits), for every v."""
    series = [_counts(share * size, most, size) for share in shares]
    whole = 1.0 / _poisson(float(size), size)
    fits = np.zeros(len(shares))
    for place, others in _all_but_one(series, size):
        fits[place] = _expected(series[place], others, size) * whole / size
    return fits


def _chance_beside(shares: NDArray[np.float64], size: int, most: int, l: float) -> Iterator[float]:
    """The chance needed beside one insider, for each label that the insider may have."""
    yield 0.0
    rest = size - 1
    whole = 1.0 / _poisson(float(rest), rest) if rest else 1.0
    series = [_counts(share * rest, most, rest) for share in shares]
    for known in np.unique(shares, return_index=True)[1].tolist():
        beside = list(series)
        beside[known] = _counts(shares[known] * rest, most - 1, rest)
        fits = np.zeros(len(shares))
        for place, others in _all_but_one(beside, rest):
            fits[place] = _expected(beside[place], others, rest) * whole / max(rest, 1)
        broken = np.maximum(shares - fits, 0.0)
        yield _least_chance(broken, float(broken.sum()), fits, l)


def _poisson(rate: float, count: int) -> float:
    return float(_counts(rate, count, count)[count])


def _counts(rate: float, most: int, size: int) -> NDArray[np.float64]:
    """The Poisson chances of 0 … most, as a power series up to `size`; conditioned on the sum they are the multinomial
    ones."""
    series = np.zeros(size + 1)
    if most < 0:
        return series
    term = np.exp(-rate)
    for count in range(min(most, size) + 1):
        series[count] = term
        term *= rate / (count + 1)
    return series


def _times(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    product: NDArray[np.float64] = np.convolve(a, b)[: len(a)]
    return product


def _all_but_one(series: list[NDArray[np.float64]], size: int) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Every place with the product of all other series."""
    one = np.zeros(size + 1)
    one[0] = 1.0
    after = [one]
    for factor in reversed(series):
        after.append(_times(after[-1], factor))
    before = one
    for place, factor in enumerate(series):
        yield place, _times(before, after[len(series) - 1 - place])
        before = _times(before, factor)


def _expected(mine: NDArray[np.float64], others: NDArray[np.float64], size: int) -> float:
    """Σ count · P(count of mine, the rest of others)."""
    counts = np.arange(size + 1)
    return float((counts * mine * others[::-1]).sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Spared:
    """The blocks of which only one label is hidden: P(label of a person is v, so), for v of the top, and P(so) over all
    labels."""

    each: NDArray[np.float64]
    total: float = 0.0
    withheld: float = 0.0
    """The share of labels that is hidden in such blocks."""

    @classmethod
    def of(cls, shares: NDArray[np.float64], size: int, most: int, l: float) -> _Spared:
        """Summed over the labels of the top that are shown and over how often the hidden label stands."""
        top = _top(shares)
        rare = [place for place in range(len(shares)) if place not in set(top.tolist())]
        rates = shares * size
        product, single = _rare(rates, rare, most, size)
        each, total, withheld = np.zeros(len(shares)), 0.0, 0.0
        for shown in _subsets(top):
            open_ = np.ones(len(shares), dtype=bool)
            open_[list(shown)] = False
            hidden = [place for place in top.tolist() if place not in shown]
            some = [_counts(rates[place], most, size) * (np.arange(size + 1) > 0) for place in shown]
            none = float(np.exp(-rates[hidden].sum()))
            for count in range(most + 1, size):
                if not _passes(shares, top, open_, count, size, l):
                    continue
                copies = np.array([_relative(rates[place], count) for place in hidden])
                beside = none * (copies.sum() * product + single[count])
                left = size - count
                here = _coefficient(_product(some, size), beside, left)
                total, withheld = total + here, withheld + here * count / size
                if hidden:
                    each[hidden] += copies * none * _coefficient(_product(some, size), product, left) * count / size
                for place, marked in zip(shown, _marked(some, size), strict=True):
                    each[place] += _coefficient(marked, beside, left) / size
        whole = 1.0 / _poisson(float(size), size)
        return cls(each * whole, total * whole, withheld * whole)


def _subsets(top: NDArray[np.int64]) -> Iterator[tuple[int, ...]]:
    for number in range(len(top) + 1):
        yield from combinations(top.tolist(), number)


def _rare(
    rates: NDArray[np.float64], rare: list[int], most: int, size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The product of all rare labels' series, and for each count c the same with one of them standing c times
    instead."""
    series = [_counts(rates[place], most, size) for place in rare]
    single = np.zeros((size + 1, size + 1))
    for place, others in _all_but_one(series, size):
        single += np.outer(_counts(rates[rare[place]], size, size), others)
    return _product(series, size), single


def _product(series: list[NDArray[np.float64]], size: int) -> NDArray[np.float64]:
    product = np.zeros(size + 1)
    product[0] = 1.0
    for factor in series:
        product = _times(product, factor)
    return product


def _marked(series: list[NDArray[np.float64]], size: int) -> Iterator[NDArray[np.float64]]:
    """The product of all, each time with one of them weighed by its count."""
    for place, others in _all_but_one(series, size):
        yield _times(others, series[place] * np.arange(size + 1))


def _relative(rate: float, count: int) -> float:
    """The Poisson chance of `count` over that of none."""
    return float(np.prod(rate / np.arange(1, count + 1)))


def _coefficient(a: NDArray[np.float64], b: NDArray[np.float64], degree: int) -> float:
    return float((a[: degree + 1] * b[: degree + 1][::-1]).sum())
