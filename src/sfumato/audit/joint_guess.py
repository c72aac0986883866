"""How often labels are guessed by somebody who knows how items and labels go together, with and without a release in blocks.

Labels that follow from items are no secret of the release, but blocks help: each label of a block belongs to exactly one of its
people, so what is likely of one is less likely of the others. The adversary learns naive Bayes on half of the people and guesses
those of the other half, and the other way round; within a block the likelihoods of people x labels are scaled in turn by rows and
by columns until every person has one label and every label one person (which comes near the mean over all ways to give them out).

Cost: people x items x labels, on at most `PEOPLE` people of whole blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.sets import Sets

PEOPLE = 20_000
_SMOOTH, _SCALINGS = 0.5, 60


@dataclass(frozen=True, slots=True)
class JointGuess:
    """Shares of people whose label is guessed: from items alone, and with the release; and of how many people."""

    alone: float
    with_release: float
    people: int

    def exceeds(self, promised: float) -> bool:
        """Whether it is above the promise by more than chance: four standard errors of so many guesses."""
        return bool(self.with_release > promised + 4 * np.sqrt(promised * (1 - promised) / max(self.people, 1)))


def joint_guess(sets: Sets, labels: IntArray, block: IntArray, shown: IntArray) -> JointGuess:
    """Row i is the person i of `sets`, with the true label ``labels[i]`` and the published one ``shown[i]`` of a row of the same
    block.

    Which row of a block is whose is not used: within a block the order of `shown` does not matter. −1 is a hidden label.
    """
    kinds = int(labels.max()) + 1
    likelihood, prior = _learned(sets, labels, kinds)
    alone = float(((likelihood + np.log(prior)).argmax(axis=1) == labels).mean())
    right, counted = 0, 0
    sizes = np.bincount(block)
    order = np.argsort(block, kind="stable")
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]).tolist():
        members = order[starts[np.flatnonzero(sizes == size)][:, None] + np.arange(size)[None, :]]
        for some in np.array_split(members, max(1, members.size * size // 2_000_000)):
            guess = _in_blocks(likelihood[some], shown[some], prior)
            right += int((guess == labels[some]).sum())
            counted += some.size
    return JointGuess(alone, right / max(counted, 1), counted)


def _learned(sets: Sets, labels: IntArray, kinds: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln P(items | label) for every person and label, learned on the other half of the people; and the shares of labels."""
    matrix, half = sets.matrix().astype(np.float64), np.arange(len(sets)) % 2
    likelihood = np.zeros((len(sets), kinds))
    for fold in (0, 1):
        train, test = np.flatnonzero(half != fold), np.flatnonzero(half == fold)
        of = np.zeros((len(train), kinds))
        of[np.arange(len(train)), labels[train]] = 1.0
        people = of.sum(axis=0)
        have = (matrix[train].T @ of + _SMOOTH) / (people + 2 * _SMOOTH)
        likelihood[test] = matrix[test] @ np.log(have / (1 - have)) + np.log1p(-have).sum(axis=0)
    prior = (np.bincount(labels, minlength=kinds) + _SMOOTH) / (len(labels) + kinds * _SMOOTH)
    return likelihood, np.asarray(prior, dtype=np.float64)


def _in_blocks(likelihood: NDArray[np.float64], shown: IntArray, prior: NDArray[np.float64]) -> IntArray:
    """blocks x people: the likeliest label of each, given the labels that their block shows."""
    blocks, size, kinds = likelihood.shape
    scaled = likelihood - likelihood.max(axis=2, keepdims=True)
    hidden = np.log((np.exp(scaled) * prior).sum(axis=2))[:, :, None]
    at = np.maximum(shown, 0)[:, None, :].repeat(size, axis=1)
    weight = np.where(shown[:, None, :] >= 0, np.take_along_axis(scaled, at, axis=2), hidden)
    belief = np.exp(weight - weight.max(axis=2, keepdims=True)) + 1e-12
    for _ in range(_SCALINGS):
        belief /= belief.sum(axis=1, keepdims=True)
        belief /= belief.sum(axis=2, keepdims=True)
    guess = np.zeros((blocks, size, kinds))
    posterior = np.exp(scaled) * prior
    posterior /= posterior.sum(axis=2, keepdims=True)
    where = (
        np.broadcast_to(np.arange(blocks)[:, None, None], belief.shape),
        np.broadcast_to(np.arange(size)[None, :, None], belief.shape),
    )
    open_ = np.broadcast_to(shown[:, None, :] >= 0, belief.shape)
    np.add.at(guess, (where[0][open_], where[1][open_], at[open_]), belief[open_])
    guess += posterior * np.where(open_, 0.0, belief).sum(axis=2)[:, :, None]
    return np.asarray(guess.argmax(axis=2), dtype=np.int64)
