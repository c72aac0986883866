"""How long a search may take: three words for it, and a request to take the best result found so far.

A search counts its work, so the same word gives the same release on every machine and number of cores. A request to
take what there is ends every search of this process after the step it is in; the release is audited as always.

>>> with take_on_request() as request:
...     before = taking()
...     request()
...     before, taking()
(False, True)
>>> taking()
False

A search that is watched records its course, and ends when all watched searches together did the allowed work. What a
longer search would reach is estimated from the course: every further doubling of the work is taken to gain half as much
as the last one that was seen (`FADING`; ``python -m benchmarks effort`` compares estimates with results).

>>> course = SearchCourse(limit=8.0, allowed=2.0, steps=[(0.0, 1.10), (1.0, 1.02), (2.0, 1.00)])
>>> course.cost_after(1.0), course.cost_after(2.0), round(course.cost_after(8.0), 4)
(1.02, 1.0, 0.98)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import log2
from threading import Event
from typing import Literal, get_args

Effort = Literal["quick", "balanced", "thorough"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
USUAL: Effort = "balanced"
FADING = 0.5
"""The share of the last gain of a doubling that a further doubling is taken to gain."""
_TAKE = Event()
_WATCHED: list[SearchWatch] = []


@dataclass
class SearchCourse:
    """The course of one search: work in seconds of one core, and the cost, after every step."""

    limit: float
    """Seconds that the search may take at most."""
    allowed: float
    """Seconds that it may take while it is watched."""
    steps: list[tuple[float, float]] = field(default_factory=list)
    ended: bool = False
    """Whether it ended by its own rule before the allowed work was done."""

    @property
    def done(self) -> float:
        return self.steps[-1][0] if self.steps else 0.0

    def cost_after(self, seconds: float) -> float:
        """Return the cost that the search had after so much work, or is expected to have."""
        seen = [cost for work, cost in self.steps if work <= seconds + 1e-9]
        if self.ended or seconds <= self.done or self.done <= 0:
            return seen[-1] if seen else self.steps[0][1]
        before = next(cost for work, cost in reversed(self.steps) if work <= self.done / 2)
        last = self.steps[-1][1]
        return max(last - FADING * (before - last) * log2(seconds / self.done), 0.0)


@dataclass
class SearchWatch:
    """The searches of a block, which together may do so many seconds of work."""

    seconds: float
    courses: list[SearchCourse] = field(default_factory=list)

    def begin(self, limit: float) -> SearchCourse:
        left = max(self.seconds - sum(course.done for course in self.courses), 1e-3)
        self.courses.append(SearchCourse(limit, min(limit, left)))
        return self.courses[-1]


@contextmanager
def watch_searches(seconds: float) -> Iterator[SearchWatch]:
    """Record the courses of all searches of the block, and end them when so many seconds of work are done."""
    _WATCHED.append(SearchWatch(seconds))
    try:
        yield _WATCHED[-1]
    finally:
        _WATCHED.pop()


def begin_search(limit: float) -> SearchCourse:
    """Return the course that a search of at most so many seconds is to record."""
    return _WATCHED[-1].begin(limit) if _WATCHED else SearchCourse(limit, limit)


def taking() -> bool:
    """Whether a person asked for the best result so far: searches end."""
    return _TAKE.is_set()


@contextmanager
def take_on_request() -> Iterator[Callable[[], None]]:
    """Let the block be ended early: what it yields asks its searches to end with the best they have."""
    _TAKE.clear()
    try:
        yield _TAKE.set
    finally:
        _TAKE.clear()
