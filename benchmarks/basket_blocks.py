"""Blocks against ring, CAHD and plain groups: error rate, items shown, empty baskets, counts of items and pairs.

    python benchmarks/basket_blocks.py [name …]

Real sets from the folder of shared data; `t10` is generated (100,000 baskets of 10 items on average out of 870, from 2,000
patterns of 4). *groups* are the blocks before any exchange: the Gray order cut into pieces. The ring has the Gray order on sets
above 10,000 records, where the window order takes minutes, and the window order below. CAHD groups records with k different labels,
which are drawn at random from 4k here and have nothing to do with the items. `digits` (the dark ones among 64 pixels of 1,797
handwritten digits) and `cells` (which of 30 measurements of 569 tumours lie above their median) come with scikit-learn and
were not looked at while blocks were built.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "papers"))
sys.path.insert(0, str(Path(__file__).parent))
from baselines.cahd import cahd_groups
from curves import merged, write_csv

from sfumato.data.sets import Sets
from sfumato.io.baskets import read_fimi
from sfumato.methods.baskets.block_rows import rows_of
from sfumato.methods.baskets.orders import ORDERS
from sfumato.methods.baskets.partition import Partition, cut, partition, start_order
from sfumato.methods.baskets.rings import members
from sfumato.methods.baskets.voting import expected_error_rate, vote

DATA = Path(__file__).parents[2] / "shared" / "data" / "set_valued"
NAMES = ("chess", "mushroom", "pumsb_first2000", "bms_webview1", "bms_webview2", "retail", "kosarak_25k", "t10", "digits", "cells")
LEVELS, PAIRS = (4, 8, 16), 500


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
    return patterns() if name == "t10" else read_fimi(DATA / f"{name}.dat.gz").sets


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


def figures(sets: Sets, people: np.ndarray, base: Sets, rate: float | None) -> list[str]:
    """Error rate, items shown, empty baskets, relative error of all single items and of the frequent pairs."""
    mine = sets.take(people)
    rate = (mine.hamming(base) / np.maximum(mine.sizes, 1)).mean() if rate is None else rate
    pairs, truth = frequent_pairs(sets)
    common = np.unique(pairs)
    counted = pair_counts(base, common)[np.searchsorted(common, pairs[:, 0]), np.searchsorted(common, pairs[:, 1])]
    single = np.abs(base.support() - sets.support()).sum() / sets.support().sum()
    empty = ((base.sizes == 0) & (mine.sizes > 0)).mean()
    error = np.abs(counted - truth).sum() / truth.sum()
    return [f"{value:.4f}" for value in (rate, len(base.items) / len(sets.items), empty, single, error)]


def ways(sets: Sets, k: int) -> Iterator[tuple[str, np.ndarray, Sets, float | None]]:
    """Every way to publish: its name, who stands where, what is shown, and its error rate where that is a mean over all draws."""
    blocks = partition(sets, k)
    yield "blocks, vote", blocks.order, rows_of(sets, blocks, "vote").base, None
    yield "blocks, dealt", blocks.order, rows_of(sets, blocks, "dealt").base, None
    starts = cut(len(sets), k)
    plain = Partition(start_order(sets, starts), starts)
    yield "groups, vote", plain.order, rows_of(sets, plain, "vote").base, None
    groups = cahd_groups(sets, np.random.default_rng(k).integers(0, 4 * k, len(sets)), k)
    ends = np.cumsum([0, *(len(group) for group in groups)])
    labelled = Partition(np.concatenate(groups).astype(plain.order.dtype), ends.astype(plain.starts.dtype))
    yield "CAHD, vote", labelled.order, rows_of(sets, labelled, "vote").base, None
    order = ORDERS["window" if len(sets) <= 10_000 else "gray"](sets, k)
    preimages = order[members(len(sets), k)].astype(np.int32)
    votes = vote(sets, preimages)
    yield "ring, vote", order, votes.base, expected_error_rate(sets, preimages, votes)


def main(names: list[str]) -> None:
    rows: list[list[object]] = []
    header = ("data", "records", "k", "method", "bit_error_rate", "items_shown", "empty", "item_error", "pair_error", "cpu_s")
    for name in names:
        sets = by_name(name)
        for k in LEVELS:
            began = time.process_time()
            for method, people, base, rate in ways(sets, k):
                seconds = time.process_time() - began
                rows.append([name, len(sets), k, method, *figures(sets, people, base, rate), f"{seconds:.1f}"])
                print(*rows[-1], flush=True)
                began = time.process_time()
        write_csv("basket-blocks", header, merged("basket-blocks", rows))


if __name__ == "__main__":
    main(sys.argv[1:] or list(NAMES))
