"""How much memory the tables of a policy need, before anything is made: what is larger than allowed is refused with the way out.

Rows lie on the shelf and are worked on in pieces, whatever their number. What must be in memory at once grows with single columns:

    order   row numbers of the largest table
    made    a column that is drawn, as numbers and as texts
    links   different values of columns that change together, old and new
    seen    kept columns that a rule for drawn ones reads, as texts and as numbers
    groups  columns of rules about whole tables (totals, orders, overlaps), row by row
    sought  old values of replaced columns, which are looked for everywhere else

The numbers of bytes are estimates from how columns lie in memory, not a bound (`benchmarks/README.md` has what was measured).
"""

from __future__ import annotations

from sfumato.errors import PolicyError
from sfumato.methods.replacing.databases.rows import Selected
from sfumato.methods.replacing.sampling.problem import Clause
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.rules import columns_of, conjuncts
from sfumato.policy.rules.tree import ColumnValue, Determines, References, Unique

_CODE = 300 << 20
"""Bytes of the program itself and its libraries."""
_ORDER, _MADE, _LINK, _SEEN, _GROUP, _SOUGHT = 24, 48, 96, 24, 400, 48
_IN_TURN = ("the order of rows", "drawn columns", "old values to look for")
"""What is needed one after the other, not at the same time."""


def require_memory(bound: BoundPolicy, data: Selected) -> None:
    """Refuses what would need more than the policy allows."""
    wanted = needed(bound, data)
    total = sum(wanted.values()) - sum(sorted(wanted[what] for what in _IN_TURN)[:-1])
    allowed = bound.source.memory_bytes
    if total > allowed:
        most = max(wanted, key=lambda what: wanted[what])
        what = f"about {-(-total >> 20):,} MB are needed, most of it for {most}; {allowed >> 20:,} MB are allowed"
        hint = f"write 'memory: {-(-total >> 20)} MB', leave tables out with 'tables:', or take a 'subset'"
        raise PolicyError(what, where="data.memory", hint=hint)


def needed(bound: BoundPolicy, data: Selected) -> dict[str, int]:
    """Bytes by what they are for; small tables need none beyond those of the program."""
    clauses = [Clause(rule, body) for rule in bound.drawn_rules for body in conjuncts(rule.body)]
    grouped = [one.body for one in clauses if one.is_whole and not isinstance(one.body, References | Unique | Determines)]
    drawn = [one.body for one in clauses if any(column in bound.free for column in columns_of(one.body))]
    kept = {ColumnValue(c.name, c.table) for body in drawn for c in columns_of(body)} - set(bound.free)
    used = {ColumnValue(c.name, c.table) for body in grouped for c in columns_of(body)}
    counts = {table: data.count(table) for table in data.tables}
    return {
        "the program": min(_CODE, bound.source.memory_bytes),
        "the order of rows": _ORDER * max(counts.values(), default=0),
        "drawn columns": max((_cost(data, column, _MADE, 3) for column in bound.free), default=0),
        "linked columns": sum(_cost(data, link.root, _LINK, 3) for link in bound.links),
        "kept columns that rules read": sum(_cost(data, column, _SEEN, 5) for column in kept if str(column.table) in counts),
        "rules about whole tables": sum(_GROUP * counts[str(column.table)] for column in used if str(column.table) in counts),
        "old values to look for": sum(_cost(data, column, _SOUGHT, 2) for column in bound.free),
    }


def _cost(data: Selected, column: ColumnValue, fixed: int, times: int) -> int:
    """So many bytes for every row, and the texts so many times."""
    cells = data.database.tables[str(column.table)].column(column.name)
    return fixed * data.count(str(column.table)) + times * int(cells.nbytes)
