"""Spark: rows stay on the cluster; classes with counts come to the driver, and a recoding goes back.

Guarantee
    Every record is published exactly once or suppressed, whatever tasks fail, run twice or lose their executor: nothing in here
    depends on a place, a partition number, a time or `rand()`. Output is staged, and only complete files get a name in a release.

Invariants
    I1  Rows are put in order last: an optimizer drops a sort that a join or an exchange follows.
    I2  Keys come to rows by a join, so that no secret stands in a plan, a log or a page of the cluster.
    I3  Rows that tie under a key are the same in everything that is published, so it does not matter which of them comes first.
    I4  Only listed files lie in a part: no marks of a committer, no checksums of a file system, no job numbers in names.

Cost: three reads of the source, two exchanges. The driver holds the classes and the published tuples, never rows.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.data.arrays import IntArray
from sfumato.data.table import Table
from sfumato.engines.base import COUNT, IDENTITY, NumberedClasses, Recoding, Secret
from sfumato.engines.local import merged, split_counts
from sfumato.engines.spark_source import MALFORMED, DistantRows, opened
from sfumato.errors import DataError, PlaceError, SfumatoError
from sfumato.extras import require
from sfumato.policy.policy import Policy

Progress = Callable[[float, str], None]
PER_FILE = 2_000_000
"""Rows of one published file, about."""
BROADCAST = 3_000_000
"""Shares that are sent to every executor; more are joined by an exchange."""
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set where spark-submit started this process."""
_TRIES = 3
_KEY, _SHOWN, _FIRST, _LAST, _PLACE = "\x1fkey", "\x1fshown", "\x1ffirst", "\x1flast", "\x1fplace"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.debug.maxToStringFields": "0",
    "spark.log.level": "ERROR",
}


def start(master: str | None = None, **settings: str) -> Any:
    """A session: the one that is there already or that `spark-submit` brings, else one of our own."""
    require("pyspark", "the Spark engine")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise PlaceError("the Spark engine needs Java", hint="install Java 17 and set JAVA_HOME, or use --engine local")
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("sfumato")
    if master is not None or _SUBMITTED not in os.environ:
        builder = builder.master(master or "local[*]")
    for name, value in (_SETTINGS | settings).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        where = master or "local[*]"
        raise PlaceError(f"no Spark session can be had ({type(error).__name__})", where=where, hint="look at --master") from None


@contextmanager
def _plainly(what: str) -> Iterator[None]:
    """Errors of the cluster in our own words: theirs may carry values of people."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:
        hint = "the log of the driver says more; it may hold values of people"
        raise SfumatoError(f"the cluster could not {what} ({type(error).__name__})", hint=hint) from None


@dataclass(frozen=True)
class SparkEngine:
    """A session, and a place that its executors and this process both see, where files are staged."""

    name: ClassVar[str] = "spark"

    session: Any
    staging: Path | None = None
    progress: Progress = field(default=lambda done, what: None, repr=False)

    def rows(self, policy: Policy, data: Any = None) -> DistantRows:
        """The source, looked at and pinned."""
        with _plainly("open the source"):
            return opened(self.session, policy, data)

    def classes(self, rows: DistantRows, names: Sequence[str]) -> NumberedClasses:
        """The different tuples of some columns with their counts, and the numbers by which rows find them."""
        for salt in range(_TRIES):
            found = self._grouped(rows, names, salt)
            if MALFORMED in found.column_names:
                found = _without_malformed(found)
            identity, counts = found.column(IDENTITY).to_numpy(), found.column(COUNT).to_numpy().astype(np.int64)
            if len(np.unique(identity)) == len(identity):
                return NumberedClasses(Table(pa.table({name: found.column(name) for name in names}), counts=counts), identity, salt)
        raise SfumatoError("classes of the data cannot be told apart by a number")

    def _grouped(self, rows: DistantRows, names: Sequence[str], salt: int) -> pa.Table:
        from pyspark.sql import functions as F

        texts = [rows.text(name).alias(name) for name in names]
        marks = [F.col(MALFORMED).isNotNull().alias(MALFORMED)] if rows.checked else []
        with _plainly("count the classes"), self._watched("counting classes"):
            alike = rows.frame.select(*texts, *marks).groupBy(*map(_named, [*names, *([MALFORMED] if marks else [])]))
            counted = alike.agg(F.count(F.lit(1)).alias(COUNT))
            found = counted.withColumn(IDENTITY, _identity(map(_named, names), salt)).toArrow()
        return found.sort_by([(name, "ascending") for name in names])

    def recode(self, rows: DistantRows, recoding: Recoding, published: Sequence[str], secret: Secret) -> Any:
        """Rows as they are published, each with its key: the whole of a class by a join, its shares by a keyed order."""
        from pyspark.sql import functions as F

        as_is = [name for name in published if name not in recoding.labels]
        carried = _carried(len(as_is))
        kept = [rows.column(name).alias(place) for name, place in zip(as_is, carried, strict=True)]
        number = _identity(map(rows.text, recoding.names), recoding.salt).alias(IDENTITY)
        frame, whole = rows.frame.select(number, *kept), recoding.whole
        shares = _table({IDENTITY: recoding.identity[whole], _SHOWN: recoding.shown[whole]})
        placed = frame.join(self._sent(shares), IDENTITY).select(*carried, _SHOWN)
        if not whole.all():
            placed = placed.unionByName(self._split(frame, recoding, secret, carried))
        labels = {f"{place}\x1flabel": column for place, column in enumerate(recoding.labels.values())}
        keys = recoding.tuple_keys(secret)
        shown = placed.join(self._sent(_table({_SHOWN: np.arange(len(keys)), _KEY: keys, **labels})), _SHOWN)
        places = dict(zip(recoding.labels, labels, strict=True)) | dict(zip(as_is, carried, strict=True))
        key = F.substring(_keyed(carried), 1, 32).alias(_KEY)  # I3
        return shown.select(*(_named(places[name]).alias(name) for name in published), key)

    def _split(self, frame: Any, recoding: Recoding, secret: Secret, carried: list[str]) -> Any:
        """Rows of classes that go to several groups, by their place in a keyed order of the class."""
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        some = ~recoding.whole
        identity, place = recoding.identity[some], F.col(_PLACE)
        different = np.unique(identity)
        keys = [secret.key("split", str(number)) for number in different]
        mine = frame.join(self._sent(_table({IDENTITY: different, _KEY: keys})), IDENTITY)  # I2
        order = Window.partitionBy(IDENTITY).orderBy(_keyed(carried))
        ranked = mine.withColumn(_PLACE, F.row_number().over(order) - 1)
        edges = {_FIRST: recoding.first[some], _LAST: recoding.last[some], _SHOWN: recoding.shown[some]}
        placed = ranked.join(self._sent(_table({IDENTITY: identity, **edges})), IDENTITY)
        return placed.where((place >= F.col(_FIRST)) & (place < F.col(_LAST))).select(*carried, _SHOWN)

    def write(self, frame: Any, records: int, folder: Path) -> dict[str, int]:
        """The files of a part, ordered by their key, under names that tell nothing; rows per file."""
        files = max(1, -(-records // PER_FILE))
        staged = folder.with_name(f".{folder.name}.staged")
        with _plainly("write the rows"), self._watched("writing"):
            laid_out(frame, files).write.mode("error").option("compression", "zstd").parquet(staged.absolute().as_uri())
        folder.mkdir()
        made = sorted(file for file in staged.iterdir() if file.suffix == ".parquet" and not file.name.startswith((".", "_")))
        rows = {}
        for place, file in enumerate(made):
            name = folder / f"part-{place:05d}.parquet"
            file.rename(name)  # I4
            rows[f"{folder.name}/{name.name}"] = int(pq.read_metadata(name).num_rows)
        shutil.rmtree(staged)
        return rows

    def columns(self, files: Sequence[Path]) -> list[str]:
        """The columns that all of these files have."""
        try:
            found = set(self.over_files(_columns_of, files))
        except (OSError, pa.ArrowException, DataError):
            raise DataError("a file is no Parquet file") from None
        if len(found) > 1:
            raise DataError("the files of a part have different columns")
        return list(found.pop())

    def count(self, files: Sequence[Path], names: Sequence[str]) -> tuple[pa.Table, IntArray]:
        """The different rows of some columns with their counts, from the files as they lie there."""
        from pyspark.sql import functions as F

        with _plainly("count the published rows"), self._watched("counting what was written"):
            frame = self.session.read.parquet(*(file.absolute().as_uri() for file in files))
            texts = [F.coalesce(F.col(_quoted(name)).cast("string"), F.lit("")).alias(name) for name in names]
            found = frame.select(*texts).groupBy(*map(_named, names)).agg(F.count(F.lit(1)).alias(COUNT)).toArrow()
        return split_counts(merged(found, names))

    def strangers(self, files: Sequence[Path], rows: DistantRows, names: Sequence[str]) -> int:
        """Published rows whose values in columns that are published as they are no record of their own has."""
        from pyspark.sql import functions as F

        with _plainly("compare with the source"), self._watched("comparing with the source"):
            published = self.session.read.parquet(*(file.absolute().as_uri() for file in files))
            mine = published.select(*(F.coalesce(F.col(_quoted(name)).cast("string"), F.lit("")).alias(name) for name in names))
            theirs = rows.frame.select(*(F.coalesce(rows.column(name).cast("string"), F.lit("")).alias(name) for name in names))
            return int(mine.exceptAll(theirs).count())

    def over_files(self, ask: Callable[[Path], Any], files: Sequence[Path]) -> list[Any]:
        """The answers of something plain for every file, by executors that see it."""
        if len(files) < 2:
            return [ask(file) for file in files]
        context = self.session.sparkContext
        return list(context.parallelize([file.absolute() for file in files], min(len(files), 1000)).map(ask).collect())

    def _sent(self, table: pa.Table) -> Any:
        from pyspark.sql import functions as F

        frame = self.session.createDataFrame(table)
        return F.broadcast(frame) if table.num_rows <= BROADCAST else frame

    @contextmanager
    def _watched(self, what: str) -> Iterator[None]:
        """Progress from the stages that run."""
        done = threading.Event()
        watcher = threading.Thread(
            target=_watch, args=(self.session.sparkContext.statusTracker(), self.progress, what, done), daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def _watch(tracker: Any, progress: Progress, what: str, done: threading.Event) -> None:
    while not done.wait(0.5):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None and stage.numTasks]
        if tasks:
            progress(sum(ready for ready, _ in tasks) / sum(all_ for _, all_ in tasks), what)


def laid_out(frame: Any, files: int) -> Any:
    """Rows dealt to files and ordered by their keys alone; nothing comes after the order (I1)."""
    from pyspark.sql import functions as F

    key = F.col(_KEY)
    return frame.repartition(files, key).sortWithinPartitions(key).drop(_KEY)


def _without_malformed(found: pa.Table) -> pa.Table:
    """Refuse lines that do not have the columns of the header, by their number alone."""
    wrong = found.filter(found.column(MALFORMED))
    if wrong.num_rows:
        count = int(np.sum(wrong.column(COUNT).to_numpy()))
        raise DataError(f"{count} line(s) of the source do not have the columns of its header", hint="correct the files")
    return found.drop_columns([MALFORMED])


def _carried(width: int) -> list[str]:
    """The columns that go along as they are, while rows are placed."""
    return [f"{place}\x1fas is" for place in range(width)]


def _keyed(names: Sequence[str]) -> Any:
    """A row's place in an order that the key of its class or tuple decides, by what is published of it as it is (I3)."""
    from pyspark.sql import functions as F

    content = [F.coalesce(_named(name).cast("string"), F.lit("\x00")) for name in names]
    return F.sha2(F.concat_ws("\x1f", F.col(_KEY), *content), 256)


def _identity(columns: Iterable[Any], salt: int) -> Any:
    from pyspark.sql import functions as F

    return F.xxhash64(F.lit(salt), *columns)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _named(name: str) -> Any:
    from pyspark.sql import functions as F

    return F.col(_quoted(name))


def _columns_of(file: Path) -> tuple[str, ...]:
    return tuple(pq.read_schema(file).names)


def _table(columns: dict[str, Any]) -> pa.Table:
    return pa.table({name: pa.array(column) for name, column in columns.items()})
