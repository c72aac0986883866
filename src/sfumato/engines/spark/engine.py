"""Spark: rows stay on the cluster; classes with counts come to the driver, and a recoding goes back.

Guarantee
    Every record is published exactly once or suppressed, whatever tasks fail, run twice or lose their executor: nothing
    in here depends on a place, a partition number, a time or `rand()`. Output is staged, and only complete files get a
    name in a release.

Invariants
    I1  Rows are put in order last: an optimizer drops a sort that a join or an exchange follows.
    I2  Only listed files lie in a part: no marks of a committer, no checksums of a file system, no job numbers in
        names.

Cost: three reads of the source, two exchanges. The driver holds the classes and the published tuples, never rows.


Spark draws
-----------
Records with new values, made where they lie: of the old ones only how often which kept values stand together is looked
at.

Records with equal kept columns are equal in the release, so the source is grouped by the kept columns and every record
is restored from the counts. Each gets a key of its own, its place in the order of these keys as its number, and its new
values in a share of records with consecutive numbers.

Invariants
    I1  Replaced columns are never read, except to see whether something in them is missing.
    I2  The number of a record is a function of the secret and of what is kept of it: a task that runs again makes the
        same.
    I3  The order of published rows comes from another key than the numbers.
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

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError, SfumatoError
from sfumato.data.memory_map import release_memory
from sfumato.data.table import Table
from sfumato.engines.protocol import COUNT, IDENTITY, NUMBER, NumberedClasses, Recoding, RunSecret
from sfumato.engines.spark.buckets import (
    BUCKET,
    VALUE,
    BucketedRows,
    BucketLayout,
    RecordCache,
    as_texts,
    broadcast_table,
    bucket_kinds,
    count_differences,
    number_rows,
    project_columns,
)
from sfumato.engines.spark.persons import PeopleVerbs
from sfumato.engines.spark.regions import FIRST, KEY, LABEL, LAST, SPLIT, RemoteClasses
from sfumato.engines.spark.rows import (
    FEW,
    broadcast_columns,
    class_number,
    collect_classes,
    collect_frame,
    column_by_name,
    count_remote_records,
    join_share,
    quote_column,
    rank_within_class,
    select_published,
    sort_rows,
)
from sfumato.engines.spark.session import plain_cluster_errors
from sfumato.engines.spark.source import RemoteRows, open_source
from sfumato.policy.policy import Policy

Progress = Callable[[float, str], None]
MOST_CELLS = 1 << 23
"""Cells of one published file: readers accept so many, however small the file is (equal rows compress well)."""
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

    def rows(self, policy: Policy, data: Any = None) -> RemoteRows:
        """The source, looked at and pinned."""
        with plain_cluster_errors("open the source"):
            return open_source(self.session, policy.data, data)

    def classes(self, rows: RemoteRows, names: Sequence[str]) -> NumberedClasses | RemoteClasses:
        """The different tuples of some columns with their counts, and the numbers by which rows find them.

        They come to the driver as long as they are not more than it takes; else they stay on the cluster.
        """
        for salt in range(_TRIES):
            with plain_cluster_errors("count the classes"), self.watched("counting classes"):
                found = collect_classes(rows, names, salt, self.most_classes)
            if isinstance(found, RemoteClasses):
                return found
            if found is not None:
                # frequent values first, as they come in rows: methods that break ties by the first value then break
                # them alike
                found = sort_rows(found, [COUNT], names)
                identity, counts = found.column(IDENTITY).to_numpy(), found.column(COUNT).to_numpy().astype(np.int64)
                if len(np.unique(identity)) == len(identity):
                    return NumberedClasses(Table(found.select(list(names)), counts=counts), identity, salt)
        raise SfumatoError("classes of the data cannot be told apart by a number")

    def size(self, rows: RemoteRows) -> int:
        """How many rows there are."""
        with plain_cluster_errors("count the rows"), self.watched("counting rows"):
            return int(rows.frame.count())

    def collect(self, rows: RemoteRows, names: Sequence[str]) -> pa.Table:
        """Rows as they are, brought here, for what cannot do without them."""
        with plain_cluster_errors("bring the rows"), self.watched("bringing rows"):
            if rows.checked:
                count_remote_records(rows)
            found = rows.frame.select(*(rows.column(name).alias(name) for name in names)).toArrow()
        return pa.table({name: found.column(name) for name in names})

    def recode(self, rows: RemoteRows, recoding: Recoding, published: Sequence[str], secret: RunSecret) -> Any:
        """Rows as they are published, each with its key: the whole of a class by a join, its shares by a keyed
        order."""
        frame, as_is, carried = self._numbered(rows, recoding.names, recoding.salt, recoding.labels, published)
        labels = {f"{LABEL}{place}": column for place, column in enumerate(recoding.labels.values())}
        told = {KEY: pa.array(recoding.tuple_keys(secret), pa.string()), **labels}
        few = len(recoding.shown) <= FEW  # then classes are sent with what is shown of them, else with its number
        more = [*told] if few else [_SHOWN]

        def shares(some: Any, **columns: Any) -> Any:
            shown = pa.array(recoding.shown[some])
            beside = {name: column.take(shown) for name, column in told.items()} if few else {_SHOWN: shown}
            return self.sent(broadcast_columns({IDENTITY: recoding.identity[some], **columns, **beside}))

        placed = frame.join(shares(recoding.whole), IDENTITY).select(*carried, *more)
        if not recoding.whole.all():
            some = ~recoding.whole
            different = np.unique(recoding.identity[some])
            split = broadcast_columns(
                {IDENTITY: different, SPLIT: [secret.key("split", str(number)) for number in different]}
            )
            among = rank_within_class(frame.join(self.sent(split), IDENTITY), carried)
            edges = {FIRST: recoding.first[some], LAST: recoding.last[some]}
            placed = placed.unionByName(join_share(among.join(shares(some, **edges), IDENTITY), carried, more))
        if not few:
            placed = placed.join(self.sent(broadcast_columns({_SHOWN: np.arange(len(told[KEY])), **told})), _SHOWN)
        return select_published(placed, recoding.labels, as_is, carried, published)

    def recode_shares(
        self, rows: RemoteRows, classes: RemoteClasses, shares: Any, recoded: Sequence[str], published: Sequence[str]
    ) -> Any:
        """The same where the shares of classes lie on the cluster, too."""
        from pyspark.sql import functions as F

        frame, as_is, carried = self._numbered(rows, classes.names, classes.salt, recoded, published)
        labels = [KEY, *(f"{LABEL}{place}" for place in range(len(recoded)))]
        is_whole = F.col(LAST) - F.col(FIRST) == F.col(COUNT)
        placed = frame.join(shares.where(is_whole).select(IDENTITY, *labels), IDENTITY).select(*carried, *labels)
        parts = shares.where(~is_whole)
        among = rank_within_class(frame.join(parts.select(IDENTITY, SPLIT).distinct(), IDENTITY), carried)
        split = join_share(among.join(parts.select(IDENTITY, FIRST, LAST, *labels), IDENTITY), carried, labels)
        return select_published(placed.unionByName(split), recoded, as_is, carried, published)

    def _numbered(
        self, rows: RemoteRows, names: Sequence[str], salt: int, recoded: Iterable[str], published: Sequence[str]
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
        files = max(1, -(-records * 5 // (most * 4)))  # slack for files that get more than others
        staged = folder.with_name(f".{folder.name}.staged")
        with plain_cluster_errors("write the rows"), self.watched("writing"):
            laid = laid_out(frame, files).write.mode("error").options(compression="zstd", maxRecordsPerFile=str(most))
            laid.parquet(staged.absolute().as_uri())
        folder.mkdir()
        made = sorted(
            file for file in staged.iterdir() if file.suffix == ".parquet" and not file.name.startswith((".", "_"))
        )
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

        with plain_cluster_errors("count the published rows"), self.watched("counting what was written"):
            frame = self.files(files)
            texts = [F.coalesce(F.col(quote_column(name)).cast("string"), F.lit("")).alias(name) for name in names]
            counted = frame.select(*texts).groupBy(*map(column_by_name, names)).agg(F.count(F.lit(1)).alias(COUNT))
            found = sort_rows(collect_frame(counted, names), [], names)
        return found.select(list(names)), found.column(COUNT).to_numpy()

    def with_buckets(
        self, files: Sequence[Path], lists: Mapping[str, Sequence[Path]], aside: Sequence[str]
    ) -> dict[str, tuple[pa.Table, IntArray | None]]:
        """A table with buckets and its lists, as they lie there; buckets that list the same are one."""
        main = self.columns(files)
        if BUCKET not in main or any(not {BUCKET, VALUE, "count"} <= set(self.columns(own)) for own in lists.values()):
            raise DataError("a table with buckets or a list of their values lacks a column")
        names = [name for name in main if name not in (BUCKET, *aside)]
        with plain_cluster_errors("count the published rows"), self.watched("counting what was written"):
            listed = {part: self.files(own) for part, own in lists.items()}
            found = bucket_kinds(self.files(files), listed, names, self.most_classes)
        return {files[0].parent.name: (found.rows, found.counts), **found.lists}

    def deck(self, rows: RemoteRows, layout: BucketLayout, secret: RunSecret, records: int) -> RecordCache:
        """Return the records with their own keys, to be assigned to buckets."""
        with plain_cluster_errors("number the records"):
            return RecordCache.of(self.session, rows, layout, secret, records)

    def dealt(
        self, deck: RecordCache, by: str, values: Sequence[str], buckets: int, secret: RunSecret, attempt: int
    ) -> BucketedRows:
        """Every record in a bucket."""
        with plain_cluster_errors("deal the records"), self.watched("dealing"):
            return deck.dealt(by, values, buckets, secret, attempt)

    def kinds(self, dealt: BucketedRows) -> dict[str, tuple[pa.Table, IntArray]]:
        """What buckets list of each sensitive column, buckets that list the same as one."""
        with plain_cluster_errors("count the buckets"), self.watched("counting buckets"):
            return dict(
                bucket_kinds(
                    dealt.frame, {name: dealt.listed(name) for name in dealt.hidden}, None, self.most_classes
                ).lists
            )

    def misdealt(
        self, files: Sequence[Path], lists: Mapping[str, Sequence[Path]], dealt: BucketedRows, rows: RemoteRows
    ) -> tuple[int, int]:
        """By how many rows, and by how many listed values, what was written differs from records of the source in these
        buckets."""
        with plain_cluster_errors("compare with the source"), self.watched("comparing with the source"):
            layout, names = dealt.layout, [BUCKET, VALUE, "count"]
            pairs = [(layout.texts(layout.of(rows), bucket=False), layout.texts(dealt.frame, bucket=False))]
            pairs += [(layout.written(self.files(files)), layout.texts(dealt.frame, bucket=True))]
            pairs += [
                (as_texts(self.files(lists[name]), names), as_texts(dealt.listed(name), names)) for name in dealt.hidden
            ]
            found = count_differences(*pairs)
            return sum(found[:2]), sum(found[2:])

    def projected(self, rows: RemoteRows, names: Sequence[str], key: str) -> Any:
        """Some columns of all records, with the key that puts them in order."""
        return project_columns(self.session, rows, names, key)

    def misprojected(self, tables: Sequence[tuple[Sequence[Path], Sequence[str]]], rows: RemoteRows) -> int:
        """By how many rows what was written as some tables differs from their columns of all records; all tables in one
        pass."""
        with plain_cluster_errors("compare with the source"), self.watched("comparing with the source"):
            own = [rows.frame.select(*(rows.text(name).alias(name) for name in names)) for _, names in tables]
            written = [as_texts(self.files(files), names) for files, names in tables]
            return sum(count_differences(*zip(own, written, strict=True)))

    def records(self, rows: RemoteRows) -> int:
        """How many rows there are; lines that do not fit are refused."""
        with plain_cluster_errors("count the rows"), self.watched("counting rows"):
            return count_remote_records(rows)

    def some(self, rows: RemoteRows, names: Sequence[str], most: int) -> pa.Table:
        """Some rows, as texts, to see what values there are."""
        with plain_cluster_errors("look at some rows"):
            found = rows.frame.limit(most).select(*(rows.text(name).alias(name) for name in names)).toArrow()
        return pa.table({name: found.column(name) for name in names})

    def missing(self, rows: RemoteRows, names: Sequence[str]) -> int:
        """Records that lack a value in one of some columns."""
        with plain_cluster_errors("count missing values"), self.watched("counting rows"):
            return count_missing_records(rows, names)

    def shares(self, rows: RemoteRows, kept: Sequence[str], secret: RunSecret, many: int) -> RecordShares:
        """Return all records by their kept columns, numbered and divided into shares, to get new values."""
        with plain_cluster_errors("number the records"), self.watched("numbering records"):
            return number_into_shares(self.session, rows, kept, secret, many)

    def counted_shares(self, dealt: RecordShares, names: Sequence[str]) -> pa.Table:
        """How many records of each combination of some kept columns every share has."""
        with plain_cluster_errors("count the shares"), self.watched("counting shares"):
            return dealt.counted(names)

    def repeats(self, files: Sequence[Path], names: Sequence[str]) -> int:
        """Rows that say in some columns what another row says that came before them."""
        from pyspark.sql import functions as F

        with plain_cluster_errors("count the published rows"), self.watched("counting what was written"):
            often = (
                as_texts(self.files(files), names)
                .groupBy(*map(column_by_name, names))
                .agg(F.count(F.lit(1)).alias(COUNT))
            )
            return int(often.agg(F.sum(F.col(COUNT) - 1)).first()[0] or 0)

    def files(self, files: Sequence[Path]) -> Any:
        """Files of a part, whose columns the first of them tells; else the cluster would have to be asked first."""
        from pyspark.sql.pandas.types import from_arrow_schema

        schema = from_arrow_schema(pq.read_schema(files[0]))
        return self.session.read.schema(schema).parquet(*(file.absolute().as_uri() for file in files))

    def strangers(self, files: Sequence[Path], rows: RemoteRows, names: Sequence[str]) -> int:
        """Published rows whose values in columns that are published as they are no record of their own has."""
        from pyspark.sql import functions as F

        with plain_cluster_errors("compare with the source"), self.watched("comparing with the source"):
            published = self.files(files)
            mine = published.select(
                *(F.coalesce(F.col(quote_column(name)).cast("string"), F.lit("")).alias(name) for name in names)
            )
            theirs = rows.frame.select(
                *(F.coalesce(rows.column(name).cast("string"), F.lit("")).alias(name) for name in names)
            )
            return int(mine.exceptAll(theirs).count())

    def histogram(
        self, classes: RemoteClasses, leaves: Any, route: Any, open_: Sequence[int], hidden: Sequence[str]
    ) -> pa.Table:
        """What every open region has in each column."""
        with plain_cluster_errors("count the regions"), self.watched("counting regions"):
            return classes.histogram(leaves, route, open_, hidden)

    def placed(self, shares: Any) -> int:
        """How many records all shares together publish; makes them."""
        from pyspark.sql import functions as F

        with plain_cluster_errors("solve the regions"), self.watched("solving regions"):
            return int(shares.agg(F.sum(F.col(LAST) - F.col(FIRST))).first()[0] or 0)

    def wrong(self, classes: RemoteClasses, shares: Any, count: Any) -> int:
        """Records of shares that do not cover their class, or that a class does not have."""
        with plain_cluster_errors("compare shares with their classes"), self.watched("comparing with the source"):
            return classes.wrong(shares, count)

    def differing(
        self, files: Sequence[Path], classes: RemoteClasses, shares: Any, recoded: Sequence[str], others: Sequence[str]
    ) -> int:
        """By how many rows the files differ from what the shares say."""
        from pyspark.sql import functions as F

        with plain_cluster_errors("compare with the shares"), self.watched("comparing with the shares"):
            own = shares.drop(COUNT).join(classes.frame.select(IDENTITY, *map(column_by_name, others)), IDENTITY)
            labels = [F.col(f"{LABEL}{place}").alias(str(place)) for place in range(len(recoded))]
            values = [column_by_name(name).alias(str(len(recoded) + place)) for place, name in enumerate(others)]
            keys = [str(place) for place in range(len(recoded) + len(others))]
            said = (
                own.select(*labels, *values, (F.col(LAST) - F.col(FIRST)).alias("n"))
                .groupBy(*keys)
                .agg(F.sum("n").alias("said"))
            )
            frame = self.files(files)
            texts = [F.coalesce(column_by_name(name).cast("string"), F.lit("")) for name in (*recoded, *others)]
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
        """Progress from the stages that run, which have our name; else Java looks for one in the stack at every
        step."""
        done, context = threading.Event(), self.session.sparkContext
        watcher = threading.Thread(
            target=_watch, args=(context.statusTracker(), self.progress, what, done), daemon=True
        )
        watcher.start()
        _name_jobs(context, what)
        try:
            yield
        finally:
            _name_jobs(context, None)
            done.set()
            watcher.join()
            release_memory()  # what came here and was put in order lies idle between arrays that are still in use


def classes_of(engine: Any, names: Sequence[str], data: Any, source: Any) -> Table:
    """The classes of some columns of any source; for who has no policy."""
    spark = engine if isinstance(engine, SparkEngine) else SparkEngine(engine)
    with plain_cluster_errors("open the source"):
        rows = open_source(spark.session, source, data)
    found = spark.classes(rows, names)
    rows.require_unchanged()
    if not isinstance(found, NumberedClasses):
        raise DataError(
            f"there are more than {spark.most_classes:,} classes", hint="name fewer columns, or coarsen them"
        )
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
    """Distribute rows over files and order them by their keys alone; nothing follows the ordering (I1)."""
    from pyspark.sql import functions as F

    key = F.col(KEY)
    return frame.repartition(files, key).sortWithinPartitions(key).drop(KEY)


def _columns_of(file: Path) -> tuple[str, ...]:
    return tuple(pq.read_schema(file).names)


# Spark draws
# -----------


SHARE = 50_000
"""Records whose new values are made at once."""
_DEAL, _PLACE, _SHARE = "\x1fdeal", "\x1fplace", "\x1fshare"
Make = Callable[[pa.Table], dict[str, pa.Array]]


@dataclass(frozen=True)
class RecordShares:
    """Every record of a source by what is kept of it, with its number and its share; they lie on the cluster."""

    frame: Any
    kept: tuple[str, ...]

    def counted(self, names: Sequence[str]) -> pa.Table:
        """How many records of each combination of some kept columns every share has, by the number of its first
        record."""
        from pyspark.sql import functions as F

        texts = [F.col(f"{self.kept.index(name)}\x1fkept").alias(name) for name in names]
        first = (F.col(_SHARE) * F.lit(SHARE)).alias(NUMBER)
        return collect_frame(
            self.frame.select(*texts, first)
            .groupBy(*map(column_by_name, names), NUMBER)
            .agg(F.count(F.lit(1)).alias(COUNT)),
            names,
        )

    def made(self, published: Sequence[str], make: Make) -> Any:
        """The published rows with the key that puts them in order; `make` gives the new columns of a share (I2)."""
        from pyspark.sql.types import StringType, StructField, StructType

        schema = StructType([StructField(name, StringType()) for name in (*published, KEY)])
        return self.frame.groupBy(_SHARE).applyInArrow(_making(self.kept, tuple(published), make), schema)


def number_into_shares(
    session: Any, rows: RemoteRows, kept: Sequence[str], secret: RunSecret, many: int
) -> RecordShares:
    """Number all records and divide them into shares."""
    from pyspark.sql import functions as F

    names = [f"{place}\x1fkept" for place in range(len(kept))]
    texts = [rows.text(name).alias(place) for name, place in zip(kept, names, strict=True)]
    alike = (
        rows.frame.select(*texts, F.lit("").alias(_SHARE)).groupBy(*names, _SHARE).agg(F.count(F.lit(1)).alias(COUNT))
    )  # I1
    each = alike.select(*names, _SHARE, F.explode(F.sequence(F.lit(1), F.col(COUNT))).alias(NUMBER))
    content = [F.concat(F.length(name).cast("string"), F.lit(":"), F.col(name)) for name in names]
    own = F.concat(*content, F.lit("#"), F.col(NUMBER).cast("string"))
    keys = broadcast_table(session, {_DEAL: [secret.key("records")], KEY: [secret.key("order of rows")]})
    keyed = [F.sha2(F.concat_ws("\x1f", F.col(key), own), 256).alias(key) for key in (_DEAL, KEY)]  # I3
    cards = each.crossJoin(keys).select(*names, _SHARE, *keyed)
    numbered = number_rows(session, cards, _SHARE, [""], many, "")
    share = (F.col(_PLACE) / SHARE).cast("bigint").alias(_SHARE)
    return RecordShares(numbered.select(*names, KEY, F.col(_PLACE), share), tuple(kept))


def _making(kept: tuple[str, ...], published: tuple[str, ...], make: Make) -> Any:
    def one(table: pa.Table) -> pa.Table:
        ordered = table.sort_by([(_PLACE, "ascending")])
        own = {name: ordered.column(f"{place}\x1fkept") for place, name in enumerate(kept)}
        new = make(pa.table(own | {NUMBER: ordered.column(_PLACE)}))
        columns = {name: new[name] if name in new else own[name] for name in published}
        return pa.table(columns | {KEY: ordered.column(KEY)})

    return one


def count_missing_records(rows: RemoteRows, names: Sequence[str]) -> int:
    """Records that lack a value in one of some columns."""
    from functools import reduce

    if not names:
        return 0
    lacking = [rows.text(name) == "" for name in names]
    return int(rows.frame.where(reduce(lambda one, other: one | other, lacking)).count())
