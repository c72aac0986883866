"""Twelve foreign schemas: three commands, unedited; nobody is found again in the target, and applications get their
answers."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from foreign_schemas import FOLDER, NAMES, filled, personal_columns
from postgres_server import Server, session
from small_shop import sfumato

KEYS = ("id", "ID", "_id")


def everybody(url: str) -> set[str]:
    """The invented given and family names that the schemas use, in lower case."""
    with session(url) as connection:
        connection.execute((FOLDER / "prelude.sql").read_text())
        asked = "SELECT lower(pg_temp.given(n)), lower(pg_temp.family(n)) FROM generate_series(1, 400) n"
        return {name for row in connection.execute(asked).fetchall() for name in row}


def everything(url: str) -> dict[str, str]:
    """Every row of every table as one text, asked without Sfumato."""
    with session(url) as connection:
        tables = connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname !~ '^(pg_|information_)'"
        ).fetchall()
        found = {
            name: connection.execute(f"SELECT string_agg(t::text, ' ') FROM {name} t").fetchone() for (name,) in tables
        }
    return {name: str(row[0] or "").lower() for name, row in found.items()}


def joins(url: str) -> dict[str, int]:
    """For every foreign key how many rows find their parent."""
    asked = """SELECT k.conname, k.conrelid::regclass::text, k.confrelid::regclass::text,
      (SELECT string_agg(format('c.%I = p.%I', a.attname, b.attname), ' AND ') FROM unnest(k.conkey, k.confkey) u(x, y)
       JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.x
       JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.y)
      FROM pg_constraint k WHERE contype = 'f' AND conparentid = 0"""
    with session(url) as connection:
        keys = connection.execute(asked).fetchall()
        return {
            f"{child}.{name}": connection.execute(
                f"SELECT count(*) FROM {child} c JOIN {parent} p ON {same}"
            ).fetchone()[0]
            for name, child, parent, same in keys
        }


@pytest.mark.parametrize("name", NAMES)
def test_three_commands_with_the_proposals_accepted(
    name: str, tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = filled(name, postgres.database()), postgres.database()
    monkeypatch.setenv("SFUMATO_SOURCE", source)
    monkeypatch.setenv("SFUMATO_TARGET", target)
    found = sfumato("discover", source, "--target", target)
    assert found.returncode == 0, found.stderr
    policy = tmp_path / "found.yaml"
    policy.write_text(found.stdout)
    if ": review" in found.stdout:
        refused = sfumato("publish", str(policy), "--out", str(tmp_path / "release"), "--no-report")
        assert refused.returncode == 2 and "needs a decision" in refused.stderr
    checked = sfumato("check", str(policy), "--strict", "--accept-roles")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = sfumato("publish", str(policy), "--out", str(tmp_path / "release"), "--no-report", "--accept-roles")
    assert done.returncode == 0, done.stderr
    people, before, after = everybody(source), everything(source), everything(target)
    assert any(person in text for text in before.values() for person in people), (
        "the search finds people where they are"
    )
    assert not {(table, person) for table, text in after.items() for person in people if person in text}
    assert joins(target) == joins(source)
    seen(name, found.stdout)
    postgres.drop_all()


def seen(name: str, policy: str) -> None:
    """What was called personal when the schema was written is replaced or asked about; besides it, keys aside, hardly
    anything."""
    tree = yaml.safe_load(policy)
    replaced = {column for column, entry in tree["columns"].items() if entry["role"] == "replaced"}
    asked = {column for column, entry in tree["columns"].items() if entry["role"] == "review"}
    replaced |= {column for group in tree["data"].get("consistent", ()) for column in group}
    pairs = [set(rule.replace("`", "").split(" references ")) for rule in tree["keep"] if " references " in rule]
    for _ in pairs:  # what refers to a replaced column follows it, and the other way round
        replaced |= {column for pair in pairs if pair & replaced for column in pair}
    personal, _ = personal_columns(name)
    others = {column for column in replaced - personal if not column.endswith(KEYS)}
    assert personal - replaced - asked == set()
    assert len(personal & asked) <= 2
    assert not [line for line in policy.splitlines() if "plain-column" in line or "undecided-column" in line]
    assert len(others) <= 1, others


def test_a_school_is_nobody() -> None:
    from sfumato.data.personal_columns import personal_kind

    assert [personal_kind("name", table) for table in ("schools", "teams", "hr.company")] == ["", "", ""]
    assert [personal_kind("name", table) for table in ("pupils", "hr.employee", "user_profiles")] == [
        "name",
        "name",
        "name",
    ]
