"""Rules that contradict each other: the smallest set of them, named.

>>> smallest_conflict("abcd", lambda rules: {"b", "d"} <= set(rules))
['b', 'd']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TypeVar

from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling.problem import RulePart
from sfumato.policy.rules import IntegrityRule

_TRIALS = 60
Rule = TypeVar("Rule")


def smallest_conflict(rules: Sequence[Rule], contradicts: Callable[[list[Rule]], bool]) -> list[Rule]:
    """Rules that contradict each other: the fewest while these can be tried out, else a set of which none can be left out."""
    kept = list(rules)
    for rule in rules:
        fewer = [other for other in kept if other is not rule]
        if contradicts(fewer):
            kept = fewer
    tried = 0
    for size in range(1, len(kept)):
        for chosen in combinations(rules, size):
            tried += 1
            if tried > _TRIALS:
                return kept
            if contradicts(list(chosen)):
                return list(chosen)
    return kept


def with_conflict(error: Infeasible, part: RulePart, build: Callable[[RulePart], object]) -> Infeasible:
    """The error with the smallest set of the part's rules that already makes it; `build` raises `Infeasible` while one is there."""
    if len(part.rules) < 2:
        return error

    def contradicts(rules: list[IntegrityRule]) -> bool:
        try:
            build(RulePart(part.columns, tuple(clause for clause in part.clauses if clause.rule in rules)))
        except Infeasible:
            return True
        except Exception:  # a part without some rules may be covered by no engine, which is no contradiction
            return False
        return False

    found = smallest_conflict(part.rules, contradicts)
    named = " and ".join(f'"{rule}"' for rule in found)
    if not found or (all(f'"{rule}"' in f"{error.what} {error.where}" for rule in found) and _names(error, part) == len(found)):
        return error
    what = f"{error.what}; " + ("the rule is " if len(found) == 1 else "these rules contradict each other: ") + named
    return Infeasible(what, where="keep", hint=error.hint or "relax one of these rules or widen a domain")


def _names(error: Infeasible, part: RulePart) -> int:
    """How many of the part's rules the error names."""
    return sum(f'"{rule}"' in f"{error.what} {error.where}" for rule in part.rules)
