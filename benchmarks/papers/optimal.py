"""Figures 12-31 of [obfuscation §6.2, §6.3, Appendix B] as curves: loss and time against N, q and k, on the census and
on Adult.

    PYTHONPATH=src python benchmarks/papers/optimal.py [proofs] [census-k] [census-l] [adult-k] [adult-l]

Writes ``results/optimal-<data>-<claim>.csv`` and the curves of loss and seconds beside it; `proofs` is one table of the
whole tables, ``results/optimal-proofs.csv``. Quasi-identifiers are age (years, 5 years, 20 years, any) and gender.

Everything named *taxonomy* publishes nodes of these taxonomies, so the losses there compare inside one recoding space:
the proven optimum of the whole table, the paper's blocks of q tuples solved one by one (IG: tuples are dealt to the
blocks in turn, each block is a table of its own), and Mondrian. *Mondrian, intervals* publishes any interval of ages,
which is a richer space: it is shown to warn, not to compare. The paper's CENSUS has 500,000 records of another survey;
its Mondrian and taxonomies are not specified."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from curves import write_csv, write_svg
from optimal_tables import age_and_gender

from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.optimal import optimize
from sfumato.kinds.tables.methods.price_bound import RecodingSpace
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement, Sensitive
from sfumato.kinds.tables.methods.refined import lattice_sweep
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import LDiversity

BLOCKS = (500, 1_000, 2_000, 5_000, 10_000)
DATA = {"census": "census-148318", "adult": "adult-32561"}
HEADER = ("axis", "value", "method", "loss", "seconds", "proven")
Line = tuple[str, int, str, float, float, str]


def claim(name: str, level: int) -> Requirement:
    return (
        Requirement(KAnonymity(k=level))
        if name == "k"
        else Requirement(LDiversity(l=level, kind="frequency"), ("occupation",))
    )


def best(problem: RecodingProblem, objective: str = "loss", seconds: float = 20.0) -> tuple[float, float, bool]:
    """The loss of the best release that was found, the time, and whether it is proven."""
    begin = time.process_time()
    space = RecodingSpace(problem, objective)
    starts = [mondrian(problem, objective=objective), lattice_sweep(problem, objective=objective)]
    outcome = optimize(space, min(starts, key=space.total), seconds=seconds)
    return space.figure(outcome.total, problem.suppressed), time.process_time() - begin, outcome.proven


def cut(problem: RecodingProblem, objective: str = "loss") -> tuple[float, float, bool]:
    begin = time.process_time()
    grouping = mondrian(problem, objective=objective)
    space = RecodingSpace(problem, objective)
    return space.figure(space.total(grouping), problem.suppressed), time.process_time() - begin, False


def blocks(problem: RecodingProblem, q: int, objective: str = "loss") -> tuple[float, float, bool]:
    """The paper's heuristic: every block of q tuples is anonymized by itself, here to the optimum."""
    count = max(problem.records // q, 1)
    total, spent, proven = 0.0, 0.0, True
    for number in range(count):
        rows = np.arange(number, problem.records, count)
        loss, seconds, sure = best(_rows(problem, rows), objective, seconds=2.0)
        total, spent, proven = total + loss * len(rows), spent + seconds, proven and sure
    return total / problem.records, spent, proven


def _rows(problem: RecodingProblem, rows: np.ndarray) -> RecodingProblem:
    codes = tuple(column[rows] for column in problem.codes)
    hidden = tuple(Sensitive(one.name, one.codes[rows], one.labels) for one in problem.sensitive)
    return RecodingProblem(problem.names, problem.domains, codes, hidden, problem.requirements)


def line(axis: str, value: int, method: str, figures: tuple[float, float, bool]) -> Line:
    loss, seconds, proven = figures
    print(axis, value, method, f"{loss:.3g}", f"{seconds:.2f}", proven, sep="\t", flush=True)
    return axis, value, method, float(f"{loss:.6g}"), round(seconds, 3), "yes" if proven else ""


def against_size(table: str, name: str, level: int, sizes: list[int]) -> list[Line]:
    lines = []
    for size in sizes:
        tree = age_and_gender(table, claim(name, level), records=size)
        free = age_and_gender(table, claim(name, level), records=size, ranges=True)
        lines.append(line("N", size, "optimum, taxonomy", best(tree)))
        lines.append(line("N", size, "Mondrian, taxonomy", cut(tree)))
        lines.append(line("N", size, "blocks q=2000, taxonomy", blocks(tree, 2_000)))
        lines.append(line("N", size, "Mondrian, intervals", cut(free)))
    return lines


def against_blocks(table: str, name: str, level: int, size: int, objective: str) -> list[Line]:
    tree = age_and_gender(table, claim(name, level), records=size)
    axis = "q" if objective == "loss" else "q (entropy)"
    whole, halves = best(tree, objective), cut(tree, objective)
    lines = []
    for q in BLOCKS if objective == "loss" and name == "k" else BLOCKS[2:]:
        lines.append(line(axis, q, "blocks, taxonomy", blocks(tree, q, objective)))
        lines.append(line(axis, q, "optimum, taxonomy", whole))
        lines.append(line(axis, q, "Mondrian, taxonomy", halves))
    return lines


def against_level(table: str, name: str, size: int, levels: list[int]) -> list[Line]:
    lines = []
    for level in levels:
        tree = age_and_gender(table, claim(name, level), records=size)
        lines.append(line(name, level, "optimum, taxonomy", best(tree)))
        lines.append(line(name, level, "Mondrian, taxonomy", cut(tree)))
    return lines


def save(data: str, name: str, lines: list[Line]) -> None:
    write_csv(f"optimal-{data}-{name}", HEADER, lines)
    for figure, at in (("loss", 3), ("seconds", 4)):
        panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for one in lines:
            scaled = float(one[at]) * (1e4 if at == 3 and "entropy" not in one[0] else 1)
            panel = panels.setdefault(
                f"{figure}{' ×10⁴' if at == 3 and 'entropy' not in one[0] else ''} against {one[0]}", {}
            )
            panel.setdefault(one[2], []).append((one[1], scaled))
        write_svg(f"optimal-{data}-{name}-{figure}", panels, "")


def proofs() -> None:
    """The proven optimum of whole tables, and Mondrian in the same space."""
    lines = []
    census = "census-148318"
    for table, records in (("adult-30162", 30_162), ("adult-32561", 32_561), (census, 100_000), (census, 148_318)):
        for name, level in (("k", 5), ("l", 2)):
            tree = age_and_gender(table, claim(name, level), records=records)
            for method, figures in (("optimum, taxonomy", best(tree)), ("Mondrian, taxonomy", cut(tree))):
                lines.append((table.split("-")[0], f"{name} = {level}", *line("N", records, method, figures)[1:]))
    write_csv("optimal-proofs", ("data", "claim", "records", *HEADER[2:]), lines)


def main() -> None:
    wanted = sys.argv[1:] or ["proofs", *(f"{data}-{name}" for data in DATA for name in "kl")]
    if "proofs" in wanted:
        proofs()
    for data, table in DATA.items():
        largest = 100_000 if data == "census" else 32_561
        sizes = [largest * i // 10 for i in (1, 2, 4, 7, 10)]
        for name, level, levels in (("k", 5, [2, 5, 10, 20, 50]), ("l", 2, [2, 3, 4])):
            if f"{data}-{name}" not in wanted:
                continue
            print(data, name)
            lines = against_size(table, name, level, sizes)
            lines += against_blocks(table, name, level, largest, "loss")
            if name == "k":
                lines += against_blocks(table, name, level, largest, "entropy_loss")
            lines += against_level(table, name, largest, levels)
            save(data, name, lines)


if __name__ == "__main__":
    main()
