"""Columns that a rule calculates with: their values must be numbers or days, whatever the type of the column says.

A column of whole numbers may get the texts of a pattern, and a list of values may have one that is no number. Binding cannot see
that; here every column is asked that stands in a sum, a mean, a difference, a running total or a single cell, or beside one.
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.errors import PolicyError
from sfumato.methods.replacing.sampling.problem import RulePart, SamplingProblem
from sfumato.policy.rules.tree import Aggregate, Arithmetic, Cell, ColumnValue, Compare, Date, Negative, Node, Number, Running

_FOLDED = ("sum", "mean")
"""Aggregates that add values up; the others only put them in order or count them."""


def require_numbers(problem: SamplingProblem, part: RulePart) -> None:
    """Refuse rules of a part that calculate with texts."""
    for clause in part.clauses:
        for node in clause.body.walk():
            for column in _calculated(node):
                if _is_text(problem, column):
                    what = f"a rule calculates with '{column}', and not all of its values are numbers or days"
                    hint = "give it a domain of numbers or days, or leave the rule out"
                    raise PolicyError(what, where=f'rule "{clause.rule}"', hint=hint)


def _calculated(node: Node) -> Iterator[ColumnValue]:
    """The columns whose values a node calculates with, itself."""
    if isinstance(node, Cell):
        yield node.column
    elif isinstance(node, Compare):
        sides = (node.left, node.right)
        if any(_is_amount(side) for side in sides):
            yield from (side for side in sides if isinstance(side, ColumnValue))
    else:
        yield from (part for part in _operands(node) if isinstance(part, ColumnValue))


def _operands(node: Node) -> tuple[Node | None, ...]:
    if isinstance(node, Arithmetic):
        return node.left, node.right
    if isinstance(node, Negative):
        return (node.value,)
    if isinstance(node, Running) or (isinstance(node, Aggregate) and node.function in _FOLDED):
        return (node.argument,)
    return ()


def _is_amount(node: Node) -> bool:
    """Whether an expression is a number, whatever its columns are."""
    return isinstance(node, Number | Date | Arithmetic | Negative | Running) or (
        isinstance(node, Aggregate) and node.function in (*_FOLDED, "count", "distinct")
    )


def _is_text(problem: SamplingProblem, column: ColumnValue) -> bool:
    return problem.levels(column).kind == "text" if problem.is_new(column) else problem.given(column).is_text
