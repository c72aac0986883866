"""What established tools offer, measured here: full-domain recoding, microaggregation, and models trained on releases
of Adult.

    python benchmarks/established.py lattice     # global: the proven optimum beside a sweep over every node python
    benchmarks/established.py averages    # microaggregation beside MDAV, and a million rows of four columns python
    benchmarks/established.py levels      # sampled: what the exponential mechanism's choice of levels is worth python
    benchmarks/established.py models      # accuracy and AUC of models trained on releases, judged on held-out rows

CPU seconds of one core; Adult is the table of 30,162 records with the hierarchies that ARX brings along.
"""

from __future__ import annotations

import csv
import math
import sys
import time
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

import sfumato as sf
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.kinds.tables.methods import private_sampling
from sfumato.kinds.tables.methods.full_domain import FullDomain, cheapest_node
from sfumato.kinds.tables.methods.kernels.microaggregation import gather, within
from sfumato.kinds.tables.methods.microaggregation import near_groups
from sfumato.kinds.tables.methods.recoding import feasible_problem
from sfumato.kinds.tables.statistical_utility import classified, features_of, rows_held_out
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.release.method import Task

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
RESULTS = Path(__file__).parent / "results"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")


def columns(*more: str) -> dict[str, Any]:
    names = {name: name for name in (*QUASI, *more)} | {"income": "salary-class"}
    return {
        name: {"role": "quasi-identifier", "hierarchy": str(ADULT / "hierarchies_arx" / f"adult_hierarchy_{file}.csv")}
        for name, file in names.items()
    }


def adult() -> dict[str, list[str]]:
    frame = pl.read_csv(ADULT / "adult_30162.csv.gz", infer_schema_length=0)
    return {name: frame[name].to_list() for name in frame.columns}


def lattice() -> list[dict[str, Any]]:
    """The optimum by few looks, and by looking everywhere."""
    data, found = adult(), []
    wide = columns("occupation") | {
        "hours-per-week": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20, 40]}}
    }
    for told in (columns(), wide):
        policy = sf.Policy.parse({"version": 1, "columns": told, "protect": [{"k-anonymity": {"k": 5}}]})
        problem = feasible_problem(policy, policy.data.read({name: data[name] for name in told}))
        for share in (0.0, 0.05):
            one = FullDomain(problem, "loss", spare=int(share * problem.records))
            before = time.process_time()
            best = cheapest_node(one, most=200_000)
            quick = time.process_time() - before
            before = time.process_time()
            costs = ((one.bound(node), one.surcharge(node)) for node in product(*map(range, one.shape)))
            least = min(bound + more for bound, more in costs if more is not None)
            sweep = time.process_time() - before
            assert best.proven
            assert abs(best.cost - least) < 1e-9
            entry = {"nodes": prod(one.shape), "suppressed": share, "loss": round(least, 5), "looks": best.looks}
            found.append(entry | {"cpu": round(quick, 3), "sweep cpu": round(sweep, 2), "times": round(sweep / quick)})
            print(found[-1], flush=True)
    return found


def levels() -> list[dict[str, Any]]:
    """What is published on average times the detail kept: the best levels, those that are drawn, and those of a score
    of counts.

    Expectations over the chances themselves, nothing is drawn. The score of counts is the number of records in cells of
    at least k, which one record changes by k."""
    data, found = adult(), []
    told = columns()
    claim = {"differential-privacy": {"epsilon": 1.0, "delta": 1e-5}}
    policy = sf.Policy.parse({"version": 1, "columns": told, "protect": [claim]})
    task = Task(policy, policy.data.read({name: data[name] for name in told}))
    ladders = {name: private_sampling.ladder(policy, task.data, name) for name in told}
    heights = {name: len(steps) - 1 for name, steps in ladders.items()}
    choices = private_sampling._choices(heights)
    cells = [
        equivalence_classes_of(private_sampling._keys(task, ladders, dict(zip(heights, one, strict=True)))).counts
        for one in choices
    ]
    kept = np.array([private_sampling.detail(one, list(heights.values())) for one in choices])
    share = kept[:, 0] / kept[:, 1]
    for epsilon in (0.5, 1.0, 2.0):
        search = 0.1 * epsilon
        fraction = -math.expm1(-(epsilon - search)) * (1 - 1e-9)
        k = DifferentialPrivacy(epsilon=epsilon, delta=1e-5).threshold(fraction, search)
        steps = private_sampling.PublishedSteps(fraction, k)
        worth = share * np.array([steps.worth(one) for one in cells]) / private_sampling.STEP
        counts = share * np.array([one[one >= k].sum() for one in cells]) / k
        ways = {"drawn": search * worth, "score of counts": search * counts / 2, "blind": 0 * worth}
        entry: dict[str, Any] = {"epsilon": epsilon, "k": k, "choices": len(choices)}
        for name, exponent in ways.items():
            weight = np.exp(exponent - exponent.max())
            entry[name] = round(float(weight @ worth / weight.sum() / worth.max()), 3)
        found.append(entry)
        print(entry, flush=True)
    return found


def averages() -> list[dict[str, Any]]:
    """Squared distances within groups over all squared distances."""
    data, found = adult(), []
    numbers = np.array(
        [[float(cell) for cell in data[name]] for name in ("age", "fnlwgt", "education-num", "hours-per-week")]
    ).T
    points = np.ascontiguousarray((numbers - numbers.mean(axis=0)) / numbers.std(axis=0))
    for k in (3, 5, 10):
        before = time.process_time()
        mdav = within(points, gather(points, k)) / points.size
        middle = time.process_time()
        ours = within(points, near_groups(points, k)) / points.size
        entry = {"rows": len(points), "k": k, "mdav": round(mdav, 6), "mdav cpu": round(middle - before, 2)}
        found.append(entry | {"ours": round(ours, 6), "ours cpu": round(time.process_time() - middle, 2)})
        print(found[-1], flush=True)
    large = np.random.default_rng(1).normal(size=(1_000_000, 4))
    before = time.process_time()
    ours = within(large, near_groups(large, 5)) / large.size
    found.append(
        {"rows": len(large), "k": 5, "ours": round(ours, 6), "ours cpu": round(time.process_time() - before, 1)}
    )
    print(found[-1], flush=True)
    return found


def models() -> list[dict[str, Any]]:
    """Models that predict income, trained on releases of two thirds of the records, judged on the last third."""
    data, found = adult(), []
    told = columns("occupation") | {"income": "sensitive"}
    order = np.random.default_rng(1).permutation(len(data["age"]))
    train, held = (
        {name: [data[name][row] for row in rows] for name in told} for rows in (order[:20_000], order[20_000:])
    )
    for k in (5, 10, 50):
        for method, spare in (
            ({"refined": {"seconds": 5}}, 0.0),
            ({"global": {}}, 0.05),
            ({"microaggregation": {}}, 0.0),
        ):
            tree = {"version": 1, "columns": told, "protect": [{"k-anonymity": {"k": k}}], "method": method}
            made = sf.publish(sf.Policy.parse({**tree, "utility": {"suppress_at_most": spare}}), data=train)
            exhibit = replace(made.exhibit, parameters={"predict": "income"})
            test = features_of(exhibit, rows_held_out(exhibit, held), "income", None)
            sides = {"original": exhibit.original} if not found else {}
            for side, table in (sides | {next(iter(method)): exhibit.data}).items():
                entry: dict[str, Any] = {"trained on": side, "k": k}
                with threadpool_limits(limits=1):
                    seen = classified(features_of(exhibit, table, "income", None), test)
                for model, figures in seen.items():
                    entry |= {f"{model} {name}": round(figure, 4) for name, figure in figures.items()}
                found.append(entry)
                print(entry, flush=True)
    return found


def main() -> None:
    for name in sys.argv[1:] or ("lattice", "averages", "levels", "models"):
        found = {"lattice": lattice, "averages": averages, "levels": levels, "models": models}[name]()
        with (RESULTS / f"established-{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for entry in found for key in entry)))
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
