"""Database: one file per table, its columns as the server writes them; the schema stands in the manifest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, model_validator

from sfumato.data.database import Schema
from sfumato.data.schema_json import json_of, schema_from
from sfumato.data.table import Table
from sfumato.errors import ReleaseError
from sfumato.forms.replaced import MadePart
from sfumato.io.files import read_exact
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit, of_parts
from sfumato.release.form import Form, differing_parts


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
    declared: list[dict[str, Any]] = Field(default_factory=list, description="what the database declares; 'schema' in the manifest")
    links: tuple[Linked, ...] = Field(default=(), description="columns that change together")
    parts: tuple[MadePart, ...] = Field(default=(), description="columns that were drawn together, and how")
    dialect: str = Field(default="", description="the kind of server it came from")
    namespace: str = Field(default="", description="the schema it came from, where a server has several")
    subset: bool = Field(default=False, description="whether only some of the rows are published")
    accepted: tuple[str, ...] = Field(default=(), description="pairs of columns in which original values may still stand")

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
            schema_from(self.declared)
        except ReleaseError as error:
            raise ValueError(error.what) from None
        return self

    @cached_property
    def described(self) -> Schema:
        """The schema that the manifest describes."""
        return schema_from(self.declared)

    def to_public(self) -> dict[str, Any]:
        public = super().to_public()
        return public | ({"schema": public.pop("declared")} if "declared" in public else {})

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
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

    def records(self, exhibit: Exhibit) -> int:
        return sum(len(part) for part in exhibit.parts.values())

    def beside(self, part: str, policy: Policy, original: Any) -> tuple[str, pa.Table, list[str]]:
        table = self.table_of(part)
        changed = BoundPolicy.of(policy, original.schema).changed
        return table, original.tables[table].frame, [column.name for column in changed if column.table == table]

    def table_of(self, part: str) -> str:
        """The name of the table behind a part."""
        return self.tables[part].table if part in self.tables else part


def schema_of(exhibit: Exhibit) -> Schema:
    """The original's schema where it is at hand, else the one in the manifest; ask for it with ``exhibit.once``."""
    if exhibit.private:
        found: Schema = exhibit.original.schema
        return found
    assert isinstance(exhibit.form, DatabaseForm)
    return exhibit.form.described


def says_schema(form: DatabaseForm, schema: Schema) -> bool:
    """Whether the manifest describes this schema."""
    return json_of(schema) == form.declared


def bound_policy(exhibit: Exhibit) -> BoundPolicy:
    """The policy bound to the schema; ask for it with ``exhibit.once(bound_policy)``."""
    return BoundPolicy.of(exhibit.policy, exhibit.once(schema_of))


@of_parts
def tables_of(exhibit: Exhibit) -> dict[str, Table]:
    """The parts by the names of their tables; ask for it with ``exhibit.once(tables_of)``."""
    assert isinstance(exhibit.form, DatabaseForm)
    return {exhibit.form.table_of(part): table for part, table in exhibit.tables.items()}
