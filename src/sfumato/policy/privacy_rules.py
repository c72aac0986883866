"""Privacy rules: an adversary who knows the columns on the left must not learn the column on the right beyond a
guarantee.

Paper
    [versatile §2.2] rules, [versatile Thm 3.1, Cor. 3.1.1] inference, [versatile Def. 2] irreducible sets.

Notation
    Q → S : g    given Q, hide S, guarantee g. With several columns in S their *combination* is protected: the joint
    distribution of
                 S that Q and the release leave must satisfy g.

Invariants
    I1  Q → S : g is implied by Q' → S' : g' when Q ⊆ Q', g' covers g, and S' = S. S' ⊂ S is enough where g hides
        combinations (`Model.hides_combinations`: diversity does, closeness to the whole table does not).
    I2  The irreducible form implies every rule it was made from.

Departures
    The paper lets all rules share one guarantee, a kind of diversity; here each has its own, and a rule is implied only
    by one at least as strong. What the paper infers from S' ⊂ S is proved for diversity only.

>>> from sfumato.models.p_sensitivity import PSensitivity
>>> def rule(text: str) -> PrivacyRule:
...     return PrivacyRule(*split_arrow(text), PSensitivity(p=2))
>>> [str(kept) for kept in remove_implied_rules([rule("A1 -> A3"), rule("A1, A2 -> A3")]).kept]
['A1, A2 → A3 : p-sensitivity {p: 2}']


Dependencies
------------
What the adversary knows beforehand: functional dependencies, and how they widen the rules.

Guarantee
    The expanded set implies the original one. A rule that the knowledge alone breaks (it is itself a dependency) is
    refused.

Paper
    [versatile Thm 3.2]: if X → S is known, Q → S holds only if Q → X holds.

Notation
    closure(Q)  all columns that Q determines.

Invariants
    I1  The left side of every expanded rule is closed: an adversary who knows Q also knows closure(Q).
    I2  For every expanded Q → S and dependency X → Y with Y ∩ S ≠ ∅, some rule implies Q → (S ∖ Y) ∪ X, minus Q. There
        are finitely many column sets and every round adds a rule not yet implied, so the rounds end.

Departures
    The theorem is a necessary condition only. Closing left sides (I1) is ours, and so is `dependency_units`: columns
    that a known dependency ties together are published together, because an adversary would join their tables through
    the dependency. A right side already on the left is left out (Q gives it away for free), so Q → X ∖ Q is demanded.
    Forms other than sub-tables promise candidates who may trade places; for them `partly_known_dependency` says which
    knowledge breaks that.

>>> knows, seen = [parse_dependency("zip -> county")], ["age", "zip", "county"]
>>> partly_known_dependency(["zip", "county"], seen, knows), partly_known_dependency(["county"], ["age", "county"],
...     knows)
(None, None)
>>> str(partly_known_dependency(["zip"], seen, knows))
'zip → county'

>>> from sfumato.models.p_sensitivity import PSensitivity
>>> def rule(text: str) -> PrivacyRule:
...     return PrivacyRule(*split_arrow(text), PSensitivity(p=2))
>>> expanded, added = expand_rules([rule("age -> county")], [parse_dependency("zip -> county")])
>>> [str(new) for new in added]
['age → zip : p-sensitivity {p: 2}']
>>> expand_rules([rule("A1 -> A2")], [parse_dependency("A1 -> A2")])
Traceback (most recent call last):
...
sfumato.core.errors.Infeasible: an adversary who knows A1 can compute A2 ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from sfumato.core.errors import Infeasible, PolicyError


class Guarantee(Protocol):
    """What a rule demands of each person's candidates; the models of the catalogue are guarantees."""

    def covers(self, other: Any) -> bool:
        """Whether everything that satisfies this also satisfies `other`."""
        ...

    @property
    def hides_combinations(self) -> bool:
        """Whether a combination of columns satisfies this wherever one of its columns does."""
        ...


@dataclass(frozen=True, slots=True)
class PrivacyRule:
    """Given the columns `given`, hide the combination of the columns `hide` behind `by`."""

    given: frozenset[str]
    hide: frozenset[str]
    by: Guarantee

    def __post_init__(self) -> None:
        if not self.hide:
            raise PolicyError("a rule hides no column", where=str(self), hint="write 'given -> hidden : guarantee'")
        if shared := self.given & self.hide:
            raise PolicyError(
                f"a rule both gives and hides {join_names(shared)}", where=str(self), hint="drop it from one side"
            )

    @property
    def hidden(self) -> str:
        """The one sensitive column of a rule with a single right side."""
        (column,) = self.hide
        return column

    def implies(self, other: PrivacyRule) -> bool:
        """[versatile Cor. 3.1.1], with guarantees."""
        hides = self.hide == other.hide or (self.hide < other.hide and other.by.hides_combinations)
        return other.given <= self.given and hides and self.by.covers(other.by)  # I1

    def with_sides(self, given: Iterable[str], hide: Iterable[str]) -> PrivacyRule:
        return PrivacyRule(frozenset(given), frozenset(hide), self.by)

    def __str__(self) -> str:
        return f"{join_names(self.given)} → {join_names(self.hide)} : {self.by}"


@dataclass(frozen=True, slots=True)
class Reduction:
    """An irreducible rule set, and for each rule that was dropped the one that implies it."""

    kept: tuple[PrivacyRule, ...]
    implied: tuple[tuple[PrivacyRule, PrivacyRule], ...]


def remove_implied_rules(rules: Sequence[PrivacyRule]) -> Reduction:
    """Drop every rule that another one implies; of equal rules the first stays."""
    kept = [
        rule for place, rule in enumerate(rules) if not any(_beats(rules, other, place) for other in range(len(rules)))
    ]
    dropped = [rule for place, rule in enumerate(rules) if not any(rule is one for one in kept)]
    return Reduction(
        tuple(kept), tuple((rule, next(one for one in kept if one.implies(rule))) for rule in dropped)
    )  # I2


def _beats(rules: Sequence[PrivacyRule], other: int, place: int) -> bool:
    if other == place or not rules[other].implies(rules[place]):
        return False
    return not rules[place].implies(rules[other]) or other < place


class WrittenRule(NamedTuple):
    """The parts of ``"age, icd9 -> race : 3-diversity"``, columns in the order of the text."""

    given: tuple[str, ...]
    hide: tuple[str, ...]
    level: float
    word: str


_GUARANTEE = re.compile(r"^(\d+(?:\.\d+)?)-([a-z][a-z-]*)$")


def parse_rule(text: str) -> WrittenRule:
    """A rule in one line, whatever the guarantee is called; nothing before the arrow means that nothing is known.

    >>> parse_rule("b, a -> c : 1.2-disclosure")
    WrittenRule(given=('b', 'a'), hide=('c',), level=1.2, word='disclosure')
    """
    sides, by = _split_guarantee(text)
    match = _GUARANTEE.match(by)
    if match is None:
        raise PolicyError(f"'{by}' is no guarantee", where=text, hint="write a number and a word, like '2-diversity'")
    given, hide = _split_sides(sides)
    known = () if not given.strip() else _listed_names(given, text)
    return WrittenRule(known, _listed_names(hide, text), float(match[1]), match[2])


def split_arrow(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Both sides of ``"a, b -> c"``."""
    left, right = _split_sides(text)
    return frozenset(_listed_names(left, text)), frozenset(_listed_names(right, text))


def _split_guarantee(text: str) -> tuple[str, str]:
    sides, colon, by = text.replace("→", "->").rpartition(":")
    if not colon or not by.strip():
        raise PolicyError(
            "a rule names no guarantee", where=text, hint="end it with ' : 2-diversity' or another guarantee"
        )
    return sides, by.strip()


def _split_sides(text: str) -> tuple[str, str]:
    left, *right = text.replace("→", "->").split("->")
    if len(right) != 1:
        raise PolicyError("expected exactly one '->'", where=text, hint="write 'known columns -> hidden column'")
    return left, right[0]


def _listed_names(side: str, text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in side.split(","))
    if not all(names):
        raise PolicyError(
            "a side of '->' is empty or has a stray comma", where=text, hint="separate column names by commas"
        )
    return names


def join_names(names: Iterable[str]) -> str:
    """Column names in a fixed order, for messages."""
    return ", ".join(sorted(names))


# Dependencies
# ------------


@dataclass(frozen=True, slots=True)
class Dependency:
    """The columns `given` determine the columns `determines`, and the adversary knows how."""

    given: frozenset[str]
    determines: frozenset[str]

    @property
    def columns(self) -> frozenset[str]:
        return self.given | self.determines

    def __str__(self) -> str:
        return f"{join_names(self.given)} → {join_names(self.determines)}"


def parse_dependency(text: str) -> Dependency:
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


def partly_known_dependency(
    given: Iterable[str], shown: Iterable[str], knows: Sequence[Dependency]
) -> Dependency | None:
    """A dependency between columns that people keep when they trade places (`given`) and columns that are `shown` and
    traded.

    Where candidates are people who may trade everything else, such a dependency may tell that they did. One that ties
    only what is kept, or only what is traded, holds after the trade because it held before. What is neither given nor
    shown nobody sees: it may be taken as kept or as traded, the same way in all dependencies."""
    kept = frozenset(given)
    unseen = frozenset().union(*(each.columns for each in knows)) - kept - frozenset(shown)
    found = [
        next((each for each in knows if each.columns & k and not each.columns <= k), None)
        for k in (kept, kept | unseen)
    ]
    return None if None in found else found[0]


def expand_rules(
    rules: Sequence[PrivacyRule], knows: Sequence[Dependency]
) -> tuple[list[PrivacyRule], list[PrivacyRule]]:
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
        f"an adversary who knows {join_names(rule.given)} can compute "
        f"{join_names(rule.hide)} by the dependencies under knows:",
        where=f"rule {rule}, knows {used}",
        hint=(
            "no choice of published tables can keep this rule: drop it, drop the knowledge, or do not publish the data"
        ),
    )


def dependency_units(columns: Sequence[str], knows: Sequence[Dependency]) -> dict[str, tuple[str, ...]]:
    """Columns tied by known dependencies, as units that are published together; the first column names the unit.

    >>> dependency_units(["age", "zip", "county"], [parse_dependency("zip -> county")])
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


def rules_on_units(rules: Sequence[PrivacyRule], unit: Mapping[str, str]) -> list[PrivacyRule]:
    """The rules with each column replaced by its unit; refuses a rule between two columns of one unit.

    Columns without a unit tell nothing: they are left out on the left, and a rule that hides one of them is kept
    already."""
    translated = []
    for each in rules:
        given = {unit[column] for column in each.given if column in unit}
        hide = {unit[column] for column in each.hide if column in unit}
        if not given or len(hide) < len(each.hide):
            continue
        if not hide - given:
            raise Infeasible(
                f"the dependencies under knows: link {join_names(each.hide)} to "
                f"{join_names(each.given)}: no release can hide one from an adversary who knows "
                "the other",
                where=f"rule {each}",
                hint="drop the rule, or drop the dependency from 'knows' if outsiders do not really know it",
            )
        translated.append(each.with_sides(given, hide - given))
    return translated
