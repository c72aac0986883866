"""Linear comparisons between ordered columns, in terms of their codes and whole numbers.

>>> limits("<", Fraction(5, 2), Fraction(0)), limits("=", Fraction(3), Fraction(1, 2))
((None, 2), (3, 3))
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sfumato.methods.replacing.sampling.levels import Levels, Steps
from sfumato.methods.replacing.sampling.vectors import Columns
from sfumato.policy.rules import linear_comparison
from sfumato.policy.rules.tree import ColumnValue, Condition

Numberings = Mapping[ColumnValue, Levels]


@dataclass(frozen=True)
class IntegerForm:
    """Σ factors[column] · code ⋛ bound, all integers."""

    factors: dict[ColumnValue, int]
    operator: str
    low: int | None
    high: int | None

    def interval(self) -> tuple[int | None, int | None]:
        return self.low, self.high


def integer_form(condition: Condition, levels: Numberings, given: Columns) -> IntegerForm | None:
    """A comparison of ordered columns in terms of their codes, or None when it is not one (or is `!=`)."""
    form = linear_comparison(condition)
    if form is None or form.operator == "!=":
        return None
    bound = form.bound
    terms: dict[ColumnValue, Fraction] = {}
    for atom, weight in form.terms.items():
        if not isinstance(atom, ColumnValue):
            return None
        numbering = levels.get(atom)
        if isinstance(numbering, Steps):
            terms[atom] = weight / numbering.unit
            bound -= weight * Fraction(numbering.low, numbering.unit)
        elif atom in given and not given[atom].is_text:
            bound -= weight * Fraction(int(given[atom].levels[0]), given[atom].unit)
        else:
            return None
    scale = math.lcm(1, *(weight.denominator for weight in terms.values()))
    factors = {column: int(weight * scale) for column, weight in terms.items()}
    return IntegerForm(factors, form.operator, *limits(form.operator, bound * scale, form.tolerance * scale))


def limits(operator: str, bound: Fraction, tolerance: Fraction) -> tuple[int | None, int | None]:
    """The integers n with n ⋛ bound, as an interval."""
    if operator == "=":
        return math.ceil(bound - tolerance), math.floor(bound + tolerance)
    if operator in ("<", "<="):
        return None, math.floor(bound) if operator == "<=" else math.ceil(bound) - 1
    return (math.ceil(bound) if operator == ">=" else math.floor(bound) + 1), None
