"""Anatomy: ``data.csv`` with exact values and a ``bucket``, and per sensitive column a table ``bucket,value,count``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.data.table import Table, TextColumn
from sfumato.errors import DataError
from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form, differing_columns, differing_parts
from sfumato.release.past import Memory, Sheet, counts_agree, each_once, remember, sheet_of
from sfumato.release.release import Part, Trace

BUCKET = "bucket"
_LISTED = ("bucket", "value", "count")


@dataclass(frozen=True)
class AnatomyTrace(Trace):
    """Who stands in which bucket: row by row, or how rows that lie elsewhere are dealt once more."""

    secret: str = ""
    """The secret of the run, in hexadecimal; without one the rows are known."""
    by: str = ""
    """The column by which rows were dealt, into so many buckets, at which attempt."""
    buckets: int = 0
    attempt: int = 0


class AnatomyForm(Form):
    """Exact quasi-identifiers in one table, sensitive values in others, linked by buckets only."""

    name: ClassVar[str] = "anatomy"
    made: ClassVar[frozenset[str]] = frozenset({"bucket", "value", "count"})
    shows_columns: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    buckets: ClassVar[bool] = True
    remembered: ClassVar[bool] = True

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Trace, original: Any) -> Memory:
        return remember(policy, original, np.asarray(trace.rows["data"]), policy.published)

    def sheets(self, exhibit: Exhibit, memory: Memory) -> tuple[Sheet, ...]:
        """The rows with their buckets, and for each hidden column the values with their buckets."""
        rows = sheet_of(exhibit.data, memory.rows, frozenset({BUCKET}))
        hidden = [name for name in exhibit.policy.sensitive if name not in rows.columns]
        lists = [{BUCKET: rows.columns[BUCKET], name: memory.values.text(name)} for name in hidden]
        return (rows, *(Sheet(columns, rows.here, rows.links) for columns in lists))

    def accounts(self, exhibit: Exhibit, memory: Memory) -> bool:
        lists = self.sheets(exhibit, memory)[1:]
        listed = all(
            counts_agree(_listed(exhibit.tables[sensitive_part(exhibit, name)]), [_texts(sheet.columns[BUCKET]), _texts(text)])
            for sheet in lists
            for name, text in sheet.columns.items()
            if name != BUCKET
        )
        return listed and each_once(memory.rows, exhibit.data.rows)

    def trace_type(self) -> type[Trace]:
        return AnatomyTrace

    def lists(self, parts: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return {"data": tuple(part for part in parts if part != "data")} if "data" in parts else super().lists(parts)

    def shown(self, exhibit: Exhibit) -> tuple[str, ...]:
        return tuple(name for name in exhibit.policy.published if name not in self.made)

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        policy = exhibit.policy
        hidden = [name for name in policy.sensitive if name in policy.published]
        lists = {name: f"sensitive-{name}" for name in hidden}
        if len(hidden) == 1 and "sensitive" in exhibit.parts:
            lists = {hidden[0]: "sensitive"}
        if not hidden:
            yield "an anatomy hides sensitive columns, and the policy publishes none"
        yield from differing_parts(exhibit, ["data", *lists.values()])
        yield from differing_columns(exhibit, "data", [*(name for name in policy.published if name not in hidden), BUCKET])
        for part in lists.values():
            yield from differing_columns(exhibit, part, self.made)

    def uncountable(self, exhibit: Exhibit) -> str:
        one = len(exhibit.policy.sensitive) == 1
        return "" if one else "an anatomy of several sensitive columns is not one distribution; publish sub-tables"


def sensitive_part(exhibit: Exhibit, column: str) -> str:
    """The part with the counts of one sensitive column."""
    own = f"sensitive-{column}"
    if own not in exhibit.parts and exhibit.policy.sensitive != (column,):
        raise DataError(f"no part lists the values of '{column}'")
    return own if own in exhibit.parts else "sensitive"


def _listed(counts: Table) -> dict[tuple[str, ...], int]:
    """(bucket, value) → count, as published."""
    return {(bucket, value): int(count) for bucket, value, count in zip(*map(_texts, map(counts.text, _LISTED)), strict=True)}


def _texts(column: TextColumn) -> list[str]:
    return [column.labels[code] for code in column.codes.tolist()]
