"""A whole database: a policy of kind `database` with personal columns replaced and the rules that hold.

Only columns that look personal are named; all others are published as they are, and columns that refer to a replaced key follow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sfumato.data.database import Database
from sfumato.discover.base import Suggestion
from sfumato.discover.personal import fits, is_personal, numbering, replacement
from sfumato.discover.proposal import Proposal, ranked
from sfumato.discover.rules import rules_of_database, view_of
from sfumato.discover.templates.patterns import pattern_of
from sfumato.discover.view import ColumnView
from sfumato.methods.base import Progress, silent
from sfumato.policy.policy import Policy
from sfumato.policy.rules import columns_of, parse

_WITHHELD = "${SFUMATO_SOURCE}"


def discover_database(
    database: Database, policy: Policy | None = None, *, source: str = "", declared: bool = True, progress: Progress = silent
) -> Suggestion:
    """Roles and rules for all tables; `policy`, when given, is compared with them."""
    rules = rules_of_database(database, declared=declared, progress=progress)
    columns = _columns(database, rules)
    rules = ranked(_yielding(each, columns) for each in rules)
    silent_tables = [name for name, table in database.tables.items() if table.rows == 0]
    reasons = [f"{len(columns)} columns look personal and are proposed as replaced; look at the others, free text above all"]
    reasons += [f"table '{name}' has no rows: nothing can be said about it" for name in silent_tables]
    if "@" in source:
        reasons.append(f"put the URL of the source into the environment: {_WITHHELD} stands for it here, because it holds a login")
    tree: dict[str, Any] = {"version": 1, "data": {"kind": "database", "source": _shown(source)}, "columns": columns}
    return Suggestion(tree, tuple(reasons), tuple(_overlooked(policy, columns, rules)), tuple(rules))


def _overlooked(policy: Policy | None, columns: Mapping[str, Any], rules: list[Proposal]) -> Iterator[str]:
    """Personal columns and rules that an existing policy does not mention."""
    if policy is None:
        return
    yield from (f"'{name}' looks personal and is not under 'columns'" for name in columns if name not in policy.columns)
    new = [each for each in rules if each.active and not each.declared and each.rule not in policy.keep]
    yield from (f"{each.rule} holds in the data but is not under 'keep'" for each in new)


def _shown(source: str) -> str:
    """The URL when it holds no login."""
    return source if source and "@" not in source else _WITHHELD


def _columns(database: Database, rules: list[Proposal]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    following = {each.rule.partition(" references ")[0] for each in rules if each.template == "foreign keys" and each.active}
    facts = {(table.name, column.name): column for table in database.schema.tables for column in table.columns}
    for columns in view_of(database).tables().values():
        people = any(is_personal(column) for column in columns)
        for column in columns:
            domain = None if str(column) in following else _domain(column, columns, people)
            if domain and fits(domain, facts.get((str(column.table), column.name))):
                found[f"{column.table}.{column.name}"] = {"role": "replaced", "domain": domain}
    return found


def _domain(column: ColumnView, columns: list[ColumnView], people: bool) -> dict[str, Any] | None:
    if people and column is columns[0]:
        return numbering(column)
    return replacement(column, columns, pattern_of(column))


def _yielding(each: Proposal, columns: Mapping[str, Any]) -> Proposal:
    """Switched off when it speaks about how replaced values look: these are invented, and the domain says how."""
    if each.declared or each.template not in ("patterns", "value lists", "dependencies"):
        return each
    named = {f"{column.table}.{column.name}" for column in columns_of(parse(each.rule))}
    return replace(each, off="a replaced column gets invented values") if named & columns.keys() else each


def read_database(url: str, progress: Progress = silent, schema: str = "") -> Database:
    """Schema and rows behind a URL; nothing is written."""
    from sfumato.io.sql import read_rows, read_schema

    return read_rows(url, read_schema(url, schema=schema or None), progress=progress)
