"""How long pattern-walk takes: Adult as in [multitype §5.7.3], growth with the records, and one value of a million.

PYTHONPATH=src python benchmarks/patterns_speed.py [--values 1000000] [--steps 40000]
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.linear_properties import ReplacedColumn, RuleSheet
from sfumato.kinds.testdata.methods.polytope_walk import WalkEffort, walk
from sfumato.policy.constraint_language import parse

RESULTS = Path(__file__).parent / "results"


def run(values: np.ndarray, high: int, share: float, steps: int, jobs: int) -> tuple[float, float, float]:
    """CPU seconds, wall seconds, and the share of parts that mixed."""
    cpu, wall = time.process_time(), time.perf_counter()
    rule = parse(f"localities(v) sample {share} partition 20")
    polytope, _, _ = RuleSheet({"v": ReplacedColumn(values, 0, high)}, values.size).polytope([rule], Randomness(1))
    effort = WalkEffort(steps, jobs=jobs)
    found = walk(polytope, Randomness(1), effort)
    assert (polytope.rows @ found.place >= polytope.bounds).all()
    return time.process_time() - cpu, time.perf_counter() - wall, float(found.mixed(effort).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    rng = np.random.default_rng(1)
    run(rng.integers(0, 79, 400), 78, 0.08, 1000, 1)
    rows = []
    size = max(1000, asked.values // 64)
    while size <= asked.values:
        cpu, wall, mixed = run(rng.integers(0, 79, size), 78, 0.08, asked.steps, asked.jobs)
        rows.append([size, asked.steps, f"{cpu:.2f}", f"{wall:.2f}", f"{mixed:.3f}", f"{cpu / size * 1e6:.1f}"])
        print(*rows[-1], flush=True)
        size *= 8
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "patterns-speed.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows(
            [["values", "steps", "cpu_seconds", "wall_seconds", "mixed", "cpu_microseconds_per_value"], *rows]
        )


if __name__ == "__main__":
    main()
