"""Blocks against ring, CAHD and plain groups: error rate, items shown, empty baskets, counts of items and pairs,
labels.

    python benchmarks/basket_blocks.py [name …]        # what results/basket-blocks.csv has is not made again; draws the
    picture

Real sets from the folder of shared data; `t10` is generated (100,000 baskets of 10 items on average out of 870, from
2,000 patterns of 4), and so is `pumsb_like`, as large as the whole of pumsb (49,046 records of 74 items), which cannot
be had: each record is one of the first 2,000, of which a fifth of the 74 answers is replaced by those of another one.
*groups* are the blocks before any exchange: the Gray order cut into pieces. The ring has the Gray order on sets above
10,000 records, where the window order takes minutes, and the window order below.

Labels: 470 values with the skew of an occupation histogram, nothing to do with the items. With k candidates l = k/2 is
asked: blocks and groups hide labels by the rule *sparing*, the ring by *guarded*; CAHD groups records with k different
labels and hides none (and promises nothing to whoever runs it again). *withheld* is the share of labels that are not
shown; *label error* the relative error of how often the 20 commonest labels stand beside the 50 commonest items, rows
without a label left out. `digits` (the dark ones among 64 pixels of 1,797 handwritten digits) and `cells` (which of 30
measurements of 569 tumours lie above their median) come with scikit-learn and were not looked at while blocks were
built."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "papers"))
sys.path.insert(0, str(Path(__file__).parent))
from baselines.cahd import cahd_groups
from baskets_hints import occupations
from curves import RESULTS, panels_of, write_csv, write_grid

from sfumato.core.randomness import Randomness
from sfumato.data.item_sets import Sets
from sfumato.io.basket_source import read_fimi
from sfumato.kinds.baskets.methods.blocks import _by_share, _matched, published_rows_of
from sfumato.kinds.baskets.methods.label_hiding import LabelHidingRule
from sfumato.kinds.baskets.methods.nonreciprocal import (
    ORDERS,
    assignments,
    labels_to_suppress_guarded,
    ring_members,
    ring_targets,
)
from sfumato.kinds.baskets.methods.record_order import Partition, block_starts, partition, start_order
from sfumato.kinds.baskets.methods.voting import expected_error_rate, vote

DATA = Path(__file__).parents[2] / "shared" / "data" / "set_valued"
NAMES = (
    "chess",
    "mushroom",
    "pumsb_first2000",
    "pumsb_like",
    "bms_webview1",
    "bms_webview2",
    "retail",
    "kosarak_25k",
    "t10",
    "digits",
    "cells",
)
LEVELS, PAIRS = (4, 8, 16), 500
LABELS, ITEMS = 20, 50
HEADER = ("data", "records", "k", "method", "bit_error_rate", "items_shown", "empty", "item_error", "pair_error")
HEADER = (*HEADER, "withheld", "label_error", "cpu_s")
DRAWN = {
    "bit_error_rate": "error rate",
    "pair_error": "error of pairs",
    "empty": "empty baskets",
    "withheld": "labels withheld",
    "label_error": "label error",
}
WAYS = ("blocks, vote", "blocks, dealt", "groups, vote", "CAHD, vote", "ring, vote")


def like_pumsb(count: int = 49_046, seed: int = 4) -> Sets:
    """Records of 74 answers each, as many as the whole of pumsb has."""
    known = read_fimi(DATA / "pumsb_first2000.dat.gz").sets
    rng, answers = np.random.default_rng(seed), known.items.reshape(len(known), -1)
    one, other = rng.integers(0, len(known), (2, count))
    swapped = rng.random((count, answers.shape[1])) < 0.2
    return Sets.of((sorted(set(row)) for row in np.where(swapped, answers[other], answers[one]).tolist()), known.width)


def patterns(count: int = 100_000, width: int = 870, seed: int = 10) -> Sets:
    """Baskets made of overlapping patterns, as association rule miners generate them."""
    rng = np.random.default_rng(seed)
    known = [rng.choice(width, size=max(1, rng.poisson(4)), replace=False) for _ in range(2_000)]
    weight = rng.exponential(size=2_000)
    picks = rng.choice(2_000, size=(count, 4), p=weight / weight.sum())
    wanted = rng.poisson(10, count)
    rows = [np.concatenate([known[i] for i in row])[: max(1, size)] for row, size in zip(picks, wanted, strict=True)]
    return Sets.of((row.tolist() for row in rows), width)


def bundled(name: str) -> Sets:
    """Two tables that come with scikit-learn, as sets."""
    from sklearn import datasets

    data = datasets.load_digits().data if name == "digits" else datasets.load_breast_cancer().data
    on = data >= 8 if name == "digits" else data > np.median(data, axis=0)
    return Sets.of((np.flatnonzero(row).tolist() for row in on), on.shape[1])


def by_name(name: str) -> Sets:
    if name in ("digits", "cells"):
        return bundled(name)
    if name in ("t10", "pumsb_like"):
        return patterns() if name == "t10" else like_pumsb()
    return read_fimi(DATA / f"{name}.dat.gz").sets


def frequent_pairs(sets: Sets) -> tuple[np.ndarray, np.ndarray]:
    """The most frequent pairs among the two hundred commonest items, with their counts."""
    common = np.argsort(-sets.support())[:200]
    counts = pair_counts(sets, common)
    first, second = np.triu_indices(len(common), 1)
    best = np.argsort(-counts[first, second])[:PAIRS]
    return np.stack([common[first[best]], common[second[best]]], axis=1), counts[first[best], second[best]]


def pair_counts(sets: Sets, items: np.ndarray) -> np.ndarray:
    matrix = sets.matrix()[:, items].astype(np.int64)
    return np.asarray((matrix.T @ matrix).todense())


@dataclass(frozen=True)
class Way:
    """A way to publish: who stands where, what is shown, whose label, which are hidden; error rate if it is a mean over
    draws."""

    people: np.ndarray
    base: Sets
    behind: np.ndarray
    hidden: np.ndarray
    rate: float | None = None


def figures(sets: Sets, labels: np.ndarray, way: Way) -> list[str]:
    """Error rate, items shown, empty baskets, relative error of all single items and of the frequent pairs; then
    labels."""
    mine, base = sets.take(way.people), way.base
    rate = (mine.hamming(base) / np.maximum(mine.sizes, 1)).mean() if way.rate is None else way.rate
    pairs, truth = frequent_pairs(sets)
    common = np.unique(pairs)
    counted = pair_counts(base, common)[np.searchsorted(common, pairs[:, 0]), np.searchsorted(common, pairs[:, 1])]
    single = np.abs(base.support() - sets.support()).sum() / sets.support().sum()
    empty = ((base.sizes == 0) & (mine.sizes > 0)).mean()
    error = np.abs(counted - truth).sum() / truth.sum()
    items = np.argsort(-sets.support())[:ITEMS]
    wanted = beside(sets, labels, items)
    label = np.abs(beside(base, np.where(way.hidden, -1, labels[way.behind]), items) - wanted).sum() / wanted.sum()
    figures = (rate, len(base.items) / len(sets.items), empty, single, error, way.hidden.mean(), label)
    return [f"{value:.4f}" for value in figures]


def beside(sets: Sets, labels: np.ndarray, items: np.ndarray) -> np.ndarray:
    """How often each of the commonest labels (the smallest numbers) stands beside each of the items."""
    matrix = sets.matrix()[:, items].astype(np.int64)
    return np.stack([np.asarray(matrix[labels == label].sum(axis=0)).reshape(-1) for label in range(LABELS)])


@lru_cache(maxsize=1)
def alike(sets: Sets, k: int) -> Partition:
    return partition(sets, k)


@lru_cache(maxsize=1)
def ordered(sets: Sets, k: int) -> np.ndarray:
    return start_order(sets, block_starts(len(sets), k))


def made(sets: Sets, labels: np.ndarray, k: int, name: str) -> Way:
    if name.startswith("ring"):
        return on_ring(sets, labels, k)
    starts = block_starts(len(sets), k)
    blocks = alike(sets, k) if name.startswith("blocks") else Partition(ordered(sets, k), starts)
    if name.startswith("CAHD"):
        groups = cahd_groups(sets, labels, k)
        ends = np.cumsum([0, *(len(group) for group in groups)])
        blocks = Partition(np.concatenate(groups).astype(blocks.order.dtype), ends.astype(starts.dtype))
    mixed = _matched(blocks, np.random.default_rng(k).permutation(len(sets)))
    hidden = np.zeros(len(sets), dtype=bool) if name.startswith("CAHD") else hidden_in(labels[mixed], blocks, k / 2)
    return Way(
        blocks.order, published_rows_of(sets, blocks, "dealt" if name.endswith("dealt") else "vote").base, mixed, hidden
    )


def hidden_in(shown: np.ndarray, blocks: Partition, level: float) -> np.ndarray:
    share = np.bincount(shown) / len(shown)
    rules = {size: LabelHidingRule.of(share, size, level, "sparing") for size in np.unique(blocks.sizes).tolist()}
    return _by_share(shown, blocks, rules, Randomness(1))


def on_ring(sets: Sets, labels: np.ndarray, k: int) -> Way:
    order = ORDERS["window" if len(sets) <= 10_000 else "gray"](sets, k)
    preimages = order[ring_members(len(sets), k)].astype(np.int32)
    votes = vote(sets, preimages)
    behind = order[assignments(ring_targets(len(sets), k), "truncated", Randomness(k))[0]]
    return Way(
        order,
        votes.base,
        behind,
        labels_to_suppress_guarded(labels[behind], k, 2.0, 0),
        expected_error_rate(sets, preimages, votes),
    )


def kept() -> dict[tuple[str, ...], list[str]]:
    """What an earlier run has written, by data, records, k and method."""
    file = RESULTS / "basket-blocks.csv"
    rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines())) if file.is_file() else [[]]
    return {tuple(row[:4]): row for row in rows[1:]} if tuple(rows[0]) == HEADER else {}


def main(names: list[str]) -> None:
    rows = kept()
    for name in names:
        sets = by_name(name)
        labels = occupations(len(sets))
        for k, method in product(LEVELS, WAYS):
            key = (name, str(len(sets)), str(k), method)
            if all(rows.get(key, [""])):  # a row of an earlier version lacks the figures of labels
                continue
            began = time.process_time()
            way = made(sets, labels, k, method)
            seconds = time.process_time() - began
            rows[key] = [*key, *figures(sets, labels, way), f"{seconds:.1f}"]
            print(*rows[key], flush=True)
            write_csv("basket-blocks", HEADER, list(rows.values()))
    draw(rows)


def draw(rows: Mapping[tuple[str, ...], list[str]]) -> None:
    """Five measures over k, a panel for each set and a line for each way."""
    shown = [
        rows[key]
        for name in NAMES
        for key in sorted(rows, key=lambda key: (int(key[2]), WAYS.index(key[3])))
        if key[0] == name
    ]
    measures = {DRAWN[column]: panels_of(shown, 2, 3, HEADER.index(column)) for column in DRAWN}
    write_grid("basket-blocks", measures, "k")


if __name__ == "__main__":
    main(sys.argv[1:] or list(NAMES))
