"""The experiments of [versatile §6] as curves: divergence and query error of four ways to publish under random rules.

    python benchmarks/papers/versatile.py adult|texas|diabetes [--runs N] [--queries N]

writes ``benchmarks/results/versatile-<set>.csv`` and one SVG per figure. Times are CPU seconds. Compare within one run
only."""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from versatile_chart import lines
from versatile_data import adult, diabetes, texas

sys.path.insert(0, str(Path(__file__).parents[1]))
from baselines.dealing import deal
from baselines.short_rules import Diversity

from sfumato.core.randomness import Randomness
from sfumato.kinds.subtables.guardian_normal_form import SubTable, in_normal_form
from sfumato.kinds.subtables.joint_estimate import JointEstimate
from sfumato.kinds.subtables.methods.buckets import largest_l
from sfumato.kinds.subtables.methods.guardian import ExpectedDivergence, guardian
from sfumato.kinds.subtables.methods.subtable_method import guarded_table, utility_aware
from sfumato.kinds.subtables.metrics import kl_divergence, random_queries, relative_errors
from sfumato.policy.privacy_rules import PrivacyRule, remove_implied_rules

RESULTS = Path(__file__).resolve().parents[1] / "results"
Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Setting:
    """One point of one figure."""

    figure: str
    x: float
    c: int = 5
    lhs: int = 3
    l: int = 10
    qd: int = 4
    p: float = 0.4
    n: int = 0


def random_rules(columns: Columns, setting: Setting, rng: np.random.Generator) -> list[PrivacyRule]:
    """An irreducible set of c rules whose hidden columns are eligible even alone."""
    names = sorted(columns)
    eligible = [name for name in names if largest_l(columns[name]) >= setting.l]
    rules: list[PrivacyRule] = []
    for _ in range(5000):
        hide = str(rng.choice(eligible))
        given = rng.choice(
            [name for name in names if name != hide], size=min(setting.lhs, len(names) - 1), replace=False
        )
        rules = list(
            remove_implied_rules(
                [*rules, PrivacyRule(frozenset(map(str, given)), frozenset({hide}), Diversity(setting.l))]
            ).kept
        )
        if len(rules) == setting.c:
            break
    return rules


def schemas(
    columns: Columns, rules: list[PrivacyRule], l: int, wanted: list[str]
) -> Iterator[tuple[str, Callable[[], list[SubTable]]]]:
    names = list(columns)
    sizes, members = dict.fromkeys(names, float(l)), {name: [name] for name in names}
    makers: dict[str, Callable[[], list[SubTable]]] = {
        "utility-aware": lambda: utility_aware(names, rules),
        "guardian": lambda: guardian(names, rules, ExpectedDivergence(columns, sizes, members)),
        "multi-sensitive": lambda: [guarded_table(names, {each.hidden for each in rules}, rules)],
        "multi-sensitive, cut": lambda: [guarded_table(names, {each.hidden for each in rules}, rules)],
        "single-attribute": lambda: [SubTable(frozenset({name})) for name in names],
    }
    yield from ((name, makers[name]) for name in wanted)


def measure(
    columns: Columns, setting: Setting, wanted: list[str], run: int, queries: int
) -> Iterator[dict[str, object]]:
    rng = np.random.default_rng([run, setting.c, setting.lhs])
    columns = {name: codes[: setting.n or None] for name, codes in columns.items()}
    rules = random_rules(columns, setting, rng)
    workload = random_queries(columns, setting.qd, setting.p, queries, rng)
    for method, make in schemas(columns, rules, setting.l, wanted):
        start = time.process_time()
        tables = make()
        grids = 200 if method.endswith("cut") else 0
        dealt = deal(columns, tables, dict.fromkeys(columns, setting.l), Randomness(seed=run), grids)
        spent = time.process_time() - start
        assert method.startswith("multi-sensitive") or in_normal_form(tables, rules)
        estimate = JointEstimate([each.sheet(columns, str(place)) for place, each in enumerate(dealt)])
        yield {
            "figure": setting.figure, "x": setting.x, "run": run, "method": method, "rules": len(rules),
            "tables": len(tables),
            "seconds": round(spent, 3), "kl_divergence": round(kl_divergence(columns, estimate), 5),
            "query_error": round(float(relative_errors(columns, estimate, workload).mean()), 5),
        }  # fmt: skip


def settings(which: str) -> list[Setting]:
    if which == "adult":
        return [Setting("vary c", c, c=c, l=2, qd=3) for c in range(1, 10)]
    large = [Setting("vary c", c, c=c) for c in range(1, 10)]
    if which == "diabetes":
        return large
    large += [Setting("vary qd", qd, qd=qd) for qd in (2, 4, 6, 8, 10)]
    large += [Setting("vary p", p, p=p) for p in (0.3, 0.4, 0.5, 0.6, 0.7)]
    large += [Setting("vary lhs", lhs, lhs=lhs) for lhs in (1, 3, 5, 7, 9)]
    large += [Setting("vary l", l, l=l) for l in (5, 10, 15, 20)]
    return large + [Setting("vary n", n, n=n) for n in (22_000, 44_000, 88_000, 177_000)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=["adult", "texas", "diabetes"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--queries", type=int, default=300)
    given = parser.parse_args()
    columns = {"adult": adult, "texas": texas, "diabetes": diabetes}[given.which]()
    wanted = ["utility-aware", "guardian", "single-attribute"]
    wanted += ["multi-sensitive", "multi-sensitive, cut"] if given.which == "adult" else []
    rows = []
    for setting in settings(given.which):
        slow = given.which == "texas" and (setting.figure, setting.c) not in {
            ("vary c", 1),
            ("vary c", 5),
            ("vary c", 9),
        }
        here = [name for name in wanted if not (slow and name == "guardian")]
        for run in range(given.runs):
            rows += list(measure(columns, setting, here, run, given.queries))
        print(setting.figure, setting.x, summary(rows, setting), flush=True)
    save(given.which, rows)


def summary(rows: list[dict[str, object]], setting: Setting) -> str:
    here = {method: at[setting.x] for method, at in averages(rows, setting.figure).items() if setting.x in at}
    return "; ".join(
        f"{method} kl {at['kl_divergence']:.3f} err {at['query_error']:.3f} cpu {at['seconds']:.2f}s"
        for method, at in here.items()
    )


def averages(rows: list[dict[str, object]], figure: str) -> dict[str, dict[float, dict[str, float]]]:
    groups: dict[tuple[str, float], list[dict[str, object]]] = defaultdict(list)
    for row in rows:
        if row["figure"] == figure:
            groups[str(row["method"]), float(row["x"])].append(row)
    means: dict[str, dict[float, dict[str, float]]] = defaultdict(dict)
    for (method, x), found in groups.items():
        means[method][x] = {
            key: float(np.mean([row[key] for row in found])) for key in ("kl_divergence", "query_error", "seconds")
        }
    return means


def save(which: str, rows: list[dict[str, object]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"versatile-{which}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for figure in dict.fromkeys(str(row["figure"]) for row in rows):
        for key in ("kl_divergence", "query_error", "seconds"):
            curves = {
                method: {x: at[key] for x, at in points.items()} for method, points in averages(rows, figure).items()
            }
            drawn = lines(curves, title=f"{which}: {key.replace('_', ' ')}", across=figure.removeprefix("vary "))
            (RESULTS / f"versatile-{which}-{figure.replace('vary ', '')}-{key}.svg").write_text(drawn)


if __name__ == "__main__":
    main()
