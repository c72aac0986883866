"""A dump of pg_dump as a source: plain and custom, restored once into a scratch database."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from database_cases import WIDE, assert_same_rows, whole
from postgres_server import session

from sfumato.core.errors import DataError
from sfumato.data.database import Schema, TableFacts
from sfumato.io.sql import load, read_schema
from sfumato.io.sql.addresses import address_of
from sfumato.io.sql.postgres_dumps import environment_of, program
from tests.command_line import run

Fresh = Callable[[], str]


def dumped(url: str, path: Path, *options: str) -> Path:
    try:
        command = [program("pg_dump"), *options, f"--file={path}"]
    except DataError:
        pytest.skip("no pg_dump on this machine")
    subprocess.run(command, env={**os.environ, **environment_of(address_of(url))}, check=True)
    return path


def in_order(schema: Schema) -> list[TableFacts]:
    """A dump makes indexes in another order."""
    return [replace(table, indexes=tuple(sorted(table.indexes))) for table in schema.tables]


@pytest.mark.parametrize("form", ["plain", "custom", "directory", "tar"])
def test_a_dump_is_read_as_its_database(form: str, tmp_path: Path, fresh: Fresh) -> None:
    source, scratch = fresh(), fresh()
    with session(source) as connection:
        connection.execute(WIDE)  # type: ignore[arg-type]
        connection.execute("CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ SELECT E'COPY x FROM stdin;\\n' $$")
    original = whole(source)
    dump = dumped(source, tmp_path / "wide.dump", f"--format={form}")
    url = f"{scratch}?restore={dump}"
    assert in_order(read_schema(url)) == in_order(original.schema)
    assert_same_rows(original, whole(url), exactly=True)
    with session(scratch) as connection:
        connection.execute("DELETE FROM lone")
    assert whole(url).tables["lone"].rows == 0, "restored a second time"
    with pytest.raises(DataError, match="can only be a source"):
        load(url, original.schema, original.tables, fingerprint="a")


def test_what_is_no_dump_or_no_scratch_is_refused(tmp_path: Path, fresh: Fresh) -> None:
    source, scratch = fresh(), fresh()
    with session(source) as connection:
        connection.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
    plain = dumped(source, tmp_path / "t.sql")
    text = plain.read_text()
    shell = tmp_path / "shell.sql"
    shell.write_text(text + f"\\! touch {tmp_path}/touched\n")
    cut = tmp_path / "cut.sql"
    cut.write_text(text[: text.index("\\.")])
    other = tmp_path / "other.sql"
    other.write_text("SELECT 1;")
    cases = (
        (shell, "terminal program"),
        (cut, "middle of a table"),
        (other, "no dump"),
        (tmp_path / "absent", "does not exist"),
    )
    for path, what in cases:
        with pytest.raises(DataError, match=what):
            read_schema(f"{scratch}?restore={path}")
        with session(scratch) as connection:
            assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
    assert not (tmp_path / "touched").exists()
    assert [table.name for table in read_schema(f"{scratch}?restore={plain}").tables] == ["t"]
    plain.write_text(text + "-- changed\n")
    with pytest.raises(DataError, match="another dump"):
        read_schema(f"{scratch}?restore={plain}")
    with pytest.raises(DataError, match="not empty"):
        read_schema(f"{source}?restore={plain}")


def test_a_dump_becomes_a_test_database(tmp_path: Path, fresh: Fresh) -> None:
    source, scratch, target = fresh(), fresh(), fresh()
    with session(source) as connection:
        connection.execute("CREATE TABLE client (id int PRIMARY KEY, name text NOT NULL, joined date)")
        connection.execute(
            "INSERT INTO client SELECT i, 'Client Number ' || i, date '2020-01-01' + i FROM generate_series(1, 50) i"
        )
    dumped(source, tmp_path / "clients.dump", "--format=custom")
    policy = tmp_path / "clients.yaml"
    policy.write_text(f"""
version: 1
data: {{kind: database, source: "{scratch}?restore=clients.dump", target: "{target}"}}
columns:
  client.name: {{role: replaced, domain: {{fakes: name}}}}
""")
    done = run("publish", str(policy), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / "target.json").read_text())["holds"]
    with session(target) as connection:
        assert connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE name LIKE 'Client%') FROM client"
        ).fetchone() == (50, 0)
