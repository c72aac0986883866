"""The three known databases as files of this test run, and their declared keys."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import pytest

from sfumato.data.database import Database
from sfumato.discover.databases import read_database

FOLDER = Path(__file__).parents[2] / ".." / "shared" / "data" / "relational"
NAMES = ("chinook", "northwind", "sakila")


def url_of(name: str, folder: Path) -> str:
    """An SQLite URL of an unpacked copy."""
    packed = FOLDER / f"{name}.sqlite.gz"
    if not packed.is_file():
        pytest.skip(f"needs {packed.name} of the shared data")
    path = folder / f"{name}.db"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return f"sqlite:///{path}"


@cache
def database_of(name: str, folder: Path) -> Database:
    return read_database(url_of(name, folder))
