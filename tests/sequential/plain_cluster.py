"""A cluster on one page: rows in a list, people known again by a dictionary, files written by hand; no session is
needed.

What is published on it goes the way of every release whose rows lie elsewhere (`spine.remembering`): classes and
courses with counts come to the method, who is on which line goes into files beside the ledger, and the audit counts
both again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.data.table import Table
from sfumato.engines.local import LocalFiles
from sfumato.engines.protocol import (
    COUNT,
    IDENTITY,
    LINE,
    PERSON,
    SECRET_BYTES,
    NumberedClasses,
    People,
    Recoding,
    RunSecret,
)
from sfumato.engines.spark.persons import PAST
from sfumato.engines.spark.workflow.history import publish_with_history
from sfumato.history.ledger import Ledger
from sfumato.workflow.plan import plan

SEPARATOR = "\x1f"


class PlainRows(NamedTuple):
    """A table that is said to lie elsewhere."""

    rows: list[dict[str, str]]

    def require_unchanged(self) -> None:
        pass


class PlainCluster(LocalFiles):
    """What the house asks of a cluster, each verb from its definition; people files have few rows each, as on a real
    one."""

    def __init__(self, staging: Path, rows_per_file: int = 40) -> None:
        self.staging, self.rows_per_file = staging, rows_per_file

    def progress(self, share: float, what: str) -> None:
        pass

    def known_again(self, rows: PlainRows, key: Sequence[str], people: Sequence[People]) -> tuple[PlainRows, pa.Table]:
        ways: dict[str, list[int]] = defaultdict(lambda: [-1] * len(people))
        for release, own in enumerate(people):
            for pair in (own if isinstance(own, pa.Table) else pa.concat_tables(map(pq.read_table, own))).to_pylist():
                ways[pair[PERSON]][release] = pair[LINE]
        told = {name: SEPARATOR + ",".join(map(str, lines)) for name, lines in ways.items()}
        mine = [name_of(row, key) for row in rows.rows]
        gone = Counter(way for name, way in told.items() if name not in set(mine))
        beside = [
            row | ({PAST: told.get(name, "")} if people else {}) for row, name in zip(rows.rows, mine, strict=True)
        ]
        return PlainRows(beside), pa.table({PAST: list(gone), COUNT: pa.array(list(gone.values()), pa.int64())})

    def classes(self, rows: PlainRows, names: Sequence[str]) -> NumberedClasses:
        found = Counter(tuple(row[name] for name in names) for row in rows.rows)
        held = pa.table(dict(zip(names, map(list, zip(*found, strict=True)), strict=True)))
        return NumberedClasses(Table(held, counts=np.array(list(found.values()))), np.arange(len(found)))

    def recode(
        self, rows: PlainRows, recoding: Recoding, published: Sequence[str], secret: RunSecret
    ) -> list[dict[str, str]]:
        labels = {name: column.to_pylist() for name, column in recoding.labels.items()}
        dealt = shares(rows, recoding)
        return [
            {name: labels[name][shown] if name in labels else row[name] for name in published} for row, shown in dealt
        ]

    def seats(self, rows: PlainRows, key: Sequence[str], recoding: Recoding, secret: RunSecret) -> list[dict[str, Any]]:
        return [{PERSON: name_of(row, key), LINE: line} for row, line in shares(rows, recoding)]

    def write(self, frame: list[dict[str, Any]], records: int, folder: Path) -> dict[str, int]:
        folder.mkdir()
        table, made = pa.Table.from_pylist(frame), {}
        for place, first in enumerate(range(0, table.num_rows, self.rows_per_file)):
            file, part = folder / f"part-{place:05d}.parquet", table.slice(first, self.rows_per_file)
            pq.write_table(part, file, compression="zstd")
            made[f"{folder.name}/{file.name}"] = part.num_rows
        return made

    def seated(self, rows: PlainRows, key: Sequence[str], files: Sequence[Path], classes: NumberedClasses) -> pa.Table:
        number = numbers(classes.table.names, classes.table.frame.to_pylist())
        of = {name_of(row, key): number[tuple(row[name] for name in classes.table.names)] for row in rows.rows}
        pairs = Counter(
            (of.get(pair[PERSON]), pair[LINE]) for pair in pa.concat_tables(map(pq.read_table, files)).to_pylist()
        )
        found = [
            {IDENTITY: who, LINE: line, COUNT: n, "known": 0 if who is None else n} for (who, line), n in pairs.items()
        ]
        return pa.Table.from_pylist(found)


def name_of(row: dict[str, str], key: Sequence[str]) -> str:
    return SEPARATOR.join(row[name] for name in key)


def numbers(names: Sequence[str], classes: list[dict[str, str]]) -> dict[tuple[str, ...], int]:
    return {tuple(one[name] for name in names): place for place, one in enumerate(classes)}


def shares(rows: PlainRows, recoding: Recoding) -> list[tuple[dict[str, str], int]]:
    """Every row that is published, with what it becomes: the members of a class in turn."""
    waiting: dict[int, list[dict[str, str]]] = defaultdict(list)
    found: dict[tuple[str, ...], int] = {}
    for row in rows.rows:
        waiting[found.setdefault(tuple(row[name] for name in recoding.names), len(found))].append(row)
    spans = zip(
        recoding.identity.tolist(),
        recoding.first.tolist(),
        recoding.last.tolist(),
        recoding.shown.tolist(),
        strict=True,
    )
    return [(row, shown) for identity, first, last, shown in spans for row in waiting[identity][first:last]]


def publish_there(
    policy: sf.Policy, table: pa.Table, ledger: Path, *, new: bool = False, seed: int = 1
) -> sf.Publication:
    """One more release of a ledger, made where its rows lie."""
    cluster, secret = (
        PlainCluster(ledger.parent),
        RunSecret(Randomness(seed).child("plain cluster").bytes(SECRET_BYTES)),
    )
    chosen, rows = plan(policy, remembering=True), PlainRows(table.to_pylist())
    return publish_with_history(cluster, rows, policy, chosen, Ledger(ledger, new=new), secret, seed, None)  # type: ignore[arg-type]
