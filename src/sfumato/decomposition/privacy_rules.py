"""Privacy rules: whoever knows the columns on the left must not learn the column on the right beyond a guarantee.

Paper
    [versatile §2.2] rules, [versatile Thm 3.1, Cor. 3.1.1] inference, [versatile Def. 2] irreducible sets.

Notation
    Q → S : g    given Q, hide S, guarantee g. With several columns in S only their *combination* is protected, which is
                 weaker than protecting one of them.

Invariants
    I1  Q → S : g is implied by Q' → S' : g' exactly when Q ⊆ Q', S' ⊆ S and g' covers g. No other inference exists.
    I2  The irreducible form implies every rule it was made from.

Departures
    The paper lets all rules share one guarantee; here each has its own, and a rule is implied only by one at least as strong.

>>> from sfumato.models.p_sensitivity import PSensitivity
>>> def rule(text: str) -> PrivacyRule:
...     return PrivacyRule(*split_arrow(text), PSensitivity(p=2))
>>> [str(kept) for kept in irreducible([rule("A1 -> A3"), rule("A1, A2 -> A3")]).kept]
['A1, A2 → A3 : p-sensitivity {p: 2}']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from sfumato.errors import PolicyError


class Guarantee(Protocol):
    """What a rule demands of everybody's candidates; the models of the catalogue are guarantees."""

    def covers(self, other: Any) -> bool:
        """Whether everything that satisfies this also satisfies `other`."""
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
            raise PolicyError(f"a rule both gives and hides {listed(shared)}", where=str(self), hint="drop it from one side")

    @property
    def hidden(self) -> str:
        """The one hidden column of a rule with a single right side."""
        (column,) = self.hide
        return column

    def implies(self, other: PrivacyRule) -> bool:
        """[versatile Cor. 3.1.1], with guarantees."""
        return other.given <= self.given and self.hide <= other.hide and self.by.covers(other.by)  # I1

    def with_sides(self, given: Iterable[str], hide: Iterable[str]) -> PrivacyRule:
        return PrivacyRule(frozenset(given), frozenset(hide), self.by)

    def __str__(self) -> str:
        return f"{listed(self.given)} → {listed(self.hide)} : {self.by}"


@dataclass(frozen=True, slots=True)
class Reduction:
    """An irreducible rule set, and for each rule that was dropped the one that implies it."""

    kept: tuple[PrivacyRule, ...]
    implied: tuple[tuple[PrivacyRule, PrivacyRule], ...]


def irreducible(rules: Sequence[PrivacyRule]) -> Reduction:
    """Drop every rule that another one implies; of equal rules the first stays."""
    kept = [rule for place, rule in enumerate(rules) if not any(_beats(rules, other, place) for other in range(len(rules)))]
    dropped = [rule for place, rule in enumerate(rules) if not any(rule is one for one in kept)]
    return Reduction(tuple(kept), tuple((rule, next(one for one in kept if one.implies(rule))) for rule in dropped))  # I2


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


def written_rule(text: str) -> WrittenRule:
    """A rule in one line, whatever the guarantee is called; nothing before the arrow means that nothing is known.

    >>> written_rule("b, a -> c : 1.2-disclosure")
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
        raise PolicyError("a rule names no guarantee", where=text, hint="end it with ' : 2-diversity' or another guarantee")
    return sides, by.strip()


def _split_sides(text: str) -> tuple[str, str]:
    left, *right = text.replace("→", "->").split("->")
    if len(right) != 1:
        raise PolicyError("expected exactly one '->'", where=text, hint="write 'known columns -> hidden column'")
    return left, right[0]


def _listed_names(side: str, text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in side.split(","))
    if not all(names):
        raise PolicyError("a side of '->' is empty or has a stray comma", where=text, hint="separate column names by commas")
    return names


def listed(names: Iterable[str]) -> str:
    """Column names in a fixed order, for messages."""
    return ", ".join(sorted(names))
