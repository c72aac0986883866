"""Set-valued records at scale: a million records at k = 16, and the walks against each other as ratios in one run.

python benchmarks/baskets_speed.py walks
python benchmarks/baskets_speed.py million [records]
python benchmarks/baskets_speed.py publish [records] [blocks | nonreciprocal]
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "papers"))
from curves import merged, write_csv

from sfumato.core.randomness import Randomness
from sfumato.data.item_sets import Sets
from sfumato.kinds.baskets.methods.nonreciprocal import (
    ORDERS,
    assignments,
    assignments_and_steps,
    ring_members,
    ring_targets,
)
from sfumato.kinds.baskets.methods.voting import expected_error_rate, vote

K = 16
POLICY = """\
version: 1
data: {{kind: baskets, source: baskets.dat}}
protect:
  - k-anonymity: {{k: {k}}}
method: {{{method}: {{}}}}
"""
COMMANDS = (
    "publish policy.yaml --out out --no-report --jobs 1",
    "publish policy.yaml --out two --no-report --jobs 2",
    "verify out",
    "verify out --original baskets.dat",
)


def walks() -> None:
    """CPU seconds and steps of the three walks, and the growth of the fastest."""
    rows = []
    for walk in ("truncated", "closed", "backtracking"):
        assignments(ring_targets(200, K), walk, Randomness(0))
    every = ("truncated", "closed", "backtracking")
    for count, names in ((3_196, every), (50_000, every), (200_000, every), (1_000_000, ("truncated",))):
        for walk in names:
            began = time.process_time()
            _, steps = assignments_and_steps(ring_targets(count, K), walk, Randomness(1))
            rows.append([walk, count, K, f"{time.process_time() - began:.2f}", f"{steps / count / K:.2f}"])
            print(*rows[-1], flush=True)
    write_csv("baskets-walks", ("walk", "records", "k", "cpu_s", "steps_per_edge"), rows)


def synthetic(count: int, width: int = 5_000, seed: int = 1) -> Sets:
    """Baskets around 2,000 habits: skewed items, 8 of them on average."""
    rng = np.random.default_rng(seed)
    habit = rng.zipf(1.35, size=(2_000, 10)) % width
    owner = np.repeat(np.arange(count), 6)
    usual = habit[rng.integers(0, 2_000, count).repeat(6), rng.integers(0, 10, 6 * count)]
    other = rng.zipf(1.35, size=2 * count) % width
    rows = np.concatenate([owner, np.repeat(np.arange(count), 2)])
    return Sets.from_flat(rows, np.concatenate([usual, other]), count, width)


def million(count: int) -> None:
    """Order, assignments and vote of `count` records, with peak memory."""
    sets = synthetic(count)
    warm = synthetic(3_000)
    for make in ORDERS.values():
        make(warm.take(np.arange(1_000)), K)
    rows = []

    def step(name: str, began: float) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append([count, K, name, f"{time.process_time() - began:.1f}", f"{peak:.2f}"])
        print(*rows[-1], flush=True)

    began = time.process_time()
    order = ORDERS["window"](sets, K)
    step("window order", began)
    began = time.process_time()
    assignments(ring_targets(count, K), "truncated", Randomness(1))
    step("assignments", began)
    began = time.process_time()
    preimages = order[ring_members(count, K)].astype(np.int32)
    votes = vote(sets, preimages)
    step("vote", began)
    print("error rate", round(expected_error_rate(sets, preimages, votes), 4))
    write_csv(f"baskets-scale-{count}", ("records", "k", "step", "cpu_s", "peak_gb"), rows)


def publish(count: int, method: str) -> None:
    """The commands as users run them: publish with audit, on one core and on two, verify alone, verify with the
    original."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        desk = Path(place)
        _write_fimi(synthetic(count), desk / "baskets.dat")
        (desk / "policy.yaml").write_text(POLICY.format(k=K, method=method))
        for command in COMMANDS:
            measured = _measured([sys.executable, "-m", "sfumato", *command.split()], desk)
            rows.append([method, count, K, f"sfumato {command}", *measured])
            print(*rows[-1], flush=True)
    name = f"baskets-publish-{count}"
    write_csv(name, ("method", "records", "k", "command", "cpu_s", "wall_s", "peak_gb"), merged(name, rows))


def _write_fimi(sets: Sets, path: Path) -> None:
    with path.open("w") as file:
        for begin, end in pairwise(sets.starts.tolist()):
            file.write(" ".join(map(str, sets.items[begin:end].tolist())) + "\n")


def _measured(command: list[str], place: Path) -> tuple[str, str, str]:
    """CPU seconds, seconds on the clock and peak memory in GB of one command."""
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    cpu, wall = used.ru_utime + used.ru_stime, time.monotonic() - began
    return f"{cpu:.1f}", f"{wall:.1f}", f"{used.ru_maxrss / 2**20:.2f}"


if __name__ == "__main__":
    task, *more = sys.argv[1:]
    size = int(more[0]) if more else 1_000_000
    if task == "publish":
        publish(size, more[1] if len(more) > 1 else "blocks")
    else:
        {"walks": walks, "million": lambda: million(size)}[task]()
