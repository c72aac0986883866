"""Databases that Sfumato was not made for: twelve schemas in `foreign/`, after public applications, with invented
people.

In the files a column that says something about people ends with `-- personal`.
"""

from __future__ import annotations

import re
from pathlib import Path

from postgres_server import session

FOLDER = Path(__file__).parent / "foreign"
NAMES = tuple(sorted(file.stem for file in FOLDER.glob("*.sql") if file.stem != "prelude"))
_TABLE = re.compile(r"CREATE TABLE (?:public\.)?(\S+) \(\n(.*?)\n\)", re.DOTALL)
_COLUMN = re.compile(r'^  ("[^"]+"|[a-z_0-9]+) [^\n]*$', re.MULTILINE)


def filled(name: str, url: str) -> str:
    """The schema with its rows in an empty database."""
    with session(url) as connection:
        connection.execute((FOLDER / "prelude.sql").read_text())
        connection.execute((FOLDER / f"{name}.sql").read_text())
    return url


def personal_columns(name: str) -> tuple[set[str], set[str]]:
    """The columns that somebody called personal when the schema was written, and all columns."""
    marked, every = set(), set()
    for table, body in _TABLE.findall((FOLDER / f"{name}.sql").read_text()):
        for line in _COLUMN.finditer(body):
            if "GENERATED ALWAYS AS (" not in line[0]:
                column = f"{table.strip(chr(34))}.{line[1].strip(chr(34))}"
                every.add(column)
                marked |= {column} if line[0].rstrip().endswith("-- personal") else set()
    return marked, every
