"""A part's rules posted to the constraint solver for one block of records.

Every replaced cell of the block is an integer, its code. Per-record rules become tables of legal combinations when those are few, else
linear relations and conditions; totals become sums over the block plus what the constant records already contribute.

Invariants
    I1  Everything posted is a consequence of the rules; nothing of the rules is left out except what `_conflicts` adds lazily.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import Infeasible, PolicyError
from sfumato.methods._sampling.engines import Spaces
from sfumato.methods._sampling.legal import integer_form, limits
from sfumato.methods._sampling.levels import Levels, Spelled, Steps
from sfumato.methods._sampling.problem import Clause, Part, Problem
from sfumato.methods._sampling.sums import GroupRule, group_rule
from sfumato.methods._sampling.vectors import Vector, holds
from sfumato.methods._sampling.wanted import Total, wanted
from sfumato.methods._solver import Model
from sfumato.policy.rules import columns_of, linear_comparison
from sfumato.policy.rules.tree import (
    All,
    Any_,
    AtLeast,
    Cell,
    Column,
    Compare,
    Condition,
    Determines,
    Implies,
    Membership,
    Not,
    Number,
    SameMultiset,
    Unique,
)

if TYPE_CHECKING:
    from sfumato.methods._sampling.blocks import Block

Codes = NDArray[np.int64]
Cells = dict[tuple[Column, int], Any]
_ROWS = 20_000
_CLASSES = 400
_TURNS = 400
_ZERO = Number(Fraction(0))


class Posting:
    """How the rules of one part are told to the solver."""

    def __init__(self, problem: Problem, part: Part, levels: dict[Column, Levels]) -> None:
        self.problem, self.part, self.levels = problem, part, levels
        self.count = problem.source(part.columns[0]).count
        self.asked = wanted(problem, part)
        if len({column.table for column in part.columns}) > 1:
            raise PolicyError("no engine covers rules between replaced columns of several tables", where=_named(part))
        self.spaces = self._spaces()
        self.groups: dict[int, GroupRule] = {}
        for place, clause in enumerate(self.asked.others):
            self._check(place, clause)

    def _spaces(self) -> Spaces | None:
        try:
            spaces = Spaces(self.problem, self.part, self.asked.conditions)
        except Infeasible:
            return None
        return None if spaces.legal is None else spaces

    def _check(self, place: int, clause: Clause) -> None:
        rule = group_rule(self.problem, clause)
        if rule is not None and rule.targets is not None:
            self.groups[place] = rule
            return
        if isinstance(clause.body, (Unique, Determines, AtLeast, SameMultiset)):
            return
        form = linear_comparison(clause.body)
        if form is None or any(not isinstance(atom, (Cell, Column)) for atom in form.terms):
            raise PolicyError("no engine covers this rule", where=f'rule "{clause.rule}"', hint="state it as a comparison of totals")

    # ---- one block -----------------------------------------------------------------------------------------------------

    def solve(
        self,
        block: Block,
        current: dict[Column, Codes],
        guesses: dict[Column, Codes],
        seed: int,
        seconds: float,
        *,
        whole: bool,
    ) -> dict[Column, Codes] | None:
        """New codes for the block's records; `whole` says that no records are still to come, so totals must be reached."""
        model = Model()
        cells: Cells = {
            (column, int(record)): model.integer(0, levels.size - 1)
            for column, levels in self.levels.items()
            for record in block.records
        }
        self._records(model, cells, block)
        for total in self.asked.totals:
            self._total(model, cells, block, current, total, whole)
        for place, clause in enumerate(self.asked.others):
            self._whole(model, cells, block, current, place, clause, whole)
        hints = {cells[column, int(r)]: int(code) for column, codes in guesses.items() for r, code in zip(block.records, codes, strict=True)}
        for _ in range(_TURNS):
            values = model.solve(hints, seed, seconds)
            if values is None:
                return None
            size = len(block.records)
            found = {
                column: np.array(values[place * size : (place + 1) * size], dtype=np.int64)
                for place, column in enumerate(self.levels)
            }
            if not self._conflicts(model, cells, block, current, found):
                return found
        raise TimeoutError("too many conflicts with the other records")

    # ---- per-record rules ----------------------------------------------------------------------------------------------

    def _records(self, model: Model, cells: Cells, block: Block) -> None:
        rows = self._legal_rows()
        for record in block.records.tolist():
            if rows is not None:
                model.one_of([cells[column, record] for column in rows[0]], rows[1])
            else:
                for condition in self.asked.conditions:
                    model.require(self._literal(model, condition, cells, record))

    def _legal_rows(self) -> tuple[tuple[Column, ...], list[list[int]]] | None:
        single = None if self.spaces is None else self.spaces.single
        if single is None or single.space.size > _ROWS or not self.asked.conditions:
            return None
        if any(isinstance(single.levels[c], Spelled) for c in single.space.columns):
            return None
        codes = single.space.codes(np.arange(single.space.size, dtype=np.int64))
        return tuple(codes), np.stack(list(codes.values()), axis=1).tolist()

    def _literal(self, model: Model, node: Condition, cells: Cells, record: int) -> Any:
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

    def _given(self, node: Condition, record: int) -> dict[Column, Vector]:
        known = [column for column in columns_of(node) if not self.problem.is_new(column)]
        found = {}
        for column in known:
            vector = self.problem.given(column)
            found[column] = Vector(vector.levels[record : record + 1], vector.unit)
        return found

    def _by_values(self, model: Model, node: Condition, cells: Cells, record: int, given: dict[Column, Vector]) -> Any:
        """A condition on one listed column: the codes where it holds."""
        own = [column for column in columns_of(node) if column in self.levels]
        if not own:
            return model.constant(bool(holds(node, given)[0]))
        levels = self.levels[own[0]]
        if len(own) > 1 or levels.size > 1_000_000:
            raise PolicyError("no engine covers this condition", where=_named(self.part), hint="use smaller domains or linear comparisons")
        mask = holds(node, {**given, own[0]: levels.vector(np.arange(levels.size))})
        return model.in_values(cells[own[0], record], np.flatnonzero(np.broadcast_to(mask, (levels.size,))).tolist())

    # ---- totals --------------------------------------------------------------------------------------------------------

    def _table(self, current: dict[Column, Codes], records: Codes) -> dict[Column, Vector]:
        found = {column: levels.vector(current[column][records]) for column, levels in self.levels.items()}
        for clause in self.part.clauses:
            for column in columns_of(clause.body):
                if not self.problem.is_new(column):
                    vector = self.problem.given(column)
                    found[column] = Vector(vector.levels[records], vector.unit)
        return found

    def _total(
        self, model: Model, cells: Cells, block: Block, current: dict[Column, Codes], total: Total, whole: bool
    ) -> None:
        """Without the later records (IG) the rule speaks of the records so far, as [obfuscation §5.2] drops variables."""
        terms, constant, unit = self._summed(model, cells, block.records.tolist(), total)
        done = self._done(block.constants, current, total, unit)
        bound, tolerance = total.bound * unit, total.tolerance * unit
        if not whole:
            seen = len(block.records) + len(block.constants)
            mean = any(s.argument is not None for s in total.summands) and _is_mean(total)
            bound, tolerance = (bound * seen / self.count, tolerance * seen / self.count) if mean else (bound, tolerance)
        low, high = limits(total.operator, bound - constant - done, tolerance)
        model.within(terms, low, high)

    def _done(self, constants: Codes, current: dict[Column, Codes], total: Total, unit: int) -> Fraction:
        if not len(constants):
            return Fraction(0)
        found, own = total.contributions(self._table(current, constants), len(constants))
        return Fraction(int(found.sum()) * unit, own)

    def _summed(self, model: Model, cells: Cells, records: list[int], total: Total) -> tuple[dict[Any, int], Fraction, int]:
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
                parts, base = self._linear(summand.argument, record, cells)
                if literal is not None:
                    parts, base = self._gated(model, parts, base, literal), Fraction(0)
                constant += summand.factor * base
                for variable, weight in parts.items():
                    weights[variable] = weights.get(variable, Fraction(0)) + summand.factor * weight
        unit = math.lcm(1, constant.denominator, *(weight.denominator for weight in weights.values()))
        return {variable: int(weight * unit) for variable, weight in weights.items() if weight}, constant * unit, unit

    def _linear(self, node: Any, record: int, cells: Cells) -> tuple[dict[Any, Fraction], Fraction]:
        form = linear_comparison(Compare("=", node, _ZERO))
        if form is None:
            raise PolicyError("the solver adds up linear expressions only", where=_named(self.part))
        parts: dict[Any, Fraction] = {}
        base = -form.bound
        for atom, weight in form.terms.items():
            assert isinstance(atom, Column)
            levels = self.levels.get(atom)
            if isinstance(levels, Steps):
                parts[cells[atom, record]] = weight / levels.unit
                base += weight * Fraction(levels.low, levels.unit)
            else:
                vector = self.problem.given(atom)
                base += weight * Fraction(int(vector.levels[record]), vector.unit)
        return parts, base

    def _gated(self, model: Model, parts: dict[Any, Fraction], base: Fraction, literal: Any) -> dict[Any, Fraction]:
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

    # ---- rules about whole columns -------------------------------------------------------------------------------------

    def _whole(
        self, model: Model, cells: Cells, block: Block, current: dict[Column, Codes], place: int, clause: Clause, whole: bool
    ) -> None:
        if place in self.groups:
            self._group(model, cells, block, current, self.groups[place], whole)
        elif isinstance(clause.body, Unique):
            model.different([self._key(clause.body.columns, cells, record) for record in block.records.tolist()])
        elif isinstance(clause.body, AtLeast):
            self._at_least(model, cells, block, current, clause.body, clause)
        elif isinstance(clause.body, SameMultiset):
            self._same(model, cells, block, current, clause.body)
        elif isinstance(clause.body, Compare):
            self._between_cells(model, cells, current, clause.body)

    def _key(self, columns: tuple[Column, ...], cells: Cells, record: int) -> dict[Any, int]:
        """The combination of a record as one number; given columns count by their place among the distinct values."""
        terms: dict[Any, int] = {}
        radix = 1
        for column in columns:
            if column in self.levels:
                terms[cells[column, record]] = radix
                radix *= self.levels[column].size
        if radix >= 1 << 62 or len(terms) < len(columns):
            raise PolicyError("the key is too wide for the solver", where=_named(self.part))
        return terms

    def _group(
        self, model: Model, cells: Cells, block: Block, current: dict[Column, Codes], rule: GroupRule, whole: bool
    ) -> None:
        if not whole:
            raise PolicyError("IG cannot fill groups block by block", where=f'rule "{rule.clause.rule}"', hint="use LM*")
        assert rule.targets is not None
        for label in np.unique(rule.labels[block.records]).tolist():
            inside = block.records[rule.labels[block.records] == label].tolist()
            terms, constant, unit = self._summed(model, cells, inside, rule.total)
            outside = block.constants[rule.labels[block.constants] == label]
            goal = rule.targets[label] * unit - constant - self._done(outside, current, rule.total, unit)
            model.within(terms, *limits("=", goal, Fraction(0)))

    def _at_least(
        self, model: Model, cells: Cells, block: Block, current: dict[Column, Codes], body: AtLeast, clause: Clause
    ) -> None:
        sizes = [self.levels[column].size for column in body.columns if column in self.levels]
        if len(sizes) < len(body.columns) or math.prod(sizes) > _CLASSES:
            raise PolicyError("too many combinations to count", where=f'rule "{clause.rule}"', hint="use smaller domains")
        outside = np.zeros(len(block.constants), dtype=np.int64)
        radix = 1
        for column in body.columns:
            outside = outside + radix * current[column][block.constants]
            radix *= self.levels[column].size
        often = np.bincount(outside, minlength=radix)
        inside = [self._key(body.columns, cells, record) for record in block.records.tolist()]
        for label in range(radix):
            here = [model.is_within(terms, label, label) for terms in inside]
            used = model.truth() if not often[label] else model.constant(True)
            model.within({**{h: 1 for h in here}, used: -int(body.count)}, -int(often[label]), None)
            for literal in here:
                model.within({used: 1, literal: -1}, 0, None)

    def _same(self, model: Model, cells: Cells, block: Block, current: dict[Column, Codes], body: SameMultiset) -> None:
        """The block's combinations are exchanged among its records."""
        rows = np.stack([current[column][block.records] for column in body.columns], axis=1).tolist()
        places = [model.integer(0, len(rows) - 1) for _ in rows]
        model.different([{place: 1} for place in places])
        listed = [[number, *row] for number, row in enumerate(rows)]
        for record, place in zip(block.records.tolist(), places, strict=True):
            model.one_of([place, *(cells[column, record] for column in body.columns)], listed)

    def _between_cells(self, model: Model, cells: Cells, current: dict[Column, Codes], body: Compare) -> None:
        form = linear_comparison(body)
        assert form is not None
        bound, terms = form.bound, {}
        for atom, weight in form.terms.items():
            assert isinstance(atom, Cell)
            record = atom.record - 1
            levels = self.levels.get(atom.column)
            if isinstance(levels, Steps) and (atom.column, record) in cells:
                terms[cells[atom.column, record]] = weight / levels.unit
                bound -= weight * Fraction(levels.low, levels.unit)
            else:
                vector = self.problem.given(atom.column) if levels is None else levels.vector(current[atom.column][record : record + 1])
                place = record if levels is None else 0
                bound -= weight * Fraction(int(vector.levels[place]), vector.unit)
        unit = math.lcm(1, *(weight.denominator for weight in terms.values()))
        if terms:
            low, high = limits(form.operator, bound * unit, form.tolerance * unit)
            model.within({variable: int(weight * unit) for variable, weight in terms.items()}, low, high)

    # ---- what is found out only afterwards --------------------------------------------------------------------------------

    def _conflicts(
        self, model: Model, cells: Cells, block: Block, current: dict[Column, Codes], found: dict[Column, Codes]
    ) -> bool:
        """Forbid what clashes with records outside the block; whether anything did."""
        clash = False
        for clause in self.asked.others:
            if isinstance(clause.body, Unique):
                clash |= self._repeated(model, cells, block, current, found, clause.body.columns)
            elif isinstance(clause.body, Determines):
                clash |= self._undetermined(model, cells, block, current, found, clause.body)
        return clash

    def _repeated(
        self,
        model: Model,
        cells: Cells,
        block: Block,
        current: dict[Column, Codes],
        found: dict[Column, Codes],
        columns: tuple[Column, ...],
    ) -> bool:
        taken = set(zip(*(current[column][block.constants].tolist() for column in columns), strict=True))
        own = zip(*(found[column].tolist() for column in columns), strict=True)
        clashes = [key for key in own if key in taken]
        for key in clashes:
            number, radix = 0, 1
            for column, code in zip(columns, key, strict=True):
                number += radix * code
                radix *= self.levels[column].size
            for record in block.records.tolist():
                model.require(model.negated(model.is_within(self._key(columns, cells, record), number, number)))
        return bool(clashes)

    def _undetermined(
        self,
        model: Model,
        cells: Cells,
        block: Block,
        current: dict[Column, Codes],
        found: dict[Column, Codes],
        body: Determines,
    ) -> bool:
        """Records that agree on the left must agree on the right: added for the pairs that were found to clash."""
        known: dict[tuple[int, ...], tuple[tuple[int, ...], int | None]] = {}
        for record in block.constants.tolist():
            known[self._at(body.left, current, record)] = (self._at(body.right, current, record), None)
        clash = False
        for place, record in enumerate(block.records.tolist()):
            left, right = self._at(body.left, found, place, record), self._at(body.right, found, place, record)
            before, other = known.setdefault(left, (right, record))
            if before == right:
                continue
            clash = True
            same = model.all_of([model.is_within({cells[c, record]: 1}, v, v) for c, v in zip(body.left, left, strict=True) if c in self.levels])
            for column, value in zip(body.right, before, strict=True):
                if other is None:
                    model.within({cells[column, record]: 1}, value, value, same)
                else:
                    equal = model.is_within({cells[column, record]: 1, cells[column, other]: -1}, 0, 0)
                    alike = [model.is_within({cells[c, record]: 1, cells[c, other]: -1}, 0, 0) for c in body.left if c in self.levels]
                    model.require(model.any_of([equal, *(model.negated(a) for a in alike)]))
        return clash

    def _at(self, columns: tuple[Column, ...], codes: dict[Column, Codes], place: int, record: int | None = None) -> tuple[int, ...]:
        own = place if record is None else record
        return tuple(
            int(codes[column][place]) if column in self.levels else int(np.unique(self.problem.given(column).levels, return_inverse=True)[1][own])
            for column in columns
        )


def _is_mean(total: Total) -> bool:
    return "mean(" in total.rule.text


def _named(part: Part) -> str:
    return "rules " + " and ".join(f'"{rule}"' for rule in part.rules)
