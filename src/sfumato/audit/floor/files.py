"""The folder as it lies there: what the manifest lists, and each part as a bag of rows.

Invariants
    I1  A CSV file is read by Python's own reader, strictly: UTF-8, a comma, one header of different names, rows of the same length.
    I2  A cell is its text. An empty cell and a null are the same: empty.
    I3  Only files of the folder itself that the manifest lists with a number of rows are parts, and folders of such files. Of a
        folder, whose rows may be many, only the columns that claims speak of are counted, file by file and where the files lie.

Cost: one pass over each part that is asked for, kept as different rows with their counts.

>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "data.csv"
>>> _ = path.write_text('a,b\\n1,"x\\ny"\\n1,"x\\ny"\\n2,\\n')
>>> part = read_part(path)
>>> part.columns, part.rows
(('a', 'b'), Counter({('1', 'x\\ny'): 2, ('2', ''): 1}))
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.errors import ReleaseError

Row = tuple[str, ...]
OverFiles = Callable[[Callable[[Path], Any], Sequence[Path]], list[Any]]
_LONGEST = 1 << 30
_BATCH = 1 << 16
_FILE = re.compile(r"part-\d{5}\.parquet", re.ASCII)


@dataclass(frozen=True, slots=True)
class Bag:
    """A published table: different rows, and how often each of them stands there."""

    columns: tuple[str, ...]
    rows: Counter[Row]
    seen: dict[tuple[str, ...], Any] = field(default_factory=dict, repr=False, compare=False)
    """What was counted on these rows before, by the columns it was counted for."""

    def place(self, column: str) -> int:
        """Where a column stands in a row."""
        if column not in self.columns:
            raise ReleaseError(f"column '{column}' is not published")
        return self.columns.index(column)


@dataclass(frozen=True)
class Folder:
    """Form, public parameters and parts of a release folder; a part is read when it is asked for."""

    path: Path
    form: str
    public: Mapping[str, Any]
    listed: Mapping[str, tuple[tuple[Path, ...], int]]
    """Name of a part → its file or files, and the rows that the manifest says it has."""
    over_files: OverFiles | None = None
    wanted: frozenset[str] = frozenset()
    """Columns that claims speak of."""
    _read: dict[str, Bag] = field(default_factory=dict, repr=False)

    def part(self, name: str) -> Bag:
        if name not in self.listed:
            raise ReleaseError(f"there is no part '{name}'")
        if name not in self._read:
            files, _ = self.listed[name]
            self._read[name] = read_part(files[0]) if _is_single(files) else self._together(files)
        return self._read[name]

    def miscounted(self) -> Iterator[str]:
        """Parts that do not have as many rows as the manifest says."""
        for name, (files, rows) in self.listed.items():
            found = self._read[name].rows.total() if name in self._read else self._counted(files)
            if found != rows:
                what = files[0].name if _is_single(files) else name
                yield f"{what} has {found} rows, the manifest says {rows}"

    def _counted(self, files: tuple[Path, ...]) -> int:
        return count_rows(files[0]) if _is_single(files) else self._together(files).rows.total()

    def _together(self, files: tuple[Path, ...]) -> Bag:
        """The rows of all files of a part in one bag."""
        count = partial(read_columns, wanted=self.wanted)
        bags = self.over_files(count, files) if self.over_files is not None else [count(file) for file in files]
        if len({bag.columns for bag in bags}) > 1:
            raise ReleaseError("the files of a part have different columns")
        whole: Counter[Row] = Counter()
        for bag in bags:
            whole.update(bag.rows)
        return Bag(bags[0].columns, whole)


def _is_single(files: tuple[Path, ...]) -> bool:
    """Whether a part is one file of the folder itself."""
    return len(files) == 1 and _FILE.fullmatch(files[0].name) is None


def open_folder(path: Path, over_files: OverFiles | None = None) -> Folder:
    """The folder with what its manifest says."""
    try:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        listed: dict[str, tuple[tuple[Path, ...], int]] = {}
        for name, entry in manifest["files"].items():
            pure = PurePosixPath(name)
            if "rows" in entry and len(pure.parts) == 1 and pure.suffix in {".csv", ".parquet"}:  # I3
                listed[pure.stem] = ((path / name,), int(entry["rows"]))
            elif "rows" in entry and len(pure.parts) == 2 and _FILE.fullmatch(pure.name):  # I3
                files, rows = listed.get(pure.parts[0], ((), 0))
                listed[pure.parts[0]] = ((*files, path / name), rows + int(entry["rows"]))
        return Folder(path, str(manifest["form"]), dict(manifest.get("public") or {}), listed, over_files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise ReleaseError("the manifest cannot be read") from None


def read_part(file: Path) -> Bag:
    """The table in a file (I1, I2)."""
    intern = sys.intern  # equal cells share one text: a million rows stay small
    with _opened(file) as (header, rows):
        return Bag(header, Counter(tuple(map(intern, row)) for row in rows))


def read_columns(file: Path, wanted: frozenset[str]) -> Bag:
    """Some columns of a Parquet file, batch by batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    bag: Counter[Row] = Counter()
    try:
        with pq.ParquetFile(file) as table:
            names = tuple(name for name in table.schema_arrow.names if name in wanted)
            for batch in table.iter_batches(_BATCH, columns=list(names)):
                columns = [_cells(column) for column in batch.columns]
                bag.update(zip(*columns, strict=True) if names else [()] * batch.num_rows)
    except (OSError, pa.ArrowException):
        raise ReleaseError(f"{file.name} cannot be read") from None
    return Bag(names, bag)


def read_rows(file: Path) -> tuple[Row, list[Row]]:
    """Header and rows in the order of the file."""
    with _opened(file) as (header, rows):
        return header, [tuple(row) for row in rows]


def count_rows(file: Path) -> int:
    """How many rows a file has, without keeping them."""
    with _opened(file) as (_, rows):
        return sum(1 for _ in rows)


@contextmanager
def _opened(file: Path) -> Iterator[tuple[tuple[str, ...], Iterator[Sequence[str]]]]:
    """Header and rows of a file; whatever goes wrong with it while it is open is an error of the release."""
    import pyarrow as pa

    limit = csv.field_size_limit(_LONGEST)
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            yield _parquet(file) if file.suffix == ".parquet" else _csv(csv.reader(lines, strict=True), file.name)
    except (OSError, UnicodeDecodeError, csv.Error, pa.ArrowException):
        raise ReleaseError(f"{file.name} cannot be read") from None
    finally:
        csv.field_size_limit(limit)


def _csv(reader: Iterator[list[str]], name: str) -> tuple[tuple[str, ...], Iterator[list[str]]]:
    header = tuple(next(reader, ()))
    if not header or len(set(header)) < len(header):
        raise ReleaseError(f"{name} has no header of different names")
    return header, _rows(reader, len(header), name)


def _rows(reader: Iterator[list[str]], width: int, name: str) -> Iterator[list[str]]:
    for cells in reader:
        if len(cells) == width:
            yield cells
        elif not cells and width == 1:  # an empty line is an empty cell where there is only one
            yield [""]
        else:
            raise ReleaseError(f"{name} has rows of different lengths")


def _parquet(file: Path) -> tuple[tuple[str, ...], Iterator[tuple[str, ...]]]:
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    return tuple(table.column_names), zip(*map(_cells, table.columns), strict=True)


def _cells(column: Any) -> list[str]:
    import pyarrow as pa

    return ["" if cell is None else cell for cell in column.cast(pa.string()).to_pylist()]
