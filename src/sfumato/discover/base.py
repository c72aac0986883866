"""A finder: looks at a table and says what its policy might state. A new one is one file in this folder with one class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.policy.policy import Policy
from sfumato.registry import catalogue


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Keys for a policy, sentences that explain them, and what an existing policy overlooks."""

    policy: Mapping[str, Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Finder(ABC):
    """One thing that can be seen in data."""

    name: ClassVar[str]
    order: ClassVar[int] = 50
    """Finders run, and their keys stand in the proposal, in this order."""

    @abstractmethod
    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        """What the table suggests; `policy`, when given, is compared with it."""


def discover(source: Any, policy: Policy | None = None) -> Suggestion:
    """All suggestions for some data, put together into one proposal."""
    reader = policy or Policy.parse({"version": 1, "data": {"kind": "table"}})
    table = reader.data.read(source)
    if not isinstance(table, Table):
        raise DataError("discovery looks at tables", hint="give a CSV or Parquet file, or a table of a database")
    found = [cls().find(table, policy) for cls in sorted(catalogue("discover", Finder).values(), key=lambda cls: cls.order)]
    tree: dict[str, Any] = {"version": 1, "data": {"kind": "table"}}
    for each in found:
        tree |= each.policy
    reasons = tuple(reason for each in found for reason in each.reasons)
    return Suggestion(tree, reasons, tuple(warning for each in found for warning in each.warnings))
