"""What must be true of single rows, where rows lie elsewhere: looked at file by file, where the files lie, and added up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.data.table import Table
from sfumato.errors import ReleaseError
from sfumato.io.files import require_cells
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import part_files


def counted_by_file(exhibit: Exhibit, count: Callable[[Table], int]) -> int:
    """The sum of what `count` finds in every file of the main part; it is sent to where they lie."""
    return sum(gathered_by_file(exhibit, count))


def gathered_by_file(exhibit: Exhibit, find: Callable[[Table], Any]) -> list[Any]:
    """What is found in every file of the main part."""
    if exhibit.folder is None:
        raise ReleaseError("the rows of this release are not at hand")
    return exhibit.over_files(partial(_in_file, find), part_files(exhibit.folder, "data"))


def repeated(exhibit: Exhibit, names: list[str]) -> int:
    """Rows of all files together that say in some columns what another row says."""
    if exhibit.folder is None or exhibit.repeats is None:
        raise ReleaseError("the rows of this release are not at hand")
    return exhibit.repeats(part_files(exhibit.folder, "data"), names)


def _in_file(find: Callable[[Table], Any], file: Path) -> Any:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as opened:
        require_cells(opened, file)
        return find(Table(opened.read()))
