"""A complete target: cloned with everything the source declares, or filled where migrations made it; cut off and
resumed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from foreign_schemas import FOLDER, filled
from postgres_server import Server, session
from small_shop import sfumato

from sfumato.io.sql import bulk_load
from tests.slow import SLOW


def migrated(name: str, url: str) -> str:
    """The tables of a foreign schema without a row, and what newer migrations have added."""
    text = (FOLDER / f"{name}.sql").read_text()
    statements = [part for part in text.split(";\n") if not part.lstrip().startswith(("INSERT", "UPDATE", "REFRESH"))]
    with session(url) as connection:
        connection.execute(";\n".join(statements) + ";")
        connection.execute(
            "CREATE TABLE schema_migrations (version text); INSERT INTO schema_migrations VALUES ('20240101')"
        )
    return url


class Sources:
    """Foreign databases and the policies found for them, made once: whoever publishes only reads them."""

    def __init__(self, server: Server) -> None:
        self.server, self.urls, self.found = server, {}, {}

    def filled(self, name: str) -> str:
        if name not in self.urls:
            self.urls[name] = filled(name, self.server.database())
            self.server.made.pop()  # the test that asked first does not take it away
        return self.urls[name]

    def policy(self, name: str, target: str, mode: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("SFUMATO_SOURCE", self.filled(name))
        monkeypatch.setenv("SFUMATO_TARGET", target)
        if name not in self.found:
            self.found[name] = sfumato("discover", self.filled(name), "--target", target, "--mode", "create").stdout
            assert target not in self.found[name]
        policy, wanted = folder / "found.yaml", "target: {url: '${SFUMATO_TARGET}', mode: " + mode + "}"
        policy.write_text(self.found[name].replace("target: ${SFUMATO_TARGET}", wanted))
        return policy


@pytest.fixture(scope="module")
def sources(postgres: Server) -> Iterator[Sources]:
    made = Sources(postgres)
    yield made
    postgres.made += [str(sa.make_url(url).database) for url in made.urls.values()]
    postgres.drop_all()


def asked(url: str, query: str) -> list[tuple]:
    with session(url) as connection:
        return connection.execute(query).fetchall()


def published(policy: Path, folder: Path, *more: str) -> tuple[int, str]:
    done = sfumato("publish", str(policy), "--out", str(folder / "release"), "--no-report", "--accept-roles", *more)
    return done.returncode, done.stderr


def test_a_clone_has_views_triggers_and_fresh_materialized_views(
    tmp_path, postgres: Server, sources: Sources, monkeypatch
) -> None:
    source, target = sources.filled("shop"), postgres.database()
    policy = sources.policy("shop", target, "clone", tmp_path, monkeypatch)
    code, told = published(policy, tmp_path)
    assert code == 0, told
    assert asked(target, "SELECT count(*) FROM revenue") == asked(source, "SELECT count(*) FROM revenue")
    assert asked(target, "SELECT count(*) FROM best_customers") == asked(source, "SELECT count(*) FROM best_customers")
    assert asked(target, "SELECT tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal") == [("touched", "O")]
    names = asked(target, "SELECT DISTINCT customer_name FROM orders")
    assert names
    assert not any(name.isupper() for (name,) in names), "the trigger slept while rows came"
    with session(target) as connection:
        connection.execute("UPDATE orders SET total = total WHERE id = (SELECT min(id) FROM orders)")
        woken = connection.execute("SELECT customer_name FROM orders ORDER BY id LIMIT 1").fetchone()
    assert woken[0].isupper(), "and works afterwards"
    postgres.drop_all()


def test_a_clone_keeps_schemas_partitions_comments_and_row_security(
    tmp_path, postgres: Server, sources: Sources, monkeypatch
) -> None:
    source, target = sources.filled("personnel"), postgres.database()
    code, told = published(sources.policy("personnel", target, "clone", tmp_path, monkeypatch), tmp_path)
    assert code == 0, told
    for query in (
        (
            "SELECT relname, relkind, relrowsecurity FROM pg_class WHERE relnamespace::regnamespace::text ~"
            " 'hr|payroll' ORDER BY 1"
        ),
        "SELECT description FROM pg_description WHERE objoid = 'hr.employee'::regclass",
        "SELECT count(*) FROM payroll.payment_2022",
        (
            "SELECT conname, convalidated FROM pg_constraint WHERE connamespace::regnamespace::text IN ('hr',"
            " 'payroll') ORDER BY 1"
        ),
    ):
        assert asked(target, query) == asked(source, query), query
    postgres.drop_all()


def test_rows_are_filled_into_migrated_tables(tmp_path, postgres: Server, sources: Sources, monkeypatch) -> None:
    target = migrated("shop", postgres.database())
    with session(target) as connection:
        connection.execute("ALTER TABLE customers ADD COLUMN newer text DEFAULT 'x'")
    before = asked(target, "SELECT conname FROM pg_constraint ORDER BY 1")
    code, told = published(sources.policy("shop", target, "fill", tmp_path, monkeypatch), tmp_path)
    assert code == 0, told
    assert asked(target, "SELECT conname FROM pg_constraint ORDER BY 1") == before, "keys that were set aside are back"
    assert asked(target, "SELECT tgenabled FROM pg_trigger WHERE tgname = 'touched'") == [("O",)]
    assert asked(target, "SELECT count(*), count(newer) FROM customers") == [(130, 130)]
    assert asked(target, "SELECT version FROM schema_migrations") == [("20240101",)]
    postgres.drop_all()


def test_a_target_that_does_not_fit_is_refused_untouched(
    tmp_path, postgres: Server, sources: Sources, monkeypatch
) -> None:
    target = migrated("shop", postgres.database())
    with session(target) as connection:
        connection.execute("ALTER TABLE customers DROP COLUMN phone")
    code, told = published(sources.policy("shop", target, "fill", tmp_path, monkeypatch), tmp_path)
    assert code == 3
    assert "customers.phone" in told
    assert asked(target, "SELECT count(*) FROM orders") == [(0,)]
    postgres.drop_all()


CUTS = [("create", 3), ("fill", 0), ("clone", 3)]
if SLOW:
    CUTS += [("create", 0), ("fill", 3), ("clone", 0)]


@pytest.mark.parametrize(("mode", "after"), CUTS)
def test_a_load_cut_off_goes_on(mode, after, tmp_path, postgres: Server, sources: Sources, monkeypatch) -> None:
    target = postgres.database() if mode != "fill" else migrated("shop", postgres.database())
    policy = sources.policy("shop", target, mode, tmp_path, monkeypatch)
    copied, real = [], bulk_load._copy

    def cut(link, table, frame, steps):
        if len(copied) == after:
            raise KeyboardInterrupt
        copied.append(table.name)
        return real(link, table, frame, steps)

    monkeypatch.setattr(bulk_load, "_copy", cut)
    with pytest.raises(BaseException) as ended:
        code, told = published(policy, tmp_path)
        raise SystemExit(code)
    assert ended.value.code not in (0, None) if isinstance(ended.value, SystemExit) else True
    monkeypatch.setattr(bulk_load, "_copy", real)
    code, told = published(policy, tmp_path)
    assert code == 0, told
    assert asked(target, "SELECT count(*) FROM order_lines") == [(780,)]
    assert asked(target, "SELECT count(*) FROM pg_class WHERE relname LIKE '\\_sfumato%'") == [(0,)]
    postgres.drop_all()
