"""What to do about columns in which original values of replaced columns still stand.

A copy changes together with what it was copied from; what an equation gives exactly (initials, a slug, a search vector, a login
made of names) is computed anew from the new values; a note or a document is emptied where the column allows it, or gets an invented
form. What is left are coincidences (a composer who is called like a customer): accepted by name, with the count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.audit.rules import Judge
from sfumato.audit.surviving import surviving
from sfumato.audit.survivors import Survivor
from sfumato.data.database import Database
from sfumato.data.table import Table
from sfumato.discover.derivations import equation
from sfumato.discover.personal import fits
from sfumato.errors import DataError, PolicyError
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.policy import Policy
from sfumato.policy.replacements import Empty, Fakes, PatternDomain
from sfumato.policy.rules import columns_of, parse
from sfumato.policy.rules.bind import bind
from sfumato.policy.rules.tree import ColumnValue

_ROUNDS = 4
_COPY, _COINCIDENCE = 0.5, 0.02
_COMPUTED, _SOURCES = ("text", "tsvector", "integer"), ("text", "date", "timestamp")
_ROOM, _MOST = 80, 8
"""Signs that a computed text must find room for; columns that are tried as its sources."""


@dataclass
class Remedies:
    """Additions to a proposed policy."""

    columns: dict[str, Any] = field(default_factory=dict)
    consistent: list[list[str]] = field(default_factory=list)
    accepted: dict[str, str] = field(default_factory=dict)
    equations: dict[str, str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)


def with_remedies(database: Database, tree: Mapping[str, Any], forms: Mapping[str, str]) -> tuple[dict[str, Any], Remedies]:
    """The proposed policy with a remedy for every column in which replaced values survive; `forms` are the columns' patterns."""
    found, current = Remedies(), dict(tree)
    for _ in range(_ROUNDS):
        bound = BoundPolicy(Policy.parse(current), database.schema)
        left: dict[ColumnValue, list[Survivor]] = {}
        for one in surviving(bound, database):
            if str(one) not in found.accepted:
                left.setdefault(one.kept, []).append(one)
        if not left:
            break
        for column, pairs in left.items():
            _remedy(bound, database, column, pairs, forms.get(str(column), ""), found)
        data = dict(current["data"]) | ({"consistent": found.consistent} if found.consistent else {})
        current |= {"columns": {**current["columns"], **found.columns}, "data": data}
        current |= {"keep": list(found.equations.values())} if found.equations else {}
    return current, found


def _remedy(bound: BoundPolicy, database: Database, column: ColumnValue, pairs: list[Survivor], form: str, found: Remedies) -> None:
    facts, name = bound.facts(column), str(column)
    cells = len(database.tables[str(column.table)].column(column.name).drop_null())
    best = max(pairs, key=lambda one: (one.whole, one.cells))
    told = f"it holds {best.how} of {best.replaced} in {best.cells:,} of {cells:,} rows"
    if _coincides(pairs, cells):
        found.accepted.update({str(one): f"a coincidence, it seems: {one.cells:,} of {cells:,} rows; look" for one in pairs})
    elif rule := _derivation(bound, database, column):
        found.columns[name] = {"role": "replaced", "domain": {"computed": True}}
        found.equations[name] = rule
        found.reasons.append(f"'{name}' is computed from the new values: {told}")
    elif best.whole >= _COPY * cells and _may_follow(bound, best.replaced, column):
        found.consistent.append([str(best.replaced), name])
        found.reasons.append(f"'{name}' changes together with '{best.replaced}': {told}")
    elif not _must_differ(bound, column) and fits({"empty": True}, facts):
        found.columns[name] = {"role": "replaced", "domain": {"empty": True}}
        found.reasons.append(f"'{name}' is emptied: {told}")
    else:
        domain = next((one for one in _invented(form, facts.length) if fits(one, facts)), None)
        if domain is None:
            found.accepted.update({str(one): f"nothing else can stand there; {told}" for one in pairs})
        else:
            found.columns[name] = {"role": "replaced", "domain": domain}
            found.reasons.append(f"'{name}' gets invented values: {told}")


def _derivation(bound: BoundPolicy, database: Database, column: ColumnValue) -> str:
    """The equation that gives the column from replaced ones of its row, where new values will fit, or nothing."""
    facts, table = bound.facts(column), database.tables[str(column.table)]
    if facts.kind not in _COMPUTED or _must_differ(bound, column) or (facts.length or _ROOM) < _ROOM:
        return ""
    given = {*bound.emptied, *(one.column for one in bound.definitions)}
    known = [c for c in bound.changed if c.table == column.table and c not in given and bound.facts(c).kind in _SOURCES]
    own = bound.schema.table(str(column.table))
    names = list(dict.fromkeys([*(c.name for c in known), *own.primary_key]))[:_MOST]
    texts = {name: table.column(name).to_pylist() for name in names if name != column.name}
    rule = equation(str(column.table), column.name, table.column(column.name).to_pylist(), texts, facts.kind) if known else ""
    return rule if rule and _judged(rule, bound, table) else ""


def _judged(rule: str, bound: BoundPolicy, table: Table) -> bool:
    """Whether the audit finds it true as well: for it a column of digits is a number, and no text."""
    try:
        own = bind(parse(rule), bound.kinds)
        named = {column.name: table.text(column.name) for column in columns_of(own)}
        return Judge({columns_of(own)[0].table: named}).broken(own) == 0
    except (DataError, PolicyError):
        return False


def _coincides(pairs: list[Survivor], cells: int) -> bool:
    by_words = all(one.how == "the words of its values" and not one.whole and not one.surely for one in pairs)
    return by_words and sum(one.cells for one in pairs) <= _COINCIDENCE * cells


def _may_follow(bound: BoundPolicy, replaced: ColumnValue, column: ColumnValue) -> bool:
    """Whether one map can serve both: texts with a domain that can be numbered, in no other link."""
    domain = bound.domain(replaced)
    texts = bound.facts(column).kind == "text" == bound.facts(replaced).kind
    linked = any(column in group for group in bound.components)
    return texts and isinstance(domain, Fakes | PatternDomain) and not isinstance(domain, Empty) and not linked


def _must_differ(bound: BoundPolicy, column: ColumnValue) -> bool:
    table = bound.schema.table(str(column.table))
    keys = [key for key in (table.primary_key, *table.uniques) if column.name in key]
    return bool(keys) or any(column in group for group in bound.components)


def _invented(form: str, length: int | None) -> list[dict[str, Any]]:
    """Forms for a key or a not-null column that was made of names."""
    longest = min(length or 12, 12)
    return [
        *([{"pattern": form}] if form else []),
        {"pattern": f"[a-z]{{{longest - 4}}}[0-9]{{4}}"} if longest > 6 else {"pattern": f"[a-z]{{{longest}}}"},
        {"fakes": "uuid"},
    ]
