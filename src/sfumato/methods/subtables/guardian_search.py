"""Guardian decomposition: split off whatever breaks a rule, then greedily give columns back where they help most.

Guarantee
    The tables are in Guardian Normal Form for the given rules, decomposable, and together hold every column. Always ends.

Paper
    [versatile Alg. 1] (GD).

Invariants
    I1  A column that was settled stays settled: every rule that hides it is kept from then on.
    I2  No column is ever lost: a column is taken out of all tables only to be put at once into a new one.

Why it ends
    A step takes a rule Q → S that is not kept, so S is not settled (I1). It takes S out of every table. That breaks no rule about
    another column: an unreachable column stays unreachable, and a guardian still holds its column, still cuts, and hides it from
    the columns that are left. Then S gets a new table with S guarded. S occurs nowhere else, so the new table guards *every*
    rule that hides S, whatever else is put into it, and S becomes settled. The columns of Q join the new table one by one, each
    only if all settled rules are still kept; with none of them S is published alone, which connects nothing. So every step
    settles one more hidden column, and there are no more steps than hidden columns. The second phase only adds columns
    to tables, at most (columns × tables) times.

Departures
    As printed, steps may undo each other for ever (A → B and B → A): here a column of Q that would undo an earlier step is left
    out of the new table. Step 1 tries every hidden column as the one guarded in the whole table and keeps the best. The second
    phase stops when no insertion lowers the divergence, and considers only insertions after which the schema is
    decomposable, without which the divergence has no closed form.

Cost
    With c hidden columns and m columns, at most c·m insertions, each of which scores at most c·m schemas; scores remember every
    column set they have seen, so a round costs about m passes over the class counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sfumato.decomposition.guardian import SubTable, explain, in_normal_form
from sfumato.decomposition.jointree import decomposable
from sfumato.decomposition.privacy_rules import PrivacyRule
from sfumato.methods.subtables.coloring import guarded_table

Score = Callable[[Sequence[SubTable]], float]
"""The expected divergence of a decomposable schema; smaller is better."""


def guardian(
    columns: Sequence[str], rules: Sequence[PrivacyRule], score: Score, guardable: Collection[str] | None = None
) -> list[SubTable]:
    """Sub-tables for rules with one hidden column each."""
    may_guard = set(columns) if guardable is None else set(guardable)
    hidden = sorted({each.hidden for each in rules} & may_guard)
    starts = [[guarded_table(columns, {first}, rules)] for first in hidden] or [[SubTable(frozenset(columns))]]
    splits = [_split(start, rules, may_guard) for start in starts]
    best = min(splits, key=score)
    return _without_redundant(_enriched(best, columns, rules, score))


def _split(tables: list[SubTable], rules: Sequence[PrivacyRule], may_guard: Collection[str]) -> list[SubTable]:
    settled = {name for table in tables for name in table.guarded}
    while True:
        broken = next((verdict.rule for verdict in explain(tables, rules) if not verdict.kept), None)
        if broken is None:
            return [table for table in tables if table.columns]
        settled.add(broken.hidden)
        held = [each for each in rules if each.hidden in settled]
        tables = [table.without(broken.hide) for table in tables]  # I2
        tables.append(_new_table(tables, broken, held, broken.hide if broken.hidden in may_guard else frozenset()))


def _new_table(tables: list[SubTable], broken: PrivacyRule, held: Sequence[PrivacyRule], guard: frozenset[str]) -> SubTable:
    """S with as many columns of Q as the rules held so far allow."""
    chosen = guarded_table(broken.hide, guard, held)
    for column in sorted(broken.given):
        wider = guarded_table(chosen.columns | {column}, guard, held)
        if in_normal_form([*tables, wider], held) and decomposable([*tables, wider]):  # I1
            chosen = wider
    return chosen


def _enriched(tables: list[SubTable], columns: Sequence[str], rules: Sequence[PrivacyRule], score: Score) -> list[SubTable]:
    reached = score(tables)
    while True:
        options = [(score(wider), wider) for wider in _insertions(tables, columns, rules)]
        if not options:
            return tables
        value, wider = min(options, key=lambda option: option[0])
        if value >= reached - 1e-12:
            return tables
        tables, reached = wider, value


def _insertions(tables: list[SubTable], columns: Sequence[str], rules: Sequence[PrivacyRule]) -> list[list[SubTable]]:
    """All schemas with one more visible column in one table that stay in normal form and decomposable."""
    found = []
    for place, table in enumerate(tables):
        for column in columns:
            if column not in table.columns:
                wider = [*tables[:place], table.with_column(column), *tables[place + 1 :]]
                if decomposable(wider) and in_normal_form(wider, rules):
                    found.append(wider)
    return found


def _without_redundant(tables: list[SubTable]) -> list[SubTable]:
    """Drop tables that another one repeats column by column in the open."""
    kept: list[SubTable] = []
    for table in sorted(tables, key=lambda each: -len(each.columns)):
        if table.guarded or not any(table.columns <= other.visible for other in kept):
            kept.append(table)
    return kept
