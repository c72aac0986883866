"""People of earlier releases, known again on the cluster by a join on their key; the driver learns how many went which
way.

Invariants
    I1  Who a person is stays here: on the driver there are lines of releases and counts.
    I2  Who of a class is on which line is decided by a keyed order of their keys, so that a task that runs twice
        decides alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError, LedgerError
from sfumato.engines.protocol import COUNT, IDENTITY, LINE, PERSON, TWICE, NumberedClasses, People, Recoding, RunSecret
from sfumato.engines.spark.regions import FIRST, KEY, LAST, SPLIT
from sfumato.engines.spark.rows import (
    broadcast_columns,
    class_number,
    column_by_name,
    join_share,
    order_key,
    rank_within_class,
)
from sfumato.engines.spark.session import plain_cluster_errors
from sfumato.engines.spark.source import RemoteRows, file_stamps

PAST = "\x1fpast"
"""The column of rows that says which way its person went so far; empty for who is new."""
_WHO, _BETWEEN, _MARK = "\x1fwho", "\x1f", "\x1f"


class PeopleVerbs(ABC):
    """Operations of a cluster engine on people over several releases; the rest is in `spark`."""

    session: Any

    @abstractmethod
    def watched(self, what: str) -> AbstractContextManager[None]:
        """Progress from the stages that run."""

    @abstractmethod
    def sent(self, table: pa.Table) -> Any:
        """A table of ours beside the rows."""

    @abstractmethod
    def files(self, files: Sequence[Path]) -> Any:
        """Files of a part, where they lie."""

    def known_again(
        self, rows: RemoteRows, key: Sequence[str], people: Sequence[People]
    ) -> tuple[RemoteRows, pa.Table]:
        """Rows beside which way their person went through earlier releases, and which ways the people went who are not
        there."""
        with plain_cluster_errors("know people again"), self.watched("knowing people again"):
            require_keys(rows, key)
            frames = [self._people(own) for own in people]
            nobody = pa.table({PAST: pa.array([], pa.string()), COUNT: pa.array([], pa.int64())})
            return beside_past(rows, key, frames), absent(rows, key, frames) if frames else nobody

    def courses(self, people: Sequence[People]) -> tuple[pa.Table, IntArray]:
        """The different courses of people through some releases, and how many took each."""
        with plain_cluster_errors("know people again"), self.watched("knowing people again"):
            found = counted_courses([self._people(own) for own in people])
        # I1
        return parse_memory_lines(found.column(PAST).to_pylist(), len(people)), found.column(COUNT).to_numpy().astype(
            np.int64
        )

    def seats(self, rows: RemoteRows, key: Sequence[str], recoding: Recoding, secret: RunSecret) -> Any:
        """Who is on which line: what is `shown` of a share is its line."""
        number = class_number(map(rows.text, recoding.names), recoding.salt).alias(IDENTITY)
        frame = rows.frame.select(number, person(rows, key).alias(PERSON))
        keys = [secret.key("people", str(line)) for line in recoding.shown.tolist()]
        whole, some = recoding.whole, ~recoding.whole
        every = {
            IDENTITY: recoding.identity,
            FIRST: recoding.first,
            LAST: recoding.last,
            LINE: recoding.shown,
            KEY: np.array(keys),
        }
        mine = {name: column[whole] for name, column in every.items() if name not in (FIRST, LAST)}
        placed = frame.join(self.sent(broadcast_columns(mine)), IDENTITY).select(PERSON, LINE, KEY)
        if some.any():
            different = np.unique(recoding.identity[some])
            split = broadcast_columns(
                {IDENTITY: different, SPLIT: [secret.key("seats", str(number)) for number in different]}
            )
            among = rank_within_class(frame.join(self.sent(split), IDENTITY), [PERSON])
            parts = self.sent(broadcast_columns({name: column[some] for name, column in every.items()}))
            placed = placed.unionByName(join_share(among.join(parts, IDENTITY), [PERSON], [LINE, KEY]))
        return as_remembered(placed)

    def seated(self, rows: RemoteRows, key: Sequence[str], files: Sequence[Path], classes: NumberedClasses) -> pa.Table:
        """Of every class how many people of some files are on which line, and how many of them the source knows."""
        with plain_cluster_errors("compare people with the source"), self.watched("comparing with the source"):
            return seated(rows, key, self.files(files), classes.table.names, classes.salt)

    def _people(self, people: People) -> Any:
        return self.session.createDataFrame(people) if isinstance(people, pa.Table) else self.files(people)


def person(rows: RemoteRows, key: Sequence[str]) -> Any:
    """The private key of every record, as it is remembered."""
    from pyspark.sql import functions as F

    return F.concat_ws(_BETWEEN, *(rows.text(name) for name in key))


def require_keys(rows: RemoteRows, key: Sequence[str]) -> None:
    """Refuse keys that are empty or that two records have."""
    from pyspark.sql import functions as F

    keys = rows.frame.select(person(rows, key).alias(_WHO)).groupBy(_WHO).agg(F.count(F.lit(1)).alias(COUNT))
    empty = F.sum(F.when(F.trim(F.translate(F.col(_WHO), _BETWEEN, "")) == "", F.col(COUNT)).otherwise(0))
    repeated, without = keys.agg(F.sum(F.col(COUNT) - 1), empty).first()
    where = ", ".join(key)
    if repeated:
        what = f"{int(repeated)} record(s) repeat the key of another one"
        raise DataError(what, where=where, hint="a key must be unique; add a column to it")
    if without:
        raise DataError("a record has an empty key", where=where, hint="every record needs a key that stays the same")


def beside_past(rows: RemoteRows, key: Sequence[str], people: Sequence[Any]) -> RemoteRows:
    """Rows with one more column: which way their person went through earlier releases; the people files are pinned,
    too."""
    from pyspark.sql import functions as F

    if not people:
        return rows
    rows.require_unchanged()
    mine = rows.frame.withColumn(_WHO, person(rows, key))
    joined = mine.join(_ways(people), _WHO, "left").withColumn(PAST, F.coalesce(F.col(PAST), F.lit(""))).drop(_WHO)
    return replace(rows, frame=joined, pinned=file_stamps(joined), names=(*rows.names, PAST))


def absent(rows: RemoteRows, key: Sequence[str], people: Sequence[Any]) -> pa.Table:
    """Which ways people went who are not in the table, with counts."""
    from pyspark.sql import functions as F

    mine = rows.frame.select(person(rows, key).alias(_WHO))
    gone = _ways(people).join(mine, _WHO, "left_anti").groupBy(PAST).agg(F.count(F.lit(1)).alias(COUNT))
    return gone.select(PAST, COUNT).toArrow()


def counted_courses(people: Sequence[Any]) -> pa.Table:
    """Which ways people went, with counts."""
    from pyspark.sql import functions as F

    releases = (frame.select(column_by_name(PERSON), F.lit(place).alias(LINE)) for place, frame in enumerate(people))
    everybody = reduce(lambda one, other: one.unionAll(other), releases)
    if everybody.groupBy(PERSON, LINE).count().where(F.col("count") > 1).limit(1).count():
        raise LedgerError(TWICE)
    found: pa.Table = _ways(people).groupBy(PAST).agg(F.count(F.lit(1)).alias(COUNT)).toArrow()
    return found


def parse_memory_lines(ways: Sequence[str], releases: int) -> pa.Table:
    """What the column of ways says, release by release; −1 where absent.

    >>> parse_memory_lines(["", "\\x1f3,-1"], 2).to_pylist()
    [{'0': -1, '1': -1}, {'0': 3, '1': -1}]
    """
    nowhere = [-1] * releases
    told = [list(map(int, way.removeprefix(_MARK).split(","))) if way else nowhere for way in ways]
    table = np.array(told, dtype=np.int64).reshape(len(told), releases)
    return pa.table({str(place): table[:, place] for place in range(releases)})


def _ways(people: Sequence[Any]) -> Any:
    """Everybody ever published, and which way each of them went."""
    from pyspark.sql import functions as F

    found = None
    for place, frame in enumerate(people):
        one = frame.select(F.col(PERSON).alias(_WHO), F.col(LINE).cast("long").alias(f"{PAST}{place}"))
        found = one if found is None else found.join(one, _WHO, "full")
    assert found is not None
    lines = [F.coalesce(F.col(f"{PAST}{place}"), F.lit(-1)).cast("string") for place in range(len(people))]
    return found.select(_WHO, F.concat(F.lit(_MARK), F.concat_ws(",", *lines)).alias(PAST))


def as_remembered(placed: Any) -> Any:
    """Who is on which line, with the key that puts them in order (I2)."""
    from pyspark.sql import functions as F

    return placed.select(
        PERSON, F.col(LINE).cast("long").alias(LINE), F.substring(order_key(KEY, [PERSON]), 1, 32).alias(KEY)
    )


def seated(rows: RemoteRows, key: Sequence[str], people: Any, names: Sequence[str], salt: int) -> pa.Table:
    """What was written about people beside the rows: of every class how many are on which line, −1 for who is not in
    the source."""
    from pyspark.sql import functions as F

    number = class_number(map(rows.text, names), salt).alias(IDENTITY)
    mine = rows.frame.select(person(rows, key).alias(PERSON), number, F.lit(1).alias(COUNT))
    both = people.select(column_by_name(PERSON), column_by_name(LINE)).join(mine, PERSON, "left")
    told = both.groupBy(IDENTITY, LINE).agg(F.count(F.lit(1)).alias(COUNT), F.count(F.col(COUNT)).alias("known"))
    found: pa.Table = told.select(IDENTITY, LINE, COUNT, "known").toArrow()
    return found
