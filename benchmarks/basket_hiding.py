"""Hidden labels at l = 2 … 10: what whoever knows the rule believes at most, by listing every block, and how many
labels it costs.

    python benchmarks/basket_hiding.py

Listed: blocks of g records with l + 3 labels (shares in proportion to 1/(30 + i), so that the largest is below 1/l),
every multiset of labels with its chance, shown and hidden as the program does, with and without the coin; g is the
largest up to 2l with at most 400,000 multisets, and at least l. *belief* is the largest posterior of a label of
somebody, times l: never above 1. Under that law few blocks need the coin, so blocks of l are also listed under a hard
one: one label has 0.99/l, the others share the rest. Counted: labels that are hidden under the law of
`baskets_hints.py` (470 labels) in blocks of 2l, 400,000 labels, beside what the first prototype of the rule *whole*
(R1) hid; and the belief of a block hidden whole as the audit counts it, exactly, times l."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import comb, lgamma
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "papers"))
from curves import write_csv

from sfumato.kinds.baskets.block_evidence import LabelDistribution, belief_when_block_hidden
from sfumato.kinds.baskets.methods.blocks import _hidden_in
from sfumato.kinds.baskets.methods.label_hiding import LabelHidingRule, Rule

RULES: tuple[Rule, ...] = ("whole", "sparing")
PROTOTYPE = {2: 0.0012, 4: 0.013, 6: 0.049, 8: 0.109, 10: 0.188}
HEADER = ("l", "rule", "size", "multisets", "belief_times_l", "candidates", "withheld", "prototype")
HEADER = (*HEADER, "belief_times_l_470_labels", "belief_times_l_hard_law", "coin")


def belief(shares: np.ndarray, size: int, hiding: LabelHidingRule) -> tuple[int, float]:
    """Multisets, and the largest posterior of a label of somebody, whatever is shown of a block."""
    listed = np.array(list(combinations_with_replacement(range(len(shares)), size)))
    counts = np.stack([(listed == label).sum(axis=1) for label in range(len(shares))], axis=1)
    factorial = np.array([lgamma(number + 1) for number in range(size + 1)])
    weight = np.exp(factorial[size] - factorial[counts].sum(axis=1) + counts @ np.log(shares))
    seen, mass = [], []
    for word, chance in ((1.0, 1 - hiding.chance), (-1.0, hiding.chance)):  # never, and always hidden by the coin
        hidden = _hidden_in(listed, hiding, np.full(len(listed), word))
        seen.append(np.sort(np.where(hidden, -1, listed), axis=1))
        mass.append(weight * chance)
    _, of = np.unique(np.concatenate(seen), axis=0, return_inverse=True)
    of, masses = of.reshape(-1), np.concatenate(mass)
    total = np.bincount(of, masses)
    each = [np.bincount(of, masses * np.tile(counts[:, label], 2)) for label in range(len(shares))]
    there = total > 0
    return len(listed), float(max((one[there] / total[there]).max() for one in each)) / size


def small(level: int) -> tuple[np.ndarray, int]:
    shares = 1 / (30 + np.arange(level + 3))
    sizes = [size for size in range(level, 2 * level + 1) if comb(size + level + 2, size) <= 400_000]
    return shares / shares.sum(), max(sizes, default=level)


def rows() -> Iterator[list[object]]:
    law = 1 / np.arange(3, 473) ** 0.9
    law /= law.sum()
    for level in range(2, 11):
        labels = np.random.default_rng(level).choice(470, size=(200_000 // level, 2 * level), p=law)
        coins = np.random.default_rng(1).random(len(labels))
        for rule in RULES:
            shares, size = small(level)
            listed, most = belief(shares, size, LabelHidingRule.of(shares, size, float(level), rule))
            hiding = LabelHidingRule.of(law, 2 * level, float(level), rule)
            withheld = float(_hidden_in(labels, hiding, coins).mean())
            known = LabelDistribution(law, 2 * level, hiding.most, float(level), sparing=hiding.rule == "sparing")
            whole = belief_when_block_hidden(known, hiding.chance).belief
            hard = np.append(0.99 / level, np.full(level + 2, (1 - 0.99 / level) / (level + 2)))
            coin = LabelHidingRule.of(hard, level, float(level), rule)
            worst = belief(hard, level, coin)[1]
            told = [
                f"{most * level:.4f}",
                2 * level,
                f"{withheld:.4f}",
                PROTOTYPE.get(level, ""),
                f"{whole * level:.4f}",
            ]
            yield [level, rule, size, listed, *told, f"{worst * level:.4f}", f"{coin.chance:.4f}"]


def main() -> None:
    made = []
    for row in rows():
        made.append(row)
        print(*row, flush=True)
        write_csv("basket-hiding", HEADER, made)


if __name__ == "__main__":
    main()
