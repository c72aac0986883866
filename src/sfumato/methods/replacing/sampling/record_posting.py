"""Per-record rules and totals posted to the constraint solver for one block of records.

Every replaced cell of the block is an integer, its code. Per-record rules become tables of legal combinations when those are few,
else linear relations and conditions; totals become sums over the block plus what the constant records already contribute.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.errors import Infeasible, PolicyError
from sfumato.methods.replacing.sampling.engines import Spaces
from sfumato.methods.replacing.sampling.forms import integer_form, limits
from sfumato.methods.replacing.sampling.levels import Levels, Spelled, Steps
from sfumato.methods.replacing.sampling.problem import RulePart, SamplingProblem
from sfumato.methods.replacing.sampling.vectors import Vector, holds
from sfumato.methods.replacing.sampling.wanted import Total, wanted
from sfumato.methods.solver import SolverModel
from sfumato.policy.rules import columns_of, linear_comparison
from sfumato.policy.rules.tree import Aggregate, All, Any_, ColumnValue, Compare, Condition, Implies, Membership, Not, Number

if TYPE_CHECKING:
    from sfumato.methods.replacing.sampling.cutting import Block

Cells = dict[tuple[ColumnValue, int], Any]
_ROWS = 20_000
_MOST_VALUES = 1_000_000
_CLASSES = 400
_TURNS = 400
_ZERO = Number(Fraction(0))


class RecordPosting:
    """Per-record rules and totals of one part, as the solver wants them."""

    def __init__(self, problem: SamplingProblem, part: RulePart, levels: dict[ColumnValue, Levels]) -> None:
        self.problem, self.part, self.levels = problem, part, levels
        self.count = problem.source(part.columns[0]).count
        self.asked = wanted(problem, part)
        if len({column.table for column in part.columns}) > 1:
            raise PolicyError("no engine covers rules between replaced columns of several tables", where=named(part))
        self.spaces = self._spaces()
        self.conditions = self._unfolded()

    def _spaces(self) -> Spaces | None:
        try:
            spaces = Spaces(self.problem, self.part, self.asked.conditions)
        except Infeasible:
            return None
        return None if spaces.legal is None else spaces

    def _unfolded(self) -> list[Condition]:
        """The conditions that are left when those on pattern columns are part of their numbering."""
        if self.spaces is None or self.spaces.single is None:
            return self.asked.conditions
        spelled = {c for c, numbering in self.levels.items() if isinstance(numbering, Spelled)}
        self.levels = {**self.levels, **{c: self.spaces.single.levels[c] for c in spelled}}
        return [c for c in self.asked.conditions if spelled.isdisjoint(columns_of(c))]

    def require_posted(self) -> None:
        """Refuses, before anything is solved, a condition that cannot be posted."""
        if self._legal_rows() is not None:
            return
        for leaf in (leaf for condition in self.conditions for leaf in _leaves(condition)):
            own = [column for column in columns_of(leaf) if column in self.levels]
            given = self._given(leaf, 0) if self.problem.source(self.part.columns[0]).count else {}
            if (
                own
                and integer_form(leaf, self.levels, given) is None
                and math.prod(self.levels[c].size for c in own) > _MOST_VALUES
            ):
                raise self._uncovered()

    def _uncovered(self) -> PolicyError:
        hint = "use smaller domains or linear comparisons"
        return PolicyError("no engine covers this condition", where=named(self.part), hint=hint)

    # ---- per-record rules ----------------------------------------------------------------------------------------------

    def _records(self, model: SolverModel, cells: Cells, block: Block) -> None:
        rows = self._legal_rows()
        for record in block.records.tolist():
            if rows is not None:
                model.one_of([cells[column, record] for column in rows[0]], rows[1])
                continue
            for condition in self.conditions:
                form = integer_form(condition, self.levels, self._given(condition, record))
                if form is None:
                    model.require(self._literal(model, condition, cells, record))
                else:
                    model.within({cells[c, record]: f for c, f in form.factors.items()}, form.low, form.high)

    def _legal_rows(self) -> tuple[tuple[ColumnValue, ...], list[list[int]]] | None:
        """The legal combinations as a list, when conditions are more than linear comparisons and there are not too many."""
        single = None if self.spaces is None else self.spaces.single
        if single is None or single.space.size > _ROWS or all(integer_form(c, self.levels, {}) for c in self.conditions):
            return None
        if any(isinstance(single.levels[c], Spelled) for c in single.space.columns):
            return None
        codes = single.space.codes(np.arange(single.space.size, dtype=np.int64))
        return tuple(codes), np.stack(list(codes.values()), axis=1).tolist()

    def _literal(self, model: SolverModel, node: Condition, cells: Cells, record: int) -> Any:
        """A truth value that is true exactly where the condition holds in the record."""
        if isinstance(node, All):
            return model.all_of([self._literal(model, part, cells, record) for part in node.parts])
        if isinstance(node, Any_):
            return model.any_of([self._literal(model, part, cells, record) for part in node.parts])
        if isinstance(node, Not):
            return model.negated(self._literal(model, node.part, cells, record))
        if isinstance(node, Implies):
            return self._literal(model, Any_((Not(node.condition), node.consequence)), cells, record)
        if isinstance(node, Membership):
            return self._literal(model, Any_(tuple(Compare("=", node.value, o) for o in node.options)), cells, record)
        given = self._given(node, record)
        form = integer_form(node, self.levels, given)
        if form is not None:
            return model.is_within({cells[c, record]: f for c, f in form.factors.items()}, form.low, form.high)
        if isinstance(node, Compare) and node.operator == "!=":
            return model.negated(self._literal(model, Compare("=", node.left, node.right), cells, record))
        return self._by_values(model, node, cells, record, given)

    def _given(self, node: Condition, record: int) -> dict[ColumnValue, Vector]:
        known = [column for column in columns_of(node) if not self.problem.is_new(column)]
        found = {}
        for column in known:
            vector = self.problem.given(column)
            found[column] = vector.at(slice(record, record + 1))
        return found

    def _by_values(self, model: SolverModel, node: Condition, cells: Cells, record: int, given: dict[ColumnValue, Vector]) -> Any:
        """Any condition on small domains: the combinations of codes where it holds."""
        own = [column for column in columns_of(node) if column in self.levels]
        if not own:
            return model.constant(bool(holds(node, given)[0]))
        sizes = [self.levels[column].size for column in own]
        if math.prod(sizes) > _MOST_VALUES:
            raise self._uncovered()
        codes = dict(zip(own, np.indices(sizes).reshape(len(sizes), -1), strict=True))
        mask = holds(node, {**given, **{column: self.levels[column].vector(codes[column]) for column in own}})
        legal = np.flatnonzero(np.broadcast_to(mask, (math.prod(sizes),))).tolist()
        if len(own) == 1:
            return model.in_values(cells[own[0], record], legal)
        number = model.integer(0, math.prod(sizes) - 1)  # the combination as one number, first column counting most
        factors = {cells[column, record]: math.prod(sizes[place + 1 :]) for place, column in enumerate(own)}
        model.within({number: -1, **factors}, 0, 0)
        return model.in_values(number, legal)

    # ---- totals --------------------------------------------------------------------------------------------------------

    def _table(self, current: dict[ColumnValue, IntArray], records: IntArray) -> dict[ColumnValue, Vector]:
        found = {column: levels.vector(current[column][records]) for column, levels in self.levels.items()}
        for clause in self.part.clauses:
            for column in columns_of(clause.body):
                if not self.problem.is_new(column):
                    vector = self.problem.given(column)
                    found[column] = vector.at(records)
        return found

    def _total(
        self, model: SolverModel, cells: Cells, block: Block, current: dict[ColumnValue, IntArray], total: Total, whole: bool
    ) -> None:
        """Without the later records (IG) the rule speaks of the records so far, as [obfuscation §5.2] drops variables."""
        terms, constant, unit = self._summed(model, cells, block.records.tolist(), total)
        if block.totals == "keeps":
            goal, tolerance = self._done(block.records, current, total, unit), Fraction(0)
        elif block.totals == "grows":
            seen = block.before + len(block.records)
            goal, tolerance = (self._share(total, seen) - self._share(total, block.before)) * unit, Fraction(0)
        else:
            scale = Fraction(1) if whole else self._scale(total, len(block.records) + len(block.constants))
            goal = total.bound * scale * unit - self._done(block.constants, current, total, unit)
            tolerance = total.tolerance * scale * unit
        model.within(terms, *limits(total.operator, goal - constant, tolerance))

    def _share(self, total: Total, seen: int) -> Fraction:
        """What the first `seen` records add up to under IG when the total must equal a constant."""
        return total.bound * self._scale(total, seen) if seen else Fraction(0)

    def _scale(self, total: Total, seen: int) -> Fraction:
        """A mean of some of the records is a part of the whole sum; a sum is asked of any records alike."""
        mean = any(s.argument is not None for s in total.summands) and _is_mean(total)
        return Fraction(seen, self.count) if mean else Fraction(1)

    def _done(self, constants: IntArray, current: dict[ColumnValue, IntArray], total: Total, unit: int) -> Fraction:
        if not len(constants):
            return Fraction(0)
        found, own = total.contributions(self._table(current, constants), len(constants))
        return Fraction(int(found.sum()) * unit, own)

    def _summed(self, model: SolverModel, cells: Cells, records: list[int], total: Total) -> tuple[dict[Any, int], Fraction, int]:
        """Σ over the records as factors of cells, a constant, and the unit in which all are whole."""
        weights: dict[Any, Fraction] = {}
        constant = Fraction(0)
        for record in records:
            for summand in total.summands:
                literal = None if summand.where is None else self._literal(model, summand.where, cells, record)
                if summand.argument is None:
                    constant += summand.factor * (literal is None)
                    if literal is not None:
                        weights[literal] = weights.get(literal, Fraction(0)) + summand.factor
                    continue
                parts, base = self._linear(model, summand.argument, record, cells)
                if literal is not None:
                    parts, base = self._gated(model, parts, base, literal), Fraction(0)
                constant += summand.factor * base
                for variable, weight in parts.items():
                    weights[variable] = weights.get(variable, Fraction(0)) + summand.factor * weight
        unit = math.lcm(1, constant.denominator, *(weight.denominator for weight in weights.values()))
        return {variable: int(weight * unit) for variable, weight in weights.items() if weight}, constant * unit, unit

    def _linear(self, model: SolverModel, node: Any, record: int, cells: Cells) -> tuple[dict[Any, Fraction], Fraction]:
        form = linear_comparison(Compare("=", node, _ZERO))
        if form is None:
            raise PolicyError("the solver adds up linear expressions only", where=named(self.part))
        parts: dict[Any, Fraction] = {}
        base = -form.bound
        for atom, weight in form.terms.items():
            assert isinstance(atom, ColumnValue)
            levels = self.levels.get(atom)
            if isinstance(levels, Steps):
                parts[cells[atom, record]] = weight / levels.unit
                base += weight * Fraction(levels.low, levels.unit)
            elif levels is not None:
                vector = levels.vector(np.arange(levels.size))
                parts[self._listed(model, atom, vector, record, cells)] = weight / vector.unit
            else:
                vector = self.problem.given(atom)
                base += weight * Fraction(int(vector.levels[record]), vector.unit)
        return parts, base

    def _listed(self, model: SolverModel, column: ColumnValue, vector: Vector, record: int, cells: Cells) -> Any:
        """The number that a listed value stands for, as an integer tied to its code; one per cell."""
        key = (ColumnValue(column.name, column.table, original=True), record)  # a cell of the model, not of the table
        if key not in cells:
            if vector.is_text:
                raise PolicyError("a total of texts", where=named(self.part), hint="use a domain of numbers")
            cells[key] = model.integer(int(vector.levels.min()), int(vector.levels.max()))
            model.one_of([cells[column, record], cells[key]], [[code, int(v)] for code, v in enumerate(vector.levels)])
        return cells[key]

    def _gated(self, model: SolverModel, parts: dict[Any, Fraction], base: Fraction, literal: Any) -> dict[Any, Fraction]:
        """The sum where the literal is true and 0 elsewhere, as one new integer."""
        unit = math.lcm(base.denominator, *(weight.denominator for weight in parts.values()))
        reach = 1 << 40
        found = model.product(literal, literal, 0, 1) if not parts else None
        if found is not None:
            return {found: base}
        gate = model.integer(-reach, reach)
        terms = {variable: -int(weight * unit) for variable, weight in parts.items()}
        model.within({gate: 1, **terms}, int(base * unit), int(base * unit), literal)
        model.within({gate: 1}, 0, 0, model.negated(literal))
        return {gate: Fraction(1, unit)}


def _is_mean(total: Total) -> bool:
    return any(isinstance(node, Aggregate) and node.function == "mean" for node in total.rule.body.walk())


def named(part: RulePart) -> str:
    """The rules of a part, for messages."""
    return "rules " + " and ".join(f'"{rule}"' for rule in part.rules)


def _leaves(node: Condition) -> Iterator[Condition]:
    """The comparisons inside a condition."""
    if isinstance(node, (All, Any_)):
        for part in node.parts:
            yield from _leaves(part)
    elif isinstance(node, Not):
        yield from _leaves(node.part)
    elif isinstance(node, Implies):
        yield from (*_leaves(node.condition), *_leaves(node.consequence))
    elif isinstance(node, Membership):
        yield from (Compare("=", node.value, option) for option in node.options)
    elif isinstance(node, Compare) and node.operator == "!=":
        yield Compare("=", node.left, node.right)
    else:
        yield node
