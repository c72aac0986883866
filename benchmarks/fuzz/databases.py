"""Small databases with cycles, composite keys, nulls and checks; counted again by plain loops (`tests/databases`)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import ClassVar

from benchmarks.fuzz.story import Kind, Story, rows_of
from tests.databases.test_random_databases import check_links, check_rules, check_schema, check_shape, random_case

import sfumato as sf


class DatabaseKind(Kind):
    """All tables anew."""

    name: ClassVar[str] = "databases"
    form: ClassVar[str] = "database"
    weight: ClassVar[float] = 1.5

    def draw(self, rng: random.Random, place: Path) -> Story:
        case = random_case(rng.getrandbits(40))
        heuristic = rng.choice(["LM*", "LM", "IG"])
        tree = case.policy | {"method": {"relational": {"heuristic": heuristic}}}
        return Story(tree, case.database, case.database, case, "relational")

    def learn(self, story: Story, made: sf.Publication) -> None:
        story.known["rows"] = {name: rows.tolist() for name, rows in made.release.trace.rows.items()}

    def judge(self, story: Story, folder: Path) -> list[str]:
        case = story.records
        made = {name: rows_of(folder / f"{name}.csv") for name in case.rows}
        made = {name: [{key: value or None for key, value in row.items()} for row in rows] for name, rows in made.items()}
        behind = {name: [case.rows[name][row] for row in story.known["rows"][name]] for name in case.rows}
        wrong = []
        for check in (
            lambda: check_shape(case, made, behind),
            lambda: check_schema(case, made),
            lambda: check_links(case, made, behind),
            lambda: check_rules(case, made, behind),
        ):
            try:
                check()
            except (AssertionError, KeyError, ValueError) as error:
                wrong.append(f"{check.__code__.co_names[0]}: {error}"[:200])
        return wrong
