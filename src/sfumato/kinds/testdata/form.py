"""Replaced table: ``data.csv`` with the columns of the source, some of them with new values.

``kept.csv``, when there is one, says which properties of the original hold between which rows, numbered from 1: a
locality by the rows of its three values and the gap that is at least as wide (`wider`: `low` between the lower two,
`high` between the upper two); a rule of the policy that names records by the same rule with the rows that stand for
them.


Database
--------
Database: one file per table, its columns as the server writes them; the schema is in the manifest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, model_validator

from sfumato.core.arrays import IntArray
from sfumato.core.errors import PolicyError, ReleaseError
from sfumato.data.database import Schema, schema_from_json, schema_to_json
from sfumato.data.table import Table
from sfumato.io.table_files import read_exact
from sfumato.policy.database_policy import BoundPolicy
from sfumato.policy.policy import Policy
from sfumato.release.form import Form, differing_columns, differing_parts
from sfumato.release.past_releases import Memory, RememberedTable, remember, remembered_table_of, rows_covered_once
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView, of_parts

KEPT = "kept"
KEPT_COLUMNS = ("rule", "column", "low", "middle", "high", "wider")


class ReplacedPart(BaseModel):
    """Columns that were made together, and how; the manifest's word, which cannot be read off the data."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    columns: tuple[str, ...]
    engine: str
    uniform: bool
    reads_original: bool
    learned: bool = False
    heuristic: str = ""
    block: int = 0
    variety: dict[str, int] = Field(default_factory=dict)


class WalkProgress(BaseModel):
    """How far a random walk went."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    parts: int = Field(ge=0, description="independent parts")
    mixed: int = Field(ge=0, description="parts whose walks have forgotten where they began")
    implied_equalities: int = Field(ge=0, description="values that the kept properties determine completely")


@dataclass(frozen=True)
class WalkProvenance(Provenance):
    """Also which localities were kept, within which range values could move, and how far the walk went."""

    localities: Mapping[str, IntArray] = field(default_factory=dict)
    range: Literal["", "domain", "partition"] = ""
    walk: WalkProgress | None = None
    partitions: Mapping[str, IntArray] = field(default_factory=dict)
    """By column the partition of every record, where partitions are records near each other."""
    distances: Mapping[str, IntArray] = field(default_factory=dict)
    """By column records (a, b, c, d) of which the first two are no farther apart than the last two."""

    def __post_init__(self) -> None:
        if isinstance(self.walk, Mapping):  # as it is read from a file
            object.__setattr__(self, "walk", WalkProgress.model_validate(dict(self.walk)))


class Replaced(Form):
    """One table in which chosen columns have new values that obey the rules."""

    name: ClassVar[str] = "replaced table"
    shows_columns: ClassVar[bool] = True
    replaces: ClassVar[bool] = True
    remembered: ClassVar[bool] = True
    beside_people: ClassVar[frozenset[str]] = frozenset({KEPT})

    parts: tuple[ReplacedPart, ...] = Field(default=(), description="columns that were drawn together, and how")
    walked: bool = Field(default=False, description="whether values were walked to and not drawn")
    walk: WalkProgress | None = Field(
        default=None, description="only in folders of earlier versions: how far the walk went"
    )
    told: bool = Field(default=False, description="whether kept.csv says which properties hold between which rows")
    ordered: bool = Field(default=False, description="whether rows are in the order of the source")
    linked_at_most: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="the share of people whose row may be found by an adversary who knows all original numbers",
    )

    @property
    def rests_on_chance(self) -> bool:
        return True

    def trace_type(self) -> type[Provenance]:
        return WalkProvenance

    @property
    def blind(self) -> bool:
        """Whether no new value depends on the value it stands for; the manifest's word."""
        return (
            not self.walked and bool(self.parts) and not any(part.reads_original or part.learned for part in self.parts)
        )

    def uncounted(self, policy: Policy) -> tuple[str, ...]:
        """All of them: almost every row of new values is different, and what must be true of rows is looked at file by
        file."""
        return policy.published

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Provenance, original: Table) -> Memory:
        """Whose row is whose, with the columns that are published as they are; new values that nobody looked up tell
        nothing."""
        if not self.blind:
            what = "a ledger keeps replaced tables only where no new value looks at the original"
            raise PolicyError(
                what, hint="publish without a ledger, or with rules and domains that do not read the original"
            )
        return remember(policy, original, np.asarray(trace.rows["data"]), _kept(policy))

    def sheets(self, exhibit: ReleaseView, memory: Memory) -> tuple[RememberedTable, ...]:
        """What an adversary can join: the columns that are published as they are, if there are any."""
        kept = _kept(exhibit.policy)
        return (remembered_table_of(Table(exhibit.data.frame.select(list(kept))), memory.rows),) if kept else ()

    def accounts(self, exhibit: ReleaseView, memory: Memory) -> bool:
        """Every row has a person behind it, and nothing in it was looked up."""
        return self.blind and rows_covered_once(memory.rows, exhibit.data.rows)

    def shown(self, exhibit: ReleaseView) -> tuple[str, ...]:
        return _kept(exhibit.policy)

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data", *([KEPT] if self.told else [])])
        yield from differing_columns(exhibit, "data", exhibit.policy.published)
        yield from differing_columns(exhibit, KEPT, KEPT_COLUMNS)

    def beside(self, part: str, policy: Policy, original: Any) -> tuple[str, pa.Table, list[str]]:
        return part, original.frame, list(policy.with_role("replaced"))


def _kept(policy: Policy) -> tuple[str, ...]:
    """Columns that are published as they are."""
    return tuple(name for name in policy.published if policy.columns[name].role != "replaced")


# Database
# --------


class PublishedTable(BaseModel):
    """Which table a part is, and how many rows it has."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    table: str
    rows: int = Field(ge=0)


class Linked(BaseModel):
    """Columns that share one map from old to new values."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    columns: tuple[str, ...]
    deterministic: bool = False


class DatabaseForm(Form):
    """All tables of a database, made anew for testing."""

    name: ClassVar[str] = "database"
    kind: ClassVar[str] = "database"
    has_target: ClassVar[bool] = True
    replaces: ClassVar[bool] = True

    tables: dict[str, PublishedTable] = Field(default_factory=dict, description="the table behind each part")
    declared: list[dict[str, Any]] = Field(
        default_factory=list, description="what the database declares; 'schema' in the manifest"
    )
    links: tuple[Linked, ...] = Field(default=(), description="columns that change together")
    parts: tuple[ReplacedPart, ...] = Field(default=(), description="columns that were drawn together, and how")
    dialect: str = Field(default="", description="the kind of server it came from")
    namespace: str = Field(default="", description="the schema it came from, where a server has several")
    subset: bool = Field(default=False, description="whether only some of the rows are published")
    accepted: tuple[str, ...] = Field(
        default=(), description="pairs of columns in which original values may still stand"
    )

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, values: Any) -> Any:
        """The manifest calls it ``schema``, which is a word of the library that reads it."""
        if isinstance(values, dict) and "schema" in values:
            return {key: value for key, value in values.items() if key != "schema"} | {"declared": values["schema"]}
        return values

    @model_validator(mode="after")
    def _readable(self) -> DatabaseForm:
        try:
            schema_from_json(self.declared)
        except ReleaseError as error:
            raise ValueError(error.what) from None
        return self

    @cached_property
    def described(self) -> Schema:
        """The schema that the manifest describes."""
        return schema_from_json(self.declared)

    def to_public(self) -> dict[str, Any]:
        public = super().to_public()
        return public | ({"schema": public.pop("declared")} if "declared" in public else {})

    def misfits(self, exhibit: ReleaseView) -> Iterator[str]:
        """Which columns a table has is a matter of the schema, and judged with it."""
        yield from differing_parts(exhibit, self.tables)
        if len({entry.table for entry in self.tables.values()}) < len(self.tables):
            yield "two parts are said to be the same table"

    @property
    def rests_on_chance(self) -> bool:
        return True

    def read_part(self, file: Path) -> pa.Table:
        """A null is not the empty text here, and a table may be empty."""
        return read_exact(file)

    def records(self, exhibit: ReleaseView) -> int:
        return sum(len(part) for part in exhibit.parts.values())

    def beside(self, part: str, policy: Policy, original: Any) -> tuple[str, pa.Table, list[str]]:
        table = self.table_of(part)
        changed = BoundPolicy.of(policy, original.schema).changed
        return table, original.tables[table].frame, [column.name for column in changed if column.table == table]

    def table_of(self, part: str) -> str:
        """The name of the table behind a part."""
        return self.tables[part].table if part in self.tables else part


def schema_of(exhibit: ReleaseView) -> Schema:
    """The original's schema where it is at hand, else the one in the manifest; ask for it with ``exhibit.once``."""
    if exhibit.private:
        found: Schema = exhibit.original.schema
        return found
    assert isinstance(exhibit.form, DatabaseForm)
    return exhibit.form.described


def describes_schema(form: DatabaseForm, schema: Schema) -> bool:
    """Whether the manifest describes this schema."""
    return schema_to_json(schema) == form.declared


def bound_policy(exhibit: ReleaseView) -> BoundPolicy:
    """The policy bound to the schema; ask for it with ``exhibit.once(bound_policy)``."""
    return BoundPolicy.of(exhibit.policy, exhibit.once(schema_of))


@of_parts
def tables_of(exhibit: ReleaseView) -> dict[str, Table]:
    """The parts by the names of their tables; ask for it with ``exhibit.once(tables_of)``."""
    assert isinstance(exhibit.form, DatabaseForm)
    return {exhibit.form.table_of(part): table for part, table in exhibit.tables.items()}
