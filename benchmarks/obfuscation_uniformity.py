"""How far from uniform the solver's blocks are, and the direct engines beside them: all legal tables listed, thousands
of draws.

    python benchmarks/obfuscation_uniformity.py

chi²/df near 1 and a distance near the noise of the draws mean uniform. Writes
``benchmarks/results/obfuscation-uniformity.csv``."""

from __future__ import annotations

import csv
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "obfuscation"))
from worlds import all_tables, problem, texts

from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling.sampler_selection import Route, routes, run
from sfumato.kinds.testdata.methods.sampling.solver_blocks import fallback

CASES = {
    "one total": ({"a": {"integers": [0, 3]}}, ["sum(a) = 7"], 5),
    "two totals": ({"a": {"integers": [0, 3]}, "b": {"integers": [0, 2]}}, ["sum(a) = 4", "sum(b) = 3", "a != b"], 3),
    "key with a total": ({"a": {"integers": [0, 8]}}, ["unique(a)", "sum(a) = 14"], 4),
}


def measured(asked, found, draws: int) -> dict[str, float]:
    tables = all_tables(asked)
    names = list(asked.sources[None].replaced)
    counted: Counter = Counter()
    for turn in range(draws):
        table = texts(run(asked, found(), Randomness(seed=turn)))
        counted[tuple(tuple(table[name]) for name in names)] += 1
    assert set(counted) <= set(tables)
    expected = draws / len(tables)
    often = np.array([counted[table] for table in tables])
    chance = 1 / len(tables)
    noise = np.abs(np.random.default_rng(1).multinomial(draws, np.full(len(tables), chance), 200) / draws - chance)
    return {
        "tables": len(tables),
        "draws": draws,
        "seen": len(counted),
        "chi2_per_df": round(float(((often - expected) ** 2 / expected).sum() / (len(tables) - 1)), 2),
        "distance": round(float(np.abs(often / draws - 1 / len(tables)).sum() / 2), 3),
        "distance_of_noise": round(float(noise.sum(axis=1).mean() / 2), 3),
    }


def main() -> None:
    rows = []
    for name, (domains, rules, count) in CASES.items():
        asked = problem(domains, rules, count)
        for variety in ("hint", "order", "cells"):
            found = [Route(part, fallback("IG", count, variety)(asked, part)) for part in asked.parts]
            start = time.process_time()
            row = measured(asked, lambda found=found: found, 1550)
            cost = round((time.process_time() - start) / 1.55, 1)
            rows.append({"rules": name, "engine": f"solver block, {variety}", **row, "ms_per_draw": cost})
            print(rows[-1], file=sys.stderr)
        if "key" not in name:
            planned = routes(asked, None)
            start = time.process_time()
            row = measured(asked, lambda planned=planned: planned, 1550)
            cost = round((time.process_time() - start) / 1.55, 1)
            rows.append({"rules": name, "engine": "direct", **row, "ms_per_draw": cost})
            print(rows[-1], file=sys.stderr)
    with (Path(__file__).parent / "results" / "obfuscation-uniformity.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
