"""Small random databases (cycles, composite keys, nulls, checks) made anew; everything is counted again by plain
loops."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.database import CheckConstraint, ColumnFacts, Database, ForeignKey, Schema, TableFacts
from sfumato.data.table import Table
from tests.secret import secret
from tests.slow import SLOW

Row = dict[str, str | None]


@dataclass
class Case:
    """A database as plain rows, and a policy for it."""

    schema: Schema
    rows: dict[str, list[Row]]
    policy: dict[str, Any]

    @property
    def database(self) -> Database:
        tables = {}
        for table in self.schema.tables:
            frame = {
                c.name: pa.array([row[c.name] for row in self.rows[table.name]], pa.string()) for c in table.columns
            }
            tables[table.name] = Table(pa.table(frame))
        return Database(self.schema, tables)


def integer(name: str, nullable: bool = False) -> ColumnFacts:
    return ColumnFacts(name, "integer", "INTEGER", nullable)


def text(name: str, nullable: bool = True) -> ColumnFacts:
    return ColumnFacts(name, "text", "TEXT", nullable)


def date(name: str) -> ColumnFacts:
    return ColumnFacts(name, "date", "DATE", True)


def random_case(seed: int) -> Case:
    """Parents with composite keys, children that refer to them, to each other in a cycle and to themselves."""
    rng = random.Random(seed)
    a, b, c = (rng.randrange(2, 12), rng.randrange(2, 15), rng.randrange(0, 20))
    pairs = rng.sample([(x, y) for x in range(1, 6) for y in range(1, 6)], a)
    alpha = [{"x": str(x), "y": str(y), "best": maybe(rng, [str(n) for n in range(1, b + 1)])} for x, y in pairs]
    beta = []
    for number in range(1, b + 1):
        refers = rng.choice([None, *pairs])
        low, high = sorted(rng.randrange(1, 28) for _ in range(2))
        beta.append({
            "id": str(number), "ax": str(refers[0]) if refers else None, "ay": str(refers[1]) if refers else None,
            "boss": maybe(rng, [str(n) for n in range(1, b + 1)]), "mail": maybe(rng, [f"m{number}@x"]),
            "begun": maybe(rng, [f"2020-01-{low:02d}"]), "ended": maybe(rng, [f"2020-02-{high:02d}"]),
            "total": str(rng.randrange(0, 40)),
        })  # fmt: skip
    gamma = [
        {"n": str(n), "b": str(rng.randrange(1, b + 1)), "amount": maybe(rng, [str(rng.randrange(1, 10))]),
         "mail": maybe(rng, ["m1@x", "m2@x", "q"])}
        for n in range(c)
    ]  # fmt: skip
    keys = (
        ForeignKey("alpha", ("best",), "beta", ("id",)), ForeignKey("beta", ("ax", "ay"), "alpha", ("x", "y")),
        ForeignKey("beta", ("boss",), "beta", ("id",)), ForeignKey("gamma", ("b",), "beta", ("id",)),
    )  # fmt: skip
    schema = Schema((
        TableFacts("alpha", (integer("x"), integer("y"), integer("best", True)), ("x", "y"), foreign_keys=keys[:1]),
        TableFacts(
            "beta", (integer("id"), integer("ax", True), integer("ay", True), integer("boss", True), text("mail"),
            date("begun"),
                     date("ended"), integer("total")), ("id",), (("mail",),), keys[1:3],
            (CheckConstraint("order", "begun IS NULL OR begun <= ended"),)
        ),
        TableFacts(
            "gamma", (integer("n"), integer("b"), integer("amount", True), text("mail")), ("b", "n"),
            foreign_keys=keys[3:],
            checks=(CheckConstraint("positive", "((amount > (0)::numeric) AND (amount < 12))"),)
        ),
    ))  # fmt: skip
    return Case(schema, {"alpha": alpha, "beta": beta, "gamma": gamma}, random_policy(rng, bool(c)))


def maybe(rng: random.Random, values: list[str]) -> str | None:
    return None if rng.random() < 0.3 else rng.choice(values)


def random_policy(rng: random.Random, filled: bool) -> dict[str, Any]:
    choices = {
        "alpha.x": {"integers": [1, 40]},
        "alpha.y": {"integers": [-9, 30]},
        "beta.id": {"integers": [100, 140]},
        "beta.mail": {"pattern": "[a-d]{3}@x"},
        "beta.begun": {"dates": ["2019-12-20", "2020-03-10"]},
        "beta.ended": {"dates": ["2019-12-20", "2020-03-10"]},
        "gamma.n": {"integers": [0, 60]},
        "gamma.amount": {"integers": [-2, 20]},
    }
    chosen = {name: domain for name, domain in choices.items() if rng.random() < 0.7} or {"beta.id": choices["beta.id"]}
    keep = []
    if {"beta.begun", "beta.ended"} <= chosen.keys() and rng.random() < 0.5:
        keep.append("beta.ended - beta.begun <= 30")
    if "gamma.amount" in chosen and filled:
        keep += rng.sample(["sum(gamma.amount) = sum(original.gamma.amount)", "gamma.amount != 5",
        "sum(gamma.amount by gamma.b) = "
                            "sum(original.gamma.amount by gamma.b)"], 1)  # fmt: skip
    data: dict[str, Any] = {"kind": "database"}
    if "beta.mail" in chosen and rng.random() < 0.5:
        data["consistent"] = [["beta.mail", "gamma.mail"]]
    if rng.random() < 0.3:
        data["subset"] = {"beta": rng.choice(["50%", "id <= 3"])}
    columns = {name: {"role": "replaced", "domain": domain} for name, domain in chosen.items()}
    return {"version": 1, "data": data, "columns": columns, "keep": keep}


def asks_much(seed: int) -> bool:
    """For two at least of a subset, values that stay equal, and rules."""
    policy = random_case(seed).policy
    return sum(map(bool, (policy["data"].get("subset"), policy["data"].get("consistent"), policy["keep"]))) > 1


@pytest.mark.parametrize("seed", [seed for seed in range(80) if SLOW or asks_much(seed)])
def test_a_random_database_stays_whole(seed: int) -> None:
    case = random_case(seed)
    publication = sf.publish(sf.Policy.parse(case.policy), case.database, seed=secret(seed))
    made = {name: publication.release.parts[name].table.to_pylist() for name in case.rows}
    behind = {name: [case.rows[name][row] for row in publication.release.trace.rows[name]] for name in case.rows}
    assert publication.certificate.holds
    check_shape(case, made, behind)
    check_schema(case, made)
    check_links(case, made, behind)
    check_rules(case, made, behind)


def check_shape(case: Case, made: Mapping[str, list[Row]], behind: Mapping[str, list[Row]]) -> None:
    replaced = changed(case)
    for name, rows in made.items():
        if "subset" not in case.policy["data"]:
            assert Counter(map(repr, behind[name])) == Counter(map(repr, case.rows[name]))
        for new, old in zip(rows, behind[name], strict=True):
            assert list(new) == list(old)
            for column in new:
                assert (new[column] is None) == (old[column] is None)
                assert new[column] == old[column] or f"{name}.{column}" in replaced


def changed(case: Case) -> set[str]:
    """Replaced columns and everything that follows them, by repeated looking."""
    pairs = [
        (f"{k.table}.{c}", f"{k.parent}.{p}")
        for k in case.schema.foreign_keys
        for c, p in zip(k.columns, k.parent_columns, strict=True)
    ]
    pairs += [tuple(group) for group in case.policy["data"].get("consistent", [])]
    found = set(case.policy["columns"])
    while more := {x for pair in pairs if set(pair) & found for x in pair} - found:
        found |= more
    return found


def check_schema(case: Case, made: Mapping[str, list[Row]]) -> None:
    for table in case.schema.tables:
        for key in (table.primary_key, *table.uniques):
            values = [tuple(row[c] for c in key) for row in made[table.name]]
            values = [value for value in values if None not in value]
            assert len(set(values)) == len(values)
        for foreign in table.foreign_keys:
            known = {tuple(row[c] for c in foreign.parent_columns) for row in made[foreign.parent]}
            for row in made[table.name]:
                value = tuple(row[c] for c in foreign.columns)
                assert None in value or value in known
    for row in made["beta"]:
        assert row["begun"] is None or row["ended"] is None or row["begun"] <= row["ended"]
    for row in made["gamma"]:
        assert row["amount"] is None or 0 < int(row["amount"]) < 12


def check_links(case: Case, made: Mapping[str, list[Row]], behind: Mapping[str, list[Row]]) -> None:
    """Who referred to whom before refers to them now."""
    for key in case.schema.foreign_keys:
        place = {tuple(row[c] for c in key.parent_columns): number for number, row in enumerate(made[key.parent])}
        before = {tuple(row[c] for c in key.parent_columns): number for number, row in enumerate(behind[key.parent])}
        for new, old in zip(made[key.table], behind[key.table], strict=True):
            value = tuple(new[c] for c in key.columns)
            if None not in value:
                assert place[value] == before[tuple(old[c] for c in key.columns)]
    if "consistent" in case.policy["data"]:
        pairs = {
            (old["mail"], new["mail"])
            for name in ("beta", "gamma")
            for new, old in zip(made[name], behind[name], strict=True)
        }
        assert len({old for old, _ in pairs}) == len(pairs) == len({new for _, new in pairs})


def check_rules(case: Case, made: Mapping[str, list[Row]], behind: Mapping[str, list[Row]]) -> None:
    from datetime import date as day

    amounts = [(old["b"], int(new["amount"]), int(old["amount"])) for new, old in zip(made["gamma"], behind["gamma"],
    strict=True)
               if new["amount"] is not None and old["amount"] is not None]  # fmt: skip
    for rule in case.policy["keep"]:
        if rule == "gamma.amount != 5":
            assert all(new != 5 for _, new, _ in amounts)
        elif rule.startswith("sum(gamma.amount)"):
            assert sum(new for _, new, _ in amounts) == sum(old for _, _, old in amounts)
        elif rule.startswith("sum(gamma.amount by"):
            for group in {b for b, _, _ in amounts}:
                assert sum(new for b, new, _ in amounts if b == group) == sum(
                    old for b, _, old in amounts if b == group
                )
        else:
            for row in made["beta"]:
                if row["begun"] is not None and row["ended"] is not None:
                    assert (day.fromisoformat(row["ended"]) - day.fromisoformat(row["begun"])).days <= 30
