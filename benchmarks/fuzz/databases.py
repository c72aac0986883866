"""Small databases with cycles, composite keys, nulls and checks; counted again by plain loops (`tests/databases`)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import sfumato as sf
from benchmarks.fuzz.domains import inside
from benchmarks.fuzz.story import Kind, Story, rows_of
from tests.databases.test_random_databases import (
    Case,
    Row,
    changed,
    check_links,
    check_rules,
    check_schema,
    check_shape,
    random_case,
)

WIDE = 20
"""Values of a domain from which on few records keep theirs by chance."""


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
        case, made = story.records, _tables(story.records, folder)
        behind = {name: [case.rows[name][row] for row in story.known["rows"][name]] for name in case.rows}
        checks: dict[str, Callable[[], None]] = {
            "shape": lambda: check_shape(case, made, behind),
            "schema": lambda: check_schema(case, made),
            "links": lambda: check_links(case, made, behind),
            "rules": lambda: check_rules(case, made, behind),
        }
        told = [*_strange(case, made), *_same_as_before(case, made, behind)]
        return [*told, *(name for name, check in checks.items() if _fails(check))]

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """Nobody keeps which row was which, so only what can be told without is demanded."""
        try:
            case, made = story.records, _tables(story.records, folder)
            wrong = _strange(case, made) + [name for name in case.rows if _other_rows(case, name, made[name])]
        except (KeyError, ValueError, TypeError):
            return ["unreadable"]
        return wrong + (["schema"] if _fails(lambda: check_schema(case, made)) else [])


def _tables(case: Case, folder: Path) -> dict[str, list[Row]]:
    read = {name: rows_of(folder / f"{name}.csv") for name in case.rows}
    return {name: [{key: value or None for key, value in row.items()} for row in rows] for name, rows in read.items()}


def _fails(check: Callable[[], None]) -> bool:
    try:
        check()
    except (AssertionError, KeyError, ValueError, TypeError):
        return True
    return False


def _strange(case: Case, made: dict[str, list[Row]]) -> list[str]:
    """New values outside their domains."""
    asked = {tuple(name.split(".")): column["domain"] for name, column in case.policy["columns"].items()}
    return [
        f"domain of {table}.{column}"
        for (table, column), domain in asked.items()
        if not all(row[column] is None or inside(row[column], domain) for row in made[table])
    ]


def _same_as_before(case: Case, made: dict[str, list[Row]], behind: dict[str, list[Row]]) -> list[str]:
    """Replaced columns in which more records keep their value than chance explains; where no rule speaks of them."""
    said, wrong = " ".join(map(str, case.policy.get("keep", []))), []
    for name, column in case.policy["columns"].items():
        table, _, short = name.partition(".")
        size = _size(column["domain"])
        if size < WIDE or short in said:
            continue
        pairs = [(new[short], old[short]) for new, old in zip(made[table], behind[table], strict=True)]
        expected = len(pairs) / size
        same = sum(new == old for new, old in pairs if new is not None)
        wrong += [f"{name} keeps {same} values"] * (same > expected + 7 * expected**0.5 + 2)
    return wrong


def _size(domain: dict[str, Any]) -> int:
    """How many values there are, or a few where that is not said."""
    if "integers" in domain:
        return int(domain["integers"][1]) - int(domain["integers"][0]) + 1
    return len(domain["values"]) if "values" in domain else 0


def _other_rows(case: Case, name: str, rows: list[Row]) -> bool:
    """Whether kept values, and where new ones are missing, are not those of the original."""
    new = {column.partition(".")[2] for column in changed(case) if column.startswith(f"{name}.")}

    def seen(row: Row) -> tuple[object, ...]:
        return tuple((key, value is None if key in new else value) for key, value in row.items())

    now, before = Counter(map(seen, rows)), Counter(map(seen, case.rows[name]))
    return now != before if "subset" not in case.policy["data"] else False
