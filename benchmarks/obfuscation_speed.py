"""Constrained obfuscation: the toy schema of [obfuscation §5.6] at size, two means, totals per parent, and the solver
alone.

    python benchmarks/obfuscation_speed.py [--large]

CPU seconds of one thread, reading and writing apart; ratios are taken in one run. Writes
``benchmarks/results/obfuscation.csv``."""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np

from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling import solver_blocks
from sfumato.kinds.testdata.methods.sampling.column_values import levels
from sfumato.kinds.testdata.methods.sampling.problem import SampledTable, SamplingProblem
from sfumato.kinds.testdata.methods.sampling.sampler_selection import routes, run
from sfumato.kinds.testdata.methods.sampling.solver_blocks import Blocks
from sfumato.kinds.testdata.methods.sampling.total_samplers import group_totals
from sfumato.policy import value_domains
from sfumato.policy.constraint_language import bind, parse
from sfumato.policy.constraint_language.syntax_tree import ColumnValue

RESULTS = Path(__file__).parent / "results"
DOMAINS = {
    "phone_number": {"pattern": "05[0247][0-9]{7}"},
    "registration_date": {"dates": ["1990-01-01", "2012-12-31"]},
    "graduation_date": {"dates": ["1990-01-01", "2012-12-31"]},
    "courses_grade": {"integers": [80, 100]},
    "thesis_grade": {"integers": [80, 100]},
    "final_grade": {"integers": [80, 100]},
}
RULES = [
    "unique(phone_number)",
    "registration_date < graduation_date",
    "final_grade = (courses_grade + thesis_grade) / 2",
    "mean(final_grade) = 90",
]
TWO_MEANS = [*RULES[:3], "mean(courses_grade) = 91", "mean(thesis_grade) = 89"]


def toy(count: int, rules: list[str] = RULES, original: dict | None = None) -> SamplingProblem:
    read = {name: value_domains.read(declared) for name, declared in DOMAINS.items()}
    kinds = {name: domain.kind for name, domain in read.items()}
    source = SampledTable(count, {name: levels(domain) for name, domain in read.items()}, original or {})
    return SamplingProblem({None: source}, [bind(parse(text), kinds) for text in rules])


def clocked(work) -> tuple[float, object]:
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def direct(count: int, rules: list[str]) -> tuple[float, float, dict]:
    """Seconds to plan and draw, seconds to spell the texts, and what was made."""
    problem = toy(count, rules)
    drawing, made = clocked(lambda: run(problem, routes(problem, None), Randomness()))
    writing, _ = clocked(lambda: [one.arrow() for one in made.values()])
    phones = made[ColumnValue("phone_number")].codes
    assert len(np.unique(phones)) == count
    final = made[ColumnValue("final_grade")].codes + 80
    assert int(final.sum()) == 90 * count
    return drawing, writing, made


def parents(orders: int) -> float:
    """Items whose prices add up to the total of their order."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 8, orders)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    totals = np.add.reduceat(rng.integers(1, 101, int(sizes.sum())), starts)
    prices = np.arange(1, 101)
    seconds, rows = clocked(lambda: group_totals(prices, np.ones(100), sizes, totals, Randomness()))
    assert (np.add.reduceat(prices[rows], starts) == totals).all()
    return seconds


def whole(count: int, limit: float) -> tuple[float, str]:
    """The full problem in one piece for the solver."""
    solver_blocks._SECONDS = limit
    problem = toy(count)
    said = []

    def work() -> None:
        for part in problem.parts:
            engine = Blocks(problem, part, "IG", count)
            (block,) = solver_blocks.blocks(count, count, "IG", Randomness(1))
            empty = {column: np.zeros(count, dtype=np.int64) for column in part.columns}
            found = engine.answer(solver_blocks.task(block, empty, Randomness(1), may_stay=False))
            said.append(
                "none" if found is None else "/".join(str(len(np.unique(codes))) for codes in found.codes.values())
            )

    seconds, _ = clocked(work)
    return seconds, " ".join(said)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--large", action="store_true", help="also the whole problem at 15,000 records in the solver")
    large = options.parse_args().large
    rows: list[dict[str, object]] = []

    def note(what: str, count: int, seconds: float, remark: str = "") -> None:
        per_million = round(seconds / count * 1e6, 2)
        figures = {"cpu_seconds": round(seconds, 3), "per_million": per_million}
        rows.append({"what": what, "records": count, **figures, "remark": remark})
        print(rows[-1], file=sys.stderr)

    for count in (10_000, 100_000, 300_000, 1_000_000):
        drawing, writing, _ = direct(count, RULES)
        note("toy schema, direct", count, drawing, f"texts {writing:.2f} s")
    for count in (100_000, 1_000_000):
        note("two means at once", count, direct(count, TWO_MEANS)[0])
    note("totals per parent, items of 250,000 orders", 1_000_000, parents(250_000))
    for count, limit in [(1_000, 60.0), (5_000, 120.0), *([(15_000, 240.0)] if large else [])]:
        seconds, remark = whole(count, limit)
        note("toy schema, whole problem in CP-SAT", count, seconds, f"distinct values per column: {remark}")
        note("toy schema, direct, same size", count, direct(count, RULES)[0])
    with (RESULTS / "obfuscation.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
