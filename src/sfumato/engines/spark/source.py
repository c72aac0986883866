"""Where rows on a cluster come from: folders and files (CSV, Parquet), tables that the session knows, JDBC, or a frame.

Invariants
    I1  Values are text until a hierarchy says otherwise; a missing value and an empty one are the same. A column whose
        text would depend on who writes it (floating-point numbers, moments) is refused where classes are made of it.
    I2  Rows are read several times. Files are pinned by their sizes and times, and a source that changed is refused.
    I3  A line that does not fit is counted, never quoted: messages of a reader would carry values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.errors import DataError, PlaceError, PolicyError
from sfumato.core.registry import nearest

MALFORMED = "\x1fmalformed"
_TEXTS = ("string", "varchar", "char", "int", "bigint", "smallint", "tinyint", "boolean", "date", "decimal")
_PLACES = ("file:", "hdfs:", "s3a:", "s3:", "gs:", "abfs:", "abfss:", "wasbs:", "dbfs:", "viewfs:")
_SETTINGS = ("decimal_comma", "thousands", "date_format", "encoding", "sheet")
TABLE = "table:"
_DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "oracle": "oracle.jdbc.OracleDriver",
    "duckdb": "org.duckdb.DuckDBDriver",
    "sqlite": "org.sqlite.JDBC",
}


@dataclass(frozen=True)
class RemoteRows:
    """A table on the cluster, pinned to what it was when it was first looked at (I2)."""

    frame: Any
    pinned: tuple[tuple[str, int, int], ...]
    missing: tuple[str, ...] = ()
    checked: bool = False
    """Whether there is a column that marks lines which do not fit."""
    names: tuple[str, ...] = field(default=())

    def require_unchanged(self) -> None:
        """Refuse when a file is not what it was."""
        if file_stamps(self.frame) != self.pinned:
            raise DataError("the source changed while it was read", hint="publish from a copy that nobody writes to")

    def column(self, name: str) -> Any:
        """A column as it is."""
        if name not in self.names:
            raise DataError(f"the data has no column '{name}'", hint=nearest(name, list(self.names)))
        return self.frame[f"`{name.replace('`', '``')}`"]

    def text(self, name: str) -> Any:
        """A column as text, nothing missing (I1)."""
        from pyspark.sql import functions as F

        column, kind = self.column(name), dict(self.frame.dtypes)[name]
        if not kind.startswith(_TEXTS):
            hint = "cast it to text or to a decimal where it comes from"
            raise DataError(
                f"column '{name}' has the type {kind}, which different programs write differently", hint=hint
            )
        text = F.coalesce(column.cast("string"), F.lit(""))
        return F.when(text.isin(list(self.missing)), F.lit("")).otherwise(text) if self.missing else text


def open_source(session: Any, source: Any, data: Any = None) -> RemoteRows:
    """The rows of a source, or those that are given in their place: a frame, a path, ``table:NAME`` or a JDBC URL."""
    set_ = [name for name in _SETTINGS if getattr(source, name, None)]
    if set_ or getattr(source, "escape", "none") != "none":
        raise PolicyError(
            f"'{(set_ or ['escape'])[0]}' under data is not read on a cluster", hint="prepare the column before"
        )
    missing = tuple(getattr(source, "missing", ()))
    if data is not None and not isinstance(data, str | Path):
        return RemoteRows(data, file_stamps(data), missing, names=tuple(data.columns))
    frame, checked = _read(session, str(data) if data is not None else _declared(source), source)
    names = tuple(name for name in frame.columns if name != MALFORMED)
    return RemoteRows(frame, file_stamps(frame), missing, checked, names)


def _declared(source: Any) -> str:
    named: str = source.source
    if not named:
        raise DataError("the policy names no source", hint="add 'source:' under data, or give the data with --data")
    return named if named.startswith((TABLE, "jdbc:", *_PLACES)) else str(source.path())


def _read(session: Any, place: str, source: Any) -> tuple[Any, bool]:
    if place.startswith(TABLE):
        return session.table(place.removeprefix(TABLE)), False
    if place.startswith("jdbc:"):
        if not source.table:
            raise PolicyError("a JDBC source needs 'table:' under data", hint="name the table or view")
        return _jdbc(session, place, source.table), False
    if "://" in place and not place.startswith(_PLACES):
        raise PolicyError("this URL is not read on a cluster", hint="give a folder, a file, table:NAME, or a jdbc: URL")
    if not place.startswith(_PLACES):
        if not Path(place).exists():
            raise DataError("no such file or folder", where=place, hint="check the path")
        place = Path(place).absolute().as_uri()
    if _kind(place) == "parquet":
        return session.read.parquet(place), False
    return _csv(session, place, source), True


def _jdbc(session: Any, url: str, table: str) -> Any:
    """A table of a database. A driver that came with the session's jars is found by its name only."""
    reader = session.read.format("jdbc").option("url", url).option("dbtable", table)
    kind = url.split(":")[1]
    if kind in _DRIVERS:
        reader = reader.option("driver", _DRIVERS[kind])
    try:
        return reader.load()
    except Exception as error:
        if "ClassNotFoundException" in str(error) or "No suitable driver" in str(error):
            hint = "start the session with it: spark.jars, spark.jars.packages, or spark-submit --jars"
            raise PlaceError(f"the Spark session has no JDBC driver for {kind}", hint=hint) from None
        raise


def _kind(place: str) -> str:
    """By the ending, of a local folder by what lies in it."""
    plain = place.rstrip("/")
    if plain.endswith(".parquet"):
        return "parquet"
    if plain.endswith((".csv", ".csv.gz", ".csv.bz2", ".csv.zst")):
        return "csv"
    folder = Path(plain.removeprefix("file://"))
    inside = [file.name for file in folder.iterdir() if not file.name.startswith((".", "_"))] if folder.is_dir() else []
    kinds = {"parquet" if name.endswith(".parquet") else "csv" if ".csv" in name else "" for name in inside}
    if kinds == {"parquet"} or kinds == {"csv"}:
        return kinds.pop()
    raise DataError(
        "this is no folder of CSV or of Parquet files", where=plain, hint="name it like people.csv or people.parquet"
    )


def _csv(session: Any, place: str, source: Any) -> Any:
    """Text columns by the header of the files, and a mark for lines that do not fit (I3)."""
    written = {
        "sep": source.separator or ",",
        "quote": source.quote,
        "escape": source.quote,
        "encoding": "UTF-8",
        "header": "true",
    }
    names = session.read.options(**written).csv(place).columns
    if len(set(names)) < len(names):
        raise DataError("a column name stands twice in the header", where=place)
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType([StructField(name, StringType()) for name in (*names, MALFORMED)])
    marked = {
        "columnNameOfCorruptRecord": MALFORMED,
        "mode": "PERMISSIVE",
        "enforceSchema": "false",
        "columnPruning": "false",
    }
    return session.read.options(**written, **marked).schema(schema).csv(place)


def file_stamps(frame: Any) -> tuple[tuple[str, int, int], ...]:
    """The files behind a frame with their sizes and times; none where there are none."""
    session, found = frame.sparkSession, []
    named = getattr(
        session._jvm, "org.apache.hadoop.fs.Path"
    )  # by its whole name, else Java looks for what 'org' may be
    for uri in sorted(frame.inputFiles()):
        path = named(uri)
        status = path.getFileSystem(session._jsc.hadoopConfiguration()).getFileStatus(path)
        found.append((uri, int(status.getLen()), int(status.getModificationTime())))
    return tuple(found)


def expected_bytes(frame: Any) -> int:
    """How large a frame is about, as Spark expects by its files or tables; very large where nobody knows."""
    return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())


def require_columns(rows: RemoteRows, names: Sequence[str]) -> None:
    """Refuse before any work what the policy names and the source has not."""
    for name in names:
        rows.column(name)
