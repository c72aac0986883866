"""Chapter 3 in figures: bit error rate and query error by order and k, and against CAHD by l, on public data.

    python benchmarks/papers/baskets.py orders [chess mushroom …]
    python benchmarks/papers/baskets.py diversity [chess …]
    python benchmarks/papers/baskets.py both [chess …]
    python benchmarks/papers/baskets.py fresh [pumsb_first2000 …]

`both` makes each order once for the two figures. Queries are answered from the bases, as in [multitype 3.7.2];
"balanced" spends 0.01 of bit error rate on showing items as often as records have them, "CAHD balanced" grants CAHD the
same. `fresh` prints the diversity figures for other labels and other queries than those the allowance was chosen on.

Labels for the diversity curves: 470 values with the skew of an occupation histogram, drawn independently of the items.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from curves import merged, panels_of, write_csv, write_svg

sys.path.insert(0, str(Path(__file__).parents[1]))
from baselines.cahd import cahd_groups
from baselines.greedy import greedy_assignments

from sfumato.core.randomness import Randomness
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.io.basket_source import read_fimi
from sfumato.kinds.baskets.methods.nonreciprocal import (
    ORDERS,
    assignments,
    labels_to_suppress,
    ring_members,
    ring_targets,
)
from sfumato.kinds.baskets.methods.record_order import gray_tsp_order
from sfumato.kinds.baskets.methods.voting import Votes, expected_error_rate, vote
from sfumato.kinds.baskets.metrics import workload_error
from sfumato.kinds.baskets.published_baskets import PublishedBaskets

DATA = Path(__file__).parents[3] / "shared" / "data" / "set_valued"
LEVELS, DIVERSITIES = (2, 4, 8, 16), (2, 4, 6, 8, 10)
QUERIES = 500
BALANCE = 0.01
MADE: dict[tuple[str, int, str], tuple[np.ndarray, float]] = {}


def ordered(name: str, baskets: Baskets, k: int, order_name: str) -> tuple[np.ndarray, float]:
    """The order and the CPU seconds it took; made once."""
    if (name, k, order_name) not in MADE:
        began = time.process_time()
        order = ORDERS[order_name](baskets.sets, k)
        MADE[name, k, order_name] = order, time.process_time() - began
    return MADE[name, k, order_name]


def query_errors(baskets: Baskets, votes: Votes, queries: int = QUERIES, seed: int = 0) -> tuple[float, float]:
    dense = len(baskets.sets.items) > 0.2 * len(baskets) * baskets.sets.width
    worlds = PublishedBaskets(votes.base, votes.doubt, votes.threshold, baskets.names)
    return workload_error(baskets, worlds, queries, (3, 4) if dense else (1, 5), seed)


def orders(names: Sequence[str]) -> None:
    """Error by order and degree."""
    rows: list[list[object]] = []
    for name in names:
        baskets = read_fimi(DATA / f"{name}.dat.gz")
        for k in LEVELS:
            for order_name in ORDERS:
                order, seconds = ordered(name, baskets, k, order_name)
                preimages = order[ring_members(len(baskets), k)].astype(np.int32)
                votes = vote(baskets.sets, preimages)
                rate = expected_error_rate(baskets.sets, preimages, votes)
                errors = query_errors(baskets, votes)
                rows.append(
                    [name, len(baskets), k, order_name, f"{rate:.4f}", *(f"{e:.5f}" for e in errors), f"{seconds:.2f}"]
                )
                print(*rows[-1], flush=True)
        together = merged("baskets-orders", rows)
        header = ("data", "records", "k", "order", "bit_error_rate", "query_I", "query_II", "cpu_s")
        write_csv("baskets-orders", header, together)
        write_svg("baskets-orders", panels_of(together, 2, 3, 4), "k")


def occupations(count: int, seed: int = 5) -> np.ndarray:
    share = 1 / np.arange(3, 473) ** 0.9
    return np.random.default_rng(seed).choice(470, size=count, p=share / share.sum())


def group_votes(sets: Sets, groups: list[np.ndarray], balance: float = 0.0) -> tuple[Votes, float]:
    """The vote of each group, once per member, and the error rate; balanced where nearly all groups are of one size."""
    bases, doubts, thresholds, lost = [], [], [], 0.0
    for size in sorted({len(group) for group in groups}):
        same = np.stack([group for group in groups if len(group) == size]).astype(np.int32)
        rows = np.repeat(same, size, axis=0) if balance else same
        most = 2 * same.size > len(sets)
        votes = vote(sets, rows, balance if most else 0.0)
        copies = size * len(same) // len(rows)
        lost += float((votes.distance / np.maximum(sets.sizes[rows], 1)).sum()) * copies / size
        bases += [votes.base] * copies
        doubts += [votes.doubt] * copies
        thresholds += [votes.threshold] * copies
    together = Votes(_stacked(bases), _stacked(doubts), np.concatenate(thresholds), np.zeros((0, 0), dtype=np.int64))
    return together, lost / len(sets)


def _stacked(parts: list[Sets]) -> Sets:
    starts = np.concatenate([[0], np.cumsum(np.concatenate([part.sizes for part in parts]))]).astype(np.int64)
    return Sets(starts, np.concatenate([part.items for part in parts]), parts[0].width)


def diversity(names: Sequence[str]) -> None:
    """Error by l: ours, CAHD, and the greedy extraction as printed with the people it leaves below l."""
    rows: list[list[object]] = []
    for name in names:
        baskets = read_fimi(DATA / f"{name}.dat.gz")
        labels = occupations(len(baskets))
        for level in DIVERSITIES:
            found = [*ours(name, baskets, labels, level), *cahd(baskets, labels, level)]
            if len(baskets) < 5000:
                found.append(printed(baskets, labels, level))
            for method, rate, errors, extra, seconds in found:
                rows.append(
                    [
                        name,
                        level,
                        method,
                        f"{rate:.4f}",
                        *(f"{e:.5f}" for e in errors),
                        f"{extra:.4f}",
                        f"{seconds:.2f}",
                    ]
                )
                print(*rows[-1], flush=True)
        header = ("data", "l", "method", "bit_error_rate", "query_I", "query_II", "withheld_or_below_l", "cpu_s")
        together = merged("baskets-diversity", rows)
        write_csv("baskets-diversity", header, together)
        write_svg("baskets-diversity", panels_of(together, 1, 2, 3), "l")
        write_svg("baskets-diversity-queries", panels_of(together, 1, 2, 5), "l")


Found = tuple[str, float, tuple[float, float], float, float]


def ours(name: str, baskets: Baskets, labels: np.ndarray, level: int) -> list[Found]:
    """With the vote as published by default, and with the plain majority."""
    order, seconds = ordered(name, baskets, level, "window")
    began = time.process_time()
    preimages = order[ring_members(len(baskets), level)].astype(np.int32)
    owner = assignments(ring_targets(len(baskets), level), "truncated", Randomness(1))[0]
    hidden = float(labels_to_suppress(labels[order[owner]], level, 1, 0).mean())
    seconds += time.process_time() - began
    found: list[Found] = []
    for method, balance in (("nonreciprocal", BALANCE), ("nonreciprocal, majority", 0.0)):
        votes = vote(baskets.sets, preimages, balance)
        rate = expected_error_rate(baskets.sets, preimages, votes)
        found.append((method, rate, query_errors(baskets, votes), hidden, seconds))
    return found


def cahd(baskets: Baskets, labels: np.ndarray, level: int) -> list[Found]:
    """As in the thesis, and granted our balanced vote."""
    began = time.process_time()
    groups = cahd_groups(baskets.sets, labels, level)
    seconds = time.process_time() - began
    found: list[Found] = []
    for method, balance in (("CAHD", 0.0), ("CAHD balanced", BALANCE)):
        votes, rate = group_votes(baskets.sets, groups, balance)
        found.append((method, rate, query_errors(baskets, votes), 0.0, seconds))
    return found


def printed(baskets: Baskets, labels: np.ndarray, level: int) -> Found:
    began = time.process_time()
    order = gray_tsp_order(baskets.sets)
    rounds = greedy_assignments(baskets.sets, order, labels, level, Randomness(1))
    preimages = order[rounds.T].astype(np.int32)
    votes = vote(baskets.sets, preimages)
    shown = labels[order][rounds[level // 2]]
    candidates = np.argsort(rounds, axis=1)
    below = np.mean([len(set(row)) < level for row in shown[candidates.T].tolist()])
    rate = expected_error_rate(baskets.sets, preimages, votes)
    return "greedy as printed", rate, query_errors(baskets, votes), float(below), time.process_time() - began


def fresh(names: Sequence[str]) -> None:
    """Bit error rate and query errors of ours and CAHD, balanced and not, with labels and queries not used
    elsewhere."""
    for name in names:
        baskets = read_fimi(DATA / f"{name}.dat.gz")
        for level in DIVERSITIES:
            preimages = ordered(name, baskets, level, "window")[0][ring_members(len(baskets), level)].astype(np.int32)
            groups = cahd_groups(baskets.sets, occupations(len(baskets), seed=17), level)
            for balance in (0.0, BALANCE):
                votes = vote(baskets.sets, preimages, balance)
                rate = expected_error_rate(baskets.sets, preimages, votes)
                print(name, level, "nonreciprocal", balance, rate, *query_errors(baskets, votes, 2000, 99), flush=True)
                votes, rate = group_votes(baskets.sets, groups, balance)
                print(name, level, "CAHD", balance, rate, *query_errors(baskets, votes, 2000, 99), flush=True)


def both(names: Sequence[str]) -> None:
    """One data set after the other."""
    for name in names:
        orders([name])
        diversity([name])
        MADE.clear()


if __name__ == "__main__":
    chosen = sys.argv[2:] or ["chess", "mushroom", "bms_webview1", "bms_webview2", "retail"]
    {"orders": orders, "diversity": diversity, "both": both, "fresh": fresh}[sys.argv[1]](chosen)
