"""A draft keeps what rows refer to: no reference is emptied or invented, and what it says is what `publish` can do."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from small_shop import sfumato

from sfumato.data.table import Table
from sfumato.workflow.discover.column_profiles import DataView
from sfumato.workflow.discover.constraints import failure_remarks, proposals
from sfumato.workflow.discover.templates import ForeignKeys, Template

FIRST = ("Anna", "Bernd", "Carla", "Dirk", "Elena", "Fritz", "Greta", "Hugo", "Ines", "Jonas")
LAST = ("Acker", "Brandt", "Clausen", "Dorn", "Ebert", "Falk", "Gruber", "Heine", "Immel", "Jansen")
SIGNS = "abcdefghijkmnopqrstuwxyz13456789"


def chat(path: Path) -> str:
    """Users with text ids, posts that name them without a declared key, and preferences that list ids and nicknames."""
    chance = random.Random(3)
    ids = ["".join(chance.choices(SIGNS, k=26)) for _ in range(230)]
    nicks = [f"{FIRST[n % 10]}{LAST[n // 10 % 10]}{n}".lower() for n in range(230)]
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE users (id varchar(26) PRIMARY KEY, username varchar(64) UNIQUE, email text, displayname text)"
        )
        connection.execute(
            "CREATE TABLE posts (id varchar(26) PRIMARY KEY, userid varchar(26), parentid text, amount integer)"
        )
        connection.execute("CREATE TABLE preferences (id integer PRIMARY KEY, userid varchar(26), value text)")
        for n, one in enumerate(ids):
            shown = nicks[n] if n < 30 else ""
            connection.execute("INSERT INTO users VALUES (?, ?, ?, ?)", (one, nicks[n], f"{nicks[n]}@mail.test", shown))
            listed = ", ".join(f'"{other}"' for other in (chance.choice(ids), chance.choice(nicks), chance.choice(ids)))
            connection.execute("INSERT INTO preferences VALUES (?, ?, ?)", (n + 1, chance.choice(ids), f"[{listed}]"))
        made: list[str] = []
        for n in range(2_000):
            own = "".join(chance.choices(SIGNS, k=26))
            parent = chance.choice(made) if made and n % 3 else ""
            made.append(own)
            connection.execute("INSERT INTO posts VALUES (?, ?, ?, ?)", (own, chance.choice(ids), parent, n % 7))
    return f"sqlite:///{path}"


def asked(path: Path, query: str) -> int:
    with sqlite3.connect(path) as connection:
        return connection.execute(query).fetchone()[0]


def test_the_draft_of_a_chat_keeps_posts_and_users_together_and_runs_as_it_stands(tmp_path: Path) -> None:
    source, target, policy = tmp_path / "chat.db", tmp_path / "target.db", tmp_path / "policy.yaml"
    policy.write_text(sfumato("discover", chat(source), "--target", f"sqlite:///{target}").stdout)
    drafted = yaml.safe_load(policy.read_text())
    emptied = {name for name, entry in drafted["columns"].items() if "empty" in entry.get("domain", {})}
    assert not emptied & {
        "posts.userid",
        "preferences.userid",
        "users.id",
        "posts.id",
        "posts.parentid",
        "users.username",
    }
    assert any("posts.userid references users.id" in rule for rule in drafted["keep"])
    assert not any(name.startswith("broken-") for name in drafted["data"].get("accept", ()))
    checked = sfumato("check", str(policy), "--strict", "--accept-roles")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = sfumato("publish", str(policy), "--out", str(tmp_path / "release"), "--no-report", "--accept-roles")
    assert done.returncode == 0, done.stdout + done.stderr
    for child in ("posts", "preferences"):
        joined = f"SELECT count(*) FROM {child} c JOIN users u ON u.id = c.userid"
        assert asked(target, joined) == asked(source, joined) > 0


def test_a_broken_rule_that_nothing_mends_cannot_be_accepted(tmp_path: Path) -> None:
    source, target, policy = tmp_path / "chat.db", tmp_path / "target.db", tmp_path / "policy.yaml"
    chat(source)
    policy.write_text(f"""
version: 1
data: {{kind: database, source: 'sqlite:///{source}', target: 'sqlite:///{target}', accept: ['broken-rule:1']}}
columns:
  users.email: {{role: replaced, domain: {{fakes: email}}}}
keep:
  - posts.amount > 0
""")
    checked = sfumato("check", str(policy), "--strict")
    assert checked.returncode == 2
    assert "broken-rule:1" in checked.stdout
    assert sfumato("publish", str(policy), "--out", str(tmp_path / "release"), "--no-report").returncode != 0


ODD = [
    "+1 +49 +33",
    "-0 +0 1",
    "1e5 2e5",
    ".5 1.5",
    "1. 2.",
    "NaN 1",
    "1_000 2_000",
    "0x1 0x2",
    "٣ ٤",
    "1e400 2",
    "infinity -infinity",
]


@pytest.mark.parametrize("odd", [*ODD, 'a"b c\\d', "{x} [y]", "a'b `c`"])
def test_odd_values_do_not_end_the_search(odd: str) -> None:
    table = Table(pa.table({"x": odd.split() * 40, "n": [str(n) for n in range(len(odd.split()) * 40)]}))
    view = DataView.of({None: table})
    found = [each.rule for each in proposals(view)]
    assert "unique(n)" in found
    assert all(view.holds(rule) for rule in found)


def test_codes_with_a_plus_sign_are_texts() -> None:
    table = Table(pa.table({"dial": ["+1", "+49", "+33"] * 40}))
    assert [each.rule for each in proposals(DataView.of({None: table}))] == ['dial in {"+1", "+33", "+49"}']


def test_a_template_that_fails_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from collections import Counter

    from sfumato.workflow.discover.templates import ValueLists

    def broken(self: Template, view: DataView) -> None:
        raise ValueError("a person's value")

    monkeypatch.setattr(ValueLists, "propose", broken)
    failed = Counter[str]()
    table = Table(pa.table({"x": ["a", "b"] * 40, "n": list(range(80))}))
    assert [each.rule for each in proposals(DataView.of({None: table}), failed=failed)] == ["unique(n)"]
    (told,) = failure_remarks(failed)
    assert "value lists" in told
    assert "person" not in told


def references(tables: dict[str, dict[str, list[object]]]) -> list[str]:
    view = DataView.of(
        {
            name: Table(pa.table({key: [str(v) for v in values] for key, values in columns.items()}))
            for name, columns in tables.items()
        }
    )
    return [each.rule for each in ForeignKeys().propose(view) if each.active]


def test_no_reference_into_a_table_of_one_row_unless_its_name_says_so() -> None:
    moment = 1_700_000_000_000
    tables = {
        "compliances": {"createat": [moment], "state": ["a"]},
        "company": {"id": [7], "label": ["x"]},
        "posts": {"id": list(range(100, 160)), "createat": [moment] * 60, "company_id": [7] * 60},
    }
    assert references(tables) == ["posts.company_id references company.id"]


def test_no_reference_from_parent_to_child() -> None:
    tables = {
        "person.address": {"addressid": list(range(1, 301)), "line": [f"s{n}" for n in range(300)]},
        "person.businessentityaddress": {
            "businessentityid": [n % 90 for n in range(300)],
            "addressid": list(range(300, 0, -1)),
        },
        "sales.header": {"orderid": list(range(1, 201)), "kind": ["k"] * 200},
        "sales.detail": {"orderid": [n // 2 + 1 for n in range(400)], "detailid": list(range(1, 401))},
    }
    found = references(tables)
    assert "`person.businessentityaddress`.addressid references `person.address`.addressid" in found
    assert not any(rule.startswith(("`person.address`.", "`sales.header`.")) for rule in found), found


def test_empty_texts_of_replaced_columns_stay_empty(tmp_path: Path) -> None:
    source, target, policy = tmp_path / "chat.db", tmp_path / "target.db", tmp_path / "policy.yaml"
    chat(source)
    policy.write_text(f"""
version: 1
data: {{kind: database, source: 'sqlite:///{source}', target: 'sqlite:///{target}'}}
columns:
  users.displayname: {{role: replaced, domain: {{fakes: name}}}}
  users.username: {{role: replaced, domain: {{pattern: '[a-z]{{12}}'}}}}
  users.email: {{role: replaced, domain: {{fakes: email}}}}
  preferences.value: {{role: replaced, domain: {{empty: true}}}}
  posts.id: {{role: replaced, domain: {{pattern: '[a-z]{{26}}'}}}}
keep:
  - posts.parentid references posts.id
""")
    done = sfumato("publish", str(policy), "--out", str(tmp_path / "release"), "--no-report", "--accept-roles")
    assert done.returncode == 0, done.stdout + done.stderr
    assert asked(target, "SELECT count(*) FROM users WHERE displayname = ''") == 200
    assert asked(target, "SELECT count(*) FROM users WHERE displayname LIKE '% %'") == 30
    none = "SELECT count(*) FROM posts WHERE parentid = ''"
    assert asked(target, none) == asked(source, none) > 0
    joined = "SELECT count(*) FROM posts p JOIN posts q ON q.id = p.parentid"
    assert asked(target, joined) == asked(source, joined) > 0


def test_of_columns_that_refer_to_each_other_one_gets_a_domain(tmp_path: Path) -> None:
    """Two tables with the same addresses: each column is contained in the other, and neither may be published as it
    is."""
    source = tmp_path / "two.db"
    people = [f"{first}.{last}@mail.test".lower() for first in FIRST for last in LAST]
    with sqlite3.connect(source) as connection:
        for table in ("members", "subscribers"):
            connection.execute(f"CREATE TABLE {table} (id integer PRIMARY KEY, email text UNIQUE)")
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", enumerate(people))
    drafted = yaml.safe_load(sfumato("discover", f"sqlite:///{source}").stdout)
    named = [
        name
        for name in ("members.email", "subscribers.email")
        if drafted["columns"].get(name, {}).get("role") == "replaced"
    ]
    together = {name for group in drafted["data"].get("consistent", ()) for name in group}
    tied = any("email references" in rule for rule in drafted["keep"])
    assert named and (len(named) == 2 or tied or together >= {"members.email", "subscribers.email"})
