"""Known databases as files of this test run: three public ones where they lie beside the repository, and a bookshop of
our own."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import pytest
from bookshop import make_bookshop

from sfumato.data.database import Database
from sfumato.workflow.discover.databases import read_database

FOLDER = Path(__file__).parents[2] / ".." / "shared" / "data" / "relational"
OURS = "bookshop"
PUBLIC = tuple(name for name in ("chinook", "northwind", "sakila") if (FOLDER / f"{name}.sqlite.gz").is_file())
NAMES = (*PUBLIC, OURS)


def file_of(name: str, folder: Path, ending: str = "db") -> Path:
    """A database as a SQLite file of its own."""
    path = folder / f"{name}.{ending}"
    if name == OURS:
        return make_bookshop(path)
    if name not in PUBLIC:
        pytest.skip(f"says something about {name}, a public database that is not beside this repository (../shared)")
    path.write_bytes(gzip.decompress((FOLDER / f"{name}.sqlite.gz").read_bytes()))
    return path


def url_of(name: str, folder: Path) -> str:
    return f"sqlite:///{file_of(name, folder)}"


@cache
def database_of(name: str, folder: Path) -> Database:
    return read_database(url_of(name, folder))
