"""``kind: database``: a whole database as data; the source is only read."""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from sfumato.core.confinement import declared_path
from sfumato.core.errors import DataError, PolicyError
from sfumato.data.database import Database, Schema
from sfumato.data.memory_map import memory_bound, parse_memory_size
from sfumato.io import sql
from sfumato.io.source import Source

_CREATE = "use mode: create"
_DUMP = re.compile(r"(^postgres[^?]*\?(?:.*&)?restore=)([^&/][^&]*)")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class DatabaseSource(Source):
    """A whole database: which tables, where the test database goes, and what must stay consistent."""

    name: ClassVar[str] = "database"
    reads: ClassVar[frozenset[str]] = Source.reads | {
        "columns", "columns.proposed", "columns.domain", "columns.publish", "keep", "plugins",
    }  # fmt: skip
    private: ClassVar[tuple[str, ...]] = (
        "source",
        "base",
        "target",
        "mode",
        "grants",
        "secret",
        "subset",
        "accept",
        "namespace",
        "memory",
    )

    target: str = Field(
        default="", description="SQLAlchemy URL of the test database; ${NAME} is taken from the environment"
    )
    mode: Literal["create", "fill", "clone"] = Field(default="create", description="how the target gets its tables")
    grants: bool = Field(default=False, description="true: a clone also gets the grants of the source")
    namespace: str = Field(default="", alias="schema", description="schema of the tables in the database")
    tables: list[str] | None = Field(default=None, description="only these tables")
    subset: dict[str, str] = Field(
        default_factory=dict,
        description="per table a condition or a share like 5%; a share alone, or of '*', is one of the whole database",
    )
    consistent: list[list[str]] = Field(
        default_factory=list, description="lists of columns in which equal old values get equal new values"
    )
    deterministic: list[str] = Field(
        default_factory=list, description="columns whose new value is a function of the secret and the old value"
    )
    secret: str = Field(default="", repr=False, description="at least 16 characters, best ${NAME} from the environment")
    memory: str = Field(default="2 GB", description="memory limit; larger tables are kept in temporary files")
    accept: list[str] = Field(
        default_factory=list, description="warnings of 'check' that were reviewed, by their identifiers"
    )

    @model_validator(mode="before")
    @classmethod
    def _with_mode(cls, values: Any) -> Any:
        """`target: {url: …, mode: clone}` is `target: …` with a mode."""
        if not isinstance(values, dict) or not isinstance(values.get("target"), dict):
            return values
        given = dict(values["target"])
        unknown = given.keys() - {"url", "mode", "grants"}
        if unknown:
            raise ValueError(f"a target has no '{min(unknown)}'; it has url, mode and grants")
        return {**values, "target": given.pop("url", ""), **given}

    @field_validator("consistent", mode="before")
    @classmethod
    def _groups(cls, value: Any) -> Any:
        """One list of columns is a list of one group."""
        return (
            [value] if isinstance(value, list) and value and all(isinstance(entry, str) for entry in value) else value
        )

    @field_validator("subset", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        """A share alone is one of all tables."""
        return {"*": value} if isinstance(value, str) else value

    @field_validator("memory")
    @classmethod
    def _size(cls, value: str) -> str:
        parse_memory_size(value)
        return value

    @property
    def memory_bytes(self) -> int:
        return parse_memory_size(self.memory)

    def within(self) -> AbstractContextManager[None]:
        return memory_bound(self.memory_bytes)

    @property
    def loads(self) -> bool:
        return bool(self.target)

    def read(self, data: Any = None) -> Database:
        if isinstance(data, Database):
            return data
        url = given_url(str(data)) if data is not None else self.source_url()
        return self.read_tables(url, self.read_schema(url))

    def read_tables(self, url: str, schema: Schema) -> Database:
        """All rows of the tables that a schema names."""
        return sql.read_rows(url, schema)

    def read_schema(self, url: str | None = None) -> Schema:
        """What the source declares, without touching a row."""
        found = sql.read_schema(url or self.source_url(), self.namespace or None, self.tables)
        return replace(found, left_out=()) if self.mode == "clone" else found

    def source_url(self) -> str:
        if not self.source:
            raise DataError("the policy names no source", hint="add 'source:' under data, or give the data with --data")
        return self.url(self.source)

    def target_url(self) -> str:
        """The target, empty when there is none; a target that is the source is refused."""
        if not self.target:
            return ""
        target = self.url(self.target)
        if self.source and sql.same_database(self.source_url(), target, namespaces=(self.namespace or None,) * 2):
            hint = "the source is only read; name another database"
            raise PolicyError("the target is the source", where="data.target", hint=hint)
        return target

    def loading(self) -> sql.Create:
        """How the target gets its tables."""
        if self.mode == "create":
            return sql.Create()
        source, target = self.source_url(), self.target_url()
        kind = sql.dialect_of(source)
        if kind != sql.dialect_of(target):
            raise PolicyError(
                f"mode '{self.mode}' needs the same kind of server on both sides", where="data.target", hint=_CREATE
            )
        if self.mode == "fill":
            return sql.Fill() if kind == "postgresql" else sql.FillElsewhere()
        if self.tables is not None or self.namespace:
            raise PolicyError(
                "a clone is of a whole database",
                where="data.target",
                hint="leave 'tables' and 'schema' out, or use create",
            )
        if kind != "postgresql" and self.grants:
            raise PolicyError("only PostgreSQL's rights can be cloned", where="data.target", hint="leave 'grants' out")
        return sql.Clone(source, self.grants) if kind == "postgresql" else sql.require_clonable(source)

    def standing(self, schema: Schema) -> tuple[str, ...]:
        """Tables of the target that a load would replace; what else is wrong with the target is refused, and nothing is
        changed."""
        target = self.target_url()
        return sql.rehearse(target, schema, namespace=self.place_in(target), mode=self.loading()) if target else ()

    def place_in(self, target: str) -> str | None:
        """The schema of the target that the tables belong to, when the policy names one."""
        return self.namespace if self.namespace and sql.dialect_of(target) == "postgresql" else None

    def secret_key(self) -> bytes:
        """The secret behind deterministic columns."""
        secret = expanded(self.secret)
        if len(secret) < 16:
            hint = "write 'secret: ${NAME}' and put at least 16 random characters into that variable"
            raise PolicyError(
                "'deterministic' needs a secret of at least 16 characters", where="data.secret", hint=hint
            )
        return secret.encode()

    def url(self, text: str) -> str:
        """The URL with environment variables put in; a relative file starts from the policy's folder."""
        return given_url(text, self.base)


def given_url(text: str, base: Path = Path(".")) -> str:
    """A URL as a person typed it; relative files start from `base`."""
    url = expanded(text)
    prefix, found, path = url.partition(":///")
    if found and prefix.startswith(("sqlite", "duckdb")) and path and path != ":memory:":
        return f"{prefix}:///{declared_path(base, path).absolute()}"
    return _DUMP.sub(lambda match: f"{match[1]}{declared_path(base, match[2]).absolute()}", url)


def expanded(text: str) -> str:
    """`${NAME}` replaced by what the environment says; a missing name is an error that shows the name only."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise PolicyError(f"the environment variable {match[1]} is not set", hint=f"export {match[1]}=…")
        return os.environ[match[1]]

    return _VARIABLE.sub(value, text)
