"""What hidden labels of a block say, counted from the rule as it is published: an outsider's belief in the likeliest label.

Labels are drawn from a law. A block *breaks* when a label stands more than `most` times. Hidden whole are the blocks that break
and, with a chance, others; under the rule *sparing*, where one label alone stands too often, only its copies are hidden, if of the
`TOP` most frequent labels those that are not shown outweigh the likeliest of them enough (size · Σ p^c ≥ l · c · max p^c).

Blocks are built up label by label, with the labels of the top last; what is kept is how many places are filled, which labels of the
top are shown, and how often a label stands that stands too often. So nothing here is the formula of the method that hides.

>>> import numpy as np
>>> law = LabelLaw(np.array([0.5, 0.5]), size=2, most=1, l=2.0)
>>> whole = hidden_whole(law, 0.0)
>>> whole.chance, whole.belief
(0.5, 0.5)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TOP = 8
_Weights = NDArray[np.float64]


class HiddenBelief(NamedTuple):
    """The chance that a block is hidden whole, and the largest belief in a label of somebody there."""

    chance: float
    belief: float


@dataclass(frozen=True, slots=True, eq=False)
class LabelLaw:
    """Shares of labels, and the rule for blocks of one size."""

    shares: _Weights
    size: int
    most: int
    l: float
    sparing: bool = False

    @property
    def top(self) -> list[int]:
        """The labels that the rule *sparing* weighs."""
        return [int(place) for place in np.argsort(-self.shares, kind="stable")[: TOP if self.sparing else 0]]

    @property
    def suspects(self) -> list[int]:
        """The labels that may be believed most: the most frequent ones."""
        return [int(place) for place in np.argsort(-self.shares, kind="stable")[: TOP + 1]]

    @property
    def unspared(self) -> dict[int, list[int]]:
        """For every number of copies of a label that stands too often, beside which labels of the top they are not hidden alone."""
        top = self.top
        counts, shown = range(self.most + 1, self.size + 1), range(1 << len(top))
        return {count: [labels for labels in shown if not self._spared(top, labels, count)] for count in counts}

    def _spared(self, top: list[int], shown: int, count: int) -> bool:
        """Whether `count` copies of one label may be hidden where the labels of the top in the bits of `shown` are shown."""
        open_ = [self.shares[place] ** count for bit, place in enumerate(top) if not shown >> bit & 1]
        if not open_ or sum(open_) <= 0 or count >= self.size:
            return False
        return bool(self.l * count * max(open_) <= self.size * sum(open_) * (1 - 1e-9))


def hidden_whole(law: LabelLaw, chance: float, known: tuple[int, ...] = ()) -> HiddenBelief:
    """For blocks hidden whole; `chance` is that of hiding a block that fits, `known` the labels of insiders."""
    unspared = law.unspared
    total = _mass(law, unspared, chance, known, None)
    if total <= 0:
        return HiddenBelief(0.0, 0.0)
    each = [_mass(law, unspared, chance, known, suspect) for suspect in law.suspects]
    return HiddenBelief(total, max(each) / total)


def hidden_copies(law: LabelLaw, shown: NDArray[np.int64], count: int) -> float:
    """The belief that the hidden label of a block is the likeliest one, beside the labels shown."""
    open_ = np.ones(len(law.shares), dtype=bool)
    open_[shown] = False
    weights = law.shares[open_] ** count
    return float(weights.max() / weights.sum()) if len(weights) and weights.sum() > 0 else 1.0


def _mass(law: LabelLaw, unspared: dict[int, list[int]], chance: float, known: tuple[int, ...], target: int | None) -> float:
    """P(the block is hidden whole, and somebody there has the target label), or P(hidden whole) without a target."""
    places = law.size - len(known)
    fitting = np.zeros((1, law.size + 1, places + 1))  # labels of the top shown x copies of the one too frequent x places filled
    fitting[0, 0, 0] = 1.0
    crowded = np.zeros(places + 1)  # two labels stand too often
    top = law.top
    for label in [*(place for place in range(len(law.shares)) if place not in top), *top]:
        bit = top.index(label) if label in top else None
        fitting, crowded = _with_label(law, fitting, crowded, label, bit, known.count(label), target == label)
    scale = math.factorial(places) / (1 if target is None else places)
    whole = crowded[places] + chance * fitting[:, 0, places].sum()
    for count, beside in unspared.items():
        whole += sum(fitting[shown, count, places] for shown in beside)
    return float(whole * scale)


def _with_label(
    law: LabelLaw, fitting: _Weights, crowded: _Weights, label: int, bit: int | None, held: int, counted: bool
) -> tuple[_Weights, _Weights]:
    """The blocks with one more label looked at: `held` copies are the insiders', `counted` weighs by the others."""
    grown = np.zeros((len(fitting) * (1 if bit is None else 2), *fitting.shape[1:]))
    crowd, places, term = np.zeros_like(crowded), len(crowded) - 1, 1.0
    for more in range(places + 1):
        weight = term * (more if counted else 1)
        term *= float(law.shares[label]) / (more + 1)
        moved = fitting[:, :, : places + 1 - more] * weight
        crowd[more:] += crowded[: places + 1 - more] * weight
        if more + held > law.most:
            grown[: len(fitting), more + held, more:] += moved[:, 0]
            crowd[more:] += moved[:, 1:].sum(axis=(0, 1))
        else:
            first = 0 if bit is None or more + held == 0 else 1 << bit
            grown[first : first + len(fitting), :, more:] += moved
    return grown, crowd
