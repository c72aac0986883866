"""Utility-aware decomposition: few tables, each a set of columns without conflict plus one guarded column.

Guarantee
    The tables are in Guardian Normal Form for the given rules, and every column is in exactly one table.

Paper
    [versatile Alg. 2] (UAD), colouring by DSATUR.

Notation
    The conflict graph has an arc A ⇒ S for every rule with A on the left and S on the right.

Invariants
    I1  The visible columns of a table are an independent set of the conflict graph.
    I2  A guarded column has no arc to a visible column of its table. By I1 and I2 every rule with a left column in the table of its
        right column S has S guarded there; tables share no column, so nothing else connects them.

Departures
    Every colour class is widened to a maximal independent set (a column without conflict may as well be visible) before the
    largest is taken. A column tied to others by outside knowledge is a unit of several columns and is never guarded (`guardable`).

Cost
    O(m⁴) in the number of columns, independent of the number of records.

>>> from sfumato.decomposition.privacy_rules import split_arrow
>>> from sfumato.models.p_sensitivity import PSensitivity
>>> def rule(text: str) -> PrivacyRule:
...     return PrivacyRule(*split_arrow(text), PSensitivity(p=2))
>>> rules = [rule("age, icd9 -> race"), rule("gender, icd9 -> zip"), rule("race -> zip")]
>>> for table in utility_aware(["age", "gender", "icd9", "race", "zip"], rules):
...     print(sorted(table.visible), sorted(table.guarded))
['age', 'gender', 'icd9'] ['race']
['zip'] []
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sfumato.decomposition.guardian import SubTable
from sfumato.decomposition.privacy_rules import Guarantee, PrivacyRule

Arcs = set[tuple[str, str]]


def utility_aware(columns: Sequence[str], rules: Sequence[PrivacyRule], guardable: Collection[str] | None = None) -> list[SubTable]:
    """Sub-tables for rules with one hidden column each."""
    arcs = {(left, each.hidden) for each in rules for left in each.given}
    left = list(columns)
    tables = []
    while left:
        visible = max((_widened(colour, left, arcs) for colour in _colours(left, arcs)), key=len)
        hidden = _to_guard([column for column in left if column not in visible], visible, arcs, guardable)
        tables.append(guarded_table({*visible, *hidden}, hidden, rules))
        left = [column for column in left if column not in visible and column not in hidden]
    return tables


def guarded_table(columns: Iterable[str], hidden: Iterable[str], rules: Sequence[PrivacyRule]) -> SubTable:
    """A table that hides each column of `hidden` from its visible columns, as strongly as any rule asks."""
    concealed = frozenset(hidden)
    visible = frozenset(columns) - concealed
    enforced = [PrivacyRule(visible, frozenset({name}), by) for name in sorted(concealed) for by in guarantees(name, rules)]
    return SubTable(visible | concealed, tuple(enforced))


def guarantees(hidden: str, rules: Sequence[PrivacyRule]) -> list[Guarantee]:
    """What the rules ask for one hidden column, without what another of them covers."""
    asked: list[Guarantee] = []
    for each in rules:
        if each.hidden == hidden and not any(known.covers(each.by) for known in asked):
            asked = [known for known in asked if not each.by.covers(known)] + [each.by]
    return asked


def _colours(columns: list[str], arcs: Arcs) -> list[list[str]]:
    """Classes of columns without an arc inside: the column that sees most colours is coloured next (DSATUR)."""
    near = {column: {other for other in columns if (column, other) in arcs or (other, column) in arcs} for column in columns}
    colours: dict[str, int] = {}
    while len(colours) < len(columns):
        waiting = [column for column in columns if column not in colours]
        seen = {column: {colours[other] for other in near[column] if other in colours} for column in waiting}
        chosen = max(waiting, key=lambda column: (len(seen[column]), len(near[column])))
        colours[chosen] = next(colour for colour in range(len(columns)) if colour not in seen[chosen])
    classes: dict[int, list[str]] = {}
    for column in columns:
        classes.setdefault(colours[column], []).append(column)
    return list(classes.values())


def _widened(visible: list[str], columns: list[str], arcs: Arcs) -> list[str]:
    wide = list(visible)
    for column in columns:
        if column not in wide and not any((column, one) in arcs or (one, column) in arcs for one in wide):
            wide.append(column)  # I1
    return wide


def _to_guard(candidates: list[str], visible: list[str], arcs: Arcs, guardable: Collection[str] | None) -> list[str]:
    """The column with no arc to, and most arcs from, the visible ones; none when there is no such column."""
    fit = [
        (sum((one, column) in arcs for one in visible), column)
        for column in candidates
        if (guardable is None or column in guardable) and not any((column, one) in arcs for one in visible)  # I2
    ]
    return [max(fit, key=lambda each: each[0])[1]] if fit else []
