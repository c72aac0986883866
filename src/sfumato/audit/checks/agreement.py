"""Agreement: the sub-tables of a release speak about the same people, show every column, and with the original say the truth.

From the published files: columns that two tables share are distributed alike in both, and every column the policy publishes is
in some table. With the original: every table is the original's own projection (values as they are, or generalized truthfully),
and hidden values are the original's, in their bucket where no other bucket has a row that looks alike. With the private trace:
every bucket holds its own rows' values, and no two tables stand in the same order. Records that a release of a history withholds
stand in no table: as many as the release says, and with the trace the same ones in all of them; without it every table must be a
part of the original's projection, and whose values its buckets list is not judged.

Where rows lie elsewhere only different rows with counts are at hand, and buckets that list the same are one: there rows and lists
are compared with the source where they lie, dealt once more with the secret that the trace keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.audit.base import Check
from sfumato.audit.checks.truthful_buckets import Seats, withheld
from sfumato.audit.checks.truthfulness import cover
from sfumato.data.arrays import IntArray
from sfumato.data.classes import group, weighed
from sfumato.data.table import Table
from sfumato.decomposition.published_subtables import BUCKET, Published, PublishedSubTables
from sfumato.forms.recoded import Recoded
from sfumato.forms.subtables import SubTables, sub_tables
from sfumato.release.certificate import SOME_FOUND, Finding, unless_refuted
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.release.release import Part, Trace

Columns = Mapping[str, IntArray]
_SAME_PLACE = 0.5
_FOREIGN = "has buckets that do not list the values of their own rows"


class Agreement(Check):
    """Sub-tables are complete, agree with each other, and with the original when it is at hand."""

    name: ClassVar[str] = "agreement"
    on_classes: ClassVar[bool] = True
    forms: ClassVar[tuple[type[Form], ...]] = (SubTables,)

    def examine(self, exhibit: Exhibit) -> Finding:
        tables = exhibit.once(sub_tables)
        wrong, unsure = [*_incomplete(exhibit, tables), *_contradictions(tables)], 0
        if exhibit.private:
            wrong += [f"{table.name} {what}" for table in tables.tables for what in _untrue(exhibit, tables, table)]
            hiding = [table for table in tables.tables if table.bucket is not None]
            own = [_own_values(exhibit, tables, table) for table in hiding]
            wrong += [f"{table.name} {_FOREIGN}" for table, fits in zip(hiding, own, strict=True) if fits is False]
            wrong += [f"{exhibit.strangers} rows are no record of the original"] if exhibit.strangers else []
            unsure = own.count(None)
        if exhibit.behind is not None:
            wrong += [*_linked(exhibit), *_different_people(exhibit)]
        why = f"whose values the buckets of {unsure} table(s) list is not judged without the private trace"
        said = unless_refuted(not wrong, SOME_FOUND if unsure else "exact", {"tables": len(wrong)}, "; ".join(wrong), why)
        return Finding(self.name, required={"tables": 0}, **said)


def _incomplete(exhibit: Exhibit, tables: PublishedSubTables) -> list[str]:
    shown = frozenset().union(*(table.columns for table in tables.tables))
    lost = [f"no table shows column '{name}'" for name in exhibit.policy.published if name not in shown]
    return lost + [f"column '{name}' is published but not by the policy" for name in sorted(shown - set(exhibit.policy.published))]


def _contradictions(tables: PublishedSubTables) -> list[str]:
    """Shared visible columns must have the same joint distribution in both tables."""
    wrong = []
    for one, other in combinations(tables.tables, 2):
        shared = sorted(set(one.visible) & set(other.visible))
        if shared and not _same(one.visible, one.often, other.visible, other.often, shared):
            wrong.append(f"{one.name} and {other.name} do not agree on the columns they share")
    return wrong


def _same(one: Columns, often: IntArray, other: Columns, times: IntArray, names: list[str]) -> bool:
    """Whether some columns have the same tuples, each equally often, in two tables."""
    classes = group([np.concatenate([one[name], other[name]]) for name in names])
    half = len(often)
    left, right = weighed(classes.of[:half], often, len(classes)), weighed(classes.of[half:], times, len(classes))
    return bool((left == right).all())


def _untrue(exhibit: Exhibit, tables: PublishedSubTables, table: Published) -> Iterator[str]:
    original = _behind(exhibit, table)
    if not 0 <= exhibit.original.records - table.people <= withheld(exhibit):
        yield "does not have as many rows as the original"
        return
    if table.visible and not _exact(tables, table, original) and (_elsewhere(exhibit, table) or _uncovered(exhibit, table)):
        yield "has rows that stand for no record of the original"
    for name in table.hidden:
        if not _hidden_values(tables, table, original, name):
            yield f"lists values of '{name}' that are not the original's"


def _behind(exhibit: Exhibit, table: Published) -> Table:
    """The records that a table is about: all of them, or those behind its rows where some are withheld and the trace tells whom."""
    original: Table = exhibit.original
    if exhibit.behind is None or original.records == table.people:
        return original
    return Table(original.frame.take(pa.array(exhibit.behind[table.name])))


def _recoded(tables: PublishedSubTables, original: Table, name: str) -> IntArray:
    """The original column in the codes of the published one; values never published get codes of their own."""
    known = {label: code for code, label in enumerate(tables.labels[name])}
    text = original.text(name)
    codes = np.array([known.get(label, len(known) + place) for place, label in enumerate(text.labels)], dtype=np.int64)
    return codes[text.codes]


def _exact(tables: PublishedSubTables, table: Published, original: Table) -> bool:
    """Whether every row is a record of its own, as it is; then no record lacks a row where there are as many rows."""
    names = sorted(table.visible)
    both = group([np.concatenate([table.visible[name], _recoded(tables, original, name)]) for name in names])
    shown = weighed(both.of[: table.rows], table.weights, len(both))
    return bool((shown <= weighed(both.of[table.rows :], original.counts, len(both))).all())


def _uncovered(exhibit: Exhibit, table: Published) -> bool:
    """Generalized columns: some row covers no record of its own."""
    if any(exhibit.policy.columns[name].hierarchy is None and name not in exhibit.original.names for name in table.visible):
        return True
    known = set(table.visible)
    columns = {
        name: column.model_copy(update={"role": "quasi-identifier" if name in known else "other", "publish": name in known})
        for name, column in exhibit.policy.columns.items()
    }
    part = exhibit.parts[table.name].table
    part = part.drop_columns([BUCKET]) if BUCKET in part.column_names else part
    trace = Trace() if exhibit.behind is None else Trace({"data": exhibit.behind[table.name]})
    policy = replace(exhibit.policy, columns=columns)
    inner = replace(exhibit, form=Recoded(), parts={"data": Part(part)}, policy=policy, trace=trace)
    return bool(cover(inner, bounded=True).rows)


def _hidden_values(tables: PublishedSubTables, table: Published, original: Table, name: str) -> bool:
    """Counts of a hidden column: as in the original, or fewer where values are withheld."""
    assert table.entry_count is not None
    truth = weighed(_recoded(tables, original, name), original.counts, len(tables.labels[name]))
    listed = np.bincount(table.hidden[name], weights=table.entry_count, minlength=len(truth))
    fewer = table.withheld or table.people < original.records
    return bool((listed <= truth).all()) if fewer else bool((listed == truth).all())


def _own_values(exhibit: Exhibit, tables: PublishedSubTables, table: Published) -> bool | None:
    """Whether buckets list the values of their own rows; nothing where that cannot be told."""
    if _elsewhere(exhibit, table):
        return None if exhibit.misplaced is None else exhibit.misplaced == 0
    if exhibit.original.rows < table.rows:
        return False
    return _as_traced(exhibit, tables, table) if exhibit.behind is not None else _possible_values(exhibit, tables, table)


def _elsewhere(exhibit: Exhibit, table: Published) -> bool:
    """Whether only different rows with counts are at hand; such tables are exact, and buckets were compared where rows lie."""
    return table.weights is not None or exhibit.original.counts is not None


def _as_traced(exhibit: Exhibit, tables: PublishedSubTables, table: Published) -> bool:
    assert exhibit.behind is not None
    assert table.bucket is not None
    assert table.entry_bucket is not None
    assert table.entry_count is not None
    shown = table.bucket >= 0
    names = sorted(table.hidden)
    truth = [_recoded(tables, exhibit.original, name)[exhibit.behind[table.name]][shown] for name in names]
    own = [table.bucket[shown], *truth]
    listed = [table.entry_bucket, *(table.hidden[name] for name in names)]
    classes = group([np.concatenate(pair) for pair in zip(own, listed, strict=True)])
    half, weight = int(shown.sum()), table.entry_count.astype(np.float64)
    stated = np.bincount(classes.of[half:], weights=weight, minlength=len(classes))
    return bool((np.bincount(classes.of[:half], minlength=len(classes)) == stated).all())


def _possible_values(exhibit: Exhibit, tables: PublishedSubTables, table: Published) -> bool | None:
    """Without the trace: whether everybody can be seated, where nobody is withheld and nothing generalized."""
    assert table.bucket is not None
    assert table.entry_bucket is not None
    assert table.entry_count is not None
    fewer = table.withheld or table.rows < exhibit.original.rows
    if fewer or not table.visible or not _exact(tables, table, exhibit.original):
        return None
    truth = {name: _recoded(tables, exhibit.original, name) for name in table.columns}
    kinds = group([np.concatenate([codes, truth[name]]) for name, codes in table.visible.items()]).of
    values = group([np.concatenate([codes, truth[name]]) for name, codes in table.hidden.items()]).of
    entries = len(table.entry_bucket)
    seats = Seats(kinds[: table.rows], table.bucket, int(table.bucket.max(initial=0)) + 1)
    listed = table.entry_bucket, values[:entries], table.entry_count
    wrong, sure = seats.unplaced(kinds[table.rows :], values[entries:], listed)
    return False if wrong else True if sure else None


def _different_people(exhibit: Exhibit) -> list[str]:
    """All tables are about the same records, each of them once."""
    assert exhibit.behind is not None
    told = {name: np.sort(rows) for name, rows in exhibit.behind.items()}
    first = next(iter(told.values()), np.zeros(0, dtype=np.int64))
    twice = [f"{name} has a record twice" for name, rows in told.items() if (np.diff(rows) == 0).any()]
    return twice + [f"{name} is not about the same records" for name, rows in told.items() if not np.array_equal(rows, first)]


def _linked(exhibit: Exhibit) -> list[str]:
    """Two tables whose rows at the same place stand for the same person more often than not are linked by their order."""
    assert exhibit.behind is not None
    wrong = []
    for (one, left), (other, right) in combinations(exhibit.behind.items(), 2):
        if len(left) == len(right) and len(left) > 20 and float((left == right).mean()) > _SAME_PLACE:
            wrong.append(f"{one} and {other} stand in the same order")
    return wrong
