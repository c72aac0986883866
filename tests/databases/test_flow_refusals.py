"""What must be refused: each with one clear line, its exit code, no secret in it, and nothing changed anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from postgres_server import Server
from shops import asked, copy
from small_shop import POLICY, make_shop, sfumato, write_policy

import sfumato as sf
from sfumato.core.errors import DataError, Infeasible, PolicyError
from sfumato.io.sql import load, read_rows, read_schema


def refused(tmp_path: Path, policy: Path, code: int, *words: str, command: str = "publish") -> str:
    """Runs the command; it must fail with this code and these words, and leave no folder."""
    out = tmp_path / "release"
    done = sfumato(command, str(policy), *(("--out", str(out)) if command == "publish" else ()))
    assert done.returncode == code, done.stderr or done.stdout
    line = done.stderr.strip()
    assert line.startswith("error: ") and "\n" not in line and "Traceback" not in line
    for word in words:
        assert word in line, line
    assert "sesame" not in line and "hunter2" not in line
    return line


def test_the_target_is_the_source(tmp_path: Path) -> None:
    source = make_shop(tmp_path / "shop.db")
    before = (tmp_path / "shop.db").read_bytes()
    (tmp_path / "again.db").symlink_to(tmp_path / "shop.db")
    for target in (source, f"sqlite:///{tmp_path}/./again.db", "sqlite:///shop.db"):
        refused(tmp_path, write_policy(tmp_path, source, target), 2, "the target is the source")
    assert (tmp_path / "shop.db").read_bytes() == before
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize("mode", ["fill", "clone"])
def test_a_mode_that_needs_one_kind_of_server_is_told_by_check(tmp_path: Path, mode: str) -> None:
    url = f"duckdb:///{tmp_path}/target.duckdb"
    policy = write_policy(tmp_path, make_shop(tmp_path / "shop.db"), url)
    lines = policy.read_text().splitlines()
    said = [
        f"  target: {{url: '{url}', mode: {mode}}}" if line.strip().startswith("target:") else line for line in lines
    ]
    assert said != lines
    policy.write_text("\n".join(said))
    for command in ("check", "publish"):
        refused(
            tmp_path, policy, 2, f"mode '{mode}' needs the same kind of server on both sides", "create", command=command
        )
    assert sorted(file.name for file in tmp_path.iterdir()) == ["shop.db", "shop.yaml"]


def test_the_target_is_the_source_in_postgresql(tmp_path: Path, postgres: Server) -> None:
    url = postgres.database()
    copy(make_shop(tmp_path / "shop.db"), url)
    other = url.replace("127.0.0.1", "localhost")
    refused(tmp_path, write_policy(tmp_path, url, other), 2, "the target is the source")


def test_the_target_is_the_source_in_a_schema_of_its_own(tmp_path: Path, postgres: Server) -> None:
    url, shop = postgres.database(), make_shop(tmp_path / "shop.db")
    with postgres.admin(str(sa.make_url(url).database)) as connection:
        connection.execute('CREATE SCHEMA "App"')
    schema = read_schema(shop)
    load(url, schema, read_rows(shop, schema).tables, fingerprint="a plain copy", namespace="App")
    policy = write_policy(tmp_path, url, url, POLICY.replace("  kind: database", "  kind: database\n  schema: App"))
    before = asked(url, 'SELECT * FROM "App".customer ORDER BY id')
    done = sfumato("publish", str(policy), "--out", str(tmp_path / "release"), "--replace")
    assert done.returncode == 2 and "the target is the source" in done.stderr
    assert asked(url, 'SELECT * FROM "App".customer ORDER BY id') == before


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("sqlite:///nowhere.db", ("no such",)),
        ("postgresql://somebody:hunter2@127.0.0.1:1/db", ("cannot",)),
        ("oracle://somebody:hunter2@example/db", ("not supported",)),
        ("just words", ("URL",)),
    ],
)
def test_a_wrong_url(tmp_path: Path, source: str, words: tuple[str, ...]) -> None:
    policy = write_policy(tmp_path, source, f"sqlite:///{tmp_path}/target.db")
    refused(tmp_path, policy, 3)
    assert not (tmp_path / "release").exists() and not (tmp_path / "target.db").exists()


def test_a_wrong_password(tmp_path: Path, postgres: Server) -> None:
    url = sa.make_url(postgres.database()).set(password="hunter2").render_as_string(hide_password=False)
    refused(tmp_path, write_policy(tmp_path, url, "sqlite:///t.db"), 3)


def test_missing_rights_on_the_source_and_on_the_target(tmp_path: Path, postgres: Server) -> None:
    source, target = postgres.database(), postgres.database()
    copy(make_shop(tmp_path / "shop.db"), source)
    name = str(sa.make_url(target).database)
    with postgres.admin() as connection:
        connection.execute(f"CREATE ROLE poor_{name} LOGIN PASSWORD 'hunter2'")  # type: ignore[call-overload]
    poor_source = postgres.at(str(sa.make_url(source).database), username=f"poor_{name}", password="hunter2")
    refused(tmp_path, write_policy(tmp_path, poor_source, target), 3, "rights")
    assert not (tmp_path / "release").exists()
    poor_target = postgres.at(name, username=f"poor_{name}", password="hunter2")
    policy = write_policy(tmp_path, source, poor_target)
    for command in ("check", "publish"):
        refused(tmp_path, policy, 3, "rights", command=command)
    assert asked(target, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")[1] == [(0,)]
    assert not (tmp_path / "release").exists()
    assert sfumato("check", str(write_policy(tmp_path, source, target))).returncode == 0
    assert asked(target, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")[1] == [(0,)]


@pytest.mark.parametrize("mode", ["create", "fill", "clone"])
def test_what_stands_in_the_target_is_told_before_anything_is_made(tmp_path: Path, mode: str) -> None:
    """A table, or rows of one, in the way: a warning of `check`, a refusal of `publish`; an empty target leaves no
    trace."""
    source, target = make_shop(tmp_path / "shop.db"), tmp_path / "target.db"
    text = POLICY.replace("target: {target}", "target: {{url: '{target}', mode: " + mode + "}}")
    policy = write_policy(tmp_path, source, f"sqlite:///{target}", text)
    assert sfumato("check", str(policy)).returncode == (3 if mode == "fill" else 0)
    assert not target.exists()
    make_shop(target)
    before = target.read_bytes()
    if mode == "clone":
        refused(tmp_path, policy, 3, "needs an empty database", command="check")
    else:
        assert "[target-table:customer]" in sfumato("check", str(policy)).stdout
    refused(tmp_path, policy, 3, "already")
    assert target.read_bytes() == before
    assert not (tmp_path / "release").exists()


def test_an_unsupported_type(tmp_path: Path, postgres: Server) -> None:
    """A type that only the source's server has: the target refuses before anything is made there."""
    source, target = postgres.database(), postgres.database()
    with postgres.admin(str(sa.make_url(source).database)) as connection:
        connection.execute("CREATE TYPE odd_range AS RANGE (subtype = int4)")
        connection.execute("CREATE TABLE customer (id int PRIMARY KEY, odd odd_range)")
        connection.execute("INSERT INTO customer VALUES (1, '[1,2)')")
    text = "version: 1\ndata: {{kind: database, source: '{source}', target: '{target}'}}\ncolumns:\n  customer.id: "
    policy = write_policy(tmp_path, source, target, text + "{{role: replaced, domain: {{integers: [1, 9]}}}}\n")
    for command in ("check", "publish"):
        refused(tmp_path, policy, 3, "odd_range", command=command)
    assert not (tmp_path / "release").exists()
    assert asked(target, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")[1] == [(0,)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("customer.name: ", "customer.nam: ", ("no column 'customer.nam'", "customer.name", "shop.yaml:")),
        ("customer.name: ", "client.name: ", ("no table for 'client.name'",)),
        ("{{fakes: name}}", "{{fakes: names}}", ("unknown fakes", "shop.yaml:")),
        ("{{integers: [0, 500]}}", "{{fakes: name}}", ("does not fit", "shop.yaml:")),
        ("{{integers: [0, 500]}}", "{{decimals: [0, 5], places: 2}}", ("does not fit",)),
        ("mean(orders.total)", "mean(orders.totl)", ("no column 'orders.totl'", "character")),
        ("{source}", "${{SFUMATO_NOT_SET}}", ("SFUMATO_NOT_SET",)),
        ("columns:", "  deterministic: [customer.email]\ncolumns:", ("secret",)),
        ("columns:", "  consistent: [[customer.email, newsletter.mail]]\ncolumns:", ("newsletter.mail",)),
        ("keep:", 'keep:\n  - "customer.id < orders.total"', ("linked",)),
        ("customer.name:   {{role: replaced", "customer.name:   {{role: identifier", ("role",)),
        ("columns:", "  colour: blue\ncolumns:", ("unknown key 'colour'",)),
    ],
)
def test_a_policy_that_does_not_fit(tmp_path: Path, old: str, new: str, words: tuple[str, ...]) -> None:
    assert old in POLICY
    source = make_shop(tmp_path / "shop.db")
    policy = write_policy(tmp_path, source, f"sqlite:///{tmp_path}/target.db", POLICY.replace(old, new, 1))
    refused(tmp_path, policy, 2, *words)
    assert not (tmp_path / "release").exists() and not (tmp_path / "target.db").exists()


def test_what_the_source_breaks_is_told_before_the_work(tmp_path: Path) -> None:
    source = make_shop(tmp_path / "shop.db")
    text = POLICY.replace("keep:", 'keep:\n  - "unique(customer.country)"')
    with pytest.raises(DataError, match="breaks the rule"):
        sf.publish(write_policy(tmp_path, source, "''", text))


def test_a_domain_too_small_for_its_key(tmp_path: Path) -> None:
    source = make_shop(tmp_path / "shop.db")
    text = POLICY.replace("[1, 99999]", "[1, 50]")
    with pytest.raises(Infeasible, match="only 50 different values"):
        sf.publish(write_policy(tmp_path, source, "''", text))


def test_totals_whose_nulls_differ(tmp_path: Path) -> None:
    source = make_shop(tmp_path / "shop.db")
    with asked_to_write(tmp_path / "shop.db") as connection:
        connection.execute("ALTER TABLE orders ADD COLUMN tip INTEGER")
        connection.execute("UPDATE orders SET tip = id % 3 WHERE id % 5 > 0")
    extra = "columns:\n  orders.tip: {{role: replaced, domain: {{integers: [0, 9]}}}}"
    text = POLICY.replace("columns:", extra).replace("keep:", 'keep:\n  - "sum(orders.tip) + sum(orders.total) = 9000"')
    with pytest.raises(PolicyError, match="nulls differ"):
        sf.publish(write_policy(tmp_path, source, "''", text))


def asked_to_write(path: Path):  # type: ignore[no-untyped-def]
    import sqlite3

    return sqlite3.connect(path)
