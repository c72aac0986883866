"""Parts that no direct engine covers, solved block by block: the heuristics LM, LM* and IG of the paper.

Paper
    [obfuscation §5.2-5.5, Algorithms 1 and 2]. A block is q records. LM walks over consecutive blocks of a table that starts as the
    original, every other record being constant; LM* takes the records of a block at random; IG fills an empty table, earlier
    blocks being constant and later ones absent.

Notation
    q        records per block
    current  the table as it stands; LM and LM* keep it legal after every block, so they cannot fail once it is

Invariants
    I1  LM, LM*: the block's present values solve the block's problem, so a solution exists.
    I2  A block's answer is taken only when the whole part obeys every rule that cannot be posted to the solver (uniqueness and
        dependencies against the other records): such conflicts are forbidden one by one and the block is solved again.
    I3  No block is smaller than q (unless the table is): a short last block would hardly change its records.

Departures
    Algorithm 1 cuts off q records at a time. Its line 4 loses a last block of a single record, and a short last block leaks: with
    N = 1,000 and q = 333 the thousandth record keeps its values under LM. Here the rest is spread over the other blocks.
    Uniqueness against the N − q other records is lazy (I2) instead of N − q constants. The solver is not uniform (see
    `_solver`): routes say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import Infeasible
from sfumato.methods._sampling.engines import Made
from sfumato.methods._sampling.levels import Levels, Listed, Spelled, Steps
from sfumato.methods._sampling.posting import Posting
from sfumato.methods._sampling.problem import Part, Problem
from sfumato.methods._sampling.spaces import draw
from sfumato.policy.rules import Rule
from sfumato.policy.rules.tree import Column
from sfumato.randomness import Randomness

Codes = NDArray[np.int64]
Heuristic = Literal["LM", "LM*", "IG"]
_SECONDS = 60.0
_AT_ONCE = 3_000


@dataclass(frozen=True)
class Block:
    """A dependent sub-problem: the records it may change and those it sees as constants."""

    records: Codes
    constants: Codes


def blocks(count: int, size: int, heuristic: Heuristic, random: Randomness) -> Iterator[Block]:
    """Algorithm 1: the records cut into blocks of at least `size`, with what each block sees."""
    order = random.permutation(count) if heuristic == "LM*" else np.arange(count, dtype=np.int64)
    start = 0
    for records in np.array_split(order, max(1, count // size)):  # I3
        stop = start + len(records)
        yield Block(records, order[:start] if heuristic == "IG" else np.concatenate([order[:start], order[stop:]]))
        start = stop


class Blocks:
    """The engine for what is left: LM, LM* or IG over a constraint solver."""

    uniform = False

    def __init__(self, problem: Problem, part: Part, heuristic: Heuristic, size: int) -> None:
        self.problem, self.part = problem, part
        self.heuristic, self.size = heuristic, size
        self.count = problem.source(part.columns[0]).count
        self.levels = {column: problem.levels(column) for column in part.columns}
        self.posting = Posting(problem, part, self.levels)
        self.levels = self.posting.levels
        self.start = None if heuristic == "IG" else self._original()
        self.name = f"{heuristic} blocks of {size}"
        self.reads_original = heuristic != "IG"

    def _original(self) -> dict[Column, Codes] | None:
        """The original as codes, or None when it is not a legal table (then LM has nowhere to start)."""
        found = {}
        for column, levels in self.levels.items():
            codes = codes_of(levels, list(self.problem.source(column).original.get(column.name, ())))
            if codes is None or len(codes) != self.count:
                return None
            found[column] = codes
        return found

    def run(self, random: Randomness) -> dict[Column, Made]:
        if self.start is None:
            return self._made(self._generated(random))
        return self._made(self._modified(self.start, random))

    def _made(self, codes: dict[Column, Codes]) -> dict[Column, Made]:
        return {column: Made(self.levels[column], codes[column]) for column in self.part.columns}

    def _modified(self, start: dict[Column, Codes], random: Randomness) -> dict[Column, Codes]:
        current = {column: codes.copy() for column, codes in start.items()}
        for place, block in enumerate(blocks(self.count, self.size, self.heuristic, random.child("blocks"))):
            found = self._solved(block, current, random.child(place))
            if found is None:
                raise self._infeasible("the original does not obey the rules, so it cannot be modified block by block")
            _store(found, block.records, current)
        return current

    def _generated(self, random: Randomness) -> dict[Column, Codes]:
        """IG; when a block has no solution, LM* from the original, as the paper recommends."""
        current = {column: np.zeros(self.count, dtype=np.int64) for column in self.part.columns}
        for place, block in enumerate(blocks(self.count, self.size, "IG", random.child("blocks"))):
            found = self._solved(block, current, random.child(place))
            if found is None:
                return self._rescued(random)
            _store(found, block.records, current)
        return current

    def _rescued(self, random: Randomness) -> dict[Column, Codes]:
        start = self._original()
        if start is None:
            return self._at_once(random)
        self.heuristic, self.reads_original = "LM*", True
        self.name = f"LM* blocks of {self.size}, after IG found no solution"
        return self._modified(start, random.child("rescue"))

    def _at_once(self, random: Randomness) -> dict[Column, Codes]:
        """The whole table as one block, when it is small enough to try."""
        everything = Block(np.arange(self.count, dtype=np.int64), np.zeros(0, dtype=np.int64))
        nothing = {column: np.zeros(self.count, dtype=np.int64) for column in self.part.columns}
        found = self._solved(everything, nothing, random.child("at once")) if self.count <= _AT_ONCE else None
        if found is None:
            raise self._infeasible("no table that obeys the rules was found, and the original is none to start from")
        self.name = "whole table at once"
        return found

    def _infeasible(self, what: str) -> Infeasible:
        named = " and ".join(f'"{rule}"' for rule in self.conflict())
        return Infeasible(what, where=f"rules {named}", hint="change one of these rules, use a larger block, or correct the data")

    def conflict(self) -> list[Rule]:
        """A set of rules from which none can be left out without a solution appearing, on at most one block of records."""
        kept = list(self.part.rules)
        for rule in self.part.rules:
            fewer = [other for other in kept if other is not rule]
            if not self._solvable(fewer):
                kept = fewer
        return kept

    def _solvable(self, rules: list[Rule]) -> bool:
        part = Part(self.part.columns, tuple(clause for clause in self.part.clauses if clause.rule in rules))
        posting = Posting(self.problem, part, self.levels)
        records = np.arange(min(self.count, max(self.size, 50)), dtype=np.int64)
        current = {column: np.zeros(self.count, dtype=np.int64) for column in self.part.columns}
        try:
            return posting.solve(Block(records, records[:0]), current, {}, 1, _SECONDS / 6, whole=True) is not None
        except TimeoutError:
            return True

    def _solved(self, block: Block, current: dict[Column, Codes], random: Randomness) -> dict[Column, Codes] | None:
        whole = len(block.records) + len(block.constants) == self.count
        guesses = self._guesses(block, random)
        seed = random.integer(1 << 30)
        try:
            return self.posting.solve(block, current, guesses, seed, _SECONDS, whole=whole)
        except TimeoutError:
            if self.heuristic == "IG":
                return None
            # I1: the present values are a solution, so an undecided block stays as it is
            return {column: current[column][block.records] for column in self.part.columns}

    def _guesses(self, block: Block, random: Randomness) -> dict[Column, Codes]:
        """Random legal records where they can be drawn, else random values."""
        if self.posting.spaces is not None and self.posting.spaces.single is not None:
            return draw(self.posting.spaces.single.space, random.bytes(16), block.records)
        return {c: random.integers(min(v.size, 1 << 62), len(block.records)) for c, v in self.levels.items()}


def _store(found: dict[Column, Codes], records: Codes, current: dict[Column, Codes]) -> None:
    for column, codes in found.items():
        current[column][records] = codes


def codes_of(levels: Levels, texts: list[str]) -> Codes | None:
    """The codes of original texts, or None when one of them is outside the domain."""
    if isinstance(levels, (Steps, Listed)):
        found = [levels.code(text) for text in texts]
    elif isinstance(levels, Spelled):
        found = [levels.words.rank(text) for text in texts]
    else:
        return None
    return None if any(code is None for code in found) else np.array(found, dtype=np.int64)


def fallback(heuristic: Heuristic, size: int) -> Callable[[Problem, Part], Blocks]:
    """The router's last resort with these settings."""
    return lambda problem, part: Blocks(problem, part, heuristic, size)

