"""A metric: what a release is still good for, measured on what was published.

A new metric is one file in this folder with one class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.classes import Classes, group
from sfumato.data.generalization import Generalization
from sfumato.data.table import Table
from sfumato.decomposition.published_subtables import PublishedSubTables, aligned, read_tables


@dataclass(frozen=True)
class Comparison:
    """A release beside its original."""

    form: str
    parts: Mapping[str, Table]
    original: Any
    recoded: Mapping[str, Generalization] = field(default_factory=dict)
    """The quasi-identifiers with their domains."""
    sensitive: tuple[str, ...] = ()
    public: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    replaced: tuple[str, ...] = ()
    """Columns published with new values."""
    behind: Mapping[str, IntArray] | None = None
    """Per part the original record behind each row, when the private trace is at hand."""

    @property
    def data(self) -> Table:
        return self.parts["data"]

    @property
    def inputs(self) -> int:
        return int(self.original.rows)

    @property
    def suppressed(self) -> int:
        return self.inputs - self.data.rows

    @cached_property
    def sub_tables(self) -> tuple[PublishedSubTables, dict[str, IntArray]] | None:
        """Several published tables and the original in the same codes; None when a table is generalized, not exact."""
        tables = read_tables(self.parts)
        columns = aligned(tables, self.original)
        return None if columns is None else (tables, columns)

    @cached_property
    def classes(self) -> Classes:
        """Published rows with the same quasi-identifiers."""
        return group([self.data.text(name).codes for name in self.recoded], rows=self.data.rows)

    def intervals(self, name: str) -> tuple[IntArray, IntArray]:
        """The interval of leaves behind each published label of a column; a label that is none stands for everything."""
        domain = self.recoded[name]
        spans = [domain.interval(label) or (0, domain.size) for label in self.data.text(name).labels]
        return np.array([lo for lo, _ in spans], dtype=np.int64), np.array([hi for _, hi in spans], dtype=np.int64)


class Metric(ABC):
    """One measure of utility."""

    name: ClassVar[str]
    figure: ClassVar[str] = ""
    """The key of the figure in certificates, when several metrics measure the same thing on different forms; else the name."""
    goal: ClassVar[Literal["lower", "higher"]] = "lower"
    range: ClassVar[str]
    forms: ClassVar[tuple[str, ...]] = ("recoded table",)
    paper: ClassVar[str] = ""

    def applies(self, comparison: Comparison) -> bool:
        return comparison.form in self.forms

    @abstractmethod
    def measure(self, comparison: Comparison) -> Any:
        """The figure (a number, or a mapping of figures)."""
