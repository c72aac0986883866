"""What a load has done so far, kept in the target itself and written in the same transaction as each table.

Invariant: a table named here with its rows is complete; a table that is not is as it was before. One row without a
table says whose load it is; tables that were there before and are to be replaced have -1 rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.io.sql.addresses import QUALIFIED, quoted
from sfumato.io.sql.connection import Session

JOURNAL, ASIDE = "_sfumato_load", "_sfumato_aside"
_OLD = -1
_DUCKDB = """
SELECT CASE WHEN table_schema = current_schema() THEN table_name ELSE table_schema || '.' || table_name END
FROM information_schema.tables WHERE table_catalog = current_database()"""


REHEARSAL = "a rehearsal"
"""The name of a load that only looks whether it could begin."""


class Rehearsed(Exception):
    """Raised by a rehearsal at the first step that would change the target; it names what prevents the load."""

    def __init__(self, standing: Iterable[str]) -> None:
        super().__init__()
        self.standing = tuple(sorted(standing))


def only_looking(fingerprint: str, standing: Iterable[str] = ()) -> None:
    """Inside a transaction that has changed nothing it will not take back: a rehearsal ends here."""
    if fingerprint == REHEARSAL:
        raise Rehearsed(standing)


@dataclass(frozen=True, slots=True)
class Journal:
    """An unfinished load."""

    fingerprint: str
    done: dict[str, tuple[int, str]]
    old: frozenset[str]


def existing(link: Session) -> set[str]:
    """Everything in the target that has rows, by name."""
    if link.dialect == "sqlite":
        return {row[0] for row in link.rows("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    if link.dialect == "duckdb":
        return {row[0] for row in link.rows(_DUCKDB)}
    if link.dialect == "mariadb":
        return {
            row[0]
            for row in link.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = database()")
        }
    relations = f"relkind IN ('r', 'p', 'v', 'm', 'f') AND {link.inside('c.relnamespace')}"
    return {row[0] for row in link.rows(f"SELECT {QUALIFIED.format('c')} FROM pg_class c WHERE {relations}")}


def look(link: Session) -> Journal | None:
    """The unfinished load of this target, if there is one."""
    if JOURNAL not in existing(link):
        return None
    rows = link.rows(f'SELECT fingerprint, table_name, "rows", sha256 FROM {quoted(JOURNAL)}')
    if not rows:  # cut off between its making and its first row, where a server cannot do both at once
        return None
    done = {name: (int(count), digest) for _, name, count, digest in rows if name and int(count) != _OLD}
    old = frozenset(name for _, name, count, _ in rows if name and int(count) == _OLD)
    return Journal(rows[0][0], done, old - set(done))


def begin(link: Session, fingerprint: str, old: Iterable[str]) -> None:
    """Inside a transaction: the first row, and the tables that will be replaced."""
    link.run(f'CREATE TABLE {quoted(JOURNAL)} (fingerprint text, table_name text, "rows" bigint, sha256 text)')
    link.resume()
    record(link, fingerprint, "", 0, "")
    for name in sorted(old):
        record(link, fingerprint, name, _OLD, "")


def record(link: Session, fingerprint: str, table: str, rows: int, digest: str) -> None:
    """Inside the transaction that completes a table."""
    values = ", ".join([link.mark] * 4)
    link.run(
        f'INSERT INTO {quoted(JOURNAL)} (fingerprint, table_name, "rows", sha256) VALUES ({values})',
        fingerprint,
        table,
        rows,
        digest,
    )


def close(link: Session) -> None:
    """Inside the transaction that settles the load."""
    link.run(f"DROP TABLE IF EXISTS {quoted(JOURNAL)}")
