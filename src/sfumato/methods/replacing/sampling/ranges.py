"""One ordered column whose bounds differ from record to record: `salary >= 0.9 * original.salary`.

Every record has its own interval of legal values, found for all records at once; a uniform value of the interval follows.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling.engines import NewColumn
from sfumato.methods.replacing.sampling.levels import Steps
from sfumato.methods.replacing.sampling.problem import RulePart, SamplingProblem
from sfumato.policy.rules import columns_of, linear_comparison
from sfumato.policy.rules.tree import ColumnValue, Condition
from sfumato.randomness import Randomness


class RecordRanges:
    """An interval per record."""

    name = "interval per record"
    uniform = True

    def __init__(self, part: RulePart, levels: Steps, low: IntArray, high: IntArray, reads_original: bool) -> None:
        self.column, self.levels, self.low, self.high = part.columns[0], levels, low, high
        self.reads_original = reads_original
        empty = int((low > high).sum())
        if empty:
            named = " and ".join(f'"{rule}"' for rule in part.rules)
            raise Infeasible(f"{empty} records have no legal value", where=f"rule {named}", hint="relax a rule or widen the domain")

    @classmethod
    def made(cls, problem: SamplingProblem, part: RulePart, conditions: list[Condition]) -> RecordRanges | None:
        """The engine when the part is of this kind."""
        mentioned = {column for condition in conditions for column in columns_of(condition)}
        levels = problem.levels(part.columns[0])
        if len(part.columns) != 1 or mentioned <= set(part.columns) or not isinstance(levels, Steps):
            return None
        count = problem.source(part.columns[0]).count
        low, high = np.zeros(count, dtype=np.int64), np.full(count, levels.size - 1, dtype=np.int64)
        for condition in conditions:
            bounds = _bounds(problem, part.columns[0], levels, condition, count)
            if bounds is None:
                return None
            low, high = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
        return cls(part, levels, low, high, any(column.original for column in mentioned))

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        codes = self.low + random.below(self.high - self.low + 1)
        return {self.column: NewColumn(self.levels, codes)}


def _bounds(
    problem: SamplingProblem, column: ColumnValue, levels: Steps, condition: Condition, count: int
) -> tuple[IntArray, IntArray] | None:
    """The column's legal codes in every record, from factor · x ⋛ bound − Σ given."""
    form = linear_comparison(condition)
    if form is None or form.operator == "!=" or column not in form.terms:
        return None
    factor = form.terms[column]
    given = {atom: weight / factor for atom, weight in form.terms.items() if atom != column}
    if any(not isinstance(atom, ColumnValue) or problem.given(atom).is_text for atom in given):
        return None
    # x ⋛ bound/factor − Σ weight·level/unit, in one common denominator
    vectors = [(problem.given(atom), weight) for atom, weight in given.items() if isinstance(atom, ColumnValue)]
    shares = [Fraction(levels.unit) * weight / vector.unit for vector, weight in vectors]
    base, spread = levels.unit * form.bound / factor, levels.unit * form.tolerance / abs(factor)
    scale = math.lcm(base.denominator, spread.denominator, *(share.denominator for share in shares))
    middle = np.full(count, int(base * scale), dtype=object)
    for (vector, _), share in zip(vectors, shares, strict=True):
        middle = middle - vector.levels.astype(object) * int(share * scale)
    operator = form.operator
    if factor < 0:
        operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    return _interval(operator, middle, int(spread * scale), scale, levels)


def _interval(operator: str, middle: NDArray[np.object_], spread: int, scale: int, levels: Steps) -> tuple[IntArray, IntArray]:
    low, high = np.full(len(middle), -1, dtype=np.int64), np.full(len(middle), levels.size, dtype=np.int64)
    if operator in ("=", ">=", ">"):
        first = -((-(middle - spread)) // scale) if operator != ">" else middle // scale + 1
        low = np.clip(first - levels.low, -1, levels.size).astype(np.int64)
    if operator in ("=", "<=", "<"):
        last = (middle + spread) // scale if operator != "<" else -((-middle) // scale) - 1
        high = np.clip(last - levels.low, -1, levels.size).astype(np.int64)
    return low, high
