"""A source: where the data of a policy comes from, and how it is read.

A new kind of data is one file in this folder with one class. Its declared fields are what may stand under ``data:`` in
a policy."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from sfumato.core.confinement import declared_path
from sfumato.io.csv_format import CsvDialect

LineBreaks = Literal["refused", "allowed"]
LINE_BREAKS = "whether values may contain line breaks; a missing quote would join several records"


class Source(BaseModel):
    """Where the data comes from."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, arbitrary_types_allowed=True)

    name: ClassVar[str]
    """The `kind` under ``data:`` in a policy."""

    source: str = Field(default="", description="file path relative to the policy, or an SQLAlchemy URL")
    base: Path = Field(default=Path("."), exclude=True, repr=False, description="folder that relative paths start from")

    person: tuple[str, ...] = Field(default=(), exclude=True, repr=False, description="columns that identify a person")
    linked: bool = Field(default=False, exclude=True, repr=False, description="whether the rows of a person are linked")
    published: tuple[str, ...] = Field(
        default=(), exclude=True, repr=False, description="published columns; without it all"
    )

    reads: ClassVar[frozenset[str]] = frozenset({"data", "protect", "method", "effort", "title", "publisher", "accept"})
    """The keys of a policy that have an effect on this kind of data; entries of columns as ``columns.boundary``.

    A policy that writes another one is refused before anything is read (`workflow.plan`).
    """
    needs_key: ClassVar[bool] = False
    """Whether a ledger must be told which column knows a record again."""
    private: ClassVar[tuple[str, ...]] = ("source", "base")
    """Fields that a release folder never contains."""

    @abstractmethod
    def read(self, data: Any = None) -> Any:
        """The dataset; `data` (a frame, an object or another path) takes the place of the declared source."""

    def dialect(self) -> CsvDialect:
        """How the CSV files of a release are written: as the source is, where that is one text file."""
        return CsvDialect()

    def as_written(self, data: Any) -> Path | None:
        """Return the text file that `data` names, if its values are read without conversion; None otherwise."""
        return None

    @property
    def loads(self) -> bool:
        """Whether a release of this data is loaded into a target."""
        return False

    def within(self) -> AbstractContextManager[None]:
        """Inside, the work keeps to the memory that the policy allows, where it says so."""
        return nullcontext()

    def size(self) -> int | None:
        """Records, when that can be told without reading them."""
        return None

    def path(self) -> Path:
        return self.path_of(self.source)

    def path_of(self, source: str) -> Path:
        """Where a file lies that the policy names."""
        return declared_path(self.base, source)
