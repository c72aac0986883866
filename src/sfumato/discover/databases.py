"""A whole database: a policy of kind `database` with personal columns replaced and the rules that hold.

Only columns that look personal are named; all others are published as they are, and columns that refer to a replaced key follow it.
"""

from __future__ import annotations

from typing import Any

from sfumato.data.database import Database
from sfumato.discover.base import Suggestion
from sfumato.discover.personal import is_personal, numbering, replacement
from sfumato.discover.proposal import Proposal
from sfumato.discover.rules import rules_of_database, view_of
from sfumato.discover.templates.patterns import pattern_of
from sfumato.discover.view import ColumnView
from sfumato.methods.base import Progress, silent

_WITHHELD = "${SFUMATO_SOURCE}"


def discover_database(database: Database, *, source: str = "", declared: bool = True, progress: Progress = silent) -> Suggestion:
    """Roles and rules for all tables."""
    rules = rules_of_database(database, declared=declared, progress=progress)
    columns = _columns(database, rules)
    silent_tables = [name for name, table in database.tables.items() if table.rows == 0]
    reasons = [f"{len(columns)} columns look personal and are proposed as replaced; look at the others yourself, free text above all"]
    reasons += [f"table '{name}' has no rows: nothing can be said about it" for name in silent_tables]
    if "@" in source:
        reasons.append(f"put the URL of the source into the environment: {_WITHHELD} stands for it here, because it holds a login")
    tree: dict[str, Any] = {"version": 1, "data": {"kind": "database", "source": _shown(source)}, "columns": columns}
    return Suggestion(tree, tuple(reasons), proposals=tuple(rules))


def _shown(source: str) -> str:
    """The URL when it holds no login."""
    return source if source and "@" not in source else _WITHHELD


def _columns(database: Database, rules: list[Proposal]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    following = {each.rule.partition(" references ")[0] for each in rules if each.template == "foreign keys" and each.active}
    for columns in view_of(database).tables().values():
        people = any(is_personal(column) for column in columns)
        for column in columns:
            if str(column) not in following and (domain := _domain(column, columns, people)):
                found[f"{column.table}.{column.name}"] = {"role": "replaced", "domain": domain}
    return found


def _domain(column: ColumnView, columns: list[ColumnView], people: bool) -> dict[str, Any] | None:
    if people and column is columns[0]:
        return numbering(column)
    return replacement(column, columns, pattern_of(column))


def read_database(url: str, progress: Progress = silent) -> Database:
    """Schema and rows behind a URL; nothing is written."""
    raise NotImplementedError
