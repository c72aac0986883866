"""Quality: the loss of every method against CPU seconds, under many claims, on four tables.

    PYTHONPATH=src python benchmarks/quality.py [--only goals|adult|census|diabetes|census-like …] [--slow] [--draw]

Writes ``results/quality.csv``, one line for each method and, for `refined`, one for each turn of its search at which it
was looked at: CPU seconds of this process (starts and search, one core, without reading and compiling) and the loss so
far. A search does the same things whatever work it is allowed, so one long run shows every shorter one. Every final
grouping is judged by the models, and no record is suppressed. Points that stand in the file are not computed again: a
run that was stopped goes on. Numbers of a task (`seed`) shift the draws of the search. ``--slow`` adds the methods that
are no starts of the search: `global` (one level for each column, the full domain) and `optimal`, which takes
``--seconds`` altogether. ``--draw`` makes the curves from the file."""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tables import adult, census, census_like, diabetes

from sfumato.kinds.tables.methods import local_search
from sfumato.kinds.tables.methods.full_domain import FullDomain, cheapest_node
from sfumato.kinds.tables.methods.greedy_clustering import cluster
from sfumato.kinds.tables.methods.integer_program import states
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.optimal import optimize
from sfumato.kinds.tables.methods.price_bound import RecodingSpace
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem, Requirement
from sfumato.kinds.tables.methods.refined import CLUSTERED, lattice_sweep
from sfumato.models.alpha_k_anonymity import AlphaK
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity
from sfumato.models.p_sensitivity import PSensitivity
from sfumato.models.t_closeness import TCloseness

RESULTS = Path(__file__).parent / "results"
FILE = RESULTS / "quality.csv"
FIELDS = ("table", "claims", "seed", "method", "cpu", "loss")
TABLES: dict[str, tuple[Callable[..., RecodingProblem], str]] = {
    "adult": (adult, "occupation"),
    "census": (census, "occupation_group"),
    "diabetes": (diabetes, "insulin"),
    "census-like": (lambda *asked: census_like(100_000, *asked), "illness"),
}
GOALS = [
    ("adult", "k=5", 125),
    ("adult", "k=10", 60),
    ("adult", "k=50", 125),
    ("adult", "k=100", 45),
    ("adult", "t=0.2", 125),
]
SIZES = ("k=2", "k=5", "k=10", "k=20", "k=50", "k=100", "k=200", "p=3")
CLAIMS = (*SIZES, "l=1.5", "l=3", "entropy=3", "t=0.2", "alpha=0.3", "alpha=0.6")
SHARES = {"diabetes": ("l=1.5", "entropy=3", "t=0.2", "alpha=0.6")}
"""Claims on shares that a table can keep where it is not the usual ones: more than half of these patients have the same
value."""
USUAL = ("l=3", "entropy=3", "t=0.2", "alpha=0.3")
OTHERS = [
    (table, claims)
    for table in ("adult", "census", "diabetes", "census-like")
    for claims in (*SIZES, *SHARES.get(table, USUAL))
]
NODES = 20_000
"""Combinations of levels for which `global` proves that its own is the cheapest."""
STEPS = (1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120)


def requirements(claims: str, hidden: str) -> tuple[Requirement, ...]:
    """``k=5``, ``p=3``, ``l=3`` (frequency), ``entropy=3``, ``t=0.2`` or ``alpha=0.3``; all but the first with k =
    5."""
    word, _, level = claims.partition("=")
    if word == "k":
        return (Requirement(KAnonymity(k=int(level))),)
    model = {
        "p": lambda: PSensitivity(p=int(level)),
        "l": lambda: LDiversity(l=float(level), kind="frequency"),
        "entropy": lambda: LDiversity(l=float(level), kind="entropy"),
        "t": lambda: TCloseness(t=float(level)),
        "alpha": lambda: AlphaK(alpha=float(level), k=5),
    }[word]()
    return Requirement(KAnonymity(k=5)), Requirement(model, (hidden,))


class Watch:
    """CPU seconds and loss while a search goes on, at most once for each of `STEPS`."""

    def __init__(self, problem: RecodingProblem, begin: float, told: Callable[[float, float], None]) -> None:
        self.records, self.begin, self.told, self.steps = problem.records, begin, told, list(STEPS)

    def __enter__(self) -> None:
        self.plain = local_search._Search._take_turn
        watch = self

        def turn(search: Any, *given: Any) -> None:
            watch.plain(search, *given)
            spent = time.process_time() - watch.begin
            if watch.steps and spent >= watch.steps[0]:
                watch.steps = [step for step in watch.steps if step > spent]
                watch.told(spent, search.total / watch.records)

        local_search._Search._take_turn = turn  # type: ignore[method-assign]

    def __exit__(self, *gone: object) -> None:
        local_search._Search._take_turn = self.plain  # type: ignore[method-assign]


def measure(table: str, claims: str, seconds: float, seed: int, told: Callable[[str, float, float], None]) -> None:
    """The curve of one task."""
    make, hidden = TABLES[table]
    problem = make(*requirements(claims, hidden))
    costs, begin, starts = Costs.of(problem, "loss"), time.process_time(), []
    quick: dict[str, Callable[[RecodingProblem], Grouping]] = {"mondrian": mondrian, "lattice sweep": lattice_sweep}
    if len(problem.points) <= CLUSTERED:
        quick["clustering"] = cluster
    for name, method in quick.items():
        alone = time.process_time()
        starts.append(method(problem))
        told(name, time.process_time() - alone, costs.mean(problem, starts[-1]))
    with Watch(problem, begin, lambda spent, loss: told("refined", spent, loss)):
        found = local_search.refine(problem, starts, seconds=seconds, seed=seed)
    spent = time.process_time() - begin
    if not problem.satisfied(found).all() or int(found.count.sum()) != problem.records:
        raise SystemExit(f"{table}, {claims}: the grouping does not hold")
    told("refined, end", spent, costs.mean(problem, found))


def measure_slow(table: str, claims: str, seconds: float, seed: int, told: Callable[[str, float, float], None]) -> None:
    """`global`, and `optimal` as the method shares its time: a fifth for the search, the rest for neighbourhoods and
    proof."""
    make, hidden = TABLES[table]
    problem, begin = make(*requirements(claims, hidden)), time.process_time()
    lattice = FullDomain(problem, "loss")
    found = cheapest_node(lattice, most=NODES)
    whole = None if found.node is None else lattice.grouping(found.node)
    if whole is not None and int(whole.count.sum()) == problem.records:
        told("global", time.process_time() - begin, Costs.of(problem, "loss").mean(problem, whole))
    begin = time.process_time()
    refined = local_search.refine(
        problem, [mondrian(problem), lattice_sweep(problem)], seconds=0.2 * seconds, seed=seed
    )
    share = 0.8 if states(problem) else 0.16  # as `optimal` does where the program is only a relaxation
    proof = optimize(RecodingSpace(problem, "loss"), refined, seconds=share * seconds)
    if not problem.satisfied(proof.now.grouping()).all():
        raise SystemExit(f"{table}, {claims}: the grouping does not hold")
    told("optimal", time.process_time() - begin, proof.total / problem.records)


def done(last: str) -> set[tuple[str, str, str]]:
    """Tasks that stand in the file with their last line."""
    if not FILE.exists():
        return set()
    with FILE.open() as stream:
        return {
            (line["table"], line["claims"], line["seed"]) for line in csv.DictReader(stream) if line["method"] == last
        }


def run(tasks: list[tuple[str, str, float, int]], most: int, *, slow: bool = False) -> None:
    """Tasks that are not done yet, so many at most; the lines of one are added together, when it ends well."""
    small = census_like(300)  # what has to be compiled is compiled
    local_search.refine(small, [mondrian(small), cluster(small)], seconds=0.2)
    ended = done("optimal" if slow else "refined, end")
    for table, claims, seconds, seed in [task for task in tasks if (task[0], task[1], str(task[3])) not in ended][
        :most
    ]:
        lines: list[tuple[Any, ...]] = []

        def told(method: str, cpu: float, loss: float) -> None:
            lines.append((table, claims, seed, method, round(cpu, 2), round(loss, 5)))  # noqa: B023 - used in this round only
            print(*lines[-1], sep="\t", flush=True)  # noqa: B023

        (measure_slow if slow else measure)(table, claims, seconds, seed, told)
        new = not FILE.exists()
        with FILE.open("a", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerows([FIELDS, *lines] if new else lines)


def draw() -> None:
    """One picture for each table: loss against CPU seconds, one line for each claim and seed."""
    with FILE.open() as stream:
        lines = list(csv.DictReader(stream))
    for table in dict.fromkeys(line["table"] for line in lines):
        panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
        mine = [line for line in lines if line["table"] == table]
        for line in sorted(mine, key=lambda line: CLAIMS.index(line["claims"])):
            if line["method"] == "global":
                continue  # its loss is ten times that of the others, whose curves would lie flat
            if line["seed"] != "0" and not line["method"].startswith("refined"):
                continue  # the quick methods draw nothing: they are the same
            curves = panels.setdefault(line["claims"], {})
            name = "refined" if line["method"].startswith("refined") else line["method"]
            name += f", seed {line['seed']}" if line["seed"] != "0" else ""
            curves.setdefault(name, []).append((float(line["cpu"]), float(line["loss"])))
        (RESULTS / f"quality-{table}.svg").write_text(picture(panels))


INKS = ("#3f4b57", "#b5654a", "#7a9e7e", "#8a7ca8", "#c9a227", "#4a90b5", "#999999", "#333333")
WIDE, HIGH, BELOW, ACROSS = 300, 270, 50, 4


def picture(panels: dict[str, dict[str, list[tuple[float, float]]]]) -> str:
    """Panels side by side; seconds from 0.05 to 150 on a logarithmic scale, loss from 0."""
    drawn = [
        _panel(title, curves, i % ACROSS * WIDE, i // ACROSS * HIGH) for i, (title, curves) in enumerate(panels.items())
    ]
    rows = -(-len(panels) // ACROSS)
    size = f'viewBox="0 0 {WIDE * min(ACROSS, len(panels))} {HIGH * rows}" font-family="sans-serif" font-size="10"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(drawn)}</svg>\n'


def _panel(title: str, curves: dict[str, list[tuple[float, float]]], left: int, top: int) -> str:
    high = max(y for points in curves.values() for _, y in points)
    across = lambda x: left + 45 + (WIDE - 60) * math.log(max(x, 0.05) / 0.05) / math.log(150 / 0.05)  # noqa: E731
    down = lambda y: top + 20 + (HIGH - BELOW - 50) * (1 - y / high)  # noqa: E731
    parts = [f'<text x="{left + 45}" y="{top + 14}" font-weight="bold">{title}</text>']
    parts += [
        f'<text x="{across(x):.0f}" y="{top + HIGH - BELOW - 14}" text-anchor="middle">{x:g} s</text>'
        for x in (0.1, 1, 10, 100)
    ]
    parts += [
        f'<text x="{left + 41}" y="{down(y) + 3:.0f}" text-anchor="end">{y:.3f}</text>' for y in (0, high / 2, high)
    ]
    for number, (name, points) in enumerate(curves.items()):
        ink = INKS[number % len(INKS)]
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in points)
        parts.append(f'<polyline fill="none" stroke="{ink}" stroke-width="1.5" points="{path}"/>')
        parts += [f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="2" fill="{ink}"/>' for x, y in points]
        said = f"{name} {points[-1][1]:.4f}"
        aside, under = left + 45 + number % 2 * 125, top + HIGH - BELOW + 4 + number // 2 * 12
        parts.append(f'<text x="{aside}" y="{under}" fill="{ink}">{said}</text>')
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=["goals", "adult", "census", "diabetes", "census-like"])
    parser.add_argument("--most", type=int, default=1000, help="tasks of this run; the next one goes on")
    parser.add_argument("--seconds", type=float, default=40, help="of search for each point that has no goal")
    parser.add_argument(
        "--slow", action="store_true", help="the methods that are no starts of the search, for points without seeds"
    )
    parser.add_argument("--draw", action="store_true", help="only the pictures")
    chosen = parser.parse_args()
    if not chosen.draw:
        goals = [(*task, seed) for seed in (0, 1) for task in GOALS if "goals" in chosen.only]
        rest = [(*task, chosen.seconds, 0) for task in OTHERS if task[0] in chosen.only]
        run(rest if chosen.slow else [*goals, *rest], chosen.most, slow=chosen.slow)
    draw()


if __name__ == "__main__":
    main()
