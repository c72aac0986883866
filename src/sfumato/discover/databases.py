"""A whole database: a policy of kind `database` with personal columns replaced and the rules that hold.

Only columns that look personal are named; all others are published as they are, and columns that refer to a replaced key follow it.
What is written has been tried: it binds to the schema, every part can be made, no replaced value survives elsewhere, and what
`check` will warn about is accepted by name with the reason beside it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sfumato.audit.sources.database import DatabaseAudit
from sfumato.data.database import ColumnFacts, Database
from sfumato.discover.base import Suggestion
from sfumato.discover.confirming import confirmed
from sfumato.discover.personal import candidates, fits, is_personal, numbering, what_it_says
from sfumato.discover.proposal import Proposal, ranked
from sfumato.discover.remedies import with_remedies
from sfumato.discover.rules import rules_of_database, view_of
from sfumato.discover.templates.patterns import pattern_of
from sfumato.discover.trial import refusal, tried_columns, tried_rules
from sfumato.discover.view import ColumnView, DataView
from sfumato.io.sql import connect
from sfumato.io.sql.sampling import RowCounter
from sfumato.methods.base import Progress, silent
from sfumato.policy.policy import Policy
from sfumato.policy.rules import columns_of, parse
from sfumato.policy.rules.tree import Unique

_WITHHELD = {"source": "${SFUMATO_SOURCE}", "target": "${SFUMATO_TARGET}"}
Facts = Mapping[tuple[str, str], ColumnFacts]


def discover_database(
    database: Database,
    policy: Policy | None = None,
    *,
    where: Mapping[str, str] | None = None,
    declared: bool = True,
    progress: Progress = silent,
    sampled: Collection[str] = (),
) -> Suggestion:
    """Roles and rules for all tables; `policy`, when given, is compared with them.

    `where` holds the URLs of source and target, and the schema; of `sampled` tables only some rows are there, and rules about them
    are confirmed by the source's server.
    """
    where = where or {}
    view = view_of(database)
    found = rules_of_database(database, declared=declared, progress=progress, view=view)
    if sampled:
        schema = database.schema
        with connect(where["source"], namespace=None if schema.others else schema.namespace or None) as link:
            found = ranked(confirmed(found, schema, sampled, RowCounter(link)))
    proposed, left = _columns(database, found, view)
    data = {"kind": "database", "source": _shown("source", where), **_given(where)}
    tree, remedies, refused = _tried(database, {"version": 1, "data": data, "columns": proposed}, view)
    columns, equations = tree["columns"], [_equation(rule, database) for rule in tree.get("keep", ())]
    changed = columns | {name: {} for group in tree["data"].get("consistent", ()) for name in group if name not in columns}
    rules = tried_rules(database, tree, ranked(_yielding(each, changed, database) for each in _leaner(found)))
    accepted = remedies.accepted | _warnings(database, tree, [each.rule for each in rules if each.active], remedies.accepted)
    tree, rules = {key: value for key, value in tree.items() if key != "keep"}, [*equations, *rules]
    reasons = [f"{len(columns)} columns look personal and are proposed as replaced; look at the others, free text above all"]
    reasons += [*remedies.reasons, *_silent_tables(database), *_logins(where), *_samples(database, sampled)]
    return Suggestion(tree, tuple(reasons), tuple(_overlooked(policy, columns, rules)), tuple(rules), accepted, left | refused)


def _tried(database: Database, tree: Mapping[str, Any], view: DataView) -> tuple[dict[str, Any], Any, dict[str, str]]:
    """The policy without what the schema refuses, and with remedies for values that survive elsewhere."""
    current, refused = tried_columns(database, tree)
    forms = {f"{column.table}.{column.name}": pattern_of(column) for column in view.columns if column.unit == "text"}
    current, remedies = with_remedies(database, current, forms)
    current, more = tried_columns(database, current)
    return current, remedies, refused | more


def _warnings(database: Database, tree: Mapping[str, Any], rules: list[str], accepted: Mapping[str, str]) -> dict[str, str]:
    """What `check` will say about the written policy; values that survive are no warning to be waved through here."""
    if not tree["columns"] or refusal(database, tree, rules):
        return {}
    policy = Policy.parse({**tree, "keep": [*tree.get("keep", ()), *rules]})
    report = DatabaseAudit().examine(policy, database)
    told = {warning.identifier: warning.text for warning in report.warnings if warning.identifier not in accepted}
    return {identifier: text for identifier, text in told.items() if not identifier.startswith("surviving:")}


def _equation(rule: str, database: Database) -> Proposal:
    """How a column is computed from others of its row: it gave every cell of the original."""
    column = columns_of(parse(rule))[0]
    cells = database.tables[str(column.table)].column(column.name)
    return Proposal(rule, "derivations", support=len(cells.drop_null()), chance=-math.inf)


def _silent_tables(database: Database) -> Iterator[str]:
    empty = [name for name, table in database.tables.items() if table.rows == 0]
    if empty:
        shown = ", ".join(f"'{name}'" for name in empty[:5]) + (f" and {len(empty) - 5} more" if len(empty) > 5 else "")
        yield f"no rows in {shown}: their columns are judged by their names alone"


def _samples(database: Database, sampled: Collection[str]) -> Iterator[str]:
    for name in sampled:
        rows = database.tables[name].rows
        yield f"of '{name}' {rows:,} rows were looked at, chosen by chance; the server confirmed the rules about it on all rows"


def _logins(where: Mapping[str, str]) -> Iterator[str]:
    for key, name in _WITHHELD.items():
        if "@" in where.get(key, ""):
            yield f"put the URL of the {key} into the environment: {name} stands for it here, because it holds a login"


def _overlooked(policy: Policy | None, columns: Mapping[str, Any], rules: list[Proposal]) -> Iterator[str]:
    """Personal columns and rules that an existing policy does not mention."""
    if policy is None:
        return
    yield from (f"'{name}' looks personal and is not under 'columns'" for name in columns if name not in policy.columns)
    new = [each for each in rules if each.active and not each.declared and each.rule not in policy.keep]
    yield from (f"{each.rule} holds in the data but is not under 'keep'" for each in new)


def _shown(key: str, where: Mapping[str, str]) -> str:
    """The URL when it holds no login."""
    url = where.get(key, "")
    return url if url and "@" not in url else _WITHHELD[key]


def _given(where: Mapping[str, str]) -> dict[str, str]:
    found = {"target": _shown("target", where)} if where.get("target") else {}
    return found | ({"schema": where["schema"]} if where.get("schema") else {})


def _columns(database: Database, rules: list[Proposal], view: DataView) -> tuple[dict[str, Any], dict[str, str]]:
    """Replaced columns with domains that fit their types, and personal columns for which nothing fits."""
    found: dict[str, Any] = {}
    left: dict[str, str] = {}
    following = {each.rule.partition(" references ")[0] for each in rules if each.template == "foreign keys" and each.active}
    facts = {(table.name, column.name): column for table in database.schema.tables for column in table.columns}
    for columns in view.tables().values():
        people = any(is_personal(column, facts.get((str(column.table), column.name))) for column in columns)
        for column in columns:
            own = facts.get((str(column.table), column.name))
            if str(column) in following or (own is not None and own.computed):
                continue
            domain = next((one for one in _wanted(column, columns, people, own) if fits(one, own)), None)
            name = f"{column.table}.{column.name}"
            if domain:
                found[name] = {"role": "replaced", "domain": domain}
            elif own is not None and what_it_says(column, own):
                left[name] = f"nothing fits the type {own.native}; it looks personal ({what_it_says(column, own)})"
    return found, left


def _wanted(column: ColumnView, columns: list[ColumnView], people: bool, facts: ColumnFacts | None) -> Iterator[dict[str, Any]]:
    if people and column is columns[0] and (numbers := numbering(column)) is not None:
        yield numbers
    elif people and column is columns[0] and facts is not None and facts.kind == "uuid":
        yield {"fakes": "uuid"}
    else:
        yield from candidates(column, columns, pattern_of(column), facts)


def _leaner(rules: list[Proposal]) -> Iterator[Proposal]:
    """Without keys that contain another key."""
    bodies = [parse(each.rule).body for each in rules]
    keys = [set(body.columns) for each, body in zip(rules, bodies, strict=True) if isinstance(body, Unique) and each.active]
    for each, body in zip(rules, bodies, strict=True):
        if each.declared or not isinstance(body, Unique) or not any(key < set(body.columns) for key in keys):
            yield each


def _yielding(each: Proposal, columns: Mapping[str, Any], database: Database) -> Proposal:
    """Switched off when it speaks about how replaced values look, or about what the server computes or cannot compare."""
    named = columns_of(parse(each.rule))
    facts = [database.schema.table(str(column.table)).column(column.name) for column in named]
    if any(column.computed for column in facts):
        return replace(each, off="the server computes a column of it")
    if each.template == "patterns" and any(column.kind != "text" for column in facts):
        return replace(each, off="the type of the column says it already")
    for key, word in (("empty", "emptied"), ("computed", "computed")):
        if not each.declared and any(columns.get(str(column), {}).get("domain") == {key: True} for column in named):
            return replace(each, off=f"a column of it is {word}")
    if each.declared or each.template not in ("patterns", "value lists", "dependencies"):
        return each
    return replace(each, off="a replaced column gets invented values") if {str(c) for c in named} & columns.keys() else each


def read_database(url: str, progress: Progress = silent, schema: str = "") -> Database:
    """Schema and rows behind a URL; nothing is written."""
    return read_sampled(url, progress, schema, None)[0]


def read_sampled(url: str, progress: Progress, schema: str, most: int | None) -> tuple[Database, tuple[str, ...]]:
    """Schema and rows behind a URL, and the tables of which only about `most` rows were read; nothing is written."""
    from sfumato.io.sql import read_rows, read_schema
    from sfumato.io.sql.sampling import sampled_tables

    found = read_schema(url, schema=schema or None)
    shares = {} if most is None else sampled_tables(url, found, most)
    return read_rows(url, found, progress=progress, shares=shares), tuple(shares)
