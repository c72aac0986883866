"""The folder as it lies there: what the manifest lists, and each part as a bag of rows.

Invariants
    I1  A CSV file is read by Python's own reader, strictly: UTF-8, a comma or the separator that the manifest states,
        one header of different names, rows of the same length.
    I2  A cell is its text. An empty cell and a null are the same: empty.
    I3  Only files of the folder itself that the manifest lists with a number of rows are parts, and folders of such
        files. Of a folder, whose rows may be many, only the columns that claims speak of are counted, file by file and
        where the files lie.

    I4  Where a file has neither quotes nor carriage returns, its cells are what stands between commas and line feeds,
        and counting what looks alike needs no more than cutting lines; whatever else a file has in it goes to the
        reader of I1.
    I5  A Parquet file is measured by what its footer says before any of it is unpacked.

Cost: one pass over a part for each set of columns that is asked for, in blocks, with only what is counted kept in
memory; forms that need whole rows keep the different ones with their counts.

>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "data.csv"
>>> _ = path.write_text('a,b\\n1,"x\\ny"\\n1,"x\\ny"\\n2,\\n')
>>> part = read_part(path)
>>> part.columns, part.rows
(('a', 'b'), Counter({('1', 'x\\ny'): 2, ('2', ''): 1}))
"""

from __future__ import annotations

import csv
import itertools
import json
import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import itemgetter, methodcaller
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.core.errors import ReleaseError
from sfumato.core.limits import UnpacksTooFar, memory_limit

Row = tuple[str, ...]
Everybody = Path | Mapping[str, Sequence[str | None]]
"""A table of the population: a text file that is read here, or its columns where it lies in something else."""
OverFiles = Callable[[Callable[[Path], Any], Sequence[Path]], list[Any]]
_LONGEST, _BLOCK = 1 << 30, 1 << 18
_BATCH = 1 << 16
_FEW_CELLS, _CELLS_PER_BYTE = 1 << 23, 25
LISTING = frozenset({"bucket", "value", "count"})
"""Columns of tables with buckets, and of the lists of what they hide."""
_FILE = re.compile(r"part-\d{5}\.parquet", re.ASCII)


@dataclass(frozen=True)
class RowMultiset:
    """A published table: different rows, and how often each of them stands there."""

    columns: tuple[str, ...]
    known: Counter[Row] | None = None
    file: Path | None = None
    """Where the rows stand, when they are not known; they are read when a person asks for them."""
    seen: dict[tuple[str, ...], Any] = field(default_factory=dict, repr=False, compare=False)
    """What was counted on these rows before, by the columns it was counted for."""

    @cached_property
    def rows(self) -> Counter[Row]:
        if self.known is not None or self.file is None:
            return self.known or Counter()
        intern = sys.intern  # equal cells share one text: a million rows stay small
        with _opened(self.file) as (_, rows):
            return Counter(tuple(map(intern, row)) for row in rows)

    @cached_property
    def total(self) -> int:
        """How many rows there are."""
        counted = next((counts for (what, *_), counts in self.seen.items() if what == "alike"), None)
        if counted is not None or "rows" in self.__dict__ or self.file is None:
            return (self.rows if counted is None else counted).total()
        return count_rows(self.file)

    def alike(self, given: Sequence[str], value: str | None = None) -> Counter[Any]:
        """How many rows have the same cells in some columns; with `value`, how many of them have each text in that
        column.

        Keys tell cells apart and say nothing else; those with a value are pairs of such a key and the text.
        """
        places, at = [self.place(name) for name in given], None if value is None else self.place(value)
        asked = ("alike", *given, "", *([] if value is None else [value]))
        if asked not in self.seen:
            self.seen[asked] = self._alike(places, at)
        found: Counter[Any] = self.seen[asked]
        return found

    def _alike(self, places: Sequence[int], at: int | None) -> Counter[Any]:
        if self.file is not None and "rows" not in self.__dict__:
            with suppress(_Irregular):
                return _cut(self.file, len(self.columns), places, at)
        known, counts = cells_in_places(places), Counter[Any]()
        for row, count in self.rows.items():
            counts[known(row) if at is None else (known(row), row[at])] += count
        return counts

    def place(self, column: str) -> int:
        """Return the position of a column in a row."""
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
    everybody: Everybody | None = None
    """The population, where the data holder has a table of it."""
    _read: dict[str, RowMultiset] = field(default_factory=dict, repr=False)

    def part(self, name: str) -> RowMultiset:
        if name not in self.listed:
            raise ReleaseError(f"there is no part '{name}'")
        if name not in self._read:
            files, _ = self.listed[name]
            self._read[name] = read_part(files[0]) if _is_single(files) else self._together(files)
        return self._read[name]

    def rows_elsewhere(self, name: str) -> int:
        """Rows of a part that is a folder, as the manifest says; none of a part that is a file."""
        files, rows = self.listed.get(name, ((), 0))
        return 0 if not files or _is_single(files) else rows

    def miscounted(self) -> Iterator[str]:
        """Parts that do not have as many rows as the manifest says."""
        for name, (files, rows) in self.listed.items():
            found = self._read[name].total if name in self._read else self._counted(files)
            if found != rows:
                what = files[0].name if _is_single(files) else name
                yield f"{what} has {found} rows, the manifest says {rows}"

    def _counted(self, files: tuple[Path, ...]) -> int:
        if _is_single(files):
            return count_rows(files[0])
        return sum(self.over_files(tallied, files) if self.over_files is not None else map(tallied, files))

    def _together(self, files: tuple[Path, ...]) -> RowMultiset:
        """The rows of all files of a part in one bag."""
        count = partial(read_columns, wanted=self.wanted)
        bags = self.over_files(count, files) if self.over_files is not None else [count(file) for file in files]
        if len({bag.columns for bag in bags}) > 1:
            raise ReleaseError("the files of a part have different columns")
        whole, columns = Counter[Row](), bags[0].columns
        while bags:  # one after the other is let go
            whole.update(bags.pop().rows)
        return RowMultiset(columns, whole)


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


def read_part(file: Path) -> RowMultiset:
    """The table in a file (I1, I2)."""
    with _opened(file) as (header, _):
        return RowMultiset(header, file=file)


def cells_in_places(places: Sequence[int]) -> Callable[[Sequence[str]], Row]:
    """Return the cells at some positions of a row."""
    if len(places) > 1:
        return itemgetter(*places)
    return (lambda row: (row[places[0]],)) if places else (lambda row: ())


class _Irregular(Exception):
    """A file with more in it than cells, commas and line feeds."""


def _cut(file: Path, width: int, places: Sequence[int], at: int | None) -> Counter[Any]:
    """`Bag.alike` of a file whose lines can be cut (I4)."""
    counts: Counter[Any] = Counter()
    for lines in _lines(file):
        if not _leading(places) and {*map(_COMMAS, lines)} - {width - 1}:
            raise ReleaseError(f"{file.name} has rows of different lengths")
        keys = _keys(lines, width, places)
        counts.update(keys if at is None else zip(keys, _keys(lines, width, [at]), strict=True))
    if _leading(places) and {*map(_COMMAS, counts if at is None else map(itemgetter(0), counts))} - {places[-1]}:
        raise ReleaseError(f"{file.name} has rows of different lengths")
    return counts


_COMMAS = methodcaller("count", ",")


def _leading(places: Sequence[int]) -> bool:
    """Whether these are the first cells, more than one: what is left of a line that is cut behind them shows its
    length."""
    return len(places) > 1 and list(places) == list(range(len(places)))


def _keys(lines: Sequence[str], width: int, places: Sequence[int]) -> Iterable[Any]:
    """Return the cells at some positions of each line, as the text of the first cells or as a tuple."""
    behind = width - len(places)
    if _leading(places) and behind == 1:
        return [line[: line.rfind(",")] for line in lines]
    if _leading(places):
        return map(itemgetter(0), map(methodcaller("rsplit", ",", behind), lines)) if behind else lines
    if list(places) == [width - 1]:
        return map(itemgetter(-1), map(methodcaller("rsplit", ",", 1), lines))
    return map(itemgetter(*places) if places else lambda cells: (), map(methodcaller("split", ","), lines))


def _lines(file: Path) -> Iterator[list[str]]:
    """The lines after the first, in blocks; `_Irregular` when they are more than lines (I4)."""
    if file.suffix != ".csv" or _written(file) != (",", frozenset()):
        raise _Irregular
    try:
        with file.open("rb") as source:
            rest = source.readline()  # the header; a quoted one may go on, and shows its quotes
            if b'"' in rest or b"\r" in rest:
                raise _Irregular
            rest = b""
            while block := source.read(_BLOCK):
                *lines, rest = (rest + block).rsplit(b"\n", 1)
                yield from _texts(lines)
            yield from _texts([rest] if rest else [])
    except (OSError, UnicodeDecodeError):
        raise ReleaseError(f"{file.name} cannot be read") from None


def _texts(found: list[bytes]) -> Iterator[list[str]]:
    for block in found:
        if b'"' in block or b"\r" in block:
            raise _Irregular
        yield block.decode("utf-8").split("\n")


def read_columns(file: Path, wanted: frozenset[str]) -> RowMultiset:
    """Some columns of a Parquet file, batch by batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    bag: Counter[Row] = Counter()
    try:
        with memory_limit(file.stat().st_size), pq.ParquetFile(file) as table:
            _require_cells(table, file)
            names = tuple(name for name in table.schema_arrow.names if name in wanted)
            for batch in table.iter_batches(_BATCH, columns=list(names)):
                columns = [_cells(column) for column in batch.columns]
                bag.update(zip(*columns, strict=True) if names else [()] * batch.num_rows)
    except (OSError, UnpacksTooFar, pa.ArrowException):
        raise ReleaseError(f"{file.name} cannot be read") from None
    intern = sys.intern  # equal cells share one text, also where the bag is sent to
    return RowMultiset(names, Counter({tuple(map(intern, row)): count for row, count in bag.items()}))


def read_rows(file: Path) -> tuple[Row, list[Row]]:
    """Header and rows in the order of the file; lines that can be cut (I4) are."""
    with _opened(file) as (header, rows):
        try:
            found = [tuple(line.split(",")) for lines in _lines(file) for line in lines]
        except _Irregular:
            return header, [tuple(row) for row in rows]
    if {*map(len, found)} - {len(header)}:
        raise ReleaseError(f"{file.name} has rows of different lengths")
    return header, found


def read_people(everybody: Everybody, wanted: Sequence[str]) -> Counter[Row]:
    """Some columns of all people in a population, with how many have the same cells in them."""
    if isinstance(everybody, Path):
        return _people_in(everybody, wanted)
    if not {*wanted} <= everybody.keys():
        raise ReleaseError("the table of the population lacks a column")
    return Counter(zip(*(["" if cell is None else cell for cell in everybody[name]] for name in wanted), strict=True))


def _people_in(file: Path, wanted: Sequence[str]) -> Counter[Row]:
    """Cells stand between commas, semicolons, tabs or bars: whichever makes the columns appear in the first line."""
    try:
        for separator in ",;\t|":
            with file.open(encoding="utf-8-sig", newline="") as lines:
                header, rows = _csv(csv.reader(lines, strict=True, delimiter=separator), "the table of the population")
                if {*wanted} <= {*header}:
                    return Counter(map(cells_in_places([header.index(name) for name in wanted]), rows))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise ReleaseError("the table of the population cannot be read") from None
    raise ReleaseError("the table of the population lacks a column")


def count_rows(file: Path) -> int:
    """How many rows a file has, without keeping them."""
    with _opened(file) as (_, rows):
        number = itertools.count()
        deque(zip(rows, number, strict=False), maxlen=0)  # as `sum(1 for _ in rows)`, without a step of Python for each
        return next(number)


def tallied(file: Path) -> int:
    """How many rows a Parquet file has, without looking at them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as table:
            _require_cells(table, file)
            return int(table.metadata.num_rows)
    except (OSError, UnpacksTooFar, pa.ArrowException):
        raise ReleaseError(f"{file.name} cannot be read") from None


@contextmanager
def _opened(file: Path) -> Iterator[tuple[tuple[str, ...], Iterator[Sequence[str]]]]:
    """Header and rows of a file; whatever goes wrong with it while it is open is an error of the release."""
    import pyarrow as pa

    limit = csv.field_size_limit(_LONGEST)
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            if file.suffix == ".parquet":
                yield _parquet(file)
                return
            separator, commas = _written(file)
            header, rows = _csv(csv.reader(lines, strict=True, delimiter=separator), file.name)
            yield header, _with_points(rows, [place for place, name in enumerate(header) if name in commas])
    except (OSError, UnicodeDecodeError, UnpacksTooFar, csv.Error, pa.ArrowException):
        raise ReleaseError(f"{file.name} cannot be read") from None
    finally:
        csv.field_size_limit(limit)


def _written(file: Path) -> tuple[str, frozenset[str]]:
    """The separator of a file and its columns with decimal commas, as the manifest beside it says (I1)."""
    try:
        told = json.loads((file.parent / "manifest.json").read_text(encoding="utf-8")).get("csv")
    except FileNotFoundError:
        told = None
    except (OSError, ValueError, AttributeError):
        raise ReleaseError("the manifest cannot be read") from None
    if not told:
        return ",", frozenset()
    if not isinstance(told, dict) or not isinstance(told.get("separator"), str) or len(told["separator"]) != 1:
        raise ReleaseError("the manifest cannot be read")
    return told["separator"], frozenset(map(str, told.get("decimal_comma") or ()))


_DECIMAL_COMMAS = re.compile(r"-?[0-9]+(,[0-9]+)?(-[0-9]+(,[0-9]+)?)?")


def _with_points(rows: Iterator[list[str]], places: Sequence[int]) -> Iterator[list[str]]:
    """Numbers and ranges of some columns with decimal points."""
    for row in rows:
        for place in places:
            if _DECIMAL_COMMAS.fullmatch(row[place]):
                row[place] = row[place].replace(",", ".")
        yield row


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

    with memory_limit(file.stat().st_size), pq.ParquetFile(file) as opened:
        _require_cells(opened, file)
        table = opened.read()
    return tuple(table.column_names), zip(*map(_cells, table.columns), strict=True)


def _require_cells(table: Any, file: Path) -> None:
    """A small file that says it has very many cells was made to do harm (I5)."""
    cells = int(table.metadata.num_rows) * int(table.metadata.num_columns)
    if cells > max(_FEW_CELLS, _CELLS_PER_BYTE * file.stat().st_size):
        raise ReleaseError(f"{file.name} has far more cells than its size can hold")


def _cells(column: Any) -> list[str]:
    import pyarrow as pa

    return ["" if cell is None else cell for cell in column.cast(pa.string()).to_pylist()]
