"""Spark: rows stay on the cluster; classes with counts come to the driver, and a recoding goes back.

Guarantee
    Every record is published exactly once or suppressed, whatever tasks fail, run twice or lose their executor: nothing in here
    depends on a place, a partition number, a time or `rand()`. Output is staged, and only complete files get a name in a release.

Invariants
    I1  Rows are put in order last: an optimizer drops a sort that a join or an exchange follows.
    I2  Only listed files lie in a part: no marks of a committer, no checksums of a file system, no job numbers in names.

Cost: three reads of the source, two exchanges. The driver holds the classes and the published tuples, never rows.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.data.arrays import IntArray
from sfumato.data.memory import trim
from sfumato.data.table import Table
from sfumato.engines.base import COUNT, IDENTITY, NumberedClasses, Recoding, Secret
from sfumato.engines.spark_buckets import BUCKET, VALUE, DealtLayout, DealtRows, Deck, apart, as_texts, kinds_of, projected
from sfumato.engines.spark_classes import FEW, brought, counted_records
from sfumato.engines.spark_draws import RecordShares, missing, shares
from sfumato.engines.spark_packing import collected, ordered
from sfumato.engines.spark_people import PeopleVerbs
from sfumato.engines.spark_plainly import plainly
from sfumato.engines.spark_regions import FIRST, KEY, LABEL, LAST, SPLIT, DistantClasses
from sfumato.engines.spark_rows import as_published, class_number, named, quoted, ranked, sent_table, within
from sfumato.engines.spark_source import DistantRows, opened
from sfumato.errors import DataError, SfumatoError
from sfumato.policy.policy import Policy

Progress = Callable[[float, str], None]
MOST_CELLS = 1 << 23
"""Cells of one published file: whoever reads it accepts so many, however small it is (rows that are alike take no room)."""
BROADCAST = 3_000_000
"""Shares that are sent to every executor; more are joined by an exchange."""
SMALL_FILES = 1 << 16
"""Bytes of files that are looked at here, because sending them to executors would take longer."""
_TRIES = 3
_SHOWN = "\x1fshown"


@dataclass(frozen=True)
class SparkEngine(PeopleVerbs):
    """A session, and a place that its executors and this process both see, where files are staged."""

    name: ClassVar[str] = "spark"

    session: Any
    staging: Path | None = None
    progress: Progress = field(default=lambda done, what: None, repr=False)
    most_classes: int = 10_000_000
    """Classes that come to the driver; more stay on the cluster and are solved region by region."""
    region_classes: int = 500_000
    """Classes of one region, about."""

    def rows(self, policy: Policy, data: Any = None) -> DistantRows:
        """The source, looked at and pinned."""
        with plainly("open the source"):
            return opened(self.session, policy.data, data)

    def classes(self, rows: DistantRows, names: Sequence[str]) -> NumberedClasses | DistantClasses:
        """The different tuples of some columns with their counts, and the numbers by which rows find them.

        They come to the driver as long as they are not more than it takes; else they stay on the cluster.
        """
        for salt in range(_TRIES):
            with plainly("count the classes"), self.watched("counting classes"):
                found = brought(rows, names, salt, self.most_classes)
            if isinstance(found, DistantClasses):
                return found
            if found is not None:
                # frequent values first, as they come in rows: methods that break ties by the first value then break them alike
                found = ordered(found, [COUNT], names)
                identity, counts = found.column(IDENTITY).to_numpy(), found.column(COUNT).to_numpy().astype(np.int64)
                if len(np.unique(identity)) == len(identity):
                    return NumberedClasses(Table(found.select(list(names)), counts=counts), identity, salt)
        raise SfumatoError("classes of the data cannot be told apart by a number")

    def size(self, rows: DistantRows) -> int:
        """How many rows there are."""
        with plainly("count the rows"), self.watched("counting rows"):
            return int(rows.frame.count())

    def collect(self, rows: DistantRows, names: Sequence[str]) -> pa.Table:
        """Rows as they are, brought here, for what cannot do without them."""
        with plainly("bring the rows"), self.watched("bringing rows"):
            if rows.checked:
                counted_records(rows)
            found = rows.frame.select(*(rows.column(name).alias(name) for name in names)).toArrow()
        return pa.table({name: found.column(name) for name in names})

    def recode(self, rows: DistantRows, recoding: Recoding, published: Sequence[str], secret: Secret) -> Any:
        """Rows as they are published, each with its key: the whole of a class by a join, its shares by a keyed order."""
        frame, as_is, carried = self._numbered(rows, recoding.names, recoding.salt, recoding.labels, published)
        labels = {f"{LABEL}{place}": column for place, column in enumerate(recoding.labels.values())}
        told = {KEY: pa.array(recoding.tuple_keys(secret), pa.string()), **labels}
        few = len(recoding.shown) <= FEW  # then classes are sent with what is shown of them, else with its number
        more = [*told] if few else [_SHOWN]

        def shares(some: Any, **columns: Any) -> Any:
            shown = pa.array(recoding.shown[some])
            beside = {name: column.take(shown) for name, column in told.items()} if few else {_SHOWN: shown}
            return self.sent(sent_table({IDENTITY: recoding.identity[some], **columns, **beside}))

        placed = frame.join(shares(recoding.whole), IDENTITY).select(*carried, *more)
        if not recoding.whole.all():
            some = ~recoding.whole
            different = np.unique(recoding.identity[some])
            split = sent_table({IDENTITY: different, SPLIT: [secret.key("split", str(number)) for number in different]})
            among = ranked(frame.join(self.sent(split), IDENTITY), carried)
            edges = {FIRST: recoding.first[some], LAST: recoding.last[some]}
            placed = placed.unionByName(within(among.join(shares(some, **edges), IDENTITY), carried, more))
        if not few:
            placed = placed.join(self.sent(sent_table({_SHOWN: np.arange(len(told[KEY])), **told})), _SHOWN)
        return as_published(placed, recoding.labels, as_is, carried, published)

    def recode_shares(
        self, rows: DistantRows, classes: DistantClasses, shares: Any, recoded: Sequence[str], published: Sequence[str]
    ) -> Any:
        """The same where the shares of classes lie on the cluster, too."""
        from pyspark.sql import functions as F

        frame, as_is, carried = self._numbered(rows, classes.names, classes.salt, recoded, published)
        labels = [KEY, *(f"{LABEL}{place}" for place in range(len(recoded)))]
        is_whole = F.col(LAST) - F.col(FIRST) == F.col(COUNT)
        placed = frame.join(shares.where(is_whole).select(IDENTITY, *labels), IDENTITY).select(*carried, *labels)
        parts = shares.where(~is_whole)
        among = ranked(frame.join(parts.select(IDENTITY, SPLIT).distinct(), IDENTITY), carried)
        split = within(among.join(parts.select(IDENTITY, FIRST, LAST, *labels), IDENTITY), carried, labels)
        return as_published(placed.unionByName(split), recoded, as_is, carried, published)

    def _numbered(
        self, rows: DistantRows, names: Sequence[str], salt: int, recoded: Iterable[str], published: Sequence[str]
    ) -> tuple[Any, list[str], list[str]]:
        """Rows with the number of their class and what is published of them as it is."""
        known = set(recoded)
        as_is = [name for name in published if name not in known]
        carried = [f"{place}\x1fas is" for place in range(len(as_is))]
        kept = [rows.column(name).alias(place) for name, place in zip(as_is, carried, strict=True)]
        return rows.frame.select(class_number(map(rows.text, names), salt).alias(IDENTITY), *kept), as_is, carried

    def write(self, frame: Any, records: int, folder: Path) -> dict[str, int]:
        """The files of a part, ordered by their key, under names that tell nothing; rows per file."""
        most = max(1, MOST_CELLS // (len(frame.columns) - 1))
        files = max(1, -(-records * 5 // (most * 4)))  # room for files that get more than others
        staged = folder.with_name(f".{folder.name}.staged")
        with plainly("write the rows"), self.watched("writing"):
            laid = laid_out(frame, files).write.mode("error").options(compression="zstd", maxRecordsPerFile=str(most))
            laid.parquet(staged.absolute().as_uri())
        folder.mkdir()
        made = sorted(file for file in staged.iterdir() if file.suffix == ".parquet" and not file.name.startswith((".", "_")))
        rows = {}
        for place, file in enumerate(made):
            name = folder / f"part-{place:05d}.parquet"
            file.rename(name)  # I2
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

        with plainly("count the published rows"), self.watched("counting what was written"):
            frame = self.files(files)
            texts = [F.coalesce(F.col(quoted(name)).cast("string"), F.lit("")).alias(name) for name in names]
            counted = frame.select(*texts).groupBy(*map(named, names)).agg(F.count(F.lit(1)).alias(COUNT))
            found = ordered(collected(counted, names), [], names)
        return found.select(list(names)), found.column(COUNT).to_numpy()

    def with_buckets(
        self, files: Sequence[Path], lists: Mapping[str, Sequence[Path]], aside: Sequence[str]
    ) -> dict[str, tuple[pa.Table, IntArray | None]]:
        """A table with buckets and its lists, as they lie there; buckets that list the same are one."""
        main = self.columns(files)
        if BUCKET not in main or any(not {BUCKET, VALUE, "count"} <= set(self.columns(own)) for own in lists.values()):
            raise DataError("a table with buckets or a list of their values lacks a column")
        names = [name for name in main if name not in (BUCKET, *aside)]
        with plainly("count the published rows"), self.watched("counting what was written"):
            listed = {part: self.files(own) for part, own in lists.items()}
            found = kinds_of(self.files(files), listed, names, self.most_classes)
        return {files[0].parent.name: (found.rows, found.counts), **found.lists}

    def deck(self, rows: DistantRows, layout: DealtLayout, secret: Secret, records: int) -> Deck:
        """Records with a key of their own, to be dealt to buckets."""
        with plainly("number the records"):
            return Deck.of(self.session, rows, layout, secret, records)

    def dealt(self, deck: Deck, by: str, values: Sequence[str], buckets: int, secret: Secret, attempt: int) -> DealtRows:
        """Every record in a bucket."""
        with plainly("deal the records"), self.watched("dealing"):
            return deck.dealt(by, values, buckets, secret, attempt)

    def kinds(self, dealt: DealtRows) -> dict[str, tuple[pa.Table, IntArray]]:
        """What buckets list of each hidden column, buckets that list the same as one."""
        with plainly("count the buckets"), self.watched("counting buckets"):
            return dict(kinds_of(dealt.frame, {name: dealt.listed(name) for name in dealt.hidden}, None, self.most_classes).lists)

    def misdealt(
        self, files: Sequence[Path], lists: Mapping[str, Sequence[Path]], dealt: DealtRows, rows: DistantRows
    ) -> tuple[int, int]:
        """By how many rows, and by how many listed values, what was written differs from records of the source in these buckets."""
        with plainly("compare with the source"), self.watched("comparing with the source"):
            layout, names = dealt.layout, [BUCKET, VALUE, "count"]
            pairs = [(layout.texts(layout.of(rows), bucket=False), layout.texts(dealt.frame, bucket=False))]
            pairs += [(layout.written(self.files(files)), layout.texts(dealt.frame, bucket=True))]
            pairs += [(as_texts(self.files(lists[name]), names), as_texts(dealt.listed(name), names)) for name in dealt.hidden]
            found = apart(*pairs)
            return sum(found[:2]), sum(found[2:])

    def projected(self, rows: DistantRows, names: Sequence[str], key: str) -> Any:
        """Some columns of all records, with the key that puts them in order."""
        return projected(self.session, rows, names, key)

    def misprojected(self, tables: Sequence[tuple[Sequence[Path], Sequence[str]]], rows: DistantRows) -> int:
        """By how many rows what was written as some tables differs from their columns of all records; all tables in one pass."""
        with plainly("compare with the source"), self.watched("comparing with the source"):
            own = [rows.frame.select(*(rows.text(name).alias(name) for name in names)) for _, names in tables]
            written = [as_texts(self.files(files), names) for files, names in tables]
            return sum(apart(*zip(own, written, strict=True)))

    def records(self, rows: DistantRows) -> int:
        """How many rows there are; lines that do not fit are refused."""
        with plainly("count the rows"), self.watched("counting rows"):
            return counted_records(rows)

    def some(self, rows: DistantRows, names: Sequence[str], most: int) -> pa.Table:
        """Some rows, as texts, to see what values there are."""
        with plainly("look at some rows"):
            found = rows.frame.limit(most).select(*(rows.text(name).alias(name) for name in names)).toArrow()
        return pa.table({name: found.column(name) for name in names})

    def missing(self, rows: DistantRows, names: Sequence[str]) -> int:
        """Records that lack a value in one of some columns."""
        with plainly("count missing values"), self.watched("counting rows"):
            return missing(rows, names)

    def shares(self, rows: DistantRows, kept: Sequence[str], secret: Secret, many: int) -> RecordShares:
        """All records by what is kept of them, numbered and dealt to shares, to get new values."""
        with plainly("number the records"), self.watched("numbering records"):
            return shares(self.session, rows, kept, secret, many)

    def counted_shares(self, dealt: RecordShares, names: Sequence[str]) -> pa.Table:
        """How many records of each combination of some kept columns every share has."""
        with plainly("count the shares"), self.watched("counting shares"):
            return dealt.counted(names)

    def repeats(self, files: Sequence[Path], names: Sequence[str]) -> int:
        """Rows that say in some columns what another row says that came before them."""
        from pyspark.sql import functions as F

        with plainly("count the published rows"), self.watched("counting what was written"):
            often = as_texts(self.files(files), names).groupBy(*map(named, names)).agg(F.count(F.lit(1)).alias(COUNT))
            return int(often.agg(F.sum(F.col(COUNT) - 1)).first()[0] or 0)

    def files(self, files: Sequence[Path]) -> Any:
        """Files of a part, whose columns the first of them tells; else the cluster would have to be asked first."""
        from pyspark.sql.pandas.types import from_arrow_schema

        schema = from_arrow_schema(pq.read_schema(files[0]))
        return self.session.read.schema(schema).parquet(*(file.absolute().as_uri() for file in files))

    def strangers(self, files: Sequence[Path], rows: DistantRows, names: Sequence[str]) -> int:
        """Published rows whose values in columns that are published as they are no record of their own has."""
        from pyspark.sql import functions as F

        with plainly("compare with the source"), self.watched("comparing with the source"):
            published = self.files(files)
            mine = published.select(*(F.coalesce(F.col(quoted(name)).cast("string"), F.lit("")).alias(name) for name in names))
            theirs = rows.frame.select(*(F.coalesce(rows.column(name).cast("string"), F.lit("")).alias(name) for name in names))
            return int(mine.exceptAll(theirs).count())

    def histogram(self, classes: DistantClasses, leaves: Any, route: Any, open_: Sequence[int], hidden: Sequence[str]) -> pa.Table:
        """What every open region has in each column."""
        with plainly("count the regions"), self.watched("counting regions"):
            return classes.histogram(leaves, route, open_, hidden)

    def placed(self, shares: Any) -> int:
        """How many records all shares together publish; makes them."""
        from pyspark.sql import functions as F

        with plainly("solve the regions"), self.watched("solving regions"):
            return int(shares.agg(F.sum(F.col(LAST) - F.col(FIRST))).first()[0] or 0)

    def wrong(self, classes: DistantClasses, shares: Any, count: Any) -> int:
        """Records of shares that do not cover their class, or that a class does not have."""
        with plainly("compare shares with their classes"), self.watched("comparing with the source"):
            return classes.wrong(shares, count)

    def differing(
        self, files: Sequence[Path], classes: DistantClasses, shares: Any, recoded: Sequence[str], others: Sequence[str]
    ) -> int:
        """By how many rows the files differ from what the shares say."""
        from pyspark.sql import functions as F

        with plainly("compare with the shares"), self.watched("comparing with the shares"):
            own = shares.drop(COUNT).join(classes.frame.select(IDENTITY, *map(named, others)), IDENTITY)
            labels = [F.col(f"{LABEL}{place}").alias(str(place)) for place in range(len(recoded))]
            values = [named(name).alias(str(len(recoded) + place)) for place, name in enumerate(others)]
            keys = [str(place) for place in range(len(recoded) + len(others))]
            said = (
                own.select(*labels, *values, (F.col(LAST) - F.col(FIRST)).alias("n")).groupBy(*keys).agg(F.sum("n").alias("said"))
            )
            frame = self.files(files)
            texts = [F.coalesce(named(name).cast("string"), F.lit("")) for name in (*recoded, *others)]
            shown = frame.select(*(text.alias(key) for text, key in zip(texts, keys, strict=True)))
            found = shown.groupBy(*keys).agg(F.count(F.lit(1)).alias("found"))
            apart = F.abs(F.coalesce(F.col("said"), F.lit(0)) - F.coalesce(F.col("found"), F.lit(0)))
            return int(said.join(found, keys, "full").agg(F.sum(apart)).first()[0] or 0)

    def over_files(self, ask: Callable[[Path], Any], files: Sequence[Path]) -> list[Any]:
        """The answers of something plain for every file, by executors that see it."""
        if sum(file.stat().st_size for file in files) < SMALL_FILES:
            return [ask(file) for file in files]
        context = self.session.sparkContext
        return list(context.parallelize([file.absolute() for file in files], min(len(files), 1000)).map(ask).collect())

    def sent(self, table: pa.Table) -> Any:
        from pyspark.sql import functions as F

        frame = self.session.createDataFrame(table)
        return F.broadcast(frame) if table.num_rows <= BROADCAST else frame

    @contextmanager
    def watched(self, what: str) -> Iterator[None]:
        """Progress from the stages that run, which have our name; else Java looks for one in the stack at every step."""
        done, context = threading.Event(), self.session.sparkContext
        watcher = threading.Thread(target=_watch, args=(context.statusTracker(), self.progress, what, done), daemon=True)
        watcher.start()
        _name_jobs(context, what)
        try:
            yield
        finally:
            _name_jobs(context, None)
            done.set()
            watcher.join()
            trim()  # what came here and was put in order lies idle between arrays that are still in use


def classes_of(engine: Any, names: Sequence[str], data: Any, source: Any) -> Table:
    """The classes of some columns of any source; for who has no policy."""
    spark = engine if isinstance(engine, SparkEngine) else SparkEngine(engine)
    with plainly("open the source"):
        rows = opened(spark.session, source, data)
    found = spark.classes(rows, names)
    rows.require_unchanged()
    if not isinstance(found, NumberedClasses):
        raise DataError(f"there are more than {spark.most_classes:,} classes", hint="name fewer columns, or coarsen them")
    return found.table


def _name_jobs(context: Any, what: str | None) -> None:
    for form in ("callSite.short", "callSite.long"):
        context.setLocalProperty(form, what)


def _watch(tracker: Any, progress: Progress, what: str, done: threading.Event) -> None:
    while not done.wait(0.5):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None and stage.numTasks]
        if tasks:
            progress(sum(ready for ready, _ in tasks) / sum(all_ for _, all_ in tasks), what)


def laid_out(frame: Any, files: int) -> Any:
    """Rows dealt to files and ordered by their keys alone; nothing comes after the order (I1)."""
    from pyspark.sql import functions as F

    key = F.col(KEY)
    return frame.repartition(files, key).sortWithinPartitions(key).drop(KEY)


def _columns_of(file: Path) -> tuple[str, ...]:
    return tuple(pq.read_schema(file).names)
