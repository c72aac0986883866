"""Parts that no direct engine covers, solved block by block: the heuristics LM, LM* and IG of the paper.

Paper
    [obfuscation §5.2-5.5, Algorithms 1 and 2]. A block is q records. LM walks over consecutive blocks of a table that
    starts as the original, every other record being constant; LM* takes the records of a block at random; IG fills an
    empty table, earlier blocks being constant and later ones absent.

Notation
    q        records per block
    current  the table as it stands; LM and LM* keep it legal after every block, so they cannot fail once it is
    round    blocks that are solved side by side

Invariants
    I1  LM, LM*: the block's present values solve the block's problem, so a solution exists.
    I2  A block's answer is taken only when the whole part obeys every rule that cannot be posted to the solver
        (uniqueness and dependencies against the other records): such conflicts are forbidden one by one and the block
        is solved again.
    I3  Side by side: every block of a round is solved against the records outside the round; its answer is taken when
        it is legal against the table as it then stands, else the block is solved again against that. For a solver that
        draws uniformly this is rejection sampling, so the law is that of one block after the other. Rounds do not
        depend on the number of jobs.
    I4  Variety `cells`: small groups of a solved block are drawn again, each uniformly among its solutions given all
        else, in several sweeps. The uniform law over the block's solutions stays what it is under every such step; a
        block of one group has it at once, a larger one approaches it.
    I5  `same_multiset` is kept by exchanging the values that are there, so it is never generated from nothing: IG
        becomes LM*.

Departures
    Uniqueness against the N − q other records is lazy (I2) instead of N − q constants. Which blocks are independent of
    each other is said in `cutting`. The solver is not uniform (see `_solver`): routes say so.


Solver pool
-----------
Child processes for solver blocks: one crew for all parts of a problem, called in only when the work is worth it.

Building a solver's model holds Python's lock, so threads gain nothing; and a solver that aborts takes its process with
it.

Invariants
    I1  A task carries everything its answer depends on (block, values, seed): who solves it, and when, does not change
        it.
    I2  A child that dies ends the run with an error; errors raised on purpose arrive as they were raised.
    I3  Work that one process finishes sooner than children start stays where it is: the first tasks of a part are
        solved here, and only when they were slow enough do the others go to the crew.

Paper: [obfuscation §5.3], independent sub-problems solved at the same time.
"""

from __future__ import annotations

import hashlib
import math
import time
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.core.errors import Infeasible, SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.sampling.block_division import (
    Block,
    BlockTask,
    Heuristic,
    SolverBudget,
    blocks,
    parallel_blocks,
    sub_block,
    task,
)
from sfumato.kinds.testdata.methods.sampling.column_values import Levels, Listed, Spelled, Steps
from sfumato.kinds.testdata.methods.sampling.legal_records import draw
from sfumato.kinds.testdata.methods.sampling.problem import RulePart, SamplingProblem
from sfumato.kinds.testdata.methods.sampling.record_samplers import NewColumn
from sfumato.kinds.testdata.methods.sampling.solver_constraints import Posting
from sfumato.policy.constraint_language import IntegrityRule
from sfumato.policy.constraint_language.syntax_tree import ColumnValue, SameMultiset

if TYPE_CHECKING:
    from sfumato.kinds.testdata.methods.sampling.sampler_selection import Route


_WORTH = 4.0
"""Seconds of work left that justify calling in children, which need about one second to start."""
_engines: Sequence[Divided] = ()


class Divided:
    """An engine whose work falls into tasks."""

    name: str
    uniform: bool
    reads_original: bool

    @abstractmethod
    def run(self, random: Randomness, crew: SolverProcesses | None = None) -> dict[ColumnValue, NewColumn]:
        """The columns of the part, the tasks solved by the crew."""

    @property
    @abstractmethod
    def tasks(self) -> int:
        """About how many tasks there will be."""

    @property
    @abstractmethod
    def splits(self) -> bool:
        """Whether tasks can be solved side by side."""

    @abstractmethod
    def answer(self, task: Any) -> Any:
        """The answer to one task; a function of the task alone (I1)."""

    def named(self, task: Any) -> str:
        """A name that two tasks share only when they are the same; empty where answers are not remembered."""
        return ""

    def packed(self, answer: Any) -> dict[str, Any]:
        """An answer for a file."""
        raise NotImplementedError

    def unpacked(self, packed: dict[str, Any]) -> Any:
        raise NotImplementedError


@dataclass
class _Effort:
    """What an engine's tasks took so far in this process, and how many are left."""

    left: int
    solved: int = 0
    seconds: float = 0.0

    @property
    def ahead(self) -> float:
        """Seconds of work that is left, as far as can be known; 0 before the first task."""
        return self.seconds / max(self.solved, 1) * self.left


class SolverProcesses:
    """Solves tasks of several engines, in this process or in `jobs` others."""

    def __init__(
        self,
        jobs: int,
        engines: Sequence[Divided],
        tick: Callable[[Divided], None] | None = None,
        patience: SolverBudget | None = None,
    ) -> None:
        self.engines = list(engines)
        self._tick = tick
        self.patience = patience or SolverBudget()
        alone = len(self.engines) == 1 and not self.engines[0].splits
        self._jobs = 1 if alone else jobs
        self._pool: ProcessPoolExecutor | None = None
        self._lock = Lock()
        self._stopped = False
        self._efforts = {id(engine): _Effort(engine.tasks) for engine in self.engines}

    def __enter__(self) -> SolverProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def stop(self) -> None:
        """No more answers: who waits for one gets `CancelledError`."""
        self._stopped = True
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def each(self, engine: Divided, tasks: Sequence[Any]) -> Iterator[Any]:
        """The answers in the order of the tasks; those of a run that was stopped are taken from its file."""
        names = [engine.named(task) for task in tasks]
        known = [self.patience.known(name) if name else None for name in names]
        solved = self._solved(engine, [task for task, one in zip(tasks, known, strict=True) if one is None])
        for name, one in zip(names, known, strict=True):
            if one is not None:
                self._done(engine)
                yield engine.unpacked(one)
                continue
            answer = next(solved)
            if name and answer is not None:
                self.patience.keep(name, engine.packed(answer))
            yield answer

    def _solved(self, engine: Divided, tasks: Sequence[Any]) -> Iterator[Any]:
        waiting = deque(tasks)
        while waiting and not self._calls(engine):
            yield self._here(engine, waiting.popleft())
        for future in self._sent(engine, waiting):
            yield self._received(engine, future)

    def _calls(self, engine: Divided) -> bool:
        """Whether the engine's next tasks go to the crew (I3)."""
        if self._stopped:
            raise CancelledError
        self._require_time(engine)
        return self._pool is not None or (self._jobs > 1 and self._efforts[id(engine)].ahead > _WORTH)

    def _require_time(self, engine: Divided) -> None:
        self.patience.require_time(engine.tasks - self._efforts[id(engine)].left, engine.tasks)

    def _here(self, engine: Divided, task: Any) -> Any:
        effort, start = self._efforts[id(engine)], time.perf_counter()
        answer = engine.answer(task)
        effort.seconds += time.perf_counter() - start
        effort.solved += 1
        self._done(engine)
        return answer

    def _done(self, engine: Divided) -> None:
        self._efforts[id(engine)].left -= 1
        if self._tick is not None:
            self._tick(engine)

    def _sent(self, engine: Divided, tasks: Sequence[Any]) -> list[Future[Any]]:
        if not tasks:
            return []
        with self._lock:
            if self._pool is None and not self._stopped:
                self._pool = _pool(self._jobs, self.engines)
            if self._pool is None or self._stopped:
                raise CancelledError
        place = self.engines.index(engine)
        try:
            return [self._pool.submit(_answer, place, task) for task in tasks]
        except BrokenProcessPool:
            raise _died(engine) from None

    def _received(self, engine: Divided, future: Future[Any]) -> Any:
        self._require_time(engine)
        try:
            answer = future.result()
        except BrokenProcessPool:
            raise _died(engine) from None  # I2
        self._done(engine)
        return answer


def _pool(jobs: int, engines: list[Divided]) -> ProcessPoolExecutor:
    """Fresh interpreters: a copy of this one would inherit the locks of its threads."""
    from multiprocessing import get_context

    return ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin, initargs=(engines,))


def _begin(engines: Sequence[Divided]) -> None:
    global _engines
    _engines = engines


def _answer(place: int, task: Any) -> Any:
    return _engines[place].answer(task)


def _died(engine: Divided) -> SfumatoError:
    return SfumatoError(
        "a solver process ended without an answer",
        where=engine.name,
        hint="run with one job; a script that asks for several must do so under `if __name__ == '__main__'`",
    )


# Blocks
# ------


_SECONDS, _TRIAL = 60.0, 5.0
_AT_ONCE = 3_000
_ROUND = 32
_SWEEPS, _GROUP, _SPACE = 2, 8, 200_000
Variety = Literal["order", "cells", "hint"]
How = Literal["order", "cells", "hint", "kept"]


@dataclass(frozen=True)
class BlockAnswer:
    """New values of a block and how they came about; `kept`: undecided in time, so the present ones."""

    codes: dict[ColumnValue, IntArray]
    how: How


class Blocks(Divided):
    """The engine for what is left: LM, LM* or IG over a constraint solver."""

    uniform = False

    def __init__(
        self, problem: SamplingProblem, part: RulePart, heuristic: Heuristic, size: int, variety: Variety = "order"
    ) -> None:
        self.problem, self.part = problem, part
        self.heuristic, self.size, self.variety = heuristic, size, variety
        self.made: Counter[How] = Counter()
        self.count = problem.source(part.columns[0]).count
        self.levels = {column: problem.levels(column) for column in part.columns}
        self.posting = Posting(problem, part, self.levels)
        self.levels = self.posting.levels
        self.posting.require_posted()
        self.start = None if heuristic == "IG" else self._original()
        self.name = f"{heuristic} blocks of {size}"
        self.reads_original = heuristic != "IG"

    def _original(self) -> dict[ColumnValue, IntArray] | None:
        """The original as codes, or None when it is not a legal table (then LM has nowhere to start)."""
        found = {}
        for column, levels in self.levels.items():
            codes = codes_of(levels, list(self.problem.source(column).original.get(column.name, ())))
            if codes is None or len(codes) != self.count:
                return None
            found[column] = codes
        return found

    @property
    def tasks(self) -> int:
        return max(1, self.count // self.size)

    @cached_property
    def splits(self) -> bool:
        return self.tasks > 1 and self.posting.separable(self.start, self.size * _ROUND)

    def run(self, random: Randomness, crew: SolverProcesses | None = None) -> dict[ColumnValue, NewColumn]:
        crew = crew or SolverProcesses(1, [self])
        random = crew.patience.chance(random)
        if self.start is None and any(isinstance(clause.body, SameMultiset) for clause in self.part.clauses):  # I5
            return self._made(self._rescued(random, crew))
        if self.start is None:
            return self._made(self._generated(random, crew))
        return self._made(self._modified(self.start, random, crew))

    def _made(self, codes: dict[ColumnValue, IntArray]) -> dict[ColumnValue, NewColumn]:
        return {column: NewColumn(self.levels[column], codes[column]) for column in self.part.columns}

    def _modified(
        self, start: dict[ColumnValue, IntArray], random: Randomness, crew: SolverProcesses
    ) -> dict[ColumnValue, IntArray]:
        current = {column: codes.copy() for column, codes in start.items()}
        if self._walk(current, random, crew):
            return current
        if any(isinstance(clause.body, SameMultiset) for clause in self.part.clauses):  # I5
            raise self._infeasible("the original does not obey the rules, so it cannot be modified block by block")
        return self._at_once(random)

    def _generated(self, random: Randomness, crew: SolverProcesses) -> dict[ColumnValue, IntArray]:
        """IG; when a block has no solution, LM* from the original, as the paper recommends."""
        current = {column: np.zeros(self.count, dtype=np.int64) for column in self.part.columns}
        return current if self._walk(current, random, crew) else self._rescued(random, crew)

    def _walk(self, current: dict[ColumnValue, IntArray], random: Randomness, crew: SolverProcesses) -> bool:
        """New values in all blocks; whether every block had a solution."""
        heuristic: Heuristic = "IG" if self.start is None else self.heuristic
        found = blocks(self.count, self.size, heuristic, random.child("blocks"))
        each = _ROUND if self.splits else 1
        rounds = [(first, found[first : first + each]) for first in range(0, len(found), each)]
        return all(self._round(together, first, current, random, crew) for first, together in rounds)

    def _round(
        self,
        found: list[Block],
        first: int,
        current: dict[ColumnValue, IntArray],
        random: Randomness,
        crew: SolverProcesses,
    ) -> bool:
        may_stay = self.start is not None
        asked = parallel_blocks(found, self.count, self.heuristic) if self.splits else found
        tasks = [task(block, current, random.child(first + n), may_stay=may_stay) for n, block in enumerate(asked)]
        for place, (block, answer) in enumerate(zip(found, crew.each(self, tasks), strict=True)):
            if answer is not None and self.splits and self.posting.clashes(block, current, answer.codes):  # I3
                again = random.child(f"{first + place} again")
                answer = self.answer(task(block, current, again, may_stay=may_stay))
            if answer is None:
                return False
            self.made[answer.how] += 1
            for column, codes in answer.codes.items():
                current[column][block.records] = codes
        return True

    def _rescued(self, random: Randomness, crew: SolverProcesses) -> dict[ColumnValue, IntArray]:
        self.start = self._original()
        if self.start is None and any(isinstance(clause.body, SameMultiset) for clause in self.part.clauses):  # I5
            raise self._infeasible("values that are to stay the same ones lie outside the declared domain")
        if self.start is None:
            return self._at_once(random)
        self.heuristic, self.reads_original = "LM*", True
        self.made.clear()
        self.name = f"LM* blocks of {self.size}, where IG finds no solution"
        self.__dict__.pop("splits", None)
        return self._modified(self.start, random.child("rescue"), crew)

    def _at_once(self, random: Randomness) -> dict[ColumnValue, IntArray]:
        """The whole table as one block, when it is small enough to try."""
        everything = Block(np.arange(self.count, dtype=np.int64), np.zeros(0, dtype=np.int64))
        nothing = {column: np.zeros(self.count, dtype=np.int64) for column in self.part.columns}
        one = task(everything, nothing, random.child("at once"), may_stay=False)
        found = self.answer(one) if self.count <= _AT_ONCE else None
        if found is None:
            raise self._infeasible(
                "no table that obeys the rules was found, and the original is none to be modified block by block"
            )
        self.name = "whole table at once"
        self.made = Counter([found.how])
        return found.codes

    def _infeasible(self, what: str) -> Infeasible:
        named = " and ".join(f'"{rule}"' for rule in self.conflict())
        return Infeasible(
            what, where=f"rules {named}", hint="change one of these rules, use a larger block, or correct the data"
        )

    def conflict(self) -> list[IntegrityRule]:
        """A set of rules from which none can be left out without a solution appearing, on at most one block of
        records."""
        kept = list(self.part.rules)
        for rule in self.part.rules:
            fewer = [other for other in kept if other is not rule]
            if not self._solvable(fewer):
                kept = fewer
        return kept

    def _solvable(self, rules: list[IntegrityRule]) -> bool:
        part = RulePart(self.part.columns, tuple(clause for clause in self.part.clauses if clause.rule in rules))
        posting = Posting(self.problem, part, self.levels)
        records = np.arange(min(self.count, max(self.size, 50)), dtype=np.int64)
        current = {column: np.zeros(self.count, dtype=np.int64) for column in self.part.columns}
        try:
            return (
                posting.solve(Block(records, records[:0]), current, {}, Randomness(1), _SECONDS / 6, whole=True)
                is not None
            )
        except TimeoutError:
            return True

    def answer(self, task: BlockTask) -> BlockAnswer | None:
        """New values for the block's records, None when there are none."""
        random = Randomness(task.seed)
        block, current = task.block, task.table(self.count)
        whole = block.totals == "keeps" or max(block.before, len(block.constants)) + len(block.records) == self.count
        try:
            found = self._first(block, current, random, whole)
        except TimeoutError:
            # I1: the present values are a solution, so an undecided block stays as it is
            return BlockAnswer(task.inside, "kept") if task.may_stay else None
        if found is None or self.variety != "cells":
            return found
        return self._refined(block, current, found, random, whole)

    def named(self, task: BlockTask) -> str:
        """Everything that the answer depends on, in short."""
        found = hashlib.sha256(f"{self.name} {self.variety} {task.seed} {task.may_stay} {task.block.totals}".encode())
        found.update(
            repr([(str(rule), size.size) for rule in self.part.rules for size in self.levels.values()]).encode()
        )
        arrays = (task.block.records, task.block.constants, *task.inside.values(), *task.outside.values())
        for array in arrays:
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def packed(self, answer: BlockAnswer) -> dict[str, Any]:
        return {"how": answer.how, "codes": [answer.codes[column].tolist() for column in self.part.columns]}

    def unpacked(self, packed: dict[str, Any]) -> BlockAnswer:
        codes = [np.array(own, dtype=np.int64) for own in packed["codes"]]
        return BlockAnswer(dict(zip(self.part.columns, codes, strict=True)), packed["how"])

    def forecast(self) -> tuple[int, float, bool]:
        """Blocks, seconds for all of them, and whether one that is solved for trial told so; refuses what no block can
        obey."""
        random, heuristic = Randomness(), "IG" if self.start is None else self.heuristic
        found = blocks(self.count, self.size, heuristic, random)
        block = found[len(found) // 2 if self.start is not None else 0]
        current = self.start or {column: np.zeros(self.count, dtype=np.int64) for column in self.part.columns}
        whole, began = self.start is not None or len(found) == 1, time.perf_counter()
        try:
            guesses = self._guesses(block, random)
            made = self.posting.solve(
                block, current, guesses, random, _TRIAL, whole=whole, ordered=self.variety != "hint"
            )
        except TimeoutError:
            return len(found), len(found) * _SECONDS * 7 / 6, False
        if made is None and self.start is None:
            raise self._infeasible("no table obeys these rules")
        return len(found), (time.perf_counter() - began) * len(found), True

    def _first(
        self, block: Block, current: dict[ColumnValue, IntArray], random: Randomness, whole: bool
    ) -> BlockAnswer | None:
        """A solution by a search in random order, or from random guesses where that takes too long or is asked for."""
        guesses = self._guesses(block, random)
        if self.variety != "hint":
            try:
                found = self.posting.solve(
                    block, current, guesses, random, _SECONDS / 6, whole=whole, ordered=True
                )  # I2
                return None if found is None else BlockAnswer(found, "order")
            except TimeoutError:
                pass
        found = self.posting.solve(block, current, guesses, random, _SECONDS, whole=whole)  # I2
        return None if found is None else BlockAnswer(found, "hint")

    def _refined(
        self, block: Block, current: dict[ColumnValue, IntArray], start: BlockAnswer, random: Randomness, whole: bool
    ) -> BlockAnswer:
        """The block drawn again in small groups, each uniformly given the rest (I4)."""
        few = self._few(len(block.records))
        if not few:
            return start
        table = {column: codes.copy() for column, codes in current.items()}
        for column, codes in start.codes.items():
            table[column][block.records] = codes
        modulus = 1
        for _ in range(1 if few == len(block.records) else _SWEEPS):
            order = block.records[random.permutation(len(block.records))]
            for records in np.array_split(order, -(-len(order) // few)):
                group = sub_block(block, records)
                try:
                    drawn, modulus = self.posting.redraw(group, table, random, modulus, _SECONDS / 6, whole=whole)
                except (TimeoutError, IndexError):
                    return BlockAnswer({column: codes[block.records] for column, codes in table.items()}, start.how)
                for column, codes in drawn.items():
                    table[column][records] = codes
        return BlockAnswer({column: codes[block.records] for column, codes in table.items()}, "cells")

    def _few(self, most: int) -> int:
        """How many records at a time can be drawn again; 0 when the domains are too large for any pair."""
        single = None if self.posting.spaces is None else self.posting.spaces.single
        each = math.prod(levels.size for levels in self.levels.values()) if single is None else single.space.size
        fits = [count for count in range(1, min(most, _GROUP) + 1) if each**count <= _SPACE]
        return fits[-1] if fits and fits[-1] >= min(2, most) else 0

    def _guesses(self, block: Block, random: Randomness) -> dict[ColumnValue, IntArray]:
        """Random legal records where they can be drawn, else random values."""
        if self.posting.spaces is not None and self.posting.spaces.single is not None:
            return draw(self.posting.spaces.single.space, random.bytes(16), block.records)
        return {c: random.integers(min(v.size, 1 << 62), len(block.records)) for c, v in self.levels.items()}


def forecast_of(found: Sequence[Route], minutes: float) -> list[str]:
    """How long the constraint solver will take for the parts that need it, beside what it is allowed."""
    engines = [(route.title, route.engine) for route in found if isinstance(route.engine, Blocks)]
    said, total = [], 0.0
    for title, engine in engines:
        count, seconds, tried = engine.forecast()
        told = "about" if tried else f"one was not solved in {_TRIAL:g} s, so up to"
        said.append(f"part {title}: {count} block(s) for the constraint solver, {told} {_time(seconds)}")
        total += seconds
    if total > minutes * 60:
        said.append(
            f"this is more than 'minutes: {minutes:g}' allow: then it stops, and the same command goes on from there"
        )
    return said


def _time(seconds: float) -> str:
    """Seconds as people say them.

    >>> _time(3.2), _time(100), _time(9000)
    ('3 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def codes_of(levels: Levels, texts: list[str]) -> IntArray | None:
    """The codes of original texts, or None when one of them is outside the domain."""
    if isinstance(levels, (Steps, Listed)):
        found = [levels.code(text) for text in texts]
    elif isinstance(levels, Spelled):
        found = [levels.words.rank(text) for text in texts]
    else:
        return None
    return None if any(code is None for code in found) else np.array(found, dtype=np.int64)


def fallback(
    heuristic: Heuristic, size: int, variety: Variety = "order"
) -> Callable[[SamplingProblem, RulePart], Blocks]:
    """The router's last resort with these settings."""
    return lambda problem, part: Blocks(problem, part, heuristic, size, variety)
