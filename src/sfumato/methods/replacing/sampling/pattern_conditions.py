"""Conditions on a pattern column become further automata that run beside it: the legal texts stay numbered and countable."""

from __future__ import annotations

import numpy as np

from sfumato.methods.replacing.sampling.levels import Levels, Spelled
from sfumato.methods.replacing.sampling.patterns import Accept, Syntax, literal
from sfumato.methods.replacing.sampling.spaces import Intervals, LegalSpace
from sfumato.methods.replacing.sampling.vectors import Columns
from sfumato.methods.replacing.sampling.words import Words, automaton
from sfumato.policy.rules.tree import (
    All,
    Any_,
    ColumnValue,
    Compare,
    Condition,
    Expression,
    Function,
    Implies,
    Match,
    Membership,
    Not,
    Number,
    TextConstant,
)


def spelled(
    column: ColumnValue, numbering: Spelled, conditions: list[Condition], given: Columns
) -> tuple[LegalSpace | None, dict[ColumnValue, Levels]]:
    """The legal texts of a pattern column, and their numbering; None when a condition is of another kind."""
    atoms: list[str | Syntax] = [numbering.pattern]
    tests = []
    for condition in conditions:
        test = _test(condition, column, atoms, given)
        if test is None:
            return None, {}
        tests.append(test)
    words = numbering.words if not tests else Words(automaton(atoms, lambda m: all(t(m) for t in tests)), numbering.words.longest)
    space = Intervals(column, np.array([0]), np.array([words.size - 1], dtype=object if words.size > 1 << 62 else np.int64))
    return space, {column: Spelled(words, numbering.pattern)}


def _test(condition: Condition, column: ColumnValue, atoms: list[str | Syntax], given: Columns) -> Accept | None:
    """A predicate on the list of patterns that match, or None when the condition is of another kind."""
    if isinstance(condition, (All, Any_)):
        parts = [_test(part, column, atoms, given) for part in condition.parts]
        tests = [part for part in parts if part is not None]
        fold = all if isinstance(condition, All) else any
        return None if len(tests) < len(parts) else lambda m: fold(test(m) for test in tests)
    if isinstance(condition, Not):
        inner = _test(condition.part, column, atoms, given)
        return None if inner is None else lambda m: not inner(m)
    if isinstance(condition, Implies):
        return _test(Any_((Not(condition.condition), condition.consequence)), column, atoms, given)
    if isinstance(condition, Membership):
        equal = tuple(Compare("=", condition.value, option) for option in condition.options)
        return _test(Any_(equal), column, atoms, given)
    if isinstance(condition, Match) and condition.value == column:
        atoms.append(condition.pattern)
        place = len(atoms) - 1
        return lambda m: m[place]
    if isinstance(condition, Compare) and condition.right == Function("length", (column,)):
        condition = Compare(_TURNED[condition.operator], condition.right, condition.left, condition.tolerance)
    if isinstance(condition, Compare) and condition.left == Function("length", (column,)):
        return _long(condition, atoms)
    if isinstance(condition, Compare) and condition.operator in ("=", "!="):
        return _equals(condition, column, atoms, given)
    return None


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_LENGTHS = {"=": ".{%d}", "<=": ".{0,%d}", ">=": ".{%d}.*"}


def _long(condition: Compare, atoms: list[str | Syntax]) -> Accept | None:
    """`length(c)` against a whole number."""
    if not isinstance(condition.right, Number) or condition.right.value.denominator != 1 or condition.tolerance:
        return None
    sign, count = condition.operator, int(condition.right.value)
    sign, count = ("<=", count - 1) if sign == "<" else (">=", count + 1) if sign == ">" else (sign, count)
    if sign not in _LENGTHS or count < 0:
        return None
    atoms.append(_LENGTHS[sign] % count)
    place = len(atoms) - 1
    return lambda m: m[place]


def _equals(condition: Compare, column: ColumnValue, atoms: list[str | Syntax], given: Columns) -> Accept | None:
    sides = [side for side in (condition.left, condition.right) if side != column]
    text = _text(sides[0], given) if len(sides) == 1 else None
    if text is None:
        return None
    atoms.append(literal(text))
    place = len(atoms) - 1
    return lambda m: m[place] == (condition.operator == "=")


def _text(node: Expression, given: Columns) -> str | None:
    if isinstance(node, TextConstant):
        return node.value
    if isinstance(node, ColumnValue) and node in given and given[node].is_text:
        return str(given[node].levels[0])
    return None
