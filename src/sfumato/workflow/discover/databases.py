"""A whole database: a policy of kind `database` with personal columns replaced and the rules that hold.

Only columns that look personal are named; all others are published as they are, and columns that refer to a replaced
key follow it. What is written has been tried: it binds to the schema, every part can be made, no replaced value
survives elsewhere, and what `check` will warn about is accepted by name with the reason beside it.


Confirming
----------
Rules that were found in a sample, judged by the server on all rows: exactly, or not at all.

A rule that no query says exactly (patterns, totals, texts compared by their order) stays a line, switched off.


Trial
-----
A proposed policy tried before it is written: what the method or the schema refuses is left out, with the reason.

Guarantee: the policy that is written binds to the schema, every part of it has an engine, and where that is the
constraint solver, one block of it was solved for trial, as `check` will do. No large part goes to the solver unless the
schema itself asks for it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sfumato.core.errors import DataError, Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.data.database import ColumnFacts, Database, Schema
from sfumato.data.personal_columns import ColumnDecision
from sfumato.data.personal_columns.databases import MOST_ROWS, column_decisions
from sfumato.io.database_source import given_url
from sfumato.io.sql import connect, dialect_of, require_clonable
from sfumato.io.sql.addresses import quoted
from sfumato.io.sql.postgres_dumps import program
from sfumato.io.sql.rows import RowCounter
from sfumato.kinds.testdata.database_source_audit import DatabaseAudit
from sfumato.kinds.testdata.leaked_values import find_leaked_values
from sfumato.kinds.testdata.methods.database_parts import FreeColumns, forecast_solver_time
from sfumato.kinds.testdata.methods.relational import Families, Relational
from sfumato.kinds.testdata.methods.sampling.solver_blocks import Blocks
from sfumato.policy.constraint_language import columns_of, conjuncts, parse
from sfumato.policy.constraint_language.syntax_tree import (
    Arithmetic,
    ColumnValue,
    Compare,
    Condition,
    Determines,
    Expression,
    Membership,
    Negative,
    Number,
    References,
    Statement,
    TextConstant,
    Unique,
)
from sfumato.policy.database_policy import BoundPolicy
from sfumato.policy.policy import Policy
from sfumato.policy.value_domains import FAKES
from sfumato.release.method import Progress, no_progress
from sfumato.workflow.discover.column_profiles import ColumnView, DataView
from sfumato.workflow.discover.constraints import failure_remarks, rules_of_database, view_of
from sfumato.workflow.discover.discover import Suggestion
from sfumato.workflow.discover.leak_remedies import Remedies, add_remedies, find_equation
from sfumato.workflow.discover.numeric_templates import pattern_of
from sfumato.workflow.discover.personal_columns import (
    document_domain,
    fits,
    is_personal,
    propose_numbering,
    replacement_candidates,
)
from sfumato.workflow.discover.proposal import Proposal, rank_proposals

Decisions = Mapping[tuple[str, str], ColumnDecision]
_LABEL = 48
"""Signs of a label, at most."""
QUANTITIES = ("integer", "decimal", "float", "date", "timestamp", "time")
"""Types whose columns are proposed to be kept when a person is asked about them."""
_WITHHELD = {"source": "${SFUMATO_SOURCE}", "target": "${SFUMATO_TARGET}"}
Facts = Mapping[tuple[str, str], ColumnFacts]


def discover_database(
    database: Database,
    policy: Policy | None = None,
    *,
    where: Mapping[str, str] | None = None,
    declared: bool = True,
    progress: Progress = no_progress,
    sampled: Collection[str] = (),
) -> Suggestion:
    """Roles and rules for all tables; `policy`, when given, is compared with them.

    `where` holds the URLs of source and target, and the schema; of `sampled` tables only some rows are there, and rules
    about them are confirmed by the source's server."""
    where = dict(where or {})
    where["mode"], doubts = _mode(where)
    if where["mode"] == "clone":
        database = Database(replace(database.schema, left_out=()), database.tables)
    view = view_of(database)
    failed = Counter[str]()
    found = rules_of_database(database, declared=declared, progress=progress, view=view, failed=failed)
    if sampled:
        schema = database.schema
        with connect(where["source"], namespace=None if schema.others else schema.namespace or None) as link:
            found = rank_proposals(confirm_on_server(found, schema, sampled, RowCounter(link)))
    decisions = column_decisions(database, _references(found))
    proposed, remarks = _columns(database, found, view, decisions)
    data = {"kind": "database", "source": _shown("source", where), **_given(where)}
    ties = [each.rule for each in found if each.active and each.template == "foreign keys"]
    tree, remedies, refused = _tried(database, {"version": 1, "data": data, "columns": proposed}, view, ties)
    tree, remarks = _with_questions(tree, proposed, remarks, refused, remedies)
    equations = [_equation(rule, database) for rule in tree.get("keep", ())]
    columns = _replaced(tree["columns"])
    changed = columns | {
        name: {} for group in tree["data"].get("consistent", ()) for name in group if name not in columns
    }
    rules = without_refused_rules(
        database, tree, rank_proposals(_yielding(each, changed, database) for each in _leaner(found))
    )
    told = _warnings(database, tree, [each.rule for each in rules if each.active], remedies.accepted)
    rules = _without_broken(rules, tree, told)
    accepted = remedies.accepted | {name: text for name, text in told.items() if not name.startswith(_NEVER_ACCEPTED)}
    tree, rules = {key: value for key, value in tree.items() if key != "keep"}, [*equations, *rules]
    reasons = [*_counts(tree["columns"]), *doubts]
    reasons += [*remedies.reasons, *failure_remarks(failed), *_silent_tables(database)]
    reasons += [*_logins(where), *_samples(database, sampled)]
    return Suggestion(
        tree,
        tuple(reasons),
        tuple(_overlooked(policy, tree["columns"], rules)),
        tuple(rules),
        accepted,
        remarks=remarks,
    )


_NEVER_ACCEPTED = ("broken-", "plain-column:", "undecided-column:")
"""What a draft leaves to a person: rules that do not hold, and columns that look personal."""


_ORDER = ("review", "replaced", "other")
"""What needs a decision comes first."""


def _references(rules: Iterable[Proposal]) -> Iterator[tuple[str, str, str]]:
    """Table, column and parent of every reference that a draft keeps."""
    for each in rules:
        body = parse(each.rule).body if each.active and each.template == "foreign keys" else None
        if isinstance(body, References):
            yield from ((str(one.table), one.name, str(body.parent[0].table)) for one in body.child)


def _with_questions(
    tree: Mapping[str, Any],
    proposed: Mapping[str, Any],
    remarks: Mapping[str, str],
    refused: Mapping[str, str],
    remedies: Remedies,
) -> tuple[dict[str, Any], dict[str, str]]:
    """The policy in which nothing that was proposed is lost: what the trial left out, or could not mend, is under
    review."""
    columns, told = dict(tree["columns"]), dict(remarks)
    together = {name for group in tree["data"].get("consistent", ()) for name in group}
    for name in proposed:
        if name not in columns and name not in together:
            kept = {"proposed": "other"} if proposed[name]["role"] == "review" else {}
            columns[name], told[name] = (
                {"role": "review", **kept},
                f"{told[name]}; {refused.get(name, 'no domain fits')}",
            )
    for name, why in remedies.undecided.items():
        if name not in proposed:
            columns[name], told[name] = {"role": "review"}, why
    ordered = dict(sorted(columns.items(), key=lambda pair: _ORDER.index(pair[1]["role"])))
    return {**tree, "columns": ordered}, told | {
        name: why for name, why in remedies.remarks.items() if name not in told
    }


def _replaced(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of columns that are replaced, or would be if what is proposed is accepted."""
    return {name: entry for name, entry in columns.items() if "replaced" in (entry["role"], entry.get("proposed"))}


def _counts(columns: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What needs a decision, then what is proposed, in figures."""
    asked = [name for name, entry in columns.items() if entry["role"] == "review"]
    if asked:
        yield (
            f"{len(asked)} column(s) need a decision (role: review): write a role, or take the proposals with"
            " --accept-roles"
        )
    for role, word in (
        ("replaced", "hold personal data and are replaced"),
        ("other", "are codes of the application and are kept"),
    ):
        yield f"{sum(entry['role'] == role for entry in columns.values())} column(s) {word}"


def _tried(
    database: Database, tree: Mapping[str, Any], view: DataView, ties: Sequence[str]
) -> tuple[dict[str, Any], Any, dict[str, str]]:
    """The policy without what the schema refuses, and with remedies for values that survive elsewhere.

    `ties` are references that will be kept: what refers to each other changes together.
    """
    ties = _possible(database, tree, ties)
    current, refused = without_refused_columns(database, tree, ties)
    current = _without_pointless_masks(database, current, ties)
    current, equations = _with_equations(database, current, ties)
    forms = {f"{column.table}.{column.name}": pattern_of(column) for column in view.columns if column.unit == "text"}
    current, remedies = add_remedies(database, current, forms, ties, equations)
    current, more = without_refused_columns(database, {**current, "keep": list(remedies.equations.values())}, ties)
    return current, remedies, refused | more


def _without_pointless_masks(database: Database, tree: Mapping[str, Any], ties: Sequence[str]) -> dict[str, Any]:
    """Return the policy with an unknown column proposed as unchanged if its values occur in unchanged columns, too."""
    asked = [
        name
        for name, entry in tree["columns"].items()
        if entry["role"] == "review" and entry.get("proposed") == "replaced"
    ]
    if not asked:
        return dict(tree)
    bound = BoundPolicy(Policy.parse({**tree, "keep": list(ties)}), database.schema)
    found = {str(one.replaced) for one in find_leaked_values(bound, database)} & set(asked)
    kept = {name: {"role": "review", "proposed": "other"} for name in found}
    return {**tree, "columns": {name: kept.get(name, entry) for name, entry in tree["columns"].items()}}


def _with_equations(
    database: Database, tree: Mapping[str, Any], ties: Sequence[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The policy with columns computed that were made of others, as an e-mail address of names; and their equations."""
    current, equations, used = dict(tree), dict[str, str](), set[ColumnValue]()
    bound = BoundPolicy(Policy.parse({**tree, "keep": list(ties)}), database.schema)
    for column in bound.free:
        taken = {bound.columns[name] for name in equations}
        rule = find_equation(bound, database, column, taken) if column not in used else ""
        if not rule:
            continue
        entry = {"role": "replaced", "domain": {"computed": True}}
        tried = {**current, "columns": {**current["columns"], str(column): entry}}
        if not policy_refusal(database, {**tried, "keep": [*ties, *equations.values(), rule]}):
            current, equations[str(column)] = tried, rule
            used |= {ColumnValue(one.name, one.table) for one in columns_of(parse(rule))} - {column}
    return current, equations


def _possible(database: Database, tree: Mapping[str, Any], ties: Sequence[str]) -> list[str]:
    """The references that can be kept while no column of theirs is replaced; one that binds to nothing is left out."""
    bare = {**tree, "columns": {}}
    if not policy_refusal(database, {**bare, "keep": list(ties)}):
        return list(ties)
    return [one for one in ties if not policy_refusal(database, {**bare, "keep": [one]})]


def _warnings(
    database: Database, tree: Mapping[str, Any], rules: list[str], accepted: Mapping[str, str]
) -> dict[str, str]:
    """What `check` will say about the written policy; values that survive are no warning to be waved through here."""
    if not tree["columns"] or policy_refusal(database, tree, rules):
        return {}
    policy = Policy.parse({**tree, "keep": [*tree.get("keep", ()), *rules]})
    report = DatabaseAudit().examine(policy, database)
    told = {warning.identifier: warning.text for warning in report.warnings if warning.identifier not in accepted}
    return {identifier: text for identifier, text in told.items() if not identifier.startswith("surviving:")}


def _without_broken(rules: list[Proposal], tree: Mapping[str, Any], told: Mapping[str, str]) -> list[Proposal]:
    """The rules, those switched off that the audit finds broken: for it an empty text is a value."""
    place = len(tree.get("keep", ()))
    found = []
    for each in rules:
        place += each.active
        broken = each.active and f"broken-rule:{place}" in told
        found.append(replace(each, off="the data break it where a text is empty and not missing") if broken else each)
    return found


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
        yield (
            f"of '{name}' a random sample of {rows:,} rows was examined; the server confirmed "
            "the constraints on all rows"
        )


def _logins(where: Mapping[str, str]) -> Iterator[str]:
    for key, name in _WITHHELD.items():
        if "@" in where.get(key, ""):
            yield f"put the URL of the {key} into the environment: {name} stands for it here, because it holds a login"


def _overlooked(policy: Policy | None, columns: Mapping[str, Any], rules: list[Proposal]) -> Iterator[str]:
    """Personal columns and rules that an existing policy does not mention."""
    if policy is None:
        return
    spoken = {*policy.columns, *policy.dropped}
    open_ = [name for name, entry in columns.items() if entry["role"] != "other" and name not in spoken]
    yield from (f"'{name}' looks personal and is not under 'columns'" for name in open_)
    new = [each for each in rules if each.active and not each.declared and each.rule not in policy.keep]
    yield from (f"{each.rule} holds in the data but is not under 'keep'" for each in new)


def _shown(key: str, where: Mapping[str, str]) -> str:
    """The URL when it holds no login."""
    url = where.get(key, "")
    return url if url and "@" not in url else _WITHHELD[key]


def _given(where: Mapping[str, str]) -> dict[str, Any]:
    shown, mode = _shown("target", where), where.get("mode", "create")
    target = shown if mode == "create" else {"url": shown, "mode": mode}
    found: dict[str, Any] = {"target": target} if where.get("target") else {}
    return found | ({"schema": where["schema"]} if where.get("schema") else {})


def _mode(where: Mapping[str, str]) -> tuple[str, list[str]]:
    """How the target gets its tables, and a sentence where it can be no clone though both databases are of one kind."""
    if where.get("mode") or not where.get("target") or not where.get("source"):
        return where.get("mode") or "create", []
    source, target = given_url(where["source"]), given_url(where["target"])
    if dialect_of(source) != dialect_of(target) or where.get("schema"):
        return "create", []
    try:
        if dialect_of(source) == "postgresql":
            program("pg_dump")
        else:
            require_clonable(source)
    except (DataError, PolicyError) as error:
        return "create", [f"the target is created table by table and not cloned: {error.what}"]
    return "clone", []


def _following(references: Iterable[str]) -> set[str]:
    """Columns that follow another one; of columns that refer to each other in a circle one does not, and gets a domain
    itself."""
    pairs = [(child, parent) for child, _, parent in (rule.partition(" references ") for rule in references)]
    above: dict[str, set[str]] = {}
    for child, parent in pairs:
        reached, waiting = {parent}, [parent]
        while waiting:
            more = above.get(waiting.pop(), set()) - reached
            reached |= more
            waiting += more
        if child not in reached:
            above.setdefault(child, set()).add(parent)
    return set(above)


def _columns(
    database: Database, rules: list[Proposal], view: DataView, decisions: Decisions
) -> tuple[dict[str, Any], dict[str, str]]:
    """Entries for the columns that a draft is about, and the reason for each: replaced, kept as a code, or under
    review."""
    found: dict[str, Any] = {}
    remarks: dict[str, str] = {}
    following = _following(each.rule for each in rules if each.template == "foreign keys" and each.active)
    facts = {(table.name, column.name): column for table in database.schema.tables for column in table.columns}
    for columns in view.tables().values():
        people = any(_points_at_person(decisions[str(column.table), column.name]) for column in columns)
        for column in columns:
            own, decision = facts[str(column.table), column.name], decisions[str(column.table), column.name]
            if str(column) in following or own.computed:
                continue
            wanted = _wanted(column, columns, people, own, decision)
            domain = next((one for one in map(partial(_in_form, column), wanted) if fits(one, own)), None)
            if decision.action == "replace" and own.kind in ("json", "xml"):
                rows = database.tables[str(column.table)].column(column.name)[:MOST_ROWS].to_pylist()
                domain = document_domain(rows, str(column.table)) or domain
            name = f"{column.table}.{column.name}"
            entry, remark = _entry(decision, domain, own, _masks(column), _are_labels(column))
            if entry is not None:
                found[name], remarks[name] = entry, remark
    return found, remarks


def _entry(
    decision: ColumnDecision,
    domain: dict[str, Any] | None,
    facts: ColumnFacts,
    masks: Sequence[dict[str, Any]],
    labels: bool,
) -> tuple[dict[str, Any] | None, str]:
    """What stands under a column and why; nothing for a column that is kept without a question.

    Of a question, `labels` that many rows share are proposed to be kept, and everything else to be masked.
    """
    if domain is not None:
        return {"role": "replaced", "domain": domain}, decision.reason
    if decision.action == "replace":
        return {"role": "review"}, f"{decision.reason}; no domain fits the type {facts.native}"
    if decision.action == "ask":
        masked = next((one for one in masks if fits(one, facts)), None)
        kept = facts.kind in QUANTITIES or masked is None or labels
        return {
            "role": "review",
            **({"proposed": "other"} if kept else {"proposed": "replaced", "domain": masked}),
        }, decision.reason
    return ({"role": "other"}, decision.reason) if decision.reason else (None, "")


def _are_labels(column: ColumnView) -> bool:
    """Whether a column has few short values, each in several rows."""
    return 0 < 2 * len(column.values) <= column.known and max(map(len, column.values)) <= _LABEL


def _masks(column: ColumnView) -> list[dict[str, Any]]:
    """Domains for a column of which nothing is known: an invented form for a few words, nothing for texts and
    documents."""
    own = pattern_of(column) if column.unit == "text" else ""
    forms = [*([{"pattern": own}] if own else []), {"pattern": "[a-z]{8}[0-9]{4}"}, {"pattern": "[a-z]{4}"}]
    few = column.unit == "text" and all(len(value) <= _LABEL and len(value.split()) <= 4 for value in column.values)
    return [*forms, {"empty": True}] if few or column.is_key else [{"empty": True}, *forms]


def _in_form(column: ColumnView, domain: dict[str, Any]) -> dict[str, Any]:
    """The domain in the form of the old values: initials stay initials, upper case stays upper case."""
    if domain.get("fakes") not in FAKES or not column.values:
        return domain
    if domain["fakes"] in ("name", "first_name", "last_name") and max(map(len, column.values)) <= 2:
        return {"pattern": r"[A-Z]\." if all(value.endswith(".") for value in column.values) else "[A-Z]"}
    cases = {"upper": str.isupper, "lower": str.islower}
    lettered = [value for value in column.values if value.upper() != value.lower()]
    case = next((name for name, holds in cases.items() if lettered and all(map(holds, lettered))), "")
    return {**domain, "case": case} if case and (case == "upper" or domain["fakes"] != "email") else domain


def _points_at_person(decision: ColumnDecision) -> bool:
    return decision.action == "replace" and is_personal(decision.kind)


def _wanted(
    column: ColumnView, columns: list[ColumnView], people: bool, facts: ColumnFacts, decision: ColumnDecision
) -> Iterator[dict[str, Any]]:
    if people and column is columns[0] and (numbers := propose_numbering(column)) is not None:
        yield numbers
    elif people and column is columns[0] and facts.kind == "uuid":
        yield {"fakes": "uuid"}
    elif decision.action == "replace":
        yield from replacement_candidates(column, decision.kind, pattern_of(column), facts)


def _leaner(rules: list[Proposal]) -> Iterator[Proposal]:
    """Without keys that contain another key."""
    bodies = [parse(each.rule).body for each in rules]
    keys = [
        set(body.columns) for each, body in zip(rules, bodies, strict=True) if isinstance(body, Unique) and each.active
    ]
    for each, body in zip(rules, bodies, strict=True):
        if each.declared or not isinstance(body, Unique) or not any(key < set(body.columns) for key in keys):
            yield each


def _yielding(each: Proposal, columns: Mapping[str, Any], database: Database) -> Proposal:
    """Switched off when it is about how replaced values look, or about what the server computes or cannot compare."""
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
    return (
        replace(each, off="a replaced column gets invented values")
        if {str(c) for c in named} & columns.keys()
        else each
    )


def read_database(url: str, progress: Progress = no_progress, schema: str = "") -> Database:
    """Schema and rows behind a URL; nothing is written."""
    return read_sampled(url, progress, schema, None)[0]


def read_sampled(url: str, progress: Progress, schema: str, most: int | None) -> tuple[Database, tuple[str, ...]]:
    """Schema and rows behind a URL, and the tables of which only about `most` rows were read; nothing is written."""
    from sfumato.io.sql import read_rows, read_schema
    from sfumato.io.sql.rows import sampled_tables

    found = read_schema(url, schema=schema or None)
    shares = {} if most is None else sampled_tables(url, found, most)
    return read_rows(url, found, progress=progress, shares=shares), tuple(shares)


# Confirming
# ----------


_EXACT, _ORDERED = ("integer", "decimal"), ("date", "timestamp")
SAMPLED = "found in a sample, and not confirmed by the server"


def confirm_on_server(
    proposals: Iterable[Proposal], schema: Schema, sampled: Collection[str], counter: RowCounter
) -> list[Proposal]:
    """The proposals; those about sampled tables stay on only when the server finds nothing against them."""
    found = []
    for each in proposals:
        body = parse(each.rule).body
        concerned = {str(column.table) for column in columns_of(body)} & set(sampled)
        if each.active and not each.declared and concerned:
            counts = [_against(part, schema, counter) for part in conjuncts(body)]
            if None in counts:
                each = replace(each, off=SAMPLED)
            elif any(counts):
                each = replace(each, off=f"found in a sample; broken {sum(count or 0 for count in counts):,} time(s)")
        found.append(each)
    return found


def _against(part: Condition | Statement, schema: Schema, counter: RowCounter) -> int | None:
    """How often a rule is broken, or None where no query says it exactly."""
    columns = columns_of(part)
    table = str(columns[0].table) if columns else ""
    if isinstance(part, References):
        pairs = {c.name: p.name for c, p in zip(part.child, part.parent, strict=True)}
        return counter.dangling(str(part.child[0].table), pairs, str(part.parent[0].table))
    if len({column.table for column in columns}) != 1:
        return None
    if isinstance(part, Unique):
        return counter.repeated(table, [column.name for column in part.columns])
    if isinstance(part, Determines) and len(part.right) == 1:
        return counter.undetermined(table, [column.name for column in part.left], part.right[0].name)
    if isinstance(part, Membership) and isinstance(part.value, ColumnValue):
        texts = [option.value for option in part.options if isinstance(option, TextConstant)]
        return counter.outside(table, part.value.name, texts) if len(texts) == len(part.options) else None
    if isinstance(part, Compare) and not part.tolerance:
        kinds = {schema.table(table).column(column.name).kind for column in columns}
        plain = isinstance(part.left, ColumnValue) and isinstance(part.right, ColumnValue)
        left, right = _sql(part.left), _sql(part.right)
        exact = kinds <= set(_EXACT) or (plain and len(kinds) == 1 and kinds <= set(_ORDERED))
        return (
            counter.broken(table, f"{left} {part.operator.replace('!=', '<>')} {right}")
            if exact and left and right
            else None
        )
    return None


def _sql(node: Expression) -> str:
    """A sum, difference or product of columns and whole numbers, or nothing."""
    if isinstance(node, ColumnValue):
        return quoted(node.name)
    if isinstance(node, Number):
        return str(node.value) if node.value.denominator == 1 else ""
    if isinstance(node, Negative):
        inner = _sql(node.value)
        return f"(-{inner})" if inner else ""
    if isinstance(node, Arithmetic) and node.operator in "+-*":
        left, right = _sql(node.left), _sql(node.right)
        return f"({left} {node.operator} {right})" if left and right else ""
    return ""


# Trial
# -----


_SOLVED = 2_000
"""Rows up to which a rule may go to the solver."""


def policy_refusal(database: Database, tree: Mapping[str, Any], rules: Sequence[str] = ()) -> str:
    """Return why a policy cannot be carried out, or an empty text; `rules` are added to its constraints."""
    try:
        policy = Policy.parse({**tree, "keep": [*tree.get("keep", ()), *rules]})
        bound = BoundPolicy(policy, database.schema)
        bound.require_fit()
        if not bound.replaced:
            return ""
        method = Relational()
        method.foreseen(bound)
        selected = method.selected(bound, database, Randomness())
        method.require_room(bound, selected)
        free = FreeColumns(bound, selected)
        for segment in free.segments:
            count = max(len(rows) for rows in segment.rows.values())
            if isinstance(segment.route.engine, Blocks) and rules and count > _SOLVED:
                return f"'{segment.title}' would need the constraint solver for {count:,} rows"
        Families(free, selected, bound.references)
        forecast_solver_time(free, math.inf)
        return ""
    except (PolicyError, Infeasible, DataError) as error:
        return error.what


def without_refused_columns(
    database: Database, tree: Mapping[str, Any], ties: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, str]]:
    """The policy without the replaced columns that the schema or the references `ties` refuse, and why they were left
    out."""
    left: dict[str, str] = {}

    def refusal(tried: Mapping[str, Any]) -> str:
        return policy_refusal(database, {**tried, "keep": [*tried.get("keep", ()), *ties]})

    if not refusal(tree):
        return dict(tree), left
    kept: dict[str, Any] = {}
    for name, entry in tree["columns"].items():
        reason = refusal(_among(tree, {**kept, name: entry}))
        if reason:
            left[name] = reason
        else:
            kept[name] = entry
    return _among(tree, kept), left


def _among(tree: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """The policy with only these columns, and what goes with them."""
    rules = [rule for rule in tree.get("keep", ()) if str(columns_of(parse(rule))[0]) in columns]
    settled = {**tree, "columns": dict(columns), "data": _within(tree["data"], columns)}
    return settled | ({"keep": rules} if "keep" in tree else {})


def _within(data: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Groups of consistent columns whose first column is replaced."""
    groups = [group for group in data.get("consistent", ()) if group[0] in columns]
    rest = {key: value for key, value in data.items() if key != "consistent"}
    return rest | ({"consistent": groups} if groups else {})


def without_refused_rules(database: Database, tree: Mapping[str, Any], proposals: Sequence[Proposal]) -> list[Proposal]:
    """The proposals, those switched off that cannot be kept together with the replaced columns and the others."""
    new = set(_replaced(tree["columns"]))
    asked = [each for each in proposals if each.active and _mentions(each, new)]
    settled = [each.rule for each in proposals if each.active and not _mentions(each, new)]
    off: dict[str, str] = {}
    if policy_refusal(database, tree, [*settled, *(each.rule for each in asked)]):
        ties = [rule for rule in settled if _is_reference(rule)]  # other rules may need them
        kept: list[str] = []
        for each in sorted(asked, key=lambda one: not _is_reference(one.rule)):
            reason = policy_refusal(database, tree, [*ties, *kept, each.rule])
            if reason:
                off[each.rule] = reason
            else:
                kept.append(each.rule)
        for rule in settled:
            reason = policy_refusal(database, tree, [*ties, *(one for one in kept if _is_reference(one)), rule])
            if reason:
                off[rule] = reason
    return [replace(each, off=off[each.rule]) if each.rule in off else each for each in proposals]


def _is_reference(rule: str) -> bool:
    return isinstance(parse(rule).body, References)


def _mentions(each: Proposal, columns: set[str]) -> bool:
    return any(str(column) in columns for column in columns_of(parse(each.rule)))
