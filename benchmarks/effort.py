"""Loss and CPU time of every effort: ``python -m benchmarks effort [TABLE …]``.

Eight tables: Adult (k = 5 and 50), a census and hospital stays of the data folder, and four tables of the package
``pydataset``. Set ``PYDATASET`` to its folder ``rdata/csv/Ecdat``; tables that are not there are named and left out.

Two things are measured. Every table is published three times, with ``sfumato publish --effort …`` in a new process: CPU
seconds include start, reading, audit and writing, and the loss is that of the certificate. And one thorough search per
table is recorded turn by turn in ``results/effort-courses.csv``, for the picture. The forecast is what
``sfumato check`` expects in a process of its own. A table that is recorded is not run again unless it is named.

Where other work runs on the same machine, all CPU seconds rise. So the quick methods on Adult are timed before and
after each table, and the seconds of its releases are divided by how much longer than `IDLE` they took. The result file
has this factor as ``slowdown``. ``--read-off`` publishes nothing: what was not published is read off the courses, as
quick and balanced searches are beginnings of a thorough one; these lines have a slowdown of 0."""

from __future__ import annotations

import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tables

from sfumato.core.effort import EFFORTS, SearchCourse
from sfumato.data.generalization import Generalization, Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods import local_search, refined
from sfumato.kinds.tables.methods.greedy_clustering import cluster
from sfumato.kinds.tables.methods.multidimensional_partitioning import mondrian
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem, Requirement
from sfumato.models.k_anonymity import KAnonymity
from sfumato.workflow import trial

RESULTS = Path(__file__).parent / "results"
COURSES, RELEASES = RESULTS / "effort-courses.csv", RESULTS / "effort.csv"
HEAD = ["table", "effort", "cpu", "loss", "above thorough", "of ARX", "loss against ARX", "forecast", "slowdown"]
Course = list[tuple[float, float, float, float]]
"""After the starts and after every turn: work that is allowed and work that is done in seconds of one core, CPU
seconds, loss."""
ARX = {"adult, k = 5": (0.0332, 5.2), "adult, k = 50": (0.1001, 7.5)}
"""Loss and CPU seconds of ARX 3.9.2, local recoding, fast setting."""
IDLE = 0.416
"""CPU seconds of the quick methods on Adult (k = 5) on the idle machine."""
START = 0.9
"""CPU seconds of a release of Adult for everything but quick methods and search, on the idle machine."""
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


def quick_methods(problem: RecodingProblem) -> list[Grouping]:
    """Return the groupings that a search starts from."""
    found = [mondrian(problem, objective="loss"), refined.lattice_sweep(problem, objective="loss")]
    return [*found, cluster(problem, price="width")] if len(problem.points) <= refined.CLUSTERED else found


def slowdown() -> float:
    """Return how much longer than on the idle machine the quick methods take on Adult; 1 where Adult is not there."""
    try:
        problem = TABLES["adult, k = 5"]()
    except OSError:
        return 1.0
    begin = time.process_time()
    quick_methods(problem)
    return (time.process_time() - begin) / IDLE


def course_of(problem: RecodingProblem) -> Course:
    """Return the course of a thorough search, the starts first."""
    begin, limit = time.process_time(), refined.Refined().time_for(problem.records)
    starts = quick_methods(problem)
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


@dataclass(frozen=True, slots=True)
class Published:
    """What one effort came to: CPU seconds of the whole process, loss by the certificate, loss that was expected, and
    the factor by which the seconds were divided; 0 where they are read off the course of a thorough search."""

    cpu: float
    loss: float
    forecast: float
    slowdown: float


def written(problem: RecodingProblem, folder: Path) -> Path:
    """Write a table, its hierarchies and its policy; return the policy's path."""
    columns: dict[str, list[str]] = {}
    roles = []
    for name, domain, codes in zip(problem.names, problem.domains, problem.codes, strict=True):
        columns[name] = [domain.leaves[code] for code in codes]
        hierarchy = "ranges"
        if isinstance(domain, Hierarchy):
            hierarchy = f"{name}.csv"
            with (folder / hierarchy).open("w", newline="") as file:
                csv.writer(file, delimiter=";").writerows(domain.paths())
        roles.append(f"  {name}: {{role: quasi-identifier, hierarchy: {hierarchy}}}")
    for hidden in problem.sensitive:
        columns[hidden.name] = [hidden.labels[code] for code in hidden.codes]
        roles.append(f"  {hidden.name}: sensitive")
    write(folder / "data.csv", [list(columns), *map(list, zip(*columns.values(), strict=True))])
    (k,) = {requirement.model.k for requirement in problem.requirements}  # type: ignore[attr-defined]
    told = "\n".join(["version: 1", "data: data.csv", "columns:", *roles, f"protect: [k-anonymity: {{k: {k}}}]", ""])
    (folder / "policy.yaml").write_text(told + "method: refined\nutility: {suppress_at_most: 0}\n")
    return folder / "policy.yaml"


def run(environment: dict[str, str], *arguments: str) -> tuple[str, float]:
    """Return the output of a command in a new process, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "sfumato", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"sfumato {' '.join(arguments)}: {done.stderr}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def publish_each(problem: RecodingProblem) -> dict[str, Published]:
    """Publish a table once for each effort."""
    found, before = {}, slowdown()
    with tempfile.TemporaryDirectory() as place:
        compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": place}  # as it is once installed
        environment = os.environ | compiled | {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        policy = str(written(problem, Path(place)))
        expected = json.loads(run(environment, "check", policy, "--json")[0])["forecast"]["loss"]
        for effort in EFFORTS:
            out = Path(place) / effort
            cpu = run(environment, "publish", policy, "--effort", effort, "--out", str(out), "--no-report")[1]
            loss = json.loads((out / "certificate.json").read_text())["utility"]["loss"]
            found[effort] = (cpu, loss, expected[effort])
    factor = (before + slowdown()) / 2
    return {effort: Published(cpu / factor, *figures, factor) for effort, (cpu, *figures) in found.items()}


def read_off(course: Course) -> dict[str, Published]:
    """Return where each effort ends in a thorough search, whose beginnings quick and balanced are."""
    limit, steps = course[0][0], [(work, loss) for _, work, _, loss in course]
    whole = SearchCourse(limit, limit, steps, ended=True)
    seen = next((place for place, turn in enumerate(course) if turn[1] >= trial.SECONDS), len(course) - 1)
    tried = SearchCourse(limit, trial.SECONDS, steps[: seen + 1])
    found = {}
    for effort in EFFORTS:
        loss = refined.Refined().expected_cost(whole, effort)[0]
        cpu = next(turn[2] for turn in course if turn[3] <= loss)
        found[effort] = Published(START + cpu, loss, refined.Refined().expected_cost(tried, effort)[0], 0.0)
    return found


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


def measured() -> tuple[dict[str, Course], dict[str, dict[str, Published]]]:
    """The courses and the releases that were measured before, by table."""
    courses: dict[str, Course] = {}
    for row in lines_of(COURSES):
        turn = float(row["limit"]), float(row["work"]), float(row["cpu"]), float(row["loss"])
        courses.setdefault(row["table"], []).append(turn)
    releases: dict[str, dict[str, Published]] = {}
    for row in lines_of(RELEASES):
        figures = Published(*(float(row[name]) for name in ("cpu", "loss", "forecast", "slowdown")))
        if figures.slowdown:
            releases.setdefault(row["table"], {})[row["effort"]] = figures
    return courses, releases


def lines_of(place: Path) -> list[dict[str, str]]:
    if not place.exists():
        return []
    with place.open(newline="") as lines:
        return list(csv.DictReader(lines))


def record(courses: dict[str, Course]) -> None:
    """Store all courses."""
    rows = [[name, *(f"{figure:.6g}" for figure in turn)] for name, course in courses.items() for turn in course]
    write(COURSES, [["table", "limit", "work", "cpu", "loss"], *rows])


def write(place: Path, rows: list[list[str]]) -> None:
    with place.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def rows_of(releases: dict[str, dict[str, Published]]) -> list[list[str]]:
    """Return the lines of the result file."""
    rows = []
    for name, found in releases.items():
        least = found["thorough"].loss
        for effort, one in found.items():
            loss, cpu = ARX.get(name, (0.0, 0.0))
            peer = [f"{one.cpu / cpu:.2f}", f"{one.loss / loss - 1:+.1%}"] if cpu else ["", ""]
            figures = [f"{one.cpu:.2f}", f"{one.loss:.5f}", f"{one.loss / least - 1:+.1%}"]
            rows.append([name, effort, *figures, *peer, f"{one.forecast:.5f}", f"{one.slowdown:.2f}"])
    return rows


def show(row: list[str]) -> None:
    name, effort, cpu, loss, above, share, against, forecast, _ = row
    told = f"{cpu:>7} s  loss {loss}  {above:>6}  forecast {float(forecast) / float(loss) - 1:+.1%}"
    told += f"  {share} of ARX's CPU time, loss {against}" if share else ""
    print(f"{name:26} {effort:9} {told}", flush=True)


def main() -> None:
    courses, releases = measured()
    named = [name for name in sys.argv[1:] if name in TABLES]
    for name in [] if "--read-off" in sys.argv else named or TABLES:
        if name in courses and name in releases and name not in named:
            continue
        try:
            problem = TABLES[name]()
        except OSError as missing:
            print(f"{name}: left out, {Path(str(missing.filename)).name} is not there")
            continue
        if name in named or name not in courses:
            courses[name] = course_of(problem)
            record(courses)
        if name in named or name not in releases:
            releases[name] = publish_each(problem)
            write(RELEASES, [HEAD, *rows_of({name: releases[name] for name in TABLES if name in releases})])
    releases = {name: releases.get(name) or read_off(courses[name]) for name in TABLES if name in courses}
    rows = rows_of(releases)
    if not rows:
        return
    for row in rows:
        show(row)
    extra = sorted(float(row[4].rstrip("%")) for row in rows if row[1] == "balanced")
    print(f"balanced above thorough: median {statistics.median(extra):.1f} %, worst {extra[-1]:.1f} %")
    write(RELEASES, [HEAD, *rows])
    (RESULTS / "effort.svg").write_text(picture({name: courses[name] for name in TABLES if name in courses}))


if __name__ == "__main__":
    main()
