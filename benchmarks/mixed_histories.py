"""Random histories of mixed forms, judged by joint classes and held against all perfect matchings of published rows
with people.

    python -m benchmarks.mixed_histories --histories 3200
    python -m benchmarks.mixed_histories --knows --histories 150

Histories have 2-5 releases of recoded tables, anatomies and sub-tables, people who come and go, one or two sensitive
columns, and outsiders who know who is in which release or do not. A judgement is a pair of people of one joint class
(they must be able to trade places) or a value that a class promises to somebody (a search over all worlds must find
it). The control drops one table from every bundle: then judgements must come out wrong, or the search could not fail.

With `--knows` one column determines another, and outsiders know how: every trade that the audit lets stand must agree
with that. The control lets all of them stand."""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import numpy as np

from tests.sequential.test_knowledge import TIES, told_by_the_audit, trades
from tests.sequential.test_mixed_histories import wrong_worlds

RESULTS = Path(__file__).parent / "results"


def judged(count: int) -> list[list[object]]:
    """Joint classes beside all worlds."""
    rows: list[list[object]] = []
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
    return rows


def known(count: int) -> list[list[object]]:
    """Trades beside what outsiders know, dependency by dependency."""
    rows: list[list[object]] = []
    for tie in TIES:
        for name, asked in (("as the audit judges", told_by_the_audit), ("all let stand", lambda *_: True)):
            started = time.process_time()
            made, wrong = sum(trades(100_000 + seed, tie, asked) for seed in range(count))
            rows.append([" -> ".join(tie), name, count, int(made), int(wrong), round(time.process_time() - started, 1)])
            print(*rows[-1], sep=", ", flush=True)
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--histories", type=int, default=3200)
    options.add_argument("--knows", action="store_true")
    chosen = options.parse_args()
    if chosen.knows:
        head = ["outsiders know", "trades", "histories", "judgements", "wrong", "CPU seconds"]
        _save("mixed-histories-knows", head, known(chosen.histories))
        return
    head = ["judged by", "histories", "judgements", "wrong", "given up", "histories with a wrong one", "CPU seconds"]
    _save("mixed-histories", head, judged(chosen.histories))


def _save(name: str, head: list[str], rows: list[list[object]]) -> None:
    with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
