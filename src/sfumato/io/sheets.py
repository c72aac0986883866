"""Tables of other programs: Excel (.xlsx), SPSS (.sav, .por), Stata (.dta), SAS (.sas7bdat, .xpt).

Every cell becomes the text that a CSV file would hold: whole numbers without a point, days as ISO 8601. Values with labels (SPSS,
Stata) are read as their labels. What unpacks to far more than its size is refused before it is unpacked.
"""

from __future__ import annotations

import datetime as dt
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.extras import bring
from sfumato.io.contents import require_size

EXCEL = ("xlsx", "xlsm")
STATISTICS = {
    "sav": "read_sav",
    "zsav": "read_sav",
    "por": "read_por",
    "dta": "read_dta",
    "sas7bdat": "read_sas7bdat",
    "xpt": "read_xport",
}


def read_excel(path: Path, sheet: str = "") -> pa.Table:
    """One sheet of a workbook, the first one unless another is named; its first row names the columns."""
    openpyxl = bring("openpyxl", f"reading {path.name}")
    try:
        with zipfile.ZipFile(path) as packed:
            require_size(sum(entry.file_size for entry in packed.infolist()), path.stat().st_size, path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        names = book.sheetnames
        if sheet and sheet not in names:
            raise DataError(f"{path.name} has no sheet '{sheet}'", where=str(path), hint="known: " + ", ".join(names))
        rows = list(book[sheet or names[0]].iter_rows(values_only=True))
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError):
        raise DataError(f"{path.name} is no readable workbook", where=str(path), hint="save it again as .xlsx") from None
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if len(rows) < 2:
        raise DataError(f"{path.name} has no rows", where=str(path), hint="the first row names the columns, records follow")
    header = named_header([_text(cell) or "" for cell in rows[0]], str(path))
    return pa.table({name: pa.array([_text(row[place]) for row in rows[1:]], pa.string()) for place, name in enumerate(header)})


def read_statistics(path: Path, ending: str) -> pa.Table:
    """A file of a statistics program, with labels for labelled values."""
    library = bring("pyreadstat", f"reading {path.name}")
    try:
        columns, about = getattr(library, STATISTICS[ending])(str(path), output_format="dict")
    except (library.PyreadstatError, library.ReadstatError, OSError, ValueError, UnicodeDecodeError):
        raise DataError(f"{path.name} cannot be read", where=str(path), hint="save it again, or as CSV") from None
    if not columns or not len(next(iter(columns.values()))):
        raise DataError(f"{path.name} has no rows", where=str(path), hint="give a table with at least one record")
    labels = {
        name: {_text(value): str(label) for value, label in known.items()} for name, known in about.variable_value_labels.items()
    }
    return pa.table({str(name): _labelled(values, labels.get(name, {})) for name, values in columns.items()})


def _labelled(values: Any, labels: dict[str | None, str]) -> pa.Array:
    texts = [_text(value) for value in values]
    return pa.array([labels.get(text, text) for text in texts], pa.string())


def named_header(cells: list[str], where: str) -> list[str]:
    """The names of the columns; a first one without a name numbers the rows, as tables written with their index do.

    >>> named_header(["", "age"], "t.csv")
    ['row', 'age']
    """
    names = ["row" if place == 0 and not name and "row" not in cells else name for place, name in enumerate(cells)]
    if "" in names:
        raise DataError("a column has no name", where=where, hint="name every column in the first line")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"column '{twice}' stands twice in the header", where=where, hint="rename one of them")
    return names


def _text(value: Any) -> str | None:
    """A cell as a CSV file would hold it; None where there is nothing.

    >>> [_text(value) for value in (3.0, 2.5, True, dt.datetime(2024, 1, 31), "x", None, float("nan"))]
    ['3', '2.5', 'true', '2024-01-31', 'x', None, None]
    """
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(" ", "seconds")
    return value.isoformat() if isinstance(value, dt.date) else str(value)
