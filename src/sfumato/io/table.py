"""``kind: table``: one table from a file, a frame or a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq
from pydantic import Field

from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.io.base import Source
from sfumato.io.files import read_file
from sfumato.io.frames import from_frame
from sfumato.io.sql import is_url, read_sql


class TableSource(Source):
    """One table: a file (.csv, .csv.gz, .parquet), a frame, or a table of a database."""

    name: ClassVar[str] = "table"
    needs_key: ClassVar[bool] = True
    private: ClassVar[tuple[str, ...]] = ("source", "base", "table")

    table: str = Field(default="", description="which table, when the source is a database")

    def read(self, data: Any = None) -> Table:
        if data is None:
            return Table(self._declared())
        if isinstance(data, Table):
            return data
        if isinstance(data, str) and is_url(data):
            return Table(read_sql(data, self.table))
        if isinstance(data, str | Path):
            return Table(read_file(Path(data)))
        return Table(from_frame(data))

    def _declared(self) -> Any:
        if not self.source:
            raise DataError("the policy names no source", hint="add 'source:' under data, or give the data with --data")
        return read_sql(self.source, self.table) if is_url(self.source) else read_file(self.path())

    def size(self) -> int | None:
        """Exact for Parquet; for CSV a guess from the file's size and its first lines."""
        if not self.source or is_url(self.source) or not self.path().is_file():
            return None
        if self.path().suffix == ".parquet":
            return int(pq.read_metadata(self.path()).num_rows)
        return _guess_rows(self.path())


def _guess_rows(path: Path) -> int:
    factor = 6 if path.suffix == ".gz" else 1
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if path.suffix == ".gz":
        return path.stat().st_size * factor // 80
    lines = max(head.count(b"\n"), 1)
    return int(path.stat().st_size / (len(head) / lines))
