"""Random histories of mixed forms, judged by joint classes and held against all perfect matchings of published rows with people.

    python -m benchmarks.mixed_histories --histories 3200

Histories have 2-5 releases of recoded tables, anatomies and sub-tables, people who come and go, one or two sensitive columns, and
outsiders who know who is in which release or do not. A judgement is a pair of people of one joint class (they must be able to trade
places) or a value that a class promises to somebody (a search over all worlds must find it). The control drops one table from
every bundle: then judgements must come out wrong, or the search could not fail.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from tests.sequential.test_mixed_histories import wrong_worlds

RESULTS = Path(__file__).parent / "results" / "mixed-histories.csv"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--histories", type=int, default=3200)
    count = options.parse_args().histories
    rows = []
    for control, histories in ((False, count), (True, count // 10)):
        started, total, broken = time.process_time(), np.zeros(3, dtype=int), 0
        for seed in range(histories):
            found = wrong_worlds(100_000 + seed, drop=control)
            total += found
            broken += bool(found[1])
        name = "one table left out of every bundle" if control else "joint classes"
        seconds = round(time.process_time() - started, 1)
        rows.append([name, histories, *map(int, total), broken, seconds])
        print(*rows[-1], sep=", ", flush=True)
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["judged by", "histories", "judgements", "wrong", "given up", "histories with a wrong one", "CPU seconds"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
