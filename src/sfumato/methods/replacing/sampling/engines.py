"""Engines for single parts of a problem: each says what it is, whether it is uniform, and draws the part's columns.

An engine checks everything that can be known before the run when it is made (`Infeasible` names the rules); `run` then cannot fail
for want of a solution. None of them looks at the original values it replaces, except where `reads_original` says so.

Paper: Theorem 5.1's argument only uses that the algorithm disregards its input, so it holds for every engine here that does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import IntArray
from sfumato.errors import Infeasible
from sfumato.methods.replacing.sampling import keyed
from sfumato.methods.replacing.sampling.legal import Legal, legal
from sfumato.methods.replacing.sampling.levels import Levels, Listed, Spelled, Steps
from sfumato.methods.replacing.sampling.occupancy import Occupancy
from sfumato.methods.replacing.sampling.problem import Clause, Context, RulePart, SamplingProblem, contexts
from sfumato.methods.replacing.sampling.spaces import Product, Records, derived, draw
from sfumato.methods.replacing.sampling.vectors import Vector
from sfumato.policy.rules import IntegrityRule
from sfumato.policy.rules.tree import ColumnValue, Condition
from sfumato.randomness import Randomness

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

        if isinstance(self.levels, (Steps, Listed)):
            used, place = _used(self.codes, self.levels.size)
            labels = pa.array(self.levels.texts(used).tolist(), pa.string())
            return pa.DictionaryArray.from_arrays(pa.array(place.astype(np.int32)), labels)
        texts = self.texts()
        return pa.array(texts).cast(pa.string()) if texts.dtype.kind == "S" else pa.array(texts.tolist(), pa.string())


def _used(codes: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """The codes that occur, ascending, and the place of each among them; of few possible ones without a sort."""
    if size > max(len(codes), 1):
        used, place = np.unique(codes, return_inverse=True)
        return used, place
    there = np.bincount(codes, minlength=size) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


class Engine(Protocol):
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
    return Infeasible(f"no record obeys {named or 'the domain'}", where="keep", hint="relax one of these rules or widen a domain")


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
            one = legal(self.levels, self.conditions, context.given, root)
            if one is None:
                return None
            if one.space.size == 0:
                raise no_record(self.part.rules, lambda rules, given=context.given: self._empty(rules, given))  # type: ignore[misc]
            found.append(one)
        return found

    def _empty(self, rules: list[IntegrityRule], given: dict[ColumnValue, Vector]) -> bool:
        from sfumato.methods.replacing.sampling.wanted import wanted

        kept = RulePart(self.part.columns, tuple(clause for clause in self.part.clauses if clause.rule in rules))
        one = legal(self.levels, wanted(self.problem, kept).conditions, given)
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
        """The new values of records with these numbers in a larger table: different keys for different numbers, in any share."""
        if self.key_space.size > keyed.LARGEST:
            raise Infeasible("the keys of such a domain cannot be dealt to shares", where="keep", hint="narrow the domain")
        codes = draw(self.rest, derived(key, "rest"), numbers)
        codes.update(self.key_space.codes(keyed.Permutation(derived(key, 0), self.key_space.size)(numbers)))
        return self.spaces.merged([codes])

    def _ranks(self, key: bytes, count: int) -> IntArray:
        numbers = np.arange(count, dtype=np.int64)
        if self.key_space.size <= keyed.LARGEST:
            return keyed.Permutation(key, self.key_space.size)(numbers)
        return _without_repetition(key, self.key_space.size, numbers)


def _without_repetition(key: bytes, size: int, numbers: IntArray) -> IntArray:
    """Ranks of a space beyond 62 bits: drawn, and drawn again where one repeats an earlier one."""
    from sfumato.methods.replacing.sampling.spaces import _wide

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
        return keyed.ranks(key, self.left.single.space.size, self.left.contexts[0].records)


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
        classes = keyed.Permutation(random.bytes(16), min(size, keyed.LARGEST))(np.arange(used, dtype=np.int64))
        place = np.concatenate([np.repeat(np.arange(used), self.least), random.integers(used, self.count - used * self.least)])
        found: IntArray = classes[place[random.permutation(self.count)]]
        return found
