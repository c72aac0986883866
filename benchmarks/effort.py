"""Loss and CPU time of every effort: ``python -m benchmarks effort [TABLE …]``.

Eight tables: Adult (k = 5 and 50), a census and hospital stays of the data folder, and four tables of the package
``pydataset``. Set ``PYDATASET`` to its folder ``rdata/csv/Ecdat``; tables that are not there are named and left out.
One search per table is recorded turn by turn: quick and balanced are beginnings of thorough, so their loss and time are
read off its course. CPU time is that of starts and search; `START` seconds for reading, audit and writing are added
where ARX is compared."""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tables

from sfumato.data.generalization import Generalization, Ranges
from sfumato.kinds.tables.methods import local_search, refined
from sfumato.kinds.tables.methods.greedy_clustering import cluster
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement
from sfumato.models.k_anonymity import KAnonymity

RESULTS = Path(__file__).parent / "results"
ARX = {"adult, k = 5": (0.0332, 5.2), "adult, k = 50": (0.1001, 7.5)}
"""Loss and CPU seconds of ARX 3.9.2, local recoding, fast setting."""
START = 0.9
"""CPU seconds of a cold process for everything but starts and search, measured once on Adult."""
HI = {"education": 3, "race": 3, "hispanic": 2, "experience": 0, "kidslt6": 0, "region": 2, "husby": 0}
FOOD = {"age": 0, "size": 0, "town": 2, "sex": 2, "totexp": 0}
MALES = {"school": 0, "exper": 0, "union": 2, "ethn": 2, "married": 2, "industry": 3, "occupation": 3, "residence": 2}
VIETNAM = {"age": 0, "sex": 2, "married": 2, "educ": 0, "illness": 0, "actdays": 0, "commune": 0}


def asked(k: int) -> tuple[Requirement, ...]:
    return (Requirement(KAnonymity(k=k)),)


def packaged(name: str, steps: dict[str, int], hidden: str) -> RecodingProblem:
    """A table of the package; a column with step 0 is a range, any other a hierarchy of runs of so many values."""
    place = Path(os.environ.get("PYDATASET", "")) / f"{name}.csv"
    with place.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    domains: list[Generalization] = []
    codes = []
    for column, step in steps.items():
        texts = [row[column] or "NA" for row in rows]
        values = sorted(set(texts))
        domains.append(tables._stairs(len(values), step, values) if step else Ranges.of(values, column=column))
        codes.append(tables._codes(domains[-1], texts, column))
    secret = (tables._sensitive(hidden, [row[hidden] for row in rows]),)
    return RecodingProblem(tuple(steps), tuple(domains), tuple(codes), secret, asked(5))


TABLES: dict[str, Callable[[], RecodingProblem]] = {
    "adult, k = 5": lambda: tables.adult(*asked(5)),
    "adult, k = 50": lambda: tables.adult(*asked(50)),
    "census, k = 5": lambda: tables.census(*asked(5)),
    "hospital stays, k = 5": lambda: tables.diabetes(*asked(5)),
    "health insurance, k = 5": lambda: packaged("HI", HI, "whi"),
    "food budgets, k = 5": lambda: packaged("BudgetFood", FOOD, "wfood"),
    "wages, k = 5": lambda: packaged("Males", MALES, "wage"),
    "Vietnam, k = 5": lambda: packaged("VietNamI", VIETNAM, "injury"),
}


def course_of(problem: RecodingProblem) -> tuple[float, list[tuple[float, float, float]]]:
    """CPU seconds of the starts, and after every turn of a thorough search: work in seconds, CPU seconds, loss."""
    begin = time.process_time()
    starts = [mondrian(problem, objective="loss"), refined.lattice_sweep(problem, objective="loss")]
    if len(problem.points) <= refined.CLUSTERED:
        starts.append(cluster(problem, price="width"))
    first = time.process_time() - begin
    course: list[tuple[float, float, float]] = []
    turn = local_search._Search._take_turn

    def recorded(self: Any, *given: Any) -> None:
        if not course:
            course.append((0.0, 0.0, (self.total + self.fixed) / problem.records))
        turn(self, *given)
        loss = (self.total + self.fixed) / problem.records
        course.append((self.done / local_search.SPEED, time.process_time() - begin - first, loss))

    local_search._Search._take_turn = recorded  # type: ignore[method-assign]
    try:
        local_search.refine(problem, starts, seconds=refined.Refined().time_for(problem.records), while_worth=True)
    finally:
        local_search._Search._take_turn = turn  # type: ignore[method-assign]
    return first, course


def stops(course: list[tuple[float, float, float]], thorough: float) -> dict[str, tuple[float, float]]:
    """CPU seconds and loss where each effort ends."""
    quick = next((turn for turn in course if turn[0] >= refined.QUICK * thorough), course[-1])
    ends = course[-1]
    least = max(local_search.EARLIEST * thorough, local_search.AT_LEAST / local_search.SPEED)
    for place, (work, _, loss) in enumerate(course):
        half = min((before for done, _, before in course[: place + 1] if done <= work / 2), default=float("inf"))
        if place >= local_search.TURNS and work >= least and half - loss < refined.LEAST_GAIN * loss:
            ends = course[place]
            break
    return {"quick": quick[1:], "balanced": ends[1:], "thorough": course[-1][1:]}


def picture(courses: dict[str, list[tuple[float, float, float]]]) -> str:
    """Loss over CPU time, as a share of the last loss, one line per table."""
    import math

    wide, high, left, low = 640, 360, 60, 320
    most = max(math.log10(max(turn[1], 0.1)) for course in courses.values() for turn in course)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="11">'
    ]
    for tick in (0.1, 1, 10, 100):
        if math.log10(tick) <= most:
            x = left + (math.log10(tick) + 1) / (most + 1) * (wide - left - 130)
            drawn.append(f'<text x="{x:.0f}" y="{low + 16}" text-anchor="middle">{tick:g} s</text>')
    for share in (0, 5, 10, 20):
        y = low - share / 25 * (low - 20)
        drawn.append(f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">+{share} %</text>')
        drawn.append(f'<line x1="{left}" x2="{wide - 130}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>')
    colours = ("#9a3b1e", "#1e6f9a", "#3a7d34", "#7a4c9a", "#b5892a", "#555555", "#c2527f", "#2f8f83")
    for place, (name, course) in enumerate(courses.items()):
        points = []
        for _, cpu, loss in course:
            x = left + (math.log10(max(cpu, 0.1)) + 1) / (most + 1) * (wide - left - 130)
            points.append(f"{x:.1f},{low - min(100 * (loss / course[-1][2] - 1), 25) / 25 * (low - 20):.1f}")
        drawn.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="{colours[place % 8]}" stroke-width="1.5"/>'
        )
        drawn.append(f'<text x="{wide - 124}" y="{40 + 16 * place}" fill="{colours[place % 8]}">{name}</text>')
    drawn.append(
        f'<text x="{left}" y="12">loss above that of a thorough search, over CPU seconds of search</text></svg>'
    )
    return "\n".join(drawn)


def main() -> None:
    rows, courses = [], {}
    for name in sys.argv[1:] or TABLES:
        try:
            problem = TABLES[name]()
        except OSError as missing:
            print(f"{name}: left out, {Path(str(missing.filename)).name} is not there")
            continue
        first, course = course_of(problem)
        courses[name] = course
        found = stops(course, refined.Refined().time_for(problem.records))
        end = found["thorough"][1]
        for effort, (cpu, loss) in found.items():
            arx = f"{(START + first + cpu) / ARX[name][1]:.2f}" if name in ARX else ""
            rows.append([name, effort, f"{first + cpu:.2f}", f"{loss:.5f}", f"{loss / end - 1:+.1%}", arx])
            told = f"{first + cpu:7.2f} s  loss {loss:.5f}  {loss / end - 1:+.1%}  {arx and arx + ' of ARX'}"
            print(f"{name:26} {effort:9} {told}", flush=True)
    extra = sorted(float(row[4].rstrip("%")) for row in rows if row[1] == "balanced")
    if extra:
        print(f"balanced above thorough: median {extra[len(extra) // 2]:.1f} %, worst {extra[-1]:.1f} %")
    if len(sys.argv) == 1:
        with (RESULTS / "effort.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [["table", "effort", "cpu", "loss", "above thorough", "of ARX"], *rows]
            )
        (RESULTS / "effort.svg").write_text(picture(courses))


if __name__ == "__main__":
    main()
