"""Special uniques: records that are alone with only one, two or three of their values (SUDA).

Definitions
    minimal sample unique   a set of columns in which a record is unique, while it is unique in no smaller part of the set
    score                   Σ over its minimal sample uniques of Π_{i = size}^{M} (A − i), with A columns and sizes up to M
    match                   P(a unique match is right) = U π / (U π + D (1 − π)), with U unique records and D records in pairs
    dis                     the score as a probability: spread over the unique records so that it agrees with `match` as a whole

Paper: Elliot, Manning, Ford (2002); Manning, Haglin, Keane (2008); the last step as sdcMicro takes it.
Invariants
    I1  Only records that are unique in all columns together have minimal sample uniques: so only those are looked at, and a
        different tuple counts once, whatever its size.
Cost: combinations × different tuples.

>>> found = special_uniques({"a": np.array([0, 0, 1, 1]), "b": np.array([0, 0, 0, 1]), "c": np.array([0, 0, 0, 0])})
>>> found.by_size, found.score.tolist()
({1: 1, 2: 1}, [0.0, 0.0, 1.0, 2.0])
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray, FloatArray, IntArray
from sfumato.data.classes import Classes, group
from sfumato.risks.combinations import tuple_keys

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
    columns: Mapping[str, NDArray[np.integer]], *, largest: int = 3, fraction: float = DIS_FRACTION, classes: Classes | None = None
) -> SpecialUniques:
    """Minimal sample uniques of up to `largest` columns; `classes` are the classes over all columns, when they are known."""
    names = list(columns)
    classes = classes if classes is not None else group([columns[name] for name in names])
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
