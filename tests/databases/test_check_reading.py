"""Check conditions as rules and in the other dialect say what the servers make of them, on every row there can be."""

from __future__ import annotations

import itertools
import random
import sqlite3
from collections.abc import Callable

import pytest
from postgres_server import session

from sfumato.io.sql import read_schema
from sfumato.io.sql.dialects import default_for, translate_condition
from sfumato.policy.constraint_language import parse
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.declared_constraints import rule_text
from tests.slow import SLOW

ROWS = list(itertools.product([None, -1, 0, 1, 2], repeat=2))
CELLS = [{name: ["" if cell is None else str(cell)] for name, cell in zip("aB", row, strict=True)} for row in ROWS]
JUDGES = [ConstraintEvaluator({"t": row}) for row in CELLS]


def broken(rule: str) -> int:
    """How many rows break the rule, each judged alone: the audit counts a row once for every condition that it
    breaks."""
    tree = parse(rule)
    return sum(judge.broken(tree) > 0 for judge in JUDGES)


def some_value(dice: random.Random, depth: int) -> str:
    kind = dice.randrange(7 if depth else 3)
    if kind < 2:
        return ("a", '"B"')[kind]
    if kind == 2:
        return str(dice.randint(-2, 2))
    inner = some_value(dice, depth - 1), some_value(dice, depth - 1)
    return {3: "({} + {})", 4: "{} - {}", 5: "({}) * {}", 6: "{} + {}"}[kind].format(*inner)


def some_condition(dice: random.Random, depth: int) -> str:
    kind = dice.randrange(9 if depth else 4)
    if kind == 0:
        return f"{some_value(dice, 0)} IS {dice.choice(['', 'NOT '])}NULL"
    if kind == 1:
        return (
            f"{some_value(dice, 1)} {dice.choice(['', 'NOT '])}IN"
            f" ({', '.join(str(n) for n in dice.sample(range(-2, 3), 2))})"
        )
    if kind == 2:
        return (
            f"{some_value(dice, 1)} {dice.choice(['', 'NOT '])}BETWEEN {dice.randint(-2, 0)} AND {dice.randint(0, 2)}"
        )
    if kind == 3:
        return f"{some_value(dice, 2)} {dice.choice(['<', '<=', '>', '>=', '=', '<>', '!='])} {some_value(dice, 1)}"
    one, other = some_condition(dice, depth - 1), some_condition(dice, depth - 1)
    form = {4: "NOT ({})", 5: "({}) AND ({})", 6: "({}) OR ({})", 7: "{} AND {}", 8: "{} OR {}"}[kind]
    return form.format(one, other)


def in_sqlite(connection: sqlite3.Connection, sql: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM t WHERE NOT ({sql})").fetchone()[0])


@pytest.fixture
def rows() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE t (a INTEGER, "B" INTEGER)')
    connection.executemany("INSERT INTO t VALUES (?, ?)", ROWS)
    return connection


def test_a_rule_breaks_where_sqlite_says_so(rows: sqlite3.Connection) -> None:
    dice, said, conditions = random.Random(5), 0, 600 if SLOW else 240
    for _ in range(conditions):
        sql = some_condition(dice, 2)
        text = rule_text(sql, "t", ("a", "B"))
        if text is not None:
            said += 1
            assert broken(text) == in_sqlite(rows, sql), (sql, text)
    assert said > conditions / 3


def test_postgresql_its_rules_and_sqlite_agree(fresh: Callable[[], str], rows: sqlite3.Connection) -> None:
    dice, url = random.Random(6), fresh()
    asked = [some_condition(dice, 2) for _ in range(150)]
    with session(url) as connection:
        connection.execute('CREATE TABLE t (a integer, "B" numeric(9,2))')
        for number, sql in enumerate(asked):
            connection.execute(f"ALTER TABLE t ADD CONSTRAINT c{number} CHECK ({sql}) NOT VALID")  # type: ignore[call-overload]
        checks = read_schema(url).table("t").checks
        for number in range(len(asked)):
            connection.execute(f"ALTER TABLE t DROP CONSTRAINT c{number}")  # type: ignore[call-overload]
        for row in ROWS:
            connection.execute("INSERT INTO t VALUES (%s, %s)", row)
        said = 0
        for check in checks:
            found = connection.execute(f"SELECT count(*) FROM t WHERE NOT ({check.sql})").fetchone()  # type: ignore[call-overload]
            there = translate_condition(check.sql, ("a", "B"), "postgresql", "sqlite")
            assert there is not None, check.sql
            assert in_sqlite(rows, there) == found[0], (check.sql, there)
            text = rule_text(check.sql, "t", ("a", "B"))
            if text is not None:
                said += 1
                assert broken(text) == found[0], (check.sql, text)
    assert len(checks) == 150
    assert said > 50


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("a > '-1'::integer", "t.a > -1"),
        ("a <> ALL (ARRAY[1, 2])", "t.a not in {1, 2}"),
        ("(b)::text = ANY ((ARRAY['it''s'::character varying])::text[])", 't.b in {"it\'s"}'),
        ("[a] > 0 AND `b` <> 'x'", 't.a > 0 and t.b != "x"'),
        ("A > 0 -- always", "t.a > 0"),
        ("a >= '2020-01-01'::date", 't.a >= "2020-01-01"'),
        ("a IS NULL OR (a > 0 AND a < 5)", "t.a > 0 and t.a < 5"),
        # what changes values, or binds differently, is not said
        ("(a)::integer > 3", None),
        ("a = 'x'::bpchar", None),
        ("a >= 'now'::date", None),
        ("a = 1.5::integer", None),
        ("a = (5)::text", None),
        ("(b)::character varying(3) = 'abc'", None),
        ("CAST(a AS TEXT) = '5'", None),
        ("a = b IN (1, 2)", None),
        ("a < b < 3", None),
        ("NOT (a IS NULL OR a > 0)", None),
        ("a IS NULL OR b IS NULL", None),
        ("a BETWEEN SYMMETRIC 2 AND 1", None),
        ("a IN (SELECT 1)", None),
        ("a IN (1, NULL)", None),
        ("a IN (1, b)", None),
        ("t.a > 3", None),
        ("c > 3", None),
        ("b = E'x\\n'", None),
        ("b = 'x' 'y'", None),
        ("a / 2 > 1", None),
        ("b LIKE 'x%'", None),
        ("a = 1e5", None),
        ("b COLLATE NOCASE = 'x'", None),
        ("a", None),
        ("", None),
    ],
)
def test_what_rules_can_say_and_what_not(sql: str, rule: str | None) -> None:
    assert rule_text(sql, "t", ("a", "b")) == rule


@pytest.mark.parametrize("names", [("`", "b"), ("a`b", "b")])
def test_a_name_that_no_quotes_can_hold_is_not_said(names: tuple[str, str]) -> None:
    assert rule_text(f'"{names[0]}" > 0', "t", names) is None


@pytest.mark.parametrize(
    "sql",
    [
        "(" * 3_000 + "a > 1" + ")" * 3_000,
        "a" + " + a" * 3_000 + " > 1",
        "NOT " * 3_000 + "a > 1",
        "a > " + "-" * 3_001 + "1",
        "a = '" + "x" * 200_000 + "'",
        "a > " + "9" * 10_000,
    ],
)
def test_what_is_too_long_or_too_deep_is_nothing(sql: str) -> None:
    assert rule_text(sql, "t", ("a",)) is None
    if "9999" not in sql:
        assert translate_condition(sql, ("a",), "postgresql", "sqlite") is None


OTHER = {"postgresql": "sqlite", "sqlite": "postgresql"}


@pytest.mark.parametrize(
    ("sql", "target", "there"),
    [
        ("[Unit Price]>=(0) AND NAME <> 'x'", "postgresql", '"Unit Price" >= (0) AND "name" <> \'x\''),
        ("name IS NOT NULL OR length(name) < 5", "postgresql", 'NOT "name" IS NULL OR LENGTH("name") < 5'),
        ('name = "text in wrong quotes"', "postgresql", None),
        ("name LIKE 'a%'", "postgresql", None),
        ("name REGEXP 'a'", "postgresql", None),
        ("max(name, 'b') > 'a'", "postgresql", None),
        ("\"Unit Price\" / 2 > 1", "postgresql", None),
        ("name = ANY (ARRAY['x]'::text, 'y::z'::text])", "sqlite", "\"name\" IN ('x]', 'y::z')"),
        ("name > '2020-01-01 10:00:00'::timestamp(3) without time zone", "sqlite", None),
        ("name > '2020-01-01 10:00:00'::timestamp without time zone", "sqlite", "\"name\" > '2020-01-01 10:00:00'"),
        ("name ~~ 'a%'::text", "sqlite", None),
        ("Name = 'x'::text", "sqlite", "\"name\" = 'x'"),
        ('"Name" = \'x\'::text', "sqlite", None),
    ],
)  # fmt: skip
def test_conditions_cross_over_or_stay_behind(sql: str, target: str, there: str | None) -> None:
    assert translate_condition(sql, ("Unit Price", "name"), OTHER[target], target) == there


@pytest.mark.parametrize(
    ("default", "native", "target", "there"),
    [
        ("'it''s'", "text", "postgresql", "'it''s'"),
        ("(-5)", "bigint", "postgresql", "-5"),
        ("'-5'::integer", "INTEGER", "sqlite", "'-5'"),
        ("CURRENT_TIMESTAMP", "text", "postgresql", "(CURRENT_TIMESTAMP::text)"),
        ("CURRENT_DATE", "DATE", "sqlite", "CURRENT_DATE"),
        ("TRUE", "bigint", "postgresql", "1"),
        ("1", "boolean", "postgresql", "true"),
        ("'f'::boolean", "BOOLEAN", "sqlite", "0"),
        ("NULL", "text", "postgresql", None),
        ("'a' || 'b'", "TEXT", "sqlite", None),
        ("nextval('s'::regclass)", "INTEGER", "sqlite", None),
        (None, "text", "postgresql", None),
    ],
)
def test_defaults_cross_over_or_stay_behind(default: str | None, native: str, target: str, there: str | None) -> None:
    assert default_for(default, OTHER[target], native, target) == there
