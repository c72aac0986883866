"""Child processes for solver blocks: one crew for all parts of a problem, called in only when the work is worth it.

Building a solver's model holds Python's lock, so threads gain nothing; and a solver that aborts takes its process with it.

Invariants
    I1  A task carries everything its answer depends on (block, values, seed): who solves it, and when, does not change it.
    I2  A child that dies ends the run with an error; errors raised on purpose arrive as they were raised.
    I3  Work that one process finishes sooner than children start stays where it is: the first tasks of a part are solved
        here, and only when they were slow enough do the others go to the crew.

Paper: [obfuscation §5.3], independent sub-problems solved at the same time.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.methods.replacing.sampling.engines import NewColumn
from sfumato.methods.replacing.sampling.patience import Patience
from sfumato.policy.rules.tree import ColumnValue
from sfumato.randomness import Randomness

_WORTH = 4.0
"""Seconds of work left that justify calling in children, which need about one second to start."""
_engines: Sequence[Divided] = ()


class Divided:
    """An engine whose work falls into tasks."""

    name: str
    uniform: bool
    reads_original: bool

    @abstractmethod
    def run(self, random: Randomness, crew: Crew | None = None) -> dict[ColumnValue, NewColumn]:
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


class Crew:
    """Solves tasks of several engines, in this process or in `jobs` others."""

    def __init__(
        self,
        jobs: int,
        engines: Sequence[Divided],
        tick: Callable[[Divided], None] | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.engines = list(engines)
        self._tick = tick
        self.patience = patience or Patience()
        alone = len(self.engines) == 1 and not self.engines[0].splits
        self._jobs = 1 if alone else jobs
        self._pool: ProcessPoolExecutor | None = None
        self._lock = Lock()
        self._stopped = False
        self._efforts = {id(engine): _Effort(engine.tasks) for engine in self.engines}

    def __enter__(self) -> Crew:
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
