"""How much a withheld label gives away, exactly: for an outsider who knows the rule, everybody's items and the shares
of labels.

    python benchmarks/baskets_hints.py

Labels are independent of items and of each other (470 values, skewed as in `papers/baskets.py`). The scan of
`labels_to_suppress` keeps a label unless it was kept too often within reach before, so a withheld label is x with
chance f_x / f(S), S being the labels that had reached their limit there. A person's label is behind each of `degree`
places with equal chance. `labels_to_suppress_guarded` counts these chances and keeps every guess below 1/l; what it
costs is a ring of higher degree and more withheld labels."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "papers"))
from curves import write_csv

from sfumato.kinds.baskets.methods.nonreciprocal import labels_to_suppress, labels_to_suppress_guarded

COUNT, LEVELS = 20_000, (2, 4, 6, 8, 10)


def occupations(count: int, seed: int = 5) -> np.ndarray:
    share = 1 / np.arange(3, 473) ** 0.9
    return np.random.default_rng(seed).choice(470, size=count, p=share / share.sum())


def best_guesses(labels: np.ndarray, hidden: np.ndarray, degree: int, most: int) -> np.ndarray:
    """For every person the chance of the likeliest label; the scan begins at place 0, people near the seam are left
    out."""
    share = np.bincount(labels) / len(labels)
    chance: list[dict[int, float]] = []
    kept: dict[int, list[int]] = defaultdict(list)
    for place, (label, gone) in enumerate(zip(labels.tolist(), hidden.tolist(), strict=True)):
        if gone:
            full = [x for x, places in kept.items() if len(places) >= most and place - places[-most] < degree]
            mass = sum(share[x] for x in full)
            chance.append({x: share[x] / mass for x in full})
        else:
            kept[label].append(place)
            chance.append({label: 1.0})
    best = []
    for person in range(degree, len(labels) - 2 * degree):
        weight: dict[int, float] = defaultdict(float)
        for place in range(person, person + degree):
            for label, part in chance[place].items():
                weight[label] += part / degree
        best.append(max(weight.values()))
    return np.array(best)


def main() -> None:
    labels, rows = occupations(COUNT), []
    for level in LEVELS:
        for spread in (1, 2):
            degree = spread * level
            hidden = labels_to_suppress(labels, degree, spread, 0)
            best = best_guesses(labels, hidden, degree, spread)
            above = float((best > 1 / level + 1e-9).mean())
            figures = [hidden.mean(), above, best.mean() * level, best.max() * level]
            rows.append([level, f"withhold, spread {spread}", degree, *figures])
        for spread in (2, 3, 4):
            hidden = labels_to_suppress_guarded(labels, spread * level, float(spread), 0)
            rows.append([level, f"guarded, spread {spread}", spread * level, hidden.mean(), 0.0, "", "at most 1"])
    shown = [[*row[:3], *(f"{cell:.4f}" if isinstance(cell, float) else cell for cell in row[3:])] for row in rows]
    for row in shown:
        print(*row)
    header = (
        "l",
        "labels",
        "candidates",
        "withheld",
        "people_guessed_above_1_in_l",
        "mean_best_guess_times_l",
        "largest_times_l",
    )
    write_csv("baskets-hints", header, shown)


if __name__ == "__main__":
    main()
