"""Publishing again and again: quarters of the same columns, the triangle, many columns at once, and random subsets of
columns.

    python -m benchmarks.series quarters --rows 2000 --columns age,gender --k 3 --cohorts unknown
    python -m benchmarks.series triangle --rows 20000
    python -m benchmarks.series first --rows 148318
    python -m benchmarks.series subsets --rows 148318

Every release is made by the planner's choice, with a ledger, and verified over everything published so far. CPU seconds
are those of one publication with everything around it (reading the ledger, certifying, writing the folder and the
entry), in a warm process. `loss` counts a record that is withheld as lost, `of cells` is the mean over published cells.
Data: census_income_kdd, sensitive = occupation (46 values), age in 5/10/20/40 years, education in 3 groups, others
flat."""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.core.errors import Infeasible

DATA = Path(os.environ.get("SFUMATO_DATA", Path(__file__).parents[2] / "shared" / "data"))
SOURCE = DATA / "census_income_kdd" / "occ_like_148318.csv.gz"
RESULTS = Path(__file__).parent / "results"
SIX = ("age", "gender", "education", "marital", "race", "work_class")
DEGREE, DIPLOMA = ("bachelor", "master", "doctor", "prof"), ("graduate", "college", "assoc")
HEAD = (
    "release",
    "rows",
    "published",
    "counterfeits",
    "withheld",
    "loss",
    "of cells",
    "worst column",
    "holds",
    "verified",
)
HEAD += ("CPU seconds",)


def people() -> pl.DataFrame:
    """Everybody, in an order of their own, with a key."""
    frame = pl.read_csv(SOURCE, infer_schema_length=0).sample(fraction=1.0, shuffle=True, seed=16)
    return frame.with_columns(pl.Series("person", [f"p{i}" for i in range(len(frame))]))


def more_people(frame: pl.DataFrame) -> pl.DataFrame:
    """Everybody, and as many again with keys of their own and the values of somebody drawn: whoever comes when all are
    there."""
    drawn = frame.sample(fraction=1.0, with_replacement=True, shuffle=True, seed=17)
    return pl.concat(
        [frame, drawn.with_columns(pl.Series("person", [f"p{len(frame) + i}" for i in range(len(frame))]))]
    )


def education(values: list[str]) -> dict[str, Any]:
    """The values in three groups: no diploma, a diploma, a degree."""
    groups: dict[str, list[str]] = {"none": [], "diploma": [], "degree": []}
    for value in sorted(values):
        named = value.lower()
        place = (
            "degree" if any(w in named for w in DEGREE) else "diploma" if any(w in named for w in DIPLOMA) else "none"
        )
        groups[place].append(value)
    return {"*": {name: leaves for name, leaves in groups.items() if leaves}}


def policy(columns: tuple[str, ...], k: int, frame: pl.DataFrame, *, shows: bool = True, **more: Any) -> sf.Policy:
    """l-diversity over all releases; `shows` says whether the occupation is published."""
    tree: dict[str, Any] = {name: {"role": "quasi-identifier"} for name in columns}
    if "age" in columns:
        tree["age"] |= {"hierarchy": {"intervals": [5, 10, 20, 40]}}
    if "education" in columns:
        tree["education"] |= {"hierarchy": education(frame["education"].unique().to_list())}
    tree |= {"person": "identifier", "occupation": {"role": "sensitive", "publish": shows}}
    protect = [{"l-diversity": {"l": k}}] if shows else [{"k-linkability": {"k": k}}]
    return sf.Policy.parse({"version": 1, "columns": tree, "protect": protect, "key": "person", **more})


class Book:
    """A ledger in a folder of its own, and a line for every release."""

    def __init__(self, verifies: bool = True) -> None:
        self.folder, self.lines, self.verifies = Path(tempfile.mkdtemp()), [], verifies
        self.lines: list[list[Any]] = []

    def publish(self, declared: sf.Policy, frame: pl.DataFrame) -> None:
        number = len(self.lines) + 1
        ledger = self.folder / "book.ledger"
        started = time.process_time()
        made = sf.publish(declared, frame, ledger=ledger, new_ledger=number == 1)
        made.write(self.folder / f"r{number}", report=False)
        seconds = time.process_time() - started
        audit = sf.verify(self.folder / f"r{number}", ledger=ledger, original=frame) if self.verifies else None
        said, fake = made.certificate.records, made.release.form.to_public().get("counterfeits", 0)
        loss = made.utility["loss_by_column"]
        cells = (made.utility["loss"] * len(frame) - said.suppressed) / (len(frame) - said.suppressed)
        line = [
            number,
            len(frame),
            said.published,
            fake,
            said.suppressed,
            round(made.utility["loss"], 5),
            round(cells, 5),
        ]
        line += [
            round(max(loss.values()), 5),
            made.certificate.holds,
            "-" if audit is None else audit.holds,
            round(seconds, 2),
        ]
        self.lines.append(line)
        print(*line, sep=", ", flush=True)

    def save(self, name: str) -> None:
        with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEAD)
            writer.writerows(self.lines)


def quarters(options: argparse.Namespace) -> None:
    """Twelve releases of the same columns; 5 % arrive and a share leaves every quarter."""
    everybody, columns, first = more_people(people()), tuple(options.columns.split(",")), options.rows
    rng, here, used, book = np.random.default_rng(5), np.arange(first), first, Book(options.verify)
    series = {"cohorts": options.cohorts, "leaving": options.leaving, "waiting": options.waiting}
    series |= {} if options.counterfeits is None else {"counterfeits_at_most": options.counterfeits}
    for quarter in range(options.releases):
        if quarter:
            stay = here[rng.random(len(here)) >= options.leave]
            more = min(round(0.05 * len(here)), len(everybody) - used)
            here, used = np.concatenate([stay, np.arange(used, used + more)]), used + more
        frame = everybody[here.tolist()].select([*columns, "occupation", "person"])
        book.publish(policy(columns, options.k, everybody, series=series), frame)
    leave = f"-leave-{options.leaving}" if options.leave else ""
    waits = f"-waiting-{options.waiting}" if options.waiting else ""
    limit = "" if options.counterfeits is None else f"-at-most-{options.counterfeits}"
    book.save(f"series-quarters-{options.rows}-{len(columns)}-k{options.k}-{options.cohorts}{leave}{limit}{waits}")


def triangle(options: argparse.Namespace) -> None:
    """age,education | education,occupation | age,occupation."""
    frame, book = people()[: options.rows], Book(options.verify)
    for columns, shows in ((("age", "education"), False), (("education",), True), (("age",), True)):
        book.publish(policy(columns, options.k, frame, shows=shows), frame.select([*columns, "occupation", "person"]))
    book.save(f"series-triangle-{options.rows}-k{options.k}")


def first(options: argparse.Namespace) -> None:
    """One release of six quasi-identifiers, twice: the second in a warm process."""
    frame = people()[: options.rows].select([*SIX, "occupation", "person"])
    Book(False).publish(policy(SIX, options.k, frame), frame)
    book = Book(options.verify)
    book.publish(policy(SIX, options.k, frame), frame)
    book.save(f"series-first-{options.rows}-k{options.k}")


def subsets(options: argparse.Namespace) -> None:
    """Releases of one to three of six columns drawn at random, all with the occupation."""
    frame, book, rng = people()[: options.rows], Book(options.verify), np.random.default_rng(7)
    for _ in range(options.releases):
        columns = tuple(sorted(rng.choice(SIX, int(rng.integers(1, 4)), replace=False).tolist(), key=SIX.index))
        try:
            book.publish(policy(columns, options.k, frame), frame.select([*columns, "occupation", "person"]))
        except Infeasible as error:
            print("infeasible", columns, error.what)
            break
    book.save(f"series-subsets-{options.rows}-k{options.k}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=["quarters", "triangle", "first", "subsets"])
    options.add_argument("--rows", type=int, default=2000)
    options.add_argument("--columns", default="age,gender")
    options.add_argument("--k", type=int, default=3)
    options.add_argument("--cohorts", choices=["known", "unknown"], default="known")
    options.add_argument("--leaving", choices=["withhold", "counterfeits"], default="withhold")
    options.add_argument("--leave", type=float, default=0.0)
    options.add_argument(
        "--waiting", type=float, default=0.0, help="largest share of records that may wait for company"
    )
    options.add_argument(
        "--counterfeits", type=float, help="largest share of rows that may stand in for people who left"
    )
    options.add_argument("--releases", type=int, default=12)
    options.add_argument("--no-verify", dest="verify", action="store_false")
    chosen = options.parse_args()
    {"quarters": quarters, "triangle": triangle, "first": first, "subsets": subsets}[chosen.what](chosen)


if __name__ == "__main__":
    main()
