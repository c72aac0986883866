"""What the outsider knows beforehand: functional dependencies, and how they widen the rules.

Guarantee
    The expanded set implies the original one. A rule that the knowledge alone breaks (it is itself a dependency) is refused.

Paper
    [versatile Thm 3.2]: if X → S is known, Q → S holds only if Q → X holds.

Notation
    closure(Q)  all columns that Q determines.

Invariants
    I1  The left side of every expanded rule is closed: whoever knows Q also knows closure(Q).
    I2  For every expanded Q → S and dependency X → Y with Y ∩ S ≠ ∅, some rule implies Q → (S ∖ Y) ∪ X, minus Q. There are
        finitely many column sets and every round adds a rule not yet implied, so the rounds end.

Departures
    The theorem is a necessary condition only. Closing left sides (I1) is ours, and so is `units`: columns that a known
    dependency ties together are published together, because an outsider would join their tables through the dependency.
    A right side already on the left is left out (Q gives it away for free), so Q → X ∖ Q is demanded.
    Forms other than sub-tables promise candidates who may trade places; for them `half_known` says which knowledge breaks that.

>>> knows, seen = [dependency("zip -> county")], ["age", "zip", "county"]
>>> half_known(["zip", "county"], seen, knows), half_known(["county"], ["age", "county"], knows)
(None, None)
>>> str(half_known(["zip"], seen, knows))
'zip → county'

>>> from sfumato.models.p_sensitivity import PSensitivity
>>> def rule(text: str) -> PrivacyRule:
...     return PrivacyRule(*split_arrow(text), PSensitivity(p=2))
>>> expanded, added = expand([rule("age -> county")], [dependency("zip -> county")])
>>> [str(new) for new in added]
['age → zip : p-sensitivity {p: 2}']
>>> expand([rule("A1 -> A2")], [dependency("A1 -> A2")])
Traceback (most recent call last):
...
sfumato.errors.Infeasible: whoever knows A1 can compute A2 ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sfumato.decomposition.privacy_rules import PrivacyRule, listed, split_arrow
from sfumato.errors import Infeasible


@dataclass(frozen=True, slots=True)
class Dependency:
    """The columns `given` determine the columns `determines`, and the outsider knows how."""

    given: frozenset[str]
    determines: frozenset[str]

    @property
    def columns(self) -> frozenset[str]:
        return self.given | self.determines

    def __str__(self) -> str:
        return f"{listed(self.given)} → {listed(self.determines)}"


def dependency(text: str) -> Dependency:
    """A dependency from its text form ``"zip -> county"``."""
    return Dependency(*split_arrow(text))


def closure(columns: Iterable[str], knows: Sequence[Dependency]) -> frozenset[str]:
    """Everything that `columns` determine."""
    known = frozenset(columns)
    while True:
        wider = known.union(*(each.determines for each in knows if each.given <= known))
        if wider == known:
            return known
        known = wider


def half_known(given: Iterable[str], shown: Iterable[str], knows: Sequence[Dependency]) -> Dependency | None:
    """A dependency between columns that people keep when they trade places (`given`) and columns that are `shown` and traded.

    Where candidates are people who may trade everything else, such a dependency may tell that they did. One that ties only what is
    kept, or only what is traded, holds after the trade because it held before. What is neither given nor shown nobody sees: it may
    be taken as kept or as traded, the same way in all dependencies.
    """
    kept = frozenset(given)
    unseen = frozenset().union(*(each.columns for each in knows)) - kept - frozenset(shown)
    found = [next((each for each in knows if each.columns & k and not each.columns <= k), None) for k in (kept, kept | unseen)]
    return None if None in found else found[0]


def expand(rules: Sequence[PrivacyRule], knows: Sequence[Dependency]) -> tuple[list[PrivacyRule], list[PrivacyRule]]:
    """The rules with closed left sides and all that Theorem 3.2 demands; second, only those that were added."""
    closed = [_closed(each, knows) for each in rules]
    demanded, pending = list(closed), list(closed)
    while pending:
        current = pending.pop()
        for new in _demanded(current, knows):
            if not any(known.implies(new) for known in demanded):  # I2
                demanded.append(new)
                pending.append(new)
    return demanded, demanded[len(closed) :]


def _closed(rule: PrivacyRule, knows: Sequence[Dependency]) -> PrivacyRule:
    given = closure(rule.given, knows)  # I1
    if rule.hide <= given:
        raise _unkeepable(rule, knows)
    return rule.with_sides(given, rule.hide - given)


def _demanded(rule: PrivacyRule, knows: Sequence[Dependency]) -> Iterable[PrivacyRule]:
    for each in knows:
        if each.determines & rule.hide:
            hide = ((rule.hide - each.determines) | each.given) - rule.given
            if not hide:
                raise _unkeepable(rule, knows)
            yield rule.with_sides(rule.given, hide)


def _unkeepable(rule: PrivacyRule, knows: Sequence[Dependency]) -> Infeasible:
    used = "; ".join(str(each) for each in knows if each.columns & (rule.given | rule.hide))
    return Infeasible(
        f"whoever knows {listed(rule.given)} can compute {listed(rule.hide)} from what the policy says outsiders know",
        where=f"rule {rule}, knows {used}",
        hint="no choice of published tables can keep this rule: drop it, drop the knowledge, or do not publish the data",
    )


def units(columns: Sequence[str], knows: Sequence[Dependency]) -> dict[str, tuple[str, ...]]:
    """Columns tied by known dependencies, as units that are published together; the first column names the unit.

    >>> units(["age", "zip", "county"], [dependency("zip -> county")])
    {'age': ('age',), 'zip': ('zip', 'county')}
    """
    home = {column: column for column in columns}
    for each in knows:
        tied = [home[column] for column in columns if column in each.columns]
        for column in columns:
            if home[column] in tied:
                home[column] = tied[0]
    grouped: dict[str, list[str]] = {}
    for column in columns:
        grouped.setdefault(home[column], []).append(column)
    return {members[0]: tuple(members) for members in grouped.values()}


def on_units(rules: Sequence[PrivacyRule], unit: Mapping[str, str]) -> list[PrivacyRule]:
    """The rules with each column replaced by its unit; refuses a rule between two columns of one unit.

    Columns without a unit tell nothing: they are left out on the left, and a rule that hides one of them is kept already.
    """
    translated = []
    for each in rules:
        given = {unit[column] for column in each.given if column in unit}
        hide = {unit[column] for column in each.hide if column in unit}
        if not given or len(hide) < len(each.hide):
            continue
        if not hide - given:
            raise Infeasible(
                f"what outsiders know ties {listed(each.hide)} to {listed(each.given)}: "
                "hiding one from whoever knows the other is not in the publisher's hands",
                where=f"rule {each}",
                hint="drop the rule, or drop the dependency from 'knows' if outsiders do not really know it",
            )
        translated.append(each.with_sides(given, hide - given))
    return translated
