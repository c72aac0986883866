"""What the database of a ledger declares: its tables, and triggers that keep them append-only."""

from __future__ import annotations

import sqlite3
from functools import cache
from typing import Any

SCHEMA = """
CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE files (entry INTEGER NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (entry, name));
CREATE TRIGGER keep_entries BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER hold_entries BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER keep_files BEFORE UPDATE ON files BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER hold_files BEFORE DELETE ON files BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
"""
TRIGGER = "CREATE TRIGGER keep_files BEFORE UPDATE ON files BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"


def readable(text: bytes) -> str:
    """Text of a damaged file is no reason to stumble: what is no UTF-8 fits neither the schema nor the chain."""
    return text.decode("utf-8", "replace")


def schema_of(base: sqlite3.Connection) -> list[Any]:
    """Everything a database declares: tables, indices, views and triggers with their text, virtual tables included."""
    return base.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()


@cache
def known_schema() -> list[Any]:
    """What a ledger declares."""
    base = sqlite3.connect(":memory:")
    try:
        base.executescript(SCHEMA)
        return schema_of(base)
    finally:
        base.close()
