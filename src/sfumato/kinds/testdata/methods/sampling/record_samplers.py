"""Engines for single parts of a problem: each says what it is, whether it is uniform, and draws the part's columns.

An engine checks everything that can be known before the run when it is made (`Infeasible` names the rules); `run` then
cannot fail for want of a solution. None of them looks at the original values it replaces, except where `reads_original`
says so.

Paper: Theorem 5.1's argument only uses that the algorithm disregards its input, so it holds for every engine here that
does.


Rejection
---------
Records drawn and drawn again until they are legal: for conditions that no closed form covers.

Guarantee
    Every record is uniform among its legal ones: a draw is taken exactly when it obeys the conditions. With `unique` a
    draw is taken only when no earlier record has it, which is uniform among all tables without repetition.

Cost: one over the share of legal records; parts with fewer than one legal record in a thousand are left to the solver.


Ranges
------
One ordered column whose bounds differ from record to record: `salary >= 0.9 * original.salary`.

Every record has its own interval of legal values, found for all records at once; a uniform value of the interval
follows.


Weighed
-------
Learned weights: values drawn as often as they occur in the original, under per-record rules and totals.

Guarantee
    A legal record is drawn with probability proportional to the product of its values' frequencies, conditioned on the
    totals. The output then depends on the original through these frequencies; it is not zero-knowledge.


Occupancy
---------
How many records get each value when all tables are to be equally likely: `a determines b`, `at_least(k, …)`.

Guarantee
    Every assignment of N records to L values in which each used value occurs at least k times has a probability in
    proportion to R to the number of used values. With R right sides per value that is the uniform law over the tables
    of `a determines b` (k = 1), with R = 1 over those of `at_least(k, …)`.

Notation
    n_v    records with value v; an assignment has Π of w(n_v) · N! with w(0) = 1, w(n) = R/n! for n ≥ k
    x      tilt: w(n)·xⁿ gives the same law for the fixed sum Σ n_v = N; x makes N the mean

Invariants
    I1  The counts are independent terms with a fixed total (`totals`); given them all orders of the records are equally
        likely, which is the N!/Π n_v! that w leaves out.
    I2  Counts are listed up to 40 deviations beyond max(k, x). What is cut off has less than e⁻³⁶ of the mass when
        values are many or well filled; `made` declines otherwise, unless N is small enough to list everything.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, FloatArray, IntArray
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling import keyed_randomness
from sfumato.kinds.testdata.methods.sampling.column_values import Levels, Listed, Spelled, Steps
from sfumato.kinds.testdata.methods.sampling.constraint_vectors import Vector, holds
from sfumato.kinds.testdata.methods.sampling.legal_records import (
    Legal,
    LegalSpace,
    Product,
    Records,
    derived,
    draw,
    legal_space,
)
from sfumato.kinds.testdata.methods.sampling.problem import Clause, Context, RulePart, SamplingProblem, contexts
from sfumato.kinds.testdata.methods.sampling.sum_distribution import TotalSampler
from sfumato.policy.constraint_language import IntegrityRule, columns_of, linear_comparison
from sfumato.policy.constraint_language.syntax_tree import ColumnValue, Condition

_MOST_CONTEXTS = 5_000


@dataclass(frozen=True)
class NewColumn:
    """A new column: codes and what they stand for."""

    levels: Levels
    codes: IntArray

    def texts(self) -> NDArray[Any]:
        return self.levels.texts(self.codes)

    def vector(self) -> Vector:
        return self.levels.vector(self.codes)

    def arrow(self) -> Any:
        """The texts as an arrow array."""
        import pyarrow as pa

        found = self.coded()
        return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found

    def coded(self) -> Any:
        """The texts as an arrow array; codes that repeat stay codes with a dictionary."""
        import pyarrow as pa

        if isinstance(self.levels, (Steps, Listed)) or self.levels.size <= len(self.codes):
            used, place = _used(self.codes, self.levels.size)
            labels = _arrow_texts(self.levels.texts(used))
            return pa.DictionaryArray.from_arrays(pa.array(place.astype(np.int32)), labels)
        return _arrow_texts(self.texts())


def _arrow_texts(texts: NDArray[Any]) -> Any:
    import pyarrow as pa

    return texts_of_bytes(texts) if texts.dtype.kind == "S" else pa.array(texts.tolist(), pa.string())


def texts_of_bytes(texts: NDArray[Any]) -> Any:
    """Return texts of a fixed width, padded with zero bytes, as one arrow array.

    >>> texts_of_bytes(np.array([b"ab", b"", b"c"])).to_pylist()
    ['ab', '', 'c']
    """
    import pyarrow as pa

    signs = np.ascontiguousarray(texts).view(np.uint8).reshape(len(texts), texts.dtype.itemsize)
    there = signs != 0
    ends = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(there.sum(axis=1), out=ends[1:])
    if ends[-1] >= 1 << 31:
        raise Infeasible("a column needs more than 2 GB of text", hint="take a subset, or a shorter pattern")
    data = signs[there]
    return pa.Array.from_buffers(
        pa.string(), len(texts), [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
    )


def _used(codes: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """The codes that occur, ascending, and the place of each among them; of few possible ones without a sort."""
    if size > max(len(codes), 1):
        used, place = np.unique(codes, return_inverse=True)
        return used, place
    there = np.bincount(codes, minlength=size) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


class PartSampler(Protocol):
    """One way to make the columns of a part."""

    name: str
    uniform: bool
    reads_original: bool

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]: ...


def no_record(rules: Sequence[IntegrityRule], empty: Callable[[list[IntegrityRule]], bool]) -> Infeasible:
    """The error for a part without any legal record; names a smallest set of rules that already excludes everything."""
    kept = list(rules)
    for rule in rules:
        fewer = [other for other in kept if other is not rule]
        if empty(fewer):
            kept = fewer
    named = " and ".join(f'"{rule}"' for rule in kept)
    return Infeasible(
        f"no record obeys {named or 'the domain'}", where="keep", hint="relax one of these rules or widen a domain"
    )


class Spaces:
    """The legal records of a part in every context; made once, shared by the engines."""

    def __init__(
        self, problem: SamplingProblem, part: RulePart, conditions: list[Condition], root: ColumnValue | None = None
    ) -> None:
        self.problem, self.part, self.conditions = problem, part, conditions
        self.contexts = contexts(problem, part, conditions)
        self.levels = {column: problem.levels(column) for column in part.columns}
        self.legal: list[Legal] | None = self._made(root)

    def _made(self, root: ColumnValue | None) -> list[Legal] | None:
        if len(self.contexts) > _MOST_CONTEXTS:
            return None
        found = []
        for context in self.contexts:
            one = legal_space(self.levels, self.conditions, context.given, root)
            if one is None:
                return None
            if one.space.size == 0:
                raise no_record(self.part.rules, lambda rules, given=context.given: self._empty(rules, given))  # type: ignore[misc]
            found.append(one)
        return found

    def _empty(self, rules: list[IntegrityRule], given: dict[ColumnValue, Vector]) -> bool:
        from sfumato.kinds.testdata.methods.sampling.problem import demands_of_part

        kept = RulePart(self.part.columns, tuple(clause for clause in self.part.clauses if clause.rule in rules))
        one = legal_space(self.levels, demands_of_part(self.problem, kept).conditions, given)
        return one is not None and one.space.size == 0

    @property
    def single(self) -> Legal | None:
        """The space when all records share one."""
        return self.legal[0] if self.legal is not None and len(self.legal) == 1 else None

    def merged(self, drawn: list[Records]) -> dict[ColumnValue, NewColumn]:
        """The columns from what was drawn for each context."""
        assert self.legal is not None
        if len(drawn) == 1:
            return {column: NewColumn(self.legal[0].levels[column], codes) for column, codes in drawn[0].items()}
        count = sum(len(context.records) for context in self.contexts)
        return {column: self._column(column, drawn, count) for column in self.part.columns}

    def _column(self, column: ColumnValue, drawn: list[Records], count: int) -> NewColumn:
        assert self.legal is not None
        if isinstance(self.levels[column], Spelled):  # narrowed differently in every context: go by the texts
            found = np.empty(count, dtype=object)
            for context, one, codes in zip(self.contexts, self.legal, drawn, strict=True):
                found[context.records] = one.levels[column].texts(codes[column]).astype(np.str_)
            distinct, inverse = np.unique(found.astype(np.str_), return_inverse=True)
            return NewColumn(Listed(distinct.tolist()), inverse.astype(np.int64))
        placed = np.empty(count, dtype=np.int64)
        for context, own in zip(self.contexts, drawn, strict=True):
            placed[context.records] = own[column]
        return NewColumn(self.levels[column], placed)


class PerRecord:
    """Independent records: a uniform legal record for every number."""

    name = "legal records"
    uniform = True
    reads_original = False

    def __init__(self, spaces: Spaces) -> None:
        self.spaces = spaces
        self.reads_original = any(column.original for context in spaces.contexts for column in context.given)

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        assert self.spaces.legal is not None
        key = random.bytes(16)
        drawn = [draw(one.space, key, context.records) for one, context in self._pairs()]
        return self.spaces.merged(drawn)

    def _pairs(self) -> list[tuple[Legal, Context]]:
        assert self.spaces.legal is not None
        return list(zip(self.spaces.legal, self.spaces.contexts, strict=True))


class Distinct:
    """`unique`: the columns of the key get different ranks by a keyed permutation, the others are independent."""

    name = "permuted ranks"
    uniform = True
    reads_original = False

    def __init__(self, spaces: Spaces, clause: Clause, columns: set[ColumnValue], groups: list[IntArray]) -> None:
        assert spaces.single is not None
        self.spaces, self.groups = spaces, groups
        factors = spaces.single.space.factors
        self.key_space = Product(tuple(f for f in factors if set(f.columns) <= columns))
        self.rest = Product(tuple(f for f in factors if set(f.columns).isdisjoint(columns)))
        largest = max(len(group) for group in groups)
        if self.key_space.size < largest:
            raise Infeasible(
                f"only {self.key_space.size} different values are possible for {largest} records",
                where=f'rule "{clause.rule}"',
                hint="widen the domain of its columns",
            )

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        key = random.bytes(16)
        count = sum(len(group) for group in self.groups)
        records = np.arange(count, dtype=np.int64)
        codes = draw(self.rest, derived(key, "rest"), records)
        codes.update({column: np.empty(count, dtype=np.int64) for column in self.key_space.columns})
        for place, group in enumerate(self.groups):
            own = self.key_space.codes(self._ranks(derived(key, place), len(group)))
            for column, values in own.items():
                if values.dtype == object:
                    codes[column] = codes[column].astype(object)
                codes[column][group] = values
        return self.spaces.merged([codes])

    def of_numbers(self, key: bytes, numbers: IntArray) -> dict[ColumnValue, NewColumn]:
        """The new values of records with these numbers in a larger table: different keys for different numbers, in any
        share."""
        if self.key_space.size > keyed_randomness.LARGEST:
            raise Infeasible(
                "the keys of such a domain cannot be divided among shares", where="keep", hint="narrow the domain"
            )
        codes = draw(self.rest, derived(key, "rest"), numbers)
        codes.update(self.key_space.codes(keyed_randomness.Permutation(derived(key, 0), self.key_space.size)(numbers)))
        return self.spaces.merged([codes])

    def _ranks(self, key: bytes, count: int) -> IntArray:
        numbers = np.arange(count, dtype=np.int64)
        if self.key_space.size <= keyed_randomness.LARGEST:
            return keyed_randomness.Permutation(key, self.key_space.size)(numbers)
        return _without_repetition(key, self.key_space.size, numbers)


def _without_repetition(key: bytes, size: int, numbers: IntArray) -> IntArray:
    """Ranks of a space beyond 62 bits: drawn, and drawn again where one repeats an earlier one."""
    from sfumato.kinds.testdata.methods.sampling.legal_records import _wide

    found = _wide(key, size, numbers)
    turn = 0
    while True:
        _, first = np.unique(found, return_index=True)
        again = np.setdiff1d(numbers, first)
        if not len(again):
            return found
        turn += 1
        found[again] = _wide(derived(key, turn), size, again)


class Shuffled:
    """`same_multiset` of all columns of the part: the original combinations in a random order."""

    name = "shuffle"
    uniform = True
    reads_original = True

    def __init__(self, problem: SamplingProblem, part: RulePart) -> None:
        self.problem, self.part = problem, part

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        source = self.problem.source(self.part.columns[0])
        order = random.permutation(source.count)
        found = {}
        for column in self.part.columns:
            distinct, inverse = np.unique(np.asarray(source.original[column.name], dtype=np.str_), return_inverse=True)
            found[column] = NewColumn(Listed(distinct.tolist()), inverse[order].astype(np.int64))
        return found


class Functional:
    """`a determines b`: the right side is drawn once for every value of the left side."""

    name = "one draw per determining value"
    reads_original = False

    def __init__(self, left: Spaces | None, right: Spaces, groups: IntArray | None) -> None:
        assert right.single is not None
        self.left, self.right, self.groups = left, right, groups
        self.occupancy = None
        if left is not None and left.single is not None:
            count = len(left.contexts[0].records)
            self.occupancy = Occupancy.made(count, left.single.space.size, 1, right.single.space.size)
        # with a free left side drawn independently, tables with many left values come too rarely
        self.uniform = left is None or self.occupancy is not None

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        assert self.right.single is not None
        key = random.bytes(16)
        found: dict[ColumnValue, NewColumn] = {}
        groups = self.groups
        if self.left is not None:
            groups = self._lefts(key, random)
            assert self.left.single is not None
            found.update(self.left.merged([self.left.single.space.codes(groups)]))
        assert groups is not None
        found.update(self.right.merged([draw(self.right.single.space, derived(key, "right"), groups)]))
        return found

    def _lefts(self, key: bytes, random: Randomness) -> IntArray:
        assert self.left is not None
        assert self.left.single is not None
        if self.occupancy is not None:
            return self.occupancy.draw(random)
        return keyed_randomness.ranks(key, self.left.single.space.size, self.left.contexts[0].records)


class Crowded:
    """`at_least(k, …)`: every combination that is used gets at least k records."""

    name = "filled classes"
    reads_original = False

    def __init__(self, spaces: Spaces, clause: Clause, least: int) -> None:
        assert spaces.single is not None
        self.spaces, self.least = spaces, least
        self.count = len(spaces.contexts[0].records)
        if self.count < least:
            raise Infeasible(
                f"{self.count} records cannot make a class of {least}",
                where=f'rule "{clause.rule}"',
                hint="lower the number or publish more records",
            )
        self.occupancy = Occupancy.made(self.count, spaces.single.space.size, max(least, 1), 1)
        self.uniform = self.occupancy is not None

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        assert self.spaces.single is not None
        space = self.spaces.single.space
        ranks = self._spread(space.size, random) if self.occupancy is None else self.occupancy.draw(random)
        return self.spaces.merged([space.codes(ranks)])

    def _spread(self, size: int, random: Randomness) -> IntArray:
        """Some combinations are chosen, each gets k records, the rest is spread among them: legal, not uniform."""
        most = min(self.count // self.least, size, 1 << 20)
        used = 1 + random.integer(most)
        classes = keyed_randomness.Permutation(random.bytes(16), min(size, keyed_randomness.LARGEST))(
            np.arange(used, dtype=np.int64)
        )
        place = np.concatenate(
            [np.repeat(np.arange(used), self.least), random.integers(used, self.count - used * self.least)]
        )
        found: IntArray = classes[place[random.permutation(self.count)]]
        return found


# Rejection
# ---------


_TRIAL, _LEAST = 4_096, 5
_ROUNDS, _AT_ONCE, _WIDEST, _FIRST = 400, 200_000, 512, 8


class Rejected:
    """Draws from the columns' own domains, taken when they are legal."""

    name = "draws until legal"
    uniform = True

    def __init__(
        self, problem: SamplingProblem, part: RulePart, space: Product, levels: dict[ColumnValue, Levels]
    ) -> None:
        self.problem, self.part, self.space, self.levels = problem, part, space, levels
        self.conditions: list[Condition] = []
        self.keys: list[tuple[ColumnValue, ...]] = []
        self.count = problem.source(part.columns[0]).count
        self.reads_original = False

    @classmethod
    def made(
        cls, problem: SamplingProblem, part: RulePart, conditions: list[Condition], uniques: Sequence[Clause] = ()
    ) -> Rejected | None:
        """The engine, when enough draws are legal; None when they are too rare, or columns of several tables meet."""
        mentioned = {column for condition in conditions for column in columns_of(condition)}
        if len({column.table for column in (*part.columns, *mentioned)}) > 1:
            return None
        found = cls(problem, part, *_proposals(problem, part, conditions))
        found.conditions = conditions
        found.keys = [tuple(clause.body.columns) for clause in uniques]  # type: ignore[union-attr]
        found.reads_original = any(column.original for column in mentioned)
        return found if not found.count or found._promising() else None

    def _promising(self) -> bool:
        key = hashlib.sha256(b"trial").digest()[:16]
        rows = np.arange(_TRIAL, dtype=np.int64)
        return int(self._legal(self._drawn(key, rows), rows % self.count).sum()) >= _LEAST

    def _drawn(self, key: bytes, numbers: IntArray) -> Records:
        return draw(self.space, key, numbers)

    def _legal(self, codes: Records, rows: IntArray) -> BoolArray:
        """Which draws are legal for the records they are meant for."""
        table: dict[ColumnValue, Vector] = {column: self.levels[column].vector(own) for column, own in codes.items()}
        for condition in self.conditions:
            for column in columns_of(condition):
                if column not in table:
                    table[column] = self.problem.given(column).at(rows)
        mask = np.ones(len(rows), dtype=bool)
        for condition in self.conditions:
            mask &= np.broadcast_to(holds(condition, table), (len(rows),))
        return mask

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        key = random.bytes(16)
        placed: Records = {column: np.zeros(self.count, dtype=object) for column in self.part.columns}
        pending = np.arange(self.count, dtype=np.int64)
        seen: list[set[tuple[object, ...]]] = [set() for _ in self.keys]
        for turn in range(_ROUNDS):
            if not len(pending):
                break
            pending = self._turn(derived(key, turn), pending, placed, seen)
        if len(pending):
            named = " and ".join(f'"{rule}"' for rule in self.part.rules)
            what = f"{len(pending)} records found no legal value in {_ROUNDS} rounds"
            raise Infeasible(what, where=f"rule {named}", hint="relax a rule or widen a domain")
        return {column: NewColumn(self.levels[column], _narrow(codes)) for column, codes in placed.items()}

    def _turn(self, key: bytes, pending: IntArray, placed: Records, seen: list[set[tuple[object, ...]]]) -> IntArray:
        times = min(_WIDEST, max(1, _AT_ONCE // len(pending)))
        if not self.keys:
            return self._first(key, pending, times, placed)
        rows = np.repeat(pending, times)
        codes = self._drawn(key, np.arange(len(rows), dtype=np.int64))
        return self._apart(codes, rows, np.flatnonzero(self._legal(codes, rows)), pending, placed, seen)

    def _first(self, key: bytes, pending: IntArray, times: int, placed: Records) -> IntArray:
        """The first legal one of every record's draws; later ones are made for those that have none yet."""
        left, begin = np.arange(len(pending), dtype=np.int64), 0
        while len(left) and begin < times:
            end = min(times, max(_FIRST, 4 * begin))
            rows = np.repeat(pending[left], end - begin)
            codes = self._drawn(key, (left[:, None] * times + np.arange(begin, end)).ravel())
            good = np.flatnonzero(self._legal(codes, rows))
            taken, first = np.unique(rows[good], return_index=True)
            for column, own in codes.items():
                placed[column][taken] = own[good[first]]
            left, begin = left[~np.isin(pending[left], taken)], end
        return pending[left]

    def _apart(
        self,
        codes: Records,
        rows: IntArray,
        good: IntArray,
        pending: IntArray,
        placed: Records,
        seen: list[set[tuple[object, ...]]],
    ) -> IntArray:
        """One draw after the other: taken when its record has none yet and no other record has its values."""
        done: set[int] = set()
        for place in good.tolist():
            row = int(rows[place])
            if row in done:
                continue
            own = [tuple(self._part_of(codes, column, place, row) for column in key) for key in self.keys]
            if any(one in before for one, before in zip(own, seen, strict=True)):
                continue
            done.add(row)
            for one, before in zip(own, seen, strict=True):
                before.add(one)
            for column, values in codes.items():
                placed[column][row] = values[place]
        return np.array([row for row in pending.tolist() if row not in done], dtype=np.int64)

    def _part_of(self, codes: Records, column: ColumnValue, place: int, row: int) -> object:
        return int(codes[column][place]) if column in codes else str(self.problem.given(column).as_text()[row])


def _proposals(
    problem: SamplingProblem, part: RulePart, conditions: list[Condition]
) -> tuple[Product, dict[ColumnValue, Levels]]:
    """Every column under the conditions on it alone, as far as these have a closed form."""
    factors: list[LegalSpace] = []
    levels: dict[ColumnValue, Levels] = {}
    for column in part.columns:
        own = [condition for condition in conditions if set(columns_of(condition)) == {column}]
        numbering = {column: problem.levels(column)}
        found = legal_space(numbering, own, {}) or legal_space(numbering, [], {})
        assert found is not None
        if found.space.size == 0:
            named = " and ".join(f'"{rule}"' for rule in part.rules)
            raise Infeasible(
                f"no value of '{column}' obeys {named}", where="keep", hint="relax a rule or widen the domain"
            )
        factors += found.space.factors
        levels |= found.levels
    return Product(tuple(factors)), levels


def _narrow(codes: IntArray) -> IntArray:
    """Plain integers where they fit."""
    return codes.astype(np.int64) if not len(codes) or int(max(codes)) < 1 << 62 else codes


# Ranges
# ------


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
            raise Infeasible(
                f"{empty} records have no legal value", where=f"rule {named}", hint="relax a rule or widen the domain"
            )

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


def _interval(
    operator: str, middle: NDArray[np.object_], spread: int, scale: int, levels: Steps
) -> tuple[IntArray, IntArray]:
    low, high = np.full(len(middle), -1, dtype=np.int64), np.full(len(middle), levels.size, dtype=np.int64)
    if operator in ("=", ">=", ">"):
        first = -((-(middle - spread)) // scale) if operator != ">" else middle // scale + 1
        low = np.clip(first - levels.low, -1, levels.size).astype(np.int64)
    if operator in ("=", "<=", "<"):
        last = (middle + spread) // scale if operator != "<" else -((-middle) // scale) - 1
        high = np.clip(last - levels.low, -1, levels.size).astype(np.int64)
    return low, high


# Weighed
# -------


MOST = 4_000_000


def weigh(problem: SamplingProblem, rows: Records) -> FloatArray:
    """The product of the learned frequencies of each row's values."""
    found = np.ones(len(next(iter(rows.values()))))
    for column, codes in rows.items():
        weights = problem.weights(column)
        if weights is not None:
            found = found * weights[codes]
    return found


class WeightedSampler:
    """Independent records, each a legal record by its weight."""

    name = "legal records by learned weights"
    uniform = False
    reads_original = True

    def __init__(self, problem: SamplingProblem, spaces: Spaces) -> None:
        self.spaces = spaces
        assert spaces.legal is not None
        self.tables = [self._listed(problem, one) for one in spaces.legal]

    def _listed(self, problem: SamplingProblem, one: Legal) -> tuple[Records, FloatArray]:
        rows = one.space.codes(np.arange(one.space.size, dtype=np.int64))
        weights = weigh(problem, rows)
        if not weights.sum() > 0:
            named = " and ".join(f'"{rule}"' for rule in self.spaces.part.rules)
            hint = "use uniform weights or relax a rule"
            raise Infeasible("no legal record has values that occur in the original", where=f"rules {named}", hint=hint)
        return rows, np.cumsum(weights)

    def run(self, random: Randomness) -> dict[ColumnValue, NewColumn]:
        key = random.bytes(16)
        drawn = []
        for (rows, cumulative), context in zip(self.tables, self.spaces.contexts, strict=True):
            target = keyed_randomness.uniform(key, context.records) * cumulative[-1]
            place = np.minimum(np.searchsorted(cumulative, target, side="right"), len(cumulative) - 1)
            drawn.append({column: codes[place] for column, codes in rows.items()})
        return self.spaces.merged(drawn)


# Occupancy
# ---------


_MOST_VALUES = 1_000_000
_LISTED = 400
_MANY = 20


class Occupancy:
    """Draws the value (its rank) of every record."""

    def __init__(self, records: int, values: int, least: int, rights: int, last: int) -> None:
        self.records = records
        counts = np.concatenate([[0], np.arange(least, last + 1)]).astype(np.int64)
        factorials = np.array([math.lgamma(count + 1) for count in counts.tolist()])
        level = np.where(counts > 0, math.log(rights), 0.0) - factorials
        weights = level + counts * math.log(_tilt(level, counts, records / values))
        chances: FloatArray = np.exp(weights - weights.max())
        self.counts = counts[chances > 0]
        self.sampler = TotalSampler([self.counts[:, None]], [chances[chances > 0]], np.zeros(values, dtype=np.int64))

    @classmethod
    def made(cls, records: int, values: int, least: int, rights: int) -> Occupancy | None:
        """The sampler, or None when it would be inexact (I2) or too large."""
        if values > _MOST_VALUES or records < least:
            return None
        filled = records / values
        if records > _LISTED and values < _MANY and least > max(1.0, filled / 2):
            return None
        reach = max(least, filled, 30.0)
        last = records if records <= _LISTED else min(records, math.ceil(2 * reach + 40 * math.sqrt(reach) + 60))
        return cls(records, values, least, rights, last)

    def draw(self, random: Randomness) -> IntArray:
        """A value for every record."""
        often = self.counts[self.sampler.draw(np.array([self.records]), random)]
        used = np.repeat(np.arange(len(often), dtype=np.int64), often)
        return used[random.permutation(self.records)]  # I1


def _tilt(level: FloatArray, counts: IntArray, mean: float) -> float:
    """The x that gives one value `mean` records on average, by bisection of its logarithm."""
    low, high = -60.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        power = level + counts * middle
        mass = np.exp(power - power.max())
        low, high = (middle, high) if float(mass @ counts) / float(mass.sum()) < mean else (low, middle)
    return math.exp((low + high) / 2)
