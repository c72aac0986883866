"""Wrong URLs, missing rights, unknown types, a target that is the source: a clear error, no secret in it, nothing
changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from database_cases import WIDE, real, whole
from postgres_server import Server, session

from sfumato.core.errors import DataError
from sfumato.io.sql import connect, load, read_rows, read_schema, read_sql, same_database

Fresh = Callable[[], str]
PASSWORD = "open-sesame-17"


def role(server: Server, url: str, grants: str) -> str:
    """The URL of a new user with these rights and no other."""
    name = f"user_{sa.make_url(url).database}"
    with session(url) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")  # type: ignore[call-overload]
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        for grant in grants.split(";"):
            if grant.strip():
                connection.execute(grant.format(name))  # type: ignore[call-overload]
    return sa.make_url(url).set(username=name, password=PASSWORD).render_as_string(hide_password=False)


def tables_in(url: str) -> list[tuple[object, ...]]:
    with session(url) as connection:
        return connection.execute(
            "SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
        ).fetchall()


def secrets_of(url: str) -> list[str]:
    """What a URL says about where and as whom."""
    parsed = sa.make_url(url) if "://" in url else sa.make_url("sqlite://")
    return [str(part) for part in (parsed.password, parsed.username, parsed.host, parsed.port, parsed.database) if part]


def refused(work: Callable[[], object], *, url: str = "") -> str:
    with pytest.raises(DataError) as caught:
        work()
    message = str(caught.value)
    assert PASSWORD not in message
    assert "sesame" not in message
    assert not url or not any(secret in message for secret in secrets_of(url))
    return message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"password": "wrong"}, "refuses the user or the password"),
        ({"username": "nobody_we_know"}, "refuses the user or the password"),
        ({"database": "no_such_database"}, "no such database"),
        ({"host": "no-such-host.invalid", "query": {}}, "host of the URL is unknown"),
        ({"host": "127.0.0.1", "port": 1, "query": {}}, "no server listens"),
        ({"query": {"bogus": "1"}}, "unknown option"),
    ],
)
def test_a_server_that_cannot_be_reached(change: dict[str, object], said: str, postgres: Server) -> None:
    url = sa.make_url(postgres.database()).set(**change).render_as_string(hide_password=False)  # type: ignore[arg-type]
    if "password" not in sa.make_url(postgres.url).translate_connect_args() and said.startswith("refuses"):
        pytest.skip("this server asks for no password")
    assert said in refused(lambda: read_schema(url), url=url)


@pytest.mark.parametrize(
    "url",
    [
        "gibberish",
        "firebird://me:open-sesame-17@there/stock",
        "nosuch://x",
        "sqlite://",
        "sqlite:////no/such/file.db",
        "sqlite:////tmp",
    ],
)
def test_a_url_that_leads_nowhere(url: str) -> None:
    path = url.removeprefix("sqlite:///")
    told = refused(lambda: read_schema(url), url="" if path.startswith("/") else url)
    assert not path.startswith("/") or path in told, "a file is named as it was looked for"


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    for work in (read_schema, lambda url: read_sql(url, "t")):
        assert "does not exist" in refused(lambda work=work: work(f"sqlite:///{tmp_path}/none.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing but words " * 100)
    assert "no SQLite database" in refused(lambda: read_schema(f"sqlite:///{path}"))
    assert "folder" in refused(
        lambda: load(f"sqlite:///{tmp_path}/no/such.db", read_schema_of_nothing(), {}, fingerprint="f")
    )


def read_schema_of_nothing() -> object:
    from sfumato.data.database import Schema

    return Schema(())


@pytest.mark.parametrize("spelling", ["postgresql", "postgres", "postgresql+psycopg", "postgresql+psycopg2"])
def test_every_usual_spelling_of_the_driver_works(spelling: str, fresh: Fresh) -> None:
    url = fresh()
    spelt = spelling + url[url.index("://") :]
    with session(url) as connection:
        connection.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (7)")
    assert [table.name for table in read_schema(spelt).tables] == ["t"]
    assert read_sql(spelt, "t").to_pylist() == [{"a": 7}]


def test_the_same_server_under_another_name(postgres: Server) -> None:
    one, other = postgres.database(), postgres.database()
    renamed = sa.make_url(one).set(host="localhost" if sa.make_url(one).host != "localhost" else "127.0.0.1")
    assert same_database(one, one)
    if sa.make_url(one).host in ("127.0.0.1", "localhost"):
        assert same_database(one, renamed.render_as_string(hide_password=False))
    assert not same_database(one, other)
    with session(one) as connection:
        connection.execute("CREATE SCHEMA side")
    assert not same_database(one, one, namespaces=(None, "side"))
    assert same_database(one, one, namespaces=("public", None))


def test_the_same_server_for_users_with_different_rights(postgres: Server) -> None:
    one = postgres.database()
    assert same_database(one, role(postgres, one, ""))


def test_the_same_file_through_links(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "a.db").execute("CREATE TABLE t (a)")
    (tmp_path / "folder").symlink_to(tmp_path)
    os.link(tmp_path / "a.db", tmp_path / "hard.db")
    shutil.copy(tmp_path / "a.db", tmp_path / "copy.db")
    first = f"sqlite:///{tmp_path}/a.db"
    assert same_database(first, f"sqlite:///{tmp_path}/folder/a.db")
    assert same_database(first, f"sqlite:///{tmp_path}/folder/../{tmp_path.name}/hard.db")
    assert not same_database(first, f"sqlite:///{tmp_path}/copy.db")
    assert same_database(f"sqlite:///{tmp_path}/new.db", f"sqlite:///{tmp_path}/folder/new.db")


def test_a_target_that_is_the_source(tmp_path: Path, fresh: Fresh) -> None:
    for url in (fresh(), f"sqlite:///{tmp_path}/self.db"):
        if url.startswith("sqlite"):
            sqlite3.connect(tmp_path / "self.db").executescript("CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('x');")
        else:
            with session(url) as connection:
                connection.execute("CREATE TABLE t (a text); INSERT INTO t VALUES ('x')")
        data = whole(url)
        for replace in (False, True):
            said = refused(lambda: load(url, data.schema, data.tables, fingerprint="f", replace=replace, source=url))  # noqa: B023
            assert "the target is the source" in said
        assert whole(url).tables["t"].frame == data.tables["t"].frame


def test_a_role_that_may_only_read_is_enough_for_the_source(postgres: Server) -> None:
    url = postgres.database()
    with session(url) as connection:
        connection.execute(WIDE)  # type: ignore[arg-type]
    reader = role(postgres, url, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}")
    original, seen = whole(url), whole(reader)
    assert seen.schema == original.schema
    assert {name: table.frame for name, table in seen.tables.items()} == {
        name: table.frame for name, table in original.tables.items()
    }
    said = refused(lambda: load(reader, original.schema, original.tables, fingerprint="f", replace=True))
    assert "rights" in said
    assert whole(url).tables["wide"].frame == original.tables["wide"].frame


def test_a_source_session_cannot_write(tmp_path: Path, fresh: Fresh) -> None:
    url = fresh()
    with session(url) as connection:
        connection.execute("CREATE TABLE t (a text)")
    for statement in (
        "INSERT INTO t VALUES ('x')",
        "CREATE TABLE u (a text)",
        "DROP TABLE t",
        "SET TRANSACTION READ WRITE",
    ):
        with connect(url) as link, pytest.raises(psycopg.Error):
            link.run("SELECT 1")
            link.run(statement)
    sqlite3.connect(tmp_path / "t.db").execute("CREATE TABLE t (a)")
    with connect(f"sqlite:///{tmp_path}/t.db") as link, pytest.raises(sqlite3.OperationalError):
        link.run("INSERT INTO t VALUES (1)")


def test_a_table_that_may_not_be_read_is_named(postgres: Server) -> None:
    url = postgres.database()
    with session(url) as connection:
        connection.execute(
            "CREATE TABLE open (a text); CREATE TABLE closed (a text); INSERT INTO closed VALUES ('secret')"
        )
    reader = role(postgres, url, "GRANT SELECT ON open TO {}")
    said = refused(lambda: read_rows(reader, read_schema(reader)))
    assert "closed" in said
    assert "rights" in said


def test_row_security_that_hides_rows_is_an_error(postgres: Server) -> None:
    url = postgres.database()
    with session(url) as connection:
        connection.execute("CREATE TABLE guarded (owner text); INSERT INTO guarded VALUES ('me'), ('you')")
        connection.execute("ALTER TABLE guarded ENABLE ROW LEVEL SECURITY")
        connection.execute("CREATE POLICY own ON guarded USING (owner = 'me')")
    reader = role(postgres, url, "GRANT SELECT ON guarded TO {}")
    assert "'guarded'" in refused(lambda: whole(reader))
    assert whole(url).tables["guarded"].rows == 2


def test_a_target_without_rights_stays_as_it_is(postgres: Server, tmp_path: Path) -> None:
    data = whole(real("bookshop", tmp_path))
    url = postgres.database()
    writer = role(postgres, url, "")
    before = tables_in(url)
    assert "may not create tables" in refused(lambda: load(writer, data.schema, data.tables, fingerprint="f"))
    assert tables_in(url) == before


def test_tables_of_somebody_else_are_not_replaced(postgres: Server, tmp_path: Path) -> None:
    data = whole(real("bookshop", tmp_path))
    url = postgres.database()
    with session(url) as connection:
        connection.execute("CREATE TABLE book (x int); INSERT INTO book VALUES (1)")
    writer = role(postgres, url, "GRANT CREATE ON SCHEMA public TO {}")
    before = tables_in(url)
    refused(lambda: load(writer, data.schema, data.tables, fingerprint="f", replace=True))
    assert tables_in(url) == before


def test_names_in_sqlite_have_no_case(tmp_path: Path) -> None:
    for name, statement in (
        ("people", "TABLE people (a TEXT)"),
        ("shouted", "TABLE PEOPLE (b TEXT)"),
        ("seen", "VIEW people AS SELECT 1"),
    ):
        with sqlite3.connect(tmp_path / f"{name}.db") as connection:
            connection.execute(f"CREATE {statement}")
    data = whole(f"sqlite:///{tmp_path}/people.db")
    shouted, seen = f"sqlite:///{tmp_path}/shouted.db", f"sqlite:///{tmp_path}/seen.db"
    assert "already" in refused(lambda: load(shouted, data.schema, data.tables, fingerprint="f"))
    load(shouted, data.schema, data.tables, fingerprint="f", replace=True)
    assert [(table.name, table.names) for table in read_schema(shouted).tables] == [("people", ("a",))]
    assert "view" in refused(lambda: load(seen, data.schema, data.tables, fingerprint="f", replace=True))


def test_what_others_need_is_not_swept_away(postgres: Server, tmp_path: Path) -> None:
    data = whole(real("bookshop", tmp_path))
    url = postgres.database()
    with session(url) as connection:
        connection.execute("CREATE TABLE book (x int); CREATE VIEW needed AS SELECT * FROM book")
    before = tables_in(url)
    assert "something else" in refused(lambda: load(url, data.schema, data.tables, fingerprint="f", replace=True))
    assert tables_in(url) == before


def test_a_type_of_another_schema_comes_along(postgres: Server) -> None:
    source, target = postgres.database(), postgres.database()
    with session(source) as connection:
        connection.execute("CREATE SCHEMA other; CREATE TYPE other.colour AS ENUM ('red')")
        connection.execute("CREATE TABLE fine (a int); CREATE TABLE paint (id int, shade other.colour)")
    data = whole(source)
    load(target, data.schema, data.tables, fingerprint="f")
    assert whole(target).schema.table("paint").column("shade").native == "other.colour"


def test_a_function_that_a_default_calls_comes_along(postgres: Server) -> None:
    source, target = postgres.database(), postgres.database()
    with session(source) as connection:
        connection.execute("CREATE FUNCTION fancy() RETURNS int LANGUAGE sql AS 'SELECT 1'")
        connection.execute("CREATE TABLE fine (a int); CREATE TABLE odd (id int DEFAULT fancy())")
    data = whole(source)
    load(target, data.schema, data.tables, fingerprint="f")
    with session(target) as connection:
        connection.execute("INSERT INTO odd DEFAULT VALUES")
        assert connection.execute("SELECT id FROM odd").fetchall() == [(1,)]


def test_a_foreign_key_to_columns_that_are_not_unique(tmp_path: Path, fresh: Fresh) -> None:
    with sqlite3.connect(tmp_path / "odd.db") as connection:
        connection.executescript(
            "CREATE TABLE p (a TEXT); CREATE TABLE c (a TEXT REFERENCES p (a)); INSERT INTO c VALUES (NULL)"
        )
    data, target = whole(f"sqlite:///{tmp_path}/odd.db"), fresh()
    for url in (target, f"sqlite:///{tmp_path}/copy.db"):
        assert "not unique" in refused(lambda url=url: load(url, data.schema, data.tables, fingerprint="f"))
    assert tables_in(target) == []
    assert not (tmp_path / "copy.db").exists()


def test_a_sequence_of_somebody_else_is_not_taken(postgres: Server) -> None:
    source, target = postgres.database(), postgres.database()
    with session(source) as connection:
        connection.execute("CREATE TABLE t (id serial)")
    with session(target) as connection:
        connection.execute("CREATE SEQUENCE t_id_seq")
    data = whole(source)
    assert "sequence 't_id_seq'" in refused(lambda: load(target, data.schema, data.tables, fingerprint="f"))


def test_another_type_of_the_same_name(postgres: Server) -> None:
    source, target = postgres.database(), postgres.database()
    for url, labels in ((source, "'red', 'blue'"), (target, "'red'")):
        with session(url) as connection:
            connection.execute(f"CREATE TYPE colour AS ENUM ({labels})")  # type: ignore[call-overload]
    with session(source) as connection:
        connection.execute("CREATE TABLE paint (shade colour)")
    data = whole(source)
    assert "colour" in refused(lambda: load(target, data.schema, data.tables, fingerprint="f"))
    assert tables_in(target) == []


def test_bytes_and_text_in_one_column_cannot_go_to_postgresql(tmp_path: Path, fresh: Fresh) -> None:
    with sqlite3.connect(tmp_path / "mixed.db") as connection:
        connection.execute("CREATE TABLE mixed (thing BLOB)")
        connection.executemany("INSERT INTO mixed VALUES (?)", [(b"x",), ("private words",)])
    data, target = whole(f"sqlite:///{tmp_path}/mixed.db"), fresh()
    said = refused(lambda: load(target, data.schema, data.tables, fingerprint="f"))
    assert "'thing'" in said
    assert "'mixed'" in said
    assert "private" not in said
    assert tables_in(target) == []


def test_the_character_nul_cannot_go_to_postgresql(tmp_path: Path, fresh: Fresh) -> None:
    with sqlite3.connect(tmp_path / "nul.db") as connection:
        connection.execute("CREATE TABLE nul (word TEXT)")
        connection.execute("INSERT INTO nul VALUES (?)", ("pri\0vate",))
    data, target = whole(f"sqlite:///{tmp_path}/nul.db"), fresh()
    assert "'word'" in refused(lambda: load(target, data.schema, data.tables, fingerprint="f"))
    assert tables_in(target) == []
    copy = f"sqlite:///{tmp_path}/copy.db"
    load(copy, data.schema, data.tables, fingerprint="f")
    assert whole(copy).tables["nul"].frame == data.tables["nul"].frame


def test_text_that_is_not_utf8_is_named_not_shown(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "latin.db") as connection:
        connection.execute("CREATE TABLE latin (word TEXT)")
        connection.execute("INSERT INTO latin VALUES (CAST(x'6d7970726976617465ff' AS TEXT))")
    said = refused(lambda: whole(f"sqlite:///{tmp_path}/latin.db"))
    assert "latin" in said
    assert "private" not in said


def test_an_unknown_table_or_schema(fresh: Fresh) -> None:
    url = fresh()
    with session(url) as connection:
        connection.execute("CREATE TABLE people (a int)")
    assert "did you mean 'people'" in refused(lambda: read_schema(url, tables=["peple"]))
    assert "no schema 'nowhere'" in refused(lambda: read_schema(url, "nowhere"))
