"""Recoded table: ``data.csv`` with the published columns; a generalized cell is the label of its hierarchy node.


Linked
------
Linked table: ``data.csv`` with the published columns and a pseudonym that ties the rows of a person.

The pseudonym is a number that is drawn anew for every release. Rows of one person can be told to be that, so people who
share all their published rows are each other's candidates. What a ledger remembers of rows is whose they are, and not
the pseudonym, which means nothing in another release.


Related
-------
Related tables: ``people.csv`` with one line per person, ``rows.csv`` with the rows of people, tied by a pseudonym.

Audit and metrics read both as one table: the person's columns are joined to each of their rows, and a person without
rows is one line with empty columns of rows (`joined_table`).


Microaggregated
---------------
Microaggregated table: ``data.csv`` with the published columns; the quasi-identifiers of a group are its averages.

A cell does not cover any person's value, so nothing can be said about single values; groups are rows that look alike.


Perturbed
---------
Perturbed table: ``data.csv`` with the published columns, some of them with randomly perturbed values.

The manifest states how, so that analysts can correct for it on average: `sfumato recover`.


Sampled
-------
Sampled table: ``data.csv`` with drawn records, generalized alike, that look alike in every published column.

The manifest says how they were drawn. How many records the original had is not published: a certificate is about what
is there.


Suppressed
----------
Locally suppressed table: ``data.csv`` with the published columns, in which single cells of quasi-identifiers are
suppressed.

Every other cell is the original's. What stands for a suppressed cell is declared, so that nobody takes a value for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError, ReleaseError
from sfumato.data.table import RelatedTable, Table, TextColumn, join_related_tables
from sfumato.policy.policy import Policy
from sfumato.policy.sections import PSEUDONYM
from sfumato.release.form import Form, differing_columns, differing_parts
from sfumato.release.past_releases import (
    NO_ROW,
    PEOPLE_PART,
    ROWS_PART,
    Memory,
    RememberedTable,
    keys_of,
    remember,
    remembered_table_of,
    rows_covered_as_counted,
    rows_covered_once,
    text_of,
    with_persons,
)
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView, of_parts


class Optimality(BaseModel):
    """What a method says about the best release of its kind."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    objective: Literal["loss", "entropy_loss", "ntil"] = Field(description="the figure that the bound is about")
    lower_bound: float = Field(description="no release of the space loses less")
    proven_optimal: bool = Field(description="whether this release reaches the bound")
    space: str = Field(description="the releases that the bound is about, in words")
    proof: str = Field(description="how the bound is known")


@dataclass(frozen=True)
class RecodedProvenance(Provenance):
    """Also the people behind the counterfeit records, and what the method proved about the best release: a figure of
    the original."""

    stand_ins: tuple[list[str], pa.Table] | None = None
    """Keys and last known values of records that vanished, in the order of the rows with nobody behind them."""
    optimality: Optimality | None = None
    lineage: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The number of the lineage of each row, where the method formed lineages."""

    def __post_init__(self) -> None:
        if isinstance(self.optimality, Mapping):  # as it is read from a file
            object.__setattr__(self, "optimality", Optimality.model_validate(dict(self.optimality)))

    def among(self, records: IntArray) -> Provenance:
        """Return the same without what was proved, which is about these records only."""
        rows = super().among(records).rows
        return replace(self, rows=rows, optimality=None, lasting=self.lasting and self.optimality is None)

    def kept(self) -> Provenance:
        """Return the statement alone: rows can be matched again with the original, whatever its order."""
        return RecodedProvenance(optimality=self.optimality, lasting=self.lasting)


def is_plain_recoding(form: type[Form]) -> bool:
    """Whether a form is a recoded table and nothing besides: its kin tie rows, draw them or suppress single cells."""
    return form is Recoded


class Recoded(Form):
    """One table whose quasi-identifiers are written more coarsely."""

    name: ClassVar[str] = "recoded table"
    shows_columns: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    remembered: ClassVar[bool] = True

    counterfeits: int = Field(default=0, ge=0, description="counterfeit rows for records that are gone")
    optimality: Optimality | None = Field(
        default=None, description="only in folders of earlier versions: a bound on the loss"
    )

    def trace_type(self) -> type[Provenance]:
        return RecodedProvenance

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Provenance, original: Table) -> Memory:
        behind = np.asarray(trace.rows["data"])
        keys = keys_of(policy, original) if policy.key else tuple(str(i) for i in range(original.rows))
        real = behind[behind >= 0]
        names = parts["data"].table.column_names
        values = pa.table({name: text_of(original, name).take(pa.array(real)) for name in names})
        named, rows = [keys[i] for i in real], np.flatnonzero(behind >= 0)
        stand_ins = trace.stand_ins if isinstance(trace, RecodedProvenance) else None
        if stand_ins is not None:
            named += stand_ins[0]
            values = pa.concat_tables([values, stand_ins[1].select(values.column_names)])
            rows = np.concatenate([rows, np.flatnonzero(behind < 0)])
        counterfeit = np.arange(len(named)) >= len(real)
        lineage = np.asarray(getattr(trace, "lineage", ()), dtype=np.int64)
        memory = Memory(
            tuple(named),
            rows.astype(np.int64),
            Table(values.combine_chunks()),
            counterfeit,
            lineage=lineage[rows] if len(lineage) else lineage,
        )
        return memory if policy.person is None or stand_ins is not None else with_persons(policy, original, memory)

    def sheets(self, exhibit: ReleaseView, memory: Memory) -> tuple[RememberedTable, ...]:
        return (remembered_table_of(exhibit.data, memory.rows),)

    def accounts(self, exhibit: ReleaseView, memory: Memory) -> bool:
        if exhibit.data.counts is not None:
            return rows_covered_as_counted(memory, exhibit.data.counts)
        return memory.counts is None and rows_covered_once(memory.rows, exhibit.data.rows)

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", exhibit.policy.published)

    def records(self, exhibit: ReleaseView) -> int:
        return exhibit.data.records - self.counterfeits

    def uncountable(self, exhibit: ReleaseView) -> str:
        return ""


# Linked
# ------


class LinkedTable(Recoded):
    """One table whose quasi-identifiers are written more coarsely, with a pseudonym that ties the rows of a person."""

    name: ClassVar[str] = "linked table"
    made: ClassVar[frozenset[str]] = frozenset({PSEUDONYM})
    links_rows: ClassVar[bool] = True

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Provenance, original: Table) -> Memory:
        return with_persons(
            policy, original, remember(policy, original, np.asarray(trace.rows["data"]), policy.published)
        )

    def sheets(self, exhibit: ReleaseView, memory: Memory) -> tuple[RememberedTable, ...]:
        told = remembered_table_of(exhibit.data, memory.rows)
        return (RememberedTable({name: cells for name, cells in told.columns.items() if name != PSEUDONYM}, told.here),)

    def shown(self, exhibit: ReleaseView) -> tuple[str, ...]:
        return exhibit.policy.published

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", (PSEUDONYM, *exhibit.policy.published))
        if exhibit.policy.person is None or not exhibit.policy.person.linked:
            yield "the policy does not say that the rows of a person are linked"


# Related
# -------


class RelatedTables(LinkedTable):
    """A table of people and a table of their rows, both written more coarsely, tied by a pseudonym."""

    name: ClassVar[str] = "related tables"

    def main(self, exhibit: ReleaseView) -> Table:
        return exhibit.once(joined_table)

    def sheets(self, exhibit: ReleaseView, memory: Memory) -> tuple[RememberedTable, ...]:
        """Both parts as one table; a line without rows says so, which a row in which everything is missing does not."""
        (told,), table = super().sheets(exhibit, memory), exhibit.once(joined_table)
        lines = told.here & table.absent[np.where(told.here, memory.rows, 0)]
        return (
            RememberedTable(
                {name: _marked(cells, lines, name in table.own) for name, cells in told.columns.items()}, told.here
            ),
        )

    def uncountable(self, exhibit: ReleaseView) -> str:
        return (
            f"people and their rows are two tables; count lines in the file of '{PEOPLE_PART}', or in that of"
            f" '{ROWS_PART}'"
        )

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, [PEOPLE_PART, ROWS_PART])
        if exhibit.policy.person is None or not exhibit.policy.person.linked:
            yield "the policy does not say that the rows of a person are linked"
        shown = [set(exhibit.parts[part].shown) for part in (PEOPLE_PART, ROWS_PART) if part in exhibit.parts]
        if not all(PSEUDONYM in names for names in shown):
            yield f"a part lacks the column '{PSEUDONYM}'"
        repeated = sum(len(exhibit.parts[part].shown) for part in exhibit.parts) - sum(map(len, shown))
        if repeated or (len(shown) == 2 and shown[0] & shown[1] != {PSEUDONYM}):
            yield "the two parts repeat a column"
        wanted = {PSEUDONYM, *exhibit.policy.published}
        if set().union(*shown) != wanted:
            yield "the two parts together do not have the columns that the policy publishes"


def _marked(cells: TextColumn, lines: BoolArray, own: bool) -> TextColumn:
    if own or not lines.any():
        return cells
    return TextColumn(
        np.where(lines, len(cells.labels), cells.codes).astype(cells.codes.dtype), (*cells.labels, NO_ROW)
    )


@of_parts
def joined_table(exhibit: ReleaseView) -> RelatedTable:
    """Both parts as one table; ask for it with ``exhibit.once(joined)``."""
    try:
        return join_related_tables(exhibit.tables[PEOPLE_PART], exhibit.tables[ROWS_PART], (PSEUDONYM,))
    except (KeyError, DataError):
        raise ReleaseError("people and rows do not belong to each other") from None


# Microaggregated
# ---------------


class Microaggregated(Form):
    """One table in which quasi-identifiers are the averages of groups."""

    name: ClassVar[str] = "microaggregated table"
    shows_columns: ClassVar[bool] = True

    centre: Literal["mean", "median", "mode"] = Field(
        default="mean", description="what a group's numbers were replaced by"
    )
    numbers: tuple[str, ...] = Field(
        default=(), description="the quasi-identifiers that are numbers; the others are modes"
    )

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", exhibit.policy.published)
        strange = [name for name in self.numbers if name not in exhibit.policy.quasi_identifiers]
        if strange:
            yield f"{len(strange)} column(s) are said to be averaged and are no quasi-identifiers"

    def uncountable(self, exhibit: ReleaseView) -> str:
        return "its cells are averages of groups, so a count of them is no count of people"


# Perturbed
# ---------


class PerturbedTable(Form):
    """One table in which values of some columns are perturbed at random; it gives no guarantee."""

    name: ClassVar[str] = "perturbed table"
    shows_columns: ClassVar[bool] = True
    promises: ClassVar[bool] = False

    how: Literal["swapping", "shuffling", "noise", "pram"] = Field(description="what changed the values")
    columns: tuple[str, ...] = Field(description="the columns whose values changed")
    window: float = Field(
        default=0.0, ge=0, le=1, description="how far apart ranks may be that changed places, as a share of all rows"
    )
    covariance: dict[str, dict[str, float]] = Field(
        default_factory=dict, description="of the noise that was added to numbers"
    )
    keep: dict[str, float] = Field(
        default_factory=dict, description="probability that a category stayed as it was for certain"
    )
    shares: dict[str, dict[str, float]] = Field(default_factory=dict, description="what the others were drawn from")

    @property
    def rests_on_chance(self) -> bool:
        return True

    @property
    def recoverable(self) -> bool:
        return True

    @property
    def keeps_values(self) -> bool:
        """Whether every column still has the values it had, in other rows."""
        return self.how in ("swapping", "shuffling")

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", exhibit.policy.published)
        if not set(self.columns) <= set(exhibit.policy.published):
            yield "columns are said to have changed that are not published"
        drawn = {
            name: shares
            for name, shares in self.shares.items()
            if "data" in exhibit.parts and name in exhibit.data.names
        }
        invented = [name for name, shares in drawn.items() if not set(exhibit.data.text(name).labels) <= set(shares)]
        if invented:
            yield f"{len(invented)} column(s) have categories that could not be drawn"

    def uncountable(self, exhibit: ReleaseView) -> str:
        return "its values were perturbed at random, so counting them does not count people"


# Sampled
# -------


class DrawnTable(Recoded):
    """A random sample of the records, generalized so that each published row occurs several times."""

    name: ClassVar[str] = "sampled table"
    remembered: ClassVar[bool] = False
    hides_size: ClassVar[bool] = True

    fraction: float = Field(default=1.0, gt=0, le=1, description="the probability with which each record was drawn")
    threshold: int = Field(
        default=1, ge=1, description="drawn records that look alike in every column, or they are left out"
    )
    search: float = Field(default=0.0, ge=0, description="the part of epsilon that the choice of levels took")
    levels: dict[str, int] = Field(
        default_factory=dict, description="steps that each quasi-identifier is generalized by"
    )

    @property
    def rests_on_chance(self) -> bool:
        return True


# Suppressed
# ----------


class SuppressedCells(Recoded):
    """One table in which single cells are suppressed, and all others are as they were."""

    name: ClassVar[str] = "locally suppressed table"
    remembered: ClassVar[bool] = False

    marks: dict[str, str] = Field(
        default_factory=dict, description="what stands for a suppressed cell, in each quasi-identifier"
    )

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from super().misfits(exhibit)
        if set(self.marks) != set(exhibit.policy.quasi_identifiers):
            yield "the manifest does not say how every quasi-identifier is suppressed"
