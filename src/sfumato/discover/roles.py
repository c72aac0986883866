"""Roles: columns that number the rows are identifiers; everything else may be known to somebody.

A proposal errs on the side of caution: only the data holder can say that a column is sensitive or harmless.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sfumato.data.numbers import number
from sfumato.data.table import Table, TextColumn
from sfumato.discover.base import Finder, Suggestion
from sfumato.policy.policy import Policy

_KEY_SHARE = 0.9
_FEW = 20


class RoleFinder(Finder):
    """A role, and where it is plain a hierarchy, for every column."""

    name: ClassVar[str] = "roles"
    order: ClassVar[int] = 10

    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        columns = {name: _role(table.text(name), table.rows) for name in table.names}
        numbering = [name for name, entry in columns.items() if entry == "identifier"]
        reasons = [f"'{name}' has a value of its own in almost every row: proposed as identifier" for name in numbering]
        claims = [{"k-anonymity": {"k": 5}}]
        return Suggestion({"columns": columns, "protect": claims}, (*reasons, "say which columns are sensitive: no data can"))


def _role(text: TextColumn, rows: int) -> Any:
    if len(text.labels) > max(_FEW, _KEY_SHARE * rows):
        return "identifier"
    if len(text.labels) > _FEW and all(number(label) is not None for label in text.labels):
        return {"role": "quasi-identifier", "hierarchy": "ranges"}
    return "quasi-identifier"
