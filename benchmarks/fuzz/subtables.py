"""Sub-tables: tiny tables under random rules, every world that agrees with the published tables by enumeration."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.fuzz.anatomy import people_of, possible
from benchmarks.fuzz.story import Kind, Rows, Story, columns_of, rows_of
from tests.house import brute
from tests.house.cases import random_claims
from tests.versatile.versatile_worlds import posteriors

METHODS = [
    "guardian",
    "guardian",
    "utility-aware",
    "utility-aware",
    "single-attribute",
    "multi-sensitive",
    "multi-sensitive",
]
MODELS = ["p-sensitivity", "distinct", "frequency", "entropy", "recursive", "equal"]
STRANGE = ["*", "a b", "x/y", "ä", "#", "len", "1", "null"]
Read = tuple[Rows, list[str] | None, list[dict[str, str]]]


class SubTableKind(Kind):
    """Several tables that share columns."""

    name: ClassVar[str] = "subtables"
    form: ClassVar[str] = "sub-tables"
    weight: ClassVar[float] = 2.0

    def draw(self, rng: random.Random, place: Path) -> Story:
        names = list("abc" if rng.random() < 0.7 else "abcd")
        if rng.random() < 0.1:
            names[rng.randrange(len(names))] = rng.choice(STRANGE)
        count = rng.choice([3, 4, 4, 4, 5]) if len(names) == 3 else 4
        records = [{name: f"{i}{rng.randint(0, 2)}" for i, name in enumerate(names)} for _ in range(count)]
        method, parameters = rng.choice(METHODS), {}
        if method != "multi-sensitive" and rng.random() < 0.15:
            parameters = {"inner": rng.choice(["mondrian", "clustering"])}
        protect = [_claim(rng, names) for _ in range(rng.choice([1, 2, 2, 3]))]
        tree = {
            "version": 1,
            "columns": dict.fromkeys(names, "other"),
            "protect": protect,
            "method": {method: parameters},
        }
        return Story(tree, columns_of(records), columns_of(records), records, method)

    def judge(self, story: Story, folder: Path) -> list[str]:
        tables = [
            read_table(folder, place)
            for place in range(1, 1 + len(list(folder.glob("table-*.csv"))))
            if _is(folder, place)
        ]
        if "inner" in next(iter(story.tree["method"].values())) and any(
            "*" in row.values() for rows, _, _ in tables for row in rows
        ):
            return self._recoded(story, [rows for rows, _, _ in tables])
        wrong = [f"table {place + 1}" for place, table in enumerate(tables) if not truthful(table, story.records)]
        if {name for rows, _, hidden in tables for row in (*rows, *hidden) for name in row} != set(story.records[0]):
            wrong.append("columns")
        if wrong:
            return wrong
        columns = brute.columns_of(story.tree)
        for claim in story.tree["protect"]:
            given, (hidden,), model, level = brute.claim_of(claim, columns)
            whole = Counter(record[hidden] for record in story.records)
            beliefs = posteriors(tables, given, hidden)
            if not all(brute.believed(0, [belief], [whole], model, level) for belief in beliefs.values()):
                wrong.append(model)
        return wrong

    def judge_spoilt(self, story: Story, folder: Path) -> list[str]:
        """A star in the place of a value says less and nothing false; who looks alike in several buckets is not told
        apart."""
        try:
            tables = [
                read_table(folder, place)
                for place in range(1, 1 + len(list(folder.glob("table-*.csv"))))
                if _is(folder, place)
            ]
        except (LookupError, ValueError):
            return ["unreadable"]
        if any("*" in row.values() for rows, _, _ in tables for row in rows):
            return []
        alike = any(buckets and _mixed(rows, buckets) for rows, buckets, _ in tables)
        found = super().judge_spoilt(story, folder)
        return [what for what in found if not (alike and what.startswith("table "))]

    def _recoded(self, story: Story, tables: list[Rows]) -> list[str]:
        """A table with stars: people fit, and whoever knows all its other columns is left with enough."""
        wrong = []
        for rows in tables:
            shown = {name: {"role": "quasi-identifier"} for name in rows[0]}
            if not brute.perfect_matching(rows, story.records, shown) or len(rows) != len(story.records):
                wrong.append("untruthful")
            for claim in story.tree["protect"]:
                given, (hidden,), model, level = brute.claim_of(claim, brute.columns_of(story.tree))
                known = [name for name in rows[0] if name in given]
                if hidden in rows[0] and not all(
                    brute.satisfies(c, rows, [hidden], model, level) for c in brute.classes(rows, known)
                ):
                    wrong.append(model)
        return wrong

    def refused_falsely(self, story: Story) -> str:
        """Every column in a table of its own is a release."""
        if story.method == "multi-sensitive" or "inner" in story.tree["method"][story.method]:
            return ""
        claims = [brute.claim_of(claim, brute.columns_of(story.tree)) for claim in story.tree["protect"]]
        alone = all(
            brute.satisfies(story.records, story.records, hide, model, level) for _, hide, model, level in claims
        )
        return "every column may be published alone" if alone else ""


def _claim(rng: random.Random, names: list[str]) -> Any:
    hidden = rng.choice(names)
    given = rng.sample([name for name in names if name != hidden], rng.randint(1, len(names) - 1))
    if rng.random() < 0.4 and not set(names) & set(STRANGE):
        return f"{', '.join(given)} -> {hidden} : {rng.choice([2, 2, 1.5, 1, 3])}-diversity"
    return {"given": given, "hide": [hidden], "by": random_claims(rng, [rng.choice(MODELS)])[0]}


def _mixed(rows: Rows, buckets: list[str]) -> bool:
    """Whether rows that look alike stand in several buckets, or values are withheld."""
    pairs = {(tuple(row.values()), bucket) for row, bucket in zip(rows, buckets, strict=True)}
    return "*" in buckets or len(pairs) > len({row for row, _ in pairs})


def _is(folder: Path, place: int) -> bool:
    return (folder / f"table-{place}.csv").exists()


def read_table(folder: Path, place: int) -> Read:
    """Visible rows, their buckets, and beside each row the hidden values of one entry of its bucket; none where
    withheld."""
    rows, file = rows_of(folder / f"table-{place}.csv"), folder / f"table-{place}-sensitive.csv"
    if not file.exists():
        return rows, None, []
    entries: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows_of(file):
        bucket, count = row.pop("bucket"), int(row.pop("count"))
        entries[bucket] += [{row["column"]: row["value"]} if "column" in row else dict(row)] * count
    buckets = [row.pop("bucket") for row in rows]
    if Counter(bucket for bucket in buckets if bucket != "*") != Counter(
        {bucket: len(some) for bucket, some in entries.items()}
    ):
        raise ValueError("buckets list other numbers than there are rows")
    left = {bucket: list(some) for bucket, some in entries.items()}
    return rows, buckets, [left[bucket].pop() if bucket != "*" else {} for bucket in buckets]


def truthful(table: Read, records: Rows) -> bool:
    """Whether every row and every entry of a bucket is somebody's; of withheld rows only what is visible."""
    rows, buckets, hidden = table
    visible = list(rows[0])
    if len(rows) != len(records) or any(list(row) != visible for row in rows):
        return False
    if buckets is None:
        return Counter(tuple(row.values()) for row in rows) == Counter(tuple(r[n] for n in visible) for r in records)
    names = sorted({name for each in hidden for name in each})
    listed: dict[str, Counter[Any]] = defaultdict(Counter)
    for bucket, each in zip(buckets, hidden, strict=True):
        listed[bucket][each[names[0]] if len(names) == 1 and each else tuple(each.get(name, "") for name in names)] += 1
    people = (
        people_of(records, visible, names)
        if names
        else Counter({(tuple(r[n] for n in visible), ()): 1 for r in records})
    )
    if "*" in listed:  # whoever stands there may have any values
        return Counter(tuple(row.values()) for row in rows) == Counter(tuple(r[n] for n in visible) for r in records)
    return possible(
        [row | {"bucket": bucket} for row, bucket in zip(rows, buckets, strict=True)], dict(listed), people, visible
    )
