"""The Spark engine: classes that fit on the driver, regions that are solved where they lie, and ledgers.

A trial takes seconds. The judges are those of local releases; they read the published Parquet files."""

from __future__ import annotations

import csv
import random
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.fuzz.recoded import RecodedKind
from benchmarks.fuzz.story import Kind, Rows, Story, told
from benchmarks.fuzz.tally import Tally
from sfumato.core.errors import LedgerError
from tests.house import brute
from tests.house.cases import random_tree
from tests.judges.histories import HistoryJudge, Release, TooManyWorlds, read_release
from tests.judges.history_cases import COVERS, KNOWN, HistoryCase
from tests.secret import secret

CLAIMS: list[dict[str, Any]] = [
    {"k-anonymity": {"k": 3}}, {"l-diversity": {"l": 2}}, {"l-diversity": {"l": 2, "kind": "frequency"}},
    {"t-closeness": {"t": 0.4}},
]  # fmt: skip


@cache
def session() -> Any:
    """One session for all trials."""
    from sfumato.engines.spark.session import start
    from tests.engines.settings import INTERPRETED, SMALL

    return start("local[2]", **SMALL, **INTERPRETED)


def rows_of_parts(folder: Path) -> Rows:
    files = sorted((folder / "data").glob("*.parquet"))
    rows: Rows = pa.concat_tables([pq.read_table(file) for file in files]).to_pylist()
    return [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]


class SparkKind(RecodedKind):
    """One table; in half of the trials its classes are too many for the driver, so that regions are cut."""

    name: ClassVar[str] = "spark"
    weight: ClassVar[float] = 1.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        values = {"q0": [f"a{i}" for i in range(6)], "q1": [f"b{i}" for i in range(4)], "s0": list("123")}
        columns: dict[str, Any] = {"id": "identifier", "s0": "sensitive"}
        for name in ("q0", "q1"):
            tree = random_tree(rng, list(values[name]), name)
            columns[name] = {"role": "quasi-identifier", "hierarchy": tree}
        many = range(rng.randint(20, 60))
        records = [{"id": str(i), **{name: rng.choice(some) for name, some in values.items()}} for i in many]
        method = {rng.choice(["mondrian", "clustering", "global"]): {}}
        tree = {"version": 1, "columns": columns, "protect": rng.sample(CLAIMS, rng.choice([1, 2])), "method": method}
        data = pa.table({name: [record[name] for record in records] for name in records[0]})
        story = Story(tree, data, data, records, next(iter(method)))
        story.known |= {"place": place, "most": rng.choice([8, 1 << 20])}
        return story

    def publication(self, policy: sf.Policy, story: Story, seed: int | None) -> sf.Publication:
        from sfumato.engines.spark.engine import SparkEngine

        place = story.known["place"] / "engine"
        place.mkdir()
        engine = SparkEngine(session(), place, most_classes=story.known["most"], region_classes=8)
        frame = session().createDataFrame(story.data).repartition(2)
        return sf.publish(policy, data=frame, engine=engine, seed=seed)

    def judge(self, story: Story, folder: Path) -> list[str]:
        return brute.violations(rows_of_parts(folder), story.records, story.tree)

    def play(self, rng: random.Random, place: Path, tally: Tally) -> None:
        story = self.draw(rng, place)
        made = self.published(story, tally, rng)
        if made is None:
            return
        folder = made.write(place / "out", report=False)
        tally.judged("recoded table on Spark", f"{story.method} on Spark")
        tally.violations(self.judge(story, folder))
        tally.alarm("with the original", told(folder, story.original, whole=True))


class SparkHistoryKind(Kind):
    """Two releases with one ledger; nobody is suppressed, so that everybody of the data is in the release."""

    name: ClassVar[str] = "spark over releases"
    form: ClassVar[str] = "recoded table"

    def play(self, rng: random.Random, place: Path, tally: Tally) -> None:
        case = HistoryCase.draw(rng, methods=("mondrian",))
        case.cohorts, case.leaving, case.changing = "known", "withhold", ()
        made: list[Release] = []
        for number, release in enumerate(case.releases):
            release["columns"], release["method"] = ["a", "b", "s"], "mondrian"
            tree = case.policy(release) | {"utility": {"suppress_at_most": 0}}
            data = session().createDataFrame(pa.table(case.table(release)))
            tally.count_one("tried")
            options: dict[str, Any] = {"ledger": place / "book", "new_ledger": not made, "engine": session()}
            try:
                one = sf.publish(sf.Policy.parse(tree), data=data, seed=secret(rng.getrandbits(60)), **options)
            except (sf.Infeasible, sf.PolicyError, LedgerError) as error:
                tally.refused(type(error).__name__, "mondrian on Spark")
                continue
            folder = one.write(place / f"out-{number}", report=False)
            rows = rows_of_parts(folder)
            plain = place / f"plain-{number}"
            plain.mkdir()
            with (plain / "data.csv").open("w", newline="", encoding="utf-8") as lines:
                writer = csv.DictWriter(lines, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
            made.append(Release(read_release(plain, len(made), COVERS), frozenset(release["here"])))
            claims = [("k-anonymity", "", 2), ("l-diversity", "s", case.level)]
            try:
                said = HistoryJudge(case.people, made, KNOWN, True).broken(claims, len(made) - 1)
            except TooManyWorlds:
                tally.count_one("given up")
                return
            tally.judged("history on Spark", "mondrian on Spark")
            tally.violations(said)
        if len(made) > 1:
            tally.count_one("histories")
