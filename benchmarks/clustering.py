"""Greedy clustering: every (k, p) of the paper's Table 6, growth from 10⁴ to 10⁶ records, and ratios against the plain
twin.

Run with ``PYTHONPATH=src python benchmarks/clustering.py [--largest 1000000]``; writes
``benchmarks/results/clustering-*.csv``. CPU seconds of one thread, compiled code loaded, from coded columns to groups
(classes with counts included, files not)."""

from __future__ import annotations

import argparse
import csv
import resource
import time
from pathlib import Path

from adult import TABLE_6, WEIGHTS, adult, ntil, problem, resampled
from baselines.plain_clustering import plain_gather

from sfumato.kinds.tables.methods.greedy_clustering import Layout, cluster
from sfumato.kinds.tables.methods.recoding_costs import columns_of

RESULTS = Path(__file__).parent / "results"
CLAIMS = ((4, None), (4, 2), (10, 4), (20, 6), (20, 10))
PLAIN_AT_MOST = 10_000


def timed(run):
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def table_6(table):
    rows = []
    for (k, p), suppressed in TABLE_6.items():
        seconds, grouping = timed(lambda k=k, p=p: cluster(problem(table, k, p), weights=WEIGHTS))
        bounded = problem(table, k, p)
        printed = cluster(bounded, weights=WEIGHTS, disperse="total")
        out = bounded.records - int(grouping.count.sum())
        assert (out, problem(table, k).suppressed) == suppressed
        rows.append({
            "k": k, "p": p, "seconds": f"{seconds:.3f}", "groups": grouping.groups, "suppressed": out,
            "ntil_growth": f"{ntil(bounded, grouping):.4f}", "ntil_as_printed": f"{ntil(bounded, printed):.4f}",
        })  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def growth(table, largest):
    rows = []
    for records in (10_000, 100_000, largest):
        larger = resampled(table, records)
        for k, p in CLAIMS:
            seconds, grouping = timed(lambda t=larger, k=k, p=p: cluster(problem(t, k, p), weights=WEIGHTS))
            plain = plain_seconds(problem(larger, k, p)) if records <= PLAIN_AT_MOST else None
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            rows.append({
                "records": records, "k": k, "p": p or "", "seconds": f"{seconds:.3f}", "groups": grouping.groups,
                "plain_over_kernel": f"{plain / seconds:.0f}" if plain else "", "peak_memory_mb": memory,
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def plain_seconds(bounded):
    layout, columns = Layout.of(bounded, WEIGHTS, None), columns_of(bounded, "height")
    work = layout.work(bounded, columns)
    arguments = (work.table, work.columns, layout.root_start, layout.k, layout.distinct, layout.weight, True)
    return timed(lambda: plain_gather(*arguments))[0]


def write(name, rows):
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--largest", type=int, default=1_000_000)
    largest = options.parse_args().largest
    table = adult()
    for p in (None, 2):
        cluster(problem(resampled(table, 500), 4, p), weights=WEIGHTS)  # load compiled code
    write("clustering-table6.csv", table_6(table))
    write("clustering-growth.csv", growth(table, largest))


if __name__ == "__main__":
    main()
