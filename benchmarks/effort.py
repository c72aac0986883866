"""Loss and CPU time of every effort: ``python -m benchmarks effort [TABLE …]``.

Eight tables: Adult (k = 5 and 50), a census and hospital stays of the data folder, and four tables of the package
``pydataset``. Set ``PYDATASET`` to its folder ``rdata/csv/Ecdat``; tables that are not there are named and left out.
One thorough search per table is recorded turn by turn in ``results/effort-courses.csv``: quick and balanced are
beginnings of it, so their loss and time are read off its course. A table that is recorded there is not run again unless
it is named. CPU time is that of starts and search; `START` seconds for reading, audit and writing are added where ARX
is compared. The forecast is what ``sfumato check`` expects after a trial of `trial.SECONDS` of search."""

from __future__ import annotations

import csv
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tables

from sfumato.core.effort import EFFORTS, SearchCourse
from sfumato.data.generalization import Generalization, Ranges
from sfumato.kinds.tables.methods import local_search, refined
from sfumato.kinds.tables.methods.greedy_clustering import cluster
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem, Requirement
from sfumato.models.k_anonymity import KAnonymity
from sfumato.workflow import trial

RESULTS = Path(__file__).parent / "results"
COURSES = RESULTS / "effort-courses.csv"
Course = list[tuple[float, float, float, float]]
"""After the starts and after every turn: work that is allowed and work that is done in seconds of one core, CPU
seconds, loss."""
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


def course_of(problem: RecodingProblem) -> Course:
    """Return the course of a thorough search, the starts first."""
    begin, limit = time.process_time(), refined.Refined().time_for(problem.records)
    starts = [mondrian(problem, objective="loss"), refined.lattice_sweep(problem, objective="loss")]
    if len(problem.points) <= refined.CLUSTERED:
        starts.append(cluster(problem, price="width"))
    course: Course = []
    record = local_search._Search._record

    def recorded(self: Any) -> None:
        loss = (self.total + self.fixed) / problem.records
        course.append((limit, self.done / local_search.SPEED, time.process_time() - begin, loss))

    local_search._Search._record = recorded  # type: ignore[method-assign]
    try:
        local_search.refine(problem, starts, seconds=limit, while_worth=True)
    finally:
        local_search._Search._record = record  # type: ignore[method-assign]
    return course


def stops(course: Course) -> dict[str, tuple[float, float]]:
    """CPU seconds and loss where each effort ends."""
    limit = course[0][0]
    quick = next((turn for turn in course if turn[1] >= refined.QUICK * limit), course[-1])
    passed = [(work * local_search.SPEED, loss) for _, work, _, loss in course]
    worth = (
        turn
        for place, turn in enumerate(course, 1)
        if local_search.hardly_gains(passed[:place], limit * local_search.SPEED, refined.LEAST_GAIN)
    )
    return {"quick": quick[2:], "balanced": next(worth, course[-1])[2:], "thorough": course[-1][2:]}


def forecasts(course: Course) -> dict[str, float]:
    """The loss that `check` expects of each effort."""
    seen = next((place for place, turn in enumerate(course) if turn[1] >= trial.SECONDS), len(course) - 1)
    watched = SearchCourse(course[0][0], trial.SECONDS, [(work, loss) for _, work, _, loss in course[: seen + 1]])
    return {effort: refined.Refined().expected_cost(watched, effort)[0] for effort in EFFORTS}


def picture(courses: dict[str, Course]) -> str:
    """Loss over CPU time, as a share of the last loss, one line per table."""
    import math

    wide, high, left, low = 640, 360, 60, 320
    most = max(math.log10(max(turn[2], 0.1)) for course in courses.values() for turn in course)
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
        for _, _, cpu, loss in course:
            x = left + (math.log10(max(cpu, 0.1)) + 1) / (most + 1) * (wide - left - 130)
            points.append(f"{x:.1f},{low - min(100 * (loss / course[-1][3] - 1), 25) / 25 * (low - 20):.1f}")
        drawn.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="{colours[place % 8]}" stroke-width="1.5"/>'
        )
        drawn.append(f'<text x="{wide - 124}" y="{40 + 16 * place}" fill="{colours[place % 8]}">{name}</text>')
    drawn.append(
        f'<text x="{left}" y="12">loss above that of a thorough search, over CPU seconds of search</text></svg>'
    )
    return "\n".join(drawn)


def measured() -> dict[str, Course]:
    """The courses that were measured before, by table."""
    found: dict[str, Course] = {}
    if COURSES.exists():
        with COURSES.open(newline="") as lines:
            for row in csv.DictReader(lines):
                turn = float(row["limit"]), float(row["work"]), float(row["cpu"]), float(row["loss"])
                found.setdefault(row["table"], []).append(turn)
    return found


def record(courses: dict[str, Course]) -> None:
    """Store all courses."""
    rows = [[name, *(f"{figure:.6g}" for figure in turn)] for name, course in courses.items() for turn in course]
    write(COURSES, [["table", "limit", "work", "cpu", "loss"], *rows])


def write(place: Path, rows: list[list[str]]) -> None:
    with place.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def main() -> None:
    courses = measured()
    for name in sys.argv[1:] or TABLES:
        if name in courses and name not in sys.argv[1:]:
            continue
        try:
            problem = TABLES[name]()
        except OSError as missing:
            print(f"{name}: left out, {Path(str(missing.filename)).name} is not there")
            continue
        courses[name] = course_of(problem)
        record(courses)
    courses = {name: courses[name] for name in TABLES if name in courses}
    rows = []
    for name, course in courses.items():
        found = stops(course)
        end = found["thorough"][1]
        expected = forecasts(course)
        for effort, (cpu, loss) in found.items():
            arx = f"{(START + cpu) / ARX[name][1]:.2f}" if name in ARX else ""
            rows.append(
                [name, effort, f"{cpu:.2f}", f"{loss:.5f}", f"{loss / end - 1:+.1%}", arx, f"{expected[effort]:.5f}"]
            )
            told = f"{cpu:7.2f} s  loss {loss:.5f}  {loss / end - 1:+.1%}  forecast {expected[effort] / loss - 1:+.1%}"
            told += f"  {arx} of ARX" if arx else ""
            print(f"{name:26} {effort:9} {told}", flush=True)
    extra = sorted(float(row[4].rstrip("%")) for row in rows if row[1] == "balanced")
    if extra:
        print(f"balanced above thorough: median {statistics.median(extra):.1f} %, worst {extra[-1]:.1f} %")
        write(
            RESULTS / "effort.csv", [["table", "effort", "cpu", "loss", "above thorough", "of ARX", "forecast"], *rows]
        )
        (RESULTS / "effort.svg").write_text(picture(courses))


if __name__ == "__main__":
    main()
