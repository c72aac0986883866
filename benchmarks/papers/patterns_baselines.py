"""What pattern-walk is compared with: random perturbation of a wanted distortion, and Mondrian l-diversity on
numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.kinds.testdata.metrics import distortion


def perturbed(before: np.ndarray, wanted: float, low: np.ndarray, high: np.ndarray, seed: int = 0) -> np.ndarray:
    """Uniform noise in proportion to each column's range, clipped and rounded, with at most the wanted distortion."""
    noise = np.random.default_rng(seed).uniform(-1, 1, before.shape) * (high - low)
    least, most = 0.0, 1.0
    for _ in range(30):
        share = (least + most) / 2
        after = np.clip(np.rint(before + share * noise), low, high)
        least, most = (share, most) if distortion(before, after) < wanted else (least, share)
    return np.clip(np.rint(before + least * noise), low, high)


@dataclass(frozen=True)
class Generalized:
    """A recoded table: everybody's class, and each class's box; answers queries as if values were uniform in the
    box."""

    group: np.ndarray
    low: np.ndarray
    high: np.ndarray
    label: np.ndarray

    @property
    def numbers(self) -> np.ndarray:
        """The middle of everybody's box."""
        return (self.low + self.high)[self.group] / 2

    def answer(self, target: int | None, thresholds: np.ndarray, accepted: np.ndarray | None) -> float | None:
        share = np.clip((self.high - thresholds) / (self.high - self.low + 1), 0, 1).prod(axis=1)[self.group]
        if accepted is not None:
            share = share * np.isin(self.label, accepted)
        total = share.sum()
        if target is None or total == 0:
            return float(total) or None
        return float(share @ self.numbers[:, target] / total)


def mondrian(numbers: np.ndarray, label: np.ndarray, diversity: int) -> Generalized:
    """Median cuts of the widest column that leave `diversity` distinct labels on both sides."""
    span = np.maximum(np.ptp(numbers, axis=0), 1)
    group = np.zeros(len(numbers), int)
    waiting, done = [np.arange(len(numbers))], []
    while waiting:
        rows = waiting.pop()
        halves = _cut(numbers, label, rows, span, diversity)
        if halves is None:
            done.append(rows)
        else:
            waiting += halves
    for number, rows in enumerate(done):
        group[rows] = number
    low, high = (np.array([side(numbers[rows], axis=0) for rows in done]) for side in (np.min, np.max))
    return Generalized(group, low, high, label)


def _cut(numbers, label, rows, span, diversity):
    for column in np.argsort(-np.ptp(numbers[rows], axis=0) / span):
        middle = np.median(numbers[rows, column])
        left = rows[numbers[rows, column] <= middle]
        right = rows[numbers[rows, column] > middle]
        if min(np.unique(label[left]).size, np.unique(label[right]).size) >= diversity:
            return [left, right]
    return None
