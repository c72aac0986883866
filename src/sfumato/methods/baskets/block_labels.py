"""The labels of all blocks, hidden where the rule of their column and size says so.

A claim that bounds shares hides by `hiding`, whose law of labels is their shares in the data. A claim that only counts different
labels hides the blocks that show too few: what such a block holds is then any label of the data.

Invariants
    I1  Chance comes from the cryptographic source; whether a block that fits is hidden is drawn for each block by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.data.baskets import Baskets
from sfumato.errors import Infeasible
from sfumato.methods.baskets.hiding import Hiding, Rule
from sfumato.methods.baskets.partition import Partition
from sfumato.policy.claims import Claim
from sfumato.randomness import Randomness


@dataclass(frozen=True, slots=True)
class HiddenLabels:
    """Per column: places whose label is hidden, chances by size of block, the l of the rule, and sizes with the rule *sparing*."""

    places: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    chances: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    sparing: Mapping[str, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the claims ask of one column: no label above 1/`share`, at least `distinct` different ones."""

    share: float = 1.0
    distinct: int = 0

    @classmethod
    def of(cls, claims: Sequence[Claim], column: str) -> Wanted:
        demands = [claim.model.demand() for claim in claims if column in claim.hide and claim.model.needs_sensitive]
        share = max((demand.diversity for demand in demands if not demand.counts_values), default=1.0)
        distinct = max((demand.distinct for demand in demands if demand.counts_values), default=0)
        return cls(max(share, distinct) if share > 1 else 1.0, distinct)


def hide_labels(
    baskets: Baskets,
    claims: Sequence[Claim],
    columns: tuple[str, ...],
    blocks: Partition,
    behind: IntArray,
    rule: Rule,
    insiders: int,
    randomness: Randomness,
) -> HiddenLabels:
    """Which places hide their labels, column by column."""
    places, chances, limits, sparing = {}, {}, {}, {}
    for name in columns:
        wanted = Wanted.of(claims, name)
        if wanted.share <= 1 and wanted.distinct <= 1:
            continue
        shown = np.unique(baskets.labels[name][behind].astype(str), return_inverse=True)[1].reshape(-1).astype(np.int64)
        if not len(shown):
            continue
        _require_possible(name, shown, int(shown.max()) + 1, wanted, insiders)
        if wanted.share > 1:
            rules = {
                size: Hiding.of(np.bincount(shown) / len(shown), size, wanted.share, rule, insiders)
                for size in np.unique(blocks.sizes).tolist()
            }
            places[name] = _by_share(shown, blocks, rules, randomness.child(name))
            chances[name] = {size: hiding.chance for size, hiding in rules.items()}
            limits[name] = wanted.share
            sparing[name] = frozenset(size for size, hiding in rules.items() if hiding.rule == "sparing")
        else:
            places[name], chances[name] = _by_number(shown, blocks, wanted.distinct + insiders), {}
    return HiddenLabels(places, chances, limits, sparing)


def _require_possible(name: str, codes: IntArray, values: int, wanted: Wanted, insiders: int) -> None:
    if values < max(wanted.share, wanted.distinct + insiders):
        what = f"column '{name}' has {values} different labels"
        raise Infeasible(what, where="protect", hint=f"ask for at most l = {values - insiders}")
    if np.bincount(codes).max() * wanted.share > len(codes) * (1 + 1e-12):
        what = f"one label of column '{name}' is more frequent than l = {wanted.share:g} allows"
        raise Infeasible(what, where="protect", hint="lower l: who knows the shares of labels already guesses above 1/l")


def _by_share(shown: IntArray, blocks: Partition, rules: Mapping[int, Hiding], randomness: Randomness) -> NDArray[np.bool_]:
    words = randomness.uniform(len(blocks.sizes))
    hidden = np.zeros(len(shown), dtype=bool)
    for size, hiding in rules.items():
        which = np.flatnonzero(blocks.sizes == size)
        at = blocks.starts[which][:, None] + np.arange(size)[None, :]
        hidden[at] = _hidden_in(shown[at], hiding, words[which])  # I1
    return hidden


def _hidden_in(labels: IntArray, hiding: Hiding, words: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Blocks x places: what is hidden; `words` are uniform in [0, 1), one for each block."""
    ranked = np.sort(labels, axis=1)
    too_many = (
        (ranked[:, hiding.most :] == ranked[:, : ranked.shape[1] - hiding.most]).any(axis=1)
        if 0 < hiding.most < ranked.shape[1]
        else np.full(len(labels), hiding.most < 1)
    )
    whole = too_many | (words < hiding.chance)
    hidden = np.repeat(whole[:, None], labels.shape[1], axis=1)
    for block in np.flatnonzero(too_many).tolist() if hiding.rule == "sparing" else ():
        values, counts = np.unique(labels[block], return_counts=True)
        over = values[counts > hiding.most]
        if len(over) == 1 and hiding.spares(values[values != over[0]], int(counts.max())):
            hidden[block] = labels[block] == over[0]
    return hidden


def _by_number(shown: IntArray, blocks: Partition, fewest: int) -> NDArray[np.bool_]:
    """All labels of the blocks that have fewer different ones."""
    pairs = np.unique(blocks.block * (int(shown.max()) + 1) + shown)
    different = np.bincount(pairs // (int(shown.max()) + 1), minlength=len(blocks.sizes))
    return np.repeat(different < fewest, blocks.sizes)
