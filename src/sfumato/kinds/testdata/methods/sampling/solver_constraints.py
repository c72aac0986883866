"""All rules of a part posted to the constraint solver, and the conflicts with records outside the block.

Invariants
    I1  Everything posted is a consequence of the rules; nothing of the rules is left out except what `_conflicts` adds
        lazily.


Record posting
--------------
Per-record rules and totals posted to the constraint solver for one block of records.

Every replaced cell of the block is an integer, its code. Per-record rules become tables of legal combinations when
those are few, else linear relations and conditions; totals become sums over the block plus what the constant records
already contribute."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.core.constraint_solver import SolverModel
from sfumato.core.errors import Infeasible, PolicyError
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling.column_values import Levels, Spelled, Steps
from sfumato.kinds.testdata.methods.sampling.constraint_vectors import Vector, holds
from sfumato.kinds.testdata.methods.sampling.problem import (
    Clause,
    RulePart,
    SamplingProblem,
    Total,
    demands_of_part,
    integer_form,
    limits,
)
from sfumato.kinds.testdata.methods.sampling.record_samplers import Spaces
from sfumato.kinds.testdata.methods.sampling.total_samplers import GroupRule, group_rule
from sfumato.policy.constraint_language import columns_of, linear_comparison
from sfumato.policy.constraint_language.syntax_tree import (
    Aggregate,
    All,
    Any_,
    AtLeast,
    Cell,
    ColumnValue,
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
    from sfumato.kinds.testdata.methods.sampling.block_division import Block


Cells = dict[tuple[ColumnValue, int], Any]
_ROWS = 20_000
_MOST_VALUES = 1_000_000
_ZERO = Number(Fraction(0))


class RecordPosting:
    """Per-record rules and totals of one part, as the solver wants them."""

    def __init__(self, problem: SamplingProblem, part: RulePart, levels: dict[ColumnValue, Levels]) -> None:
        self.problem, self.part, self.levels = problem, part, levels
        self.count = problem.source(part.columns[0]).count
        self.asked = demands_of_part(problem, part)
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

    # ---- per-record rules --------------------------------------------------------------------------------------------

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
        """The legal combinations as a list, when conditions are more than linear comparisons and there are not too
        many."""
        single = None if self.spaces is None else self.spaces.single
        if (
            single is None
            or single.space.size > _ROWS
            or all(integer_form(c, self.levels, {}) for c in self.conditions)
        ):
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

    def _by_values(
        self, model: SolverModel, node: Condition, cells: Cells, record: int, given: dict[ColumnValue, Vector]
    ) -> Any:
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

    # ---- totals ------------------------------------------------------------------------------------------------------

    def _table(self, current: dict[ColumnValue, IntArray], records: IntArray) -> dict[ColumnValue, Vector]:
        found = {column: levels.vector(current[column][records]) for column, levels in self.levels.items()}
        for clause in self.part.clauses:
            for column in columns_of(clause.body):
                if not self.problem.is_new(column):
                    vector = self.problem.given(column)
                    found[column] = vector.at(records)
        return found

    def _total(
        self,
        model: SolverModel,
        cells: Cells,
        block: Block,
        current: dict[ColumnValue, IntArray],
        total: Total,
        whole: bool,
    ) -> None:
        """Without the later records (IG) the rule is about the records so far, as [obfuscation §5.2] drops
        variables."""
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

    def _summed(
        self, model: SolverModel, cells: Cells, records: list[int], total: Total
    ) -> tuple[dict[Any, int], Fraction, int]:
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

    def _gated(
        self, model: SolverModel, parts: dict[Any, Fraction], base: Fraction, literal: Any
    ) -> dict[Any, Fraction]:
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


# Constraint posting
# ------------------


_CLASSES = 400
_TURNS = 400
_SMALL = 2_000
_MODULI = (1, 5, 23, 97, 389, 1553, 6211, 24_851, 99_401, 397_591)
_ROOM = 1_000
"""Values per record of a round that make keys found side by side unlikely to clash: a block of 200 then does once in
five times."""


class Posting(RecordPosting):
    """Posts the constraints of one part to the solver."""

    def __init__(self, problem: SamplingProblem, part: RulePart, levels: dict[ColumnValue, Levels]) -> None:
        super().__init__(problem, part, levels)
        self.groups: dict[int, GroupRule] = {}
        self._places: dict[ColumnValue, IntArray] = {}
        for place, clause in enumerate(self.asked.others):
            self._check(place, clause)

    def _check(self, place: int, clause: Clause) -> None:
        rule = group_rule(self.problem, clause)
        if rule is not None and rule.targets is not None:
            self.groups[place] = rule
            return
        if isinstance(clause.body, (Unique, Determines, AtLeast, SameMultiset)):
            return
        form = linear_comparison(clause.body)
        if form is None or any(not isinstance(atom, (Cell, ColumnValue)) for atom in form.terms):
            hint = "state it as a comparison of totals"
            raise PolicyError("no engine covers this rule", where=f'rule "{clause.rule}"', hint=hint)

    # ---- one block ---------------------------------------------------------------------------------------------------

    def solve(
        self,
        block: Block,
        current: dict[ColumnValue, IntArray],
        guesses: dict[ColumnValue, IntArray],
        random: Randomness,
        seconds: float,
        *,
        whole: bool,
        ordered: bool = False,
    ) -> dict[ColumnValue, IntArray] | None:
        """New codes for the block's records, searched in a random order or from random guesses.

        `whole` says that no records are still to come, so totals must be reached.
        """
        model, cells = self._model(block, current, whole)
        hints = {
            cells[column, record]: code
            for column, codes in guesses.items()
            for record, code in zip(block.records.tolist(), codes.tolist(), strict=True)
        }
        sizes = {
            cells[column, record]: self.levels[column].size for column in guesses for record in block.records.tolist()
        }
        seed = random.integer(1 << 30)
        for _ in range(_TURNS):
            values = model.settle(hints, sizes, random, seconds) if ordered else model.solve(hints, seed, seconds)
            if values is None:
                return None
            found = self._named(values, len(block.records))
            if not self._conflicts(model, cells, block, current, found):  # I1
                return found
        raise TimeoutError("too many conflicts with the other records")

    def redraw(
        self,
        block: Block,
        current: dict[ColumnValue, IntArray],
        random: Randomness,
        modulus: int,
        seconds: float,
        *,
        whole: bool,
    ) -> tuple[dict[ColumnValue, IntArray], int]:
        """A solution of a small block, all being about equally likely (see `_solver`), and the modulus that suits
        it."""
        model, cells = self._model(block, current, whole)
        variables = [cells[column, record] for column in self.levels for record in block.records.tolist()]
        sizes = [levels.size for levels in self.levels.values() for _ in block.records]
        for _ in range(_TURNS):
            listed = model.cell(variables, sizes, modulus, random, seconds)
            if listed is None:
                modulus = _MODULI[_MODULI.index(modulus) + 1]
                continue
            legal = [row for row in listed if self._agrees(block, current, self._named(row, len(block.records)))]
            if legal:
                return self._named(legal[random.integer(len(legal))], len(block.records)), modulus
        raise TimeoutError("no cell of a good size was found")

    def _named(self, values: list[int], size: int) -> dict[ColumnValue, IntArray]:
        """The solver's values as codes of the columns; cells were made column by column."""
        return {
            column: np.array(values[place * size : (place + 1) * size], dtype=np.int64)
            for place, column in enumerate(self.levels)
        }

    def _model(self, block: Block, current: dict[ColumnValue, IntArray], whole: bool) -> tuple[SolverModel, Cells]:
        model = SolverModel()
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
        return model, cells

    def _agrees(self, block: Block, current: dict[ColumnValue, IntArray], found: dict[ColumnValue, IntArray]) -> bool:
        """Whether an answer obeys the rules that are not posted."""
        rules = [clause.body for clause in self.asked.others if isinstance(clause.body, Determines)]
        return not self.clashes(block, current, found) and not any(
            self._apart(block, current, found, body) for body in rules
        )

    # ---- rules about whole columns -----------------------------------------------------------------------------------

    def _whole(
        self,
        model: SolverModel,
        cells: Cells,
        block: Block,
        current: dict[ColumnValue, IntArray],
        place: int,
        clause: Clause,
        whole: bool,
    ) -> None:
        if place in self.groups:
            self._group(model, cells, block, current, self.groups[place], whole)
        elif isinstance(clause.body, Unique):
            keys = [self._key(clause.body.columns, cells, record) for record in block.records.tolist()]
            model.different(keys, bounded=bool(self.asked.totals or self.groups))
            self._free(model, cells, block, current, clause.body.columns)
        elif isinstance(clause.body, AtLeast):
            self._at_least(model, cells, block, current, clause.body, clause)
        elif isinstance(clause.body, SameMultiset):
            self._same(model, cells, block, current, clause.body)
        elif isinstance(clause.body, Compare):
            self._between_cells(model, cells, current, clause.body)

    def _key(self, columns: tuple[ColumnValue, ...], cells: Cells, record: int) -> tuple[dict[Any, int], int]:
        """The combination of a record as one number; given columns count by their place among the distinct values."""
        terms: dict[Any, int] = {}
        radix, constant = 1, 0
        for column in columns:
            if column in self.levels:
                terms[cells[column, record]] = radix
                radix *= self.levels[column].size
            else:
                constant += radix * int(self._place(column)[record])
                radix *= self.count
        if radix >= 1 << 62:
            raise PolicyError("the key is too wide for the solver", where=named(self.part))
        return terms, constant

    def _free(
        self,
        model: SolverModel,
        cells: Cells,
        block: Block,
        current: dict[ColumnValue, IntArray],
        columns: tuple[ColumnValue, ...],
    ) -> None:
        """In a small domain what the other records took is taken out at once; in a large one conflicts are rare and
        lazy."""
        if len(columns) > 1 or columns[0] not in self.levels or self.levels[columns[0]].size > _SMALL:
            return
        free = np.setdiff1d(np.arange(self.levels[columns[0]].size), current[columns[0]][block.constants]).tolist()
        for record in block.records.tolist():
            model.require(model.in_values(cells[columns[0], record], free))

    def _group(
        self,
        model: SolverModel,
        cells: Cells,
        block: Block,
        current: dict[ColumnValue, IntArray],
        rule: GroupRule,
        whole: bool,
    ) -> None:
        if not whole:
            raise PolicyError(
                "IG cannot fill groups block by block", where=f'rule "{rule.clause.rule}"', hint="use LM*"
            )
        assert rule.targets is not None
        for label in np.unique(rule.labels[block.records]).tolist():
            inside = block.records[rule.labels[block.records] == label]
            terms, constant, unit = self._summed(model, cells, inside.tolist(), rule.total)
            outside = block.constants[rule.labels[block.constants] == label]
            if block.totals == "keeps":
                goal = self._done(inside, current, rule.total, unit)
            else:
                goal = rule.targets[label] * unit - self._done(outside, current, rule.total, unit)
            model.within(terms, *limits("=", goal - constant, Fraction(0)))

    def _at_least(
        self,
        model: SolverModel,
        cells: Cells,
        block: Block,
        current: dict[ColumnValue, IntArray],
        body: AtLeast,
        clause: Clause,
    ) -> None:
        sizes = [self.levels[column].size for column in body.columns if column in self.levels]
        if len(sizes) < len(body.columns) or math.prod(sizes) > _CLASSES:
            raise PolicyError(
                "too many combinations to count", where=f'rule "{clause.rule}"', hint="use smaller domains"
            )
        outside = np.zeros(len(block.constants), dtype=np.int64)
        radix = 1
        for column in body.columns:
            outside = outside + radix * current[column][block.constants]
            radix *= self.levels[column].size
        often = np.bincount(outside, minlength=radix)
        inside = [self._key(body.columns, cells, record) for record in block.records.tolist()]
        for label in range(radix):
            here = [model.is_within(terms, label, label) for terms, _ in inside]
            used = model.truth() if not often[label] else model.constant(True)
            model.within({**dict.fromkeys(here, 1), used: -int(body.count)}, -int(often[label]), None)
            for literal in here:
                model.within({used: 1, literal: -1}, 0, None)

    def _same(
        self, model: SolverModel, cells: Cells, block: Block, current: dict[ColumnValue, IntArray], body: SameMultiset
    ) -> None:
        """The block's combinations are exchanged among its records."""
        rows = np.stack([current[column][block.records] for column in body.columns], axis=1).tolist()
        places = [model.integer(0, len(rows) - 1) for _ in rows]
        model.different([({place: 1}, 0) for place in places])
        listed = [[number, *row] for number, row in enumerate(rows)]
        for record, place in zip(block.records.tolist(), places, strict=True):
            model.one_of([place, *(cells[column, record] for column in body.columns)], listed)

    def _between_cells(
        self, model: SolverModel, cells: Cells, current: dict[ColumnValue, IntArray], body: Compare
    ) -> None:
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
            elif levels is not None and (atom.column, record) in cells:
                vector = levels.vector(np.arange(levels.size))
                terms[self._listed(model, atom.column, vector, record, cells)] = weight / vector.unit
            else:
                bound -= weight * self._standing(atom.column, record, current)
        unit = math.lcm(1, *(weight.denominator for weight in terms.values()))
        if terms:
            low, high = limits(form.operator, bound * unit, form.tolerance * unit)
            model.within({variable: int(weight * unit) for variable, weight in terms.items()}, low, high)

    def _standing(self, column: ColumnValue, record: int, current: dict[ColumnValue, IntArray]) -> Fraction:
        """The value of a cell that the block does not change."""
        if column in self.levels:
            vector = self.levels[column].vector(current[column][record : record + 1])
            return Fraction(int(vector.levels[0]), vector.unit)
        vector = self.problem.given(column)
        return Fraction(int(vector.levels[record]), vector.unit)

    # ---- what is found out only afterwards ---------------------------------------------------------------------------

    def _conflicts(
        self,
        model: SolverModel,
        cells: Cells,
        block: Block,
        current: dict[ColumnValue, IntArray],
        found: dict[ColumnValue, IntArray],
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
        model: SolverModel,
        cells: Cells,
        block: Block,
        current: dict[ColumnValue, IntArray],
        found: dict[ColumnValue, IntArray],
        columns: tuple[ColumnValue, ...],
    ) -> bool:
        clashes = self._taken(block, current, found, columns)
        for number in clashes:
            for record in block.records.tolist():
                terms, constant = self._key(columns, cells, record)
                model.require(model.negated(model.is_within(terms, number - constant, number - constant)))
        return bool(clashes)

    def _taken(
        self,
        block: Block,
        current: dict[ColumnValue, IntArray],
        found: dict[ColumnValue, IntArray],
        columns: tuple[ColumnValue, ...],
    ) -> list[int]:
        """The combinations of the block, as numbers, that constants have already."""
        own = self._numbers(columns, found, block.records)
        outside = {column: current[column][block.constants] for column in columns if column in self.levels}
        found_again: list[int] = own[np.isin(own, self._numbers(columns, outside, block.constants))].tolist()
        return found_again

    def _numbers(
        self, columns: tuple[ColumnValue, ...], codes: dict[ColumnValue, IntArray], records: IntArray
    ) -> IntArray:
        """The combinations of the records as numbers; as in `_key`."""
        found, radix = np.zeros(len(records), dtype=np.int64), 1
        for column in columns:
            new = column in self.levels
            found = found + radix * (codes[column] if new else self._place(column)[records])
            radix *= self.levels[column].size if new else self.count
        return found

    # ---- blocks side by side -----------------------------------------------------------------------------------------

    def separable(self, start: dict[ColumnValue, IntArray] | None, together: int) -> bool:
        """Whether blocks can be solved side by side, `together` records at a time (see `cutting` I2 and `blocks`
        I3)."""
        everybody = np.arange(self.count, dtype=np.int64)
        for total in self.asked.totals:
            if total.operator != "=" or total.tolerance:
                return False
            if start is not None and self._done(everybody, start, total, 1) != total.bound:
                return False
        return all(self._stands_apart(place, clause, start, together) for place, clause in enumerate(self.asked.others))

    def _stands_apart(
        self, place: int, clause: Clause, start: dict[ColumnValue, IntArray] | None, together: int
    ) -> bool:
        if isinstance(clause.body, Unique):
            size = math.prod(self.levels[column].size for column in clause.body.columns if column in self.levels)
            return size > _ROOM * min(together, self.count)
        if start is None:
            return False
        if place in self.groups:
            return self._reached(self.groups[place], start)
        return isinstance(clause.body, SameMultiset)

    def _reached(self, rule: GroupRule, start: dict[ColumnValue, IntArray]) -> bool:
        """Whether every group has its total in the table."""
        assert rule.targets is not None
        everybody = np.arange(self.count, dtype=np.int64)
        values, unit = rule.total.contributions(self._table(start, everybody), self.count)
        sums = np.zeros(len(rule.targets), dtype=np.int64)
        np.add.at(sums, rule.labels, values)
        return all(Fraction(int(one), unit) == goal for one, goal in zip(sums, rule.targets, strict=True))

    def clashes(self, block: Block, current: dict[ColumnValue, IntArray], found: dict[ColumnValue, IntArray]) -> bool:
        """Whether an answer repeats a key of the constants."""
        keys = [clause.body.columns for clause in self.asked.others if isinstance(clause.body, Unique)]
        return any(self._taken(block, current, found, columns) for columns in keys)

    # ---- dependencies ------------------------------------------------------------------------------------------------

    def _undetermined(
        self,
        model: SolverModel,
        cells: Cells,
        block: Block,
        current: dict[ColumnValue, IntArray],
        found: dict[ColumnValue, IntArray],
        body: Determines,
    ) -> bool:
        """Records that agree on the left must agree on the right: added for the pairs that were found to clash."""
        clashes = self._apart(block, current, found, body)
        for record, other, left, right in clashes:
            self._bind(model, cells, body, record, other, left, right)
        return bool(clashes)

    def _apart(
        self, block: Block, current: dict[ColumnValue, IntArray], found: dict[ColumnValue, IntArray], body: Determines
    ) -> list[tuple[int, int | None, tuple[int, ...], tuple[int, ...]]]:
        """Records of the block that break the dependency: with which other one, its left and its right side."""
        known: dict[tuple[int, ...], tuple[tuple[int, ...], int | None]] = {}
        for record in block.constants.tolist():
            known[self._at(body.left, current, record, record)] = (self._at(body.right, current, record, record), None)
        clashes = []
        for place, record in enumerate(block.records.tolist()):
            left, right = self._at(body.left, found, place, record), self._at(body.right, found, place, record)
            before, other = known.setdefault(left, (right, record))
            if before != right:
                clashes.append((record, other, left, before))
        return clashes

    def _bind(
        self,
        model: SolverModel,
        cells: Cells,
        body: Determines,
        record: int,
        other: int | None,
        left: tuple[int, ...],
        right: tuple[int, ...],
    ) -> None:
        """If the left side is as that of the other record, so is the right side."""

        def same(side: tuple[ColumnValue, ...], values: tuple[int, ...]) -> list[Any]:
            told = [(cells[c, record], v, c) for c, v in zip(side, values, strict=True) if c in self.levels]
            if other is None:
                return [model.is_within({cell: 1}, v, v) for cell, v, _ in told]
            return [model.is_within({cell: 1, cells[c, other]: -1}, 0, 0) for cell, _, c in told]

        ways = [model.negated(literal) for literal in same(body.left, left)]
        if all(v == self._place(c)[record] for c, v in zip(body.right, right, strict=True) if c not in self.levels):
            ways.append(model.all_of(same(body.right, right)))
        model.require(model.any_of(ways))

    def _at(
        self, columns: tuple[ColumnValue, ...], codes: dict[ColumnValue, IntArray], place: int, record: int
    ) -> tuple[int, ...]:
        return tuple(
            int(codes[column][place]) if column in self.levels else int(self._place(column)[record])
            for column in columns
        )

    def _place(self, column: ColumnValue) -> IntArray:
        """Given values as numbers of their distinct values; looked up once."""
        if column not in self._places:
            self._places[column] = np.unique(self.problem.given(column).as_text(), return_inverse=True)[1].astype(
                np.int64
            )
        return self._places[column]
