"""Records with new values, made where they lie: of the old ones only how often which kept values stand together is looked at.

Records that are alike in everything that is kept are one for whoever reads the release, so the source is grouped by what is kept
and every record is made again from the counts. Each gets a key of its own, its place in the order of these keys as its number, and
its new values in a share of records with consecutive numbers.

Invariants
    I1  Replaced columns are never read, except to see whether something in them is missing.
    I2  The number of a record is a function of the secret and of what is kept of it: a task that runs again makes the same.
    I3  The order of published rows comes from another key than the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfumato.engines.base import COUNT, NUMBER, Secret
from sfumato.engines.spark_buckets import placed, sent
from sfumato.engines.spark_packing import collected
from sfumato.engines.spark_regions import KEY
from sfumato.engines.spark_rows import named
from sfumato.engines.spark_source import DistantRows

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
        """How many records of each combination of some kept columns every share has, by the number of its first record."""
        from pyspark.sql import functions as F

        texts = [F.col(f"{self.kept.index(name)}\x1fkept").alias(name) for name in names]
        first = (F.col(_SHARE) * F.lit(SHARE)).alias(NUMBER)
        return collected(
            self.frame.select(*texts, first).groupBy(*map(named, names), NUMBER).agg(F.count(F.lit(1)).alias(COUNT)), names
        )

    def made(self, published: Sequence[str], make: Make) -> Any:
        """The published rows with the key that puts them in order; `make` gives the new columns of a share (I2)."""
        from pyspark.sql.types import StringType, StructField, StructType

        schema = StructType([StructField(name, StringType()) for name in (*published, KEY)])
        return self.frame.groupBy(_SHARE).applyInArrow(_making(self.kept, tuple(published), make), schema)


def shares(session: Any, rows: DistantRows, kept: Sequence[str], secret: Secret, many: int) -> RecordShares:
    """All records, numbered and dealt to shares."""
    from pyspark.sql import functions as F

    names = [f"{place}\x1fkept" for place in range(len(kept))]
    texts = [rows.text(name).alias(place) for name, place in zip(kept, names, strict=True)]
    alike = rows.frame.select(*texts, F.lit("").alias(_SHARE)).groupBy(*names, _SHARE).agg(F.count(F.lit(1)).alias(COUNT))  # I1
    each = alike.select(*names, _SHARE, F.explode(F.sequence(F.lit(1), F.col(COUNT))).alias(NUMBER))
    content = [F.concat(F.length(name).cast("string"), F.lit(":"), F.col(name)) for name in names]
    own = F.concat(*content, F.lit("#"), F.col(NUMBER).cast("string"))
    keys = sent(session, {_DEAL: [secret.key("records")], KEY: [secret.key("order of rows")]})
    keyed = [F.sha2(F.concat_ws("\x1f", F.col(key), own), 256).alias(key) for key in (_DEAL, KEY)]  # I3
    cards = each.crossJoin(keys).select(*names, _SHARE, *keyed)
    numbered = placed(session, cards, _SHARE, [""], many, "")
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


def missing(rows: DistantRows, names: Sequence[str]) -> int:
    """Records that lack a value in one of some columns."""
    from functools import reduce

    if not names:
        return 0
    lacking = [rows.text(name) == "" for name in names]
    return int(rows.frame.where(reduce(lambda one, other: one | other, lacking)).count())
