"""`refined`: the best of three quick methods, improved by local search while that helps or until its work is done.

Starts: mondrian, a lattice sweep and, where the table has few enough distinct tuples, greedy clustering, which grows
faster than linearly. The search is in `local_search`. Everything it does keeps the requirements and the boundaries;
what it minimizes is the policy's own figure. How much it does is stated in seconds of one core and counted in
comparisons, so that the answer does not depend on the machine, on who else uses it, or on how many cores work at once.


Lattice
-------
Lattice sweep: generalize all columns level by level; records that are safe at a combination of levels stay there.

A level of a hierarchy is a cut at one depth; a range is cut into 1, 2, 4, … parts of about equally many records. The
combinations of levels are visited from the least to the most costly. Points whose class satisfies the requirements are
fixed and leave, so every record gets (nearly) the cheapest uniform recoding that is safe for it.

Paper: the lattice of full-domain recodings is that of Samarati (2001); regions are those of [boundaries Def. 9].

Invariants
    I1  A class is made of points of one region.
    I2  A class is fixed only when the requirements hold for it.
    I3  A level never reads a leaf above its ceiling; the most costly combination reads every leaf at its ceiling.

Cost: combinations × points still in play; the number of combinations is limited so that this product is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.effort import EFFORTS, Effort, SearchCourse
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.greedy_clustering import cluster
from sfumato.kinds.tables.methods.local_search import AT_LEAST, BEYOND, EARLIEST, SPEED, hardly_gains, refine
from sfumato.kinds.tables.methods.multidimensional_partitioning import counts_persons, mondrian
from sfumato.kinds.tables.methods.outlier_suppression import without_outliers
from sfumato.kinds.tables.methods.person_requirements import enforce_person_requirements
from sfumato.kinds.tables.methods.recoding import RecodingMethod, suppression_budget
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import Claims, Grouping, RecodingProblem
from sfumato.policy.policy import Policy
from sfumato.release.method import Task
from sfumato.release.release import Release

PER_RECORD, FIRST, LATER = 5e-4, 45.0, 5e-5
"""What a thorough search takes at most: so many seconds for every record until the first are spent, and a few for every
further one. A small table is searched well in a moment, and its owner waits for it."""
QUICK = 0.04
"""The share of a thorough search that a quick one does."""
LEAST_GAIN = 0.025
"""A balanced search ends when twice the work takes less than this share off the loss (`python -m benchmarks
effort`)."""
_LEAST = 0.05
CLUSTERED = 40_000
"""Up to this many distinct tuples greedy clustering is one of the starts."""


class Refined(RecodingMethod):
    """Improve the best of mondrian, a lattice search and clustering by local search; the default for least loss."""

    name: ClassVar[str] = "refined"
    on_classes: ClassVar[bool] = True
    by_region: ClassVar[bool] = True
    paper: ClassVar[str] = "boundaries Def. 8-11 for what is kept; the search is our own"

    seconds: float | None = Field(
        default=None,
        gt=0,
        description="time limit of the search, in seconds of one core; by default as the effort says",
    )

    def preference(self, records: int | None) -> tuple[int, str]:
        return 20, "it has the lowest information loss for its time (mondrian is faster)"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        known = super().describe(policy, data)
        if self.seconds:
            return [*known, f"search time: {self.seconds:g} s of one core, shared by all cores"]
        if data is None:
            return known
        spans = {effort: self.seconds_announced(data.records, effort) for effort in EFFORTS}
        told = ", ".join(
            f"{effort} {f'{least:.2g} to ' if least < usual else ''}{usual:.2g} s"
            for effort, (least, usual, _) in spans.items()
        )
        return [*known, f"effort: {policy.effort} (search time on one core: {told}; at most half as long again)"]

    def seconds_announced(self, records: int, effort: Effort) -> tuple[float, float, float]:
        """Return the seconds of one core after which a search may end, after which it begins no further step, and
        which it does not exceed, unless its first step does."""
        limit = self.time_for(records, effort)
        anytime = effort == "balanced" and self.seconds is None
        least = min(max(EARLIEST * limit, AT_LEAST / SPEED), limit) if anytime else limit
        return least, limit, BEYOND * limit

    def time_for(self, records: int, effort: Effort = "thorough") -> float:
        """Return the seconds of search for so many records, at most."""
        thorough = max(_LEAST, min(PER_RECORD * records, FIRST) + LATER * records)
        return self.seconds or (_quick(thorough) if effort == "quick" else thorough)

    def effort_of_trial(self, policy: Policy) -> Effort:
        return "thorough" if policy.effort == "thorough" else "balanced"  # quick is a beginning of both

    def seconds_of_trial(self, policy: Policy, records: int) -> float:
        return self.time_for(records, policy.effort)

    def expected_cost(self, course: SearchCourse, effort: Effort) -> tuple[float, bool]:
        if self.seconds is not None or effort == "thorough":
            whole = course.ended or course.done >= course.limit
            return course.steps[-1][1] if whole else course.cost_after(course.limit), whole
        if effort == "quick":
            quick = _quick(course.limit)
            reached = [cost for work, cost in course.steps if quick <= work <= BEYOND * quick]
            if reached or course.allowed <= quick:  # else a further step would take too long
                return (reached or [course.steps[-1][1]])[0], True
            return course.cost_after(quick), course.ended
        passed = [(work * SPEED, cost) for work, cost in course.steps]
        for place in range(1, len(passed) + 1):
            if hardly_gains(passed[:place], course.limit * SPEED, LEAST_GAIN):
                return passed[place - 1][1], True
        if course.ended or course.done >= course.limit:
            return course.steps[-1][1], True
        ends = max(EARLIEST * course.limit, AT_LEAST / SPEED, course.done)
        worth = course.cost_after(ends) - course.cost_after(2 * ends) >= LEAST_GAIN * course.cost_after(ends)
        return course.cost_after(course.limit if worth else min(ends, course.limit)), False

    def release(self, task: Task, problem: RecodingProblem) -> Release:
        made = super().release(task, problem)
        spent = made.suppressed - problem.suppressed
        told = f"{spent:,} outliers were suppressed, because the other records gain more than these lose"
        return replace(made, notes=(*made.notes, told)) if spent > 0 and not task.history else made

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        """The groups of all records, less the outliers that the policy allows to suppress where that gains."""
        found = self._searched(problem, task)
        if not task.policy.utility.suppress_at_most or task.history is not None:
            return found
        allowed = suppression_budget(task.policy, problem, task.withheld)
        return without_outliers(problem, found, task.policy.utility.minimize, allowed)

    def _searched(self, problem: RecodingProblem, task: Task) -> Grouping:
        objective, seconds = task.policy.utility.minimize, self.time_for(problem.records, task.policy.effort)
        first = starts(problem, objective, task)

        def tell(done: float, loss: float) -> None:
            left = (BEYOND - done) * seconds
            task.progress(done, f"improving, loss {loss:.4f} so far, at most {left:.2g} s of one core left")

        found = refine(
            problem,
            first,
            objective=objective,
            seconds=seconds,
            jobs=task.jobs,
            while_worth=self.seconds is None,
            least_gain=LEAST_GAIN if self.seconds is None and task.policy.effort == "balanced" else 0.0,
            progress=tell,
        )
        if not counts_persons(problem):
            return found
        costs = Costs.of(
            problem, objective
        )  # the search counts rows of people where they are, and is set right afterwards
        return min((enforce_person_requirements(problem, found), first[0]), key=lambda one: costs.mean(problem, one))


def _quick(thorough: float) -> float:
    return min(max(_LEAST, QUICK * thorough), thorough)


def starts(problem: RecodingProblem, objective: str, task: Task) -> list[Grouping]:
    """The quick methods' groupings."""
    task.progress(0.0, "cutting the table")
    cut = mondrian(problem, objective=objective)
    task.progress(0.0, "sweeping the lattice")
    swept = lattice_sweep(problem, objective=objective)
    if len(problem.points) > CLUSTERED:
        return [cut, swept]
    task.progress(0.0, "clustering")
    return [cut, swept, cluster(problem, price="width" if objective == "loss" else "height")]


# Lattice
# -------


Progress = Callable[[float], None]

WORK, MOST = 400_000_000, 20_000
"""Points × combinations that a sweep may look at, and combinations."""
_PARTS = 64


@dataclass(frozen=True, slots=True)
class Level:
    """One way to read a column: for each leaf the interval it is read as, and what that costs an average record."""

    lo: IntArray
    hi: IntArray
    cost: float


def lattice_sweep(problem: RecodingProblem, *, objective: str = "loss", progress: Progress | None = None) -> Grouping:
    """Fix points at the cheapest combination of levels at which their class is safe."""
    claims = Claims(problem)
    levels = levels_of(problem, Costs.of(problem, objective))
    visits = combinations_of(levels, max(100, min(MOST, WORK // max(len(problem.points), 1))))
    final = np.full(len(problem.points), -1, dtype=np.int64)
    sweep = _Sweep(problem, claims, levels)
    found, left = 0, np.flatnonzero(~problem.out)
    for visit, combination in enumerate(visits):
        of = sweep.safe_classes(left, combination)
        fixed = of >= 0
        if fixed.any():
            final[left[fixed]] = found + of[fixed]
            found += int(of.max()) + 1
            left = left[~fixed]
        if not len(left):
            break
        if progress is not None:
            progress((visit + 1) / len(visits))
    _adopt(problem, claims, final, left)
    return problem.grouping(np.where(final >= 0, np.unique(final, return_inverse=True)[1] - int((final < 0).any()), -1))


class _Sweep:
    """The points as numbers that are quick to add up, at every level."""

    def __init__(self, problem: RecodingProblem, claims: Claims, levels: list[list[Level]]) -> None:
        self.problem, self.claims = problem, claims
        bits = np.random.default_rng(20_06)
        self.marks = [[_marks(level, bits) for level in column] for column in levels]
        self.start = np.cumsum([0, *(domain.size for domain in problem.domains[:-1])])
        self.low = (1 << len(problem.regions).bit_length()) - 1

    def safe_classes(self, left: IntArray, combination: tuple[int, ...]) -> IntArray:
        """For each point that is left its class, numbered without gaps, or −1 when the class is not safe (I2)."""
        from sfumato.kinds.tables.methods.kernels.partitioning import coarse_classes

        marks = np.concatenate([column[level] for column, level in zip(self.marks, combination, strict=True)])
        region = self.problem.regions.of[left]  # I1
        of, size = coarse_classes(
            self.problem.points[left], region, self.problem.counts[left], marks, self.start, self.low
        )
        safe = size >= self.claims.fewest
        if not self.claims.by_size and safe.any():
            safe[safe] = self.claims.hold(self._grouping(left, _renumbered(safe)[of]))
        return _renumbered(safe)[of]

    def _grouping(self, left: IntArray, of: IntArray) -> Grouping:
        whole = np.full(len(self.problem.points), -1, dtype=np.int64)
        whole[left] = of
        return self.problem.grouping(whole)


def _renumbered(chosen: np.ndarray) -> IntArray:
    return np.where(chosen, np.cumsum(chosen) - 1, -1)


def _marks(level: Level, bits: np.random.Generator) -> IntArray:
    """A random number for every leaf, equal for leaves that are read alike."""
    _, of = np.unique(np.stack([level.lo, level.hi]), axis=1, return_inverse=True)
    drawn = bits.integers(-(1 << 62), 1 << 62, int(of.max()) + 1)
    return drawn[of.ravel()]


def levels_of(problem: RecodingProblem, costs: Costs) -> list[list[Level]]:
    """The levels of every column, from fine to coarse; levels that cost the same are one."""
    kept = ~problem.out
    table = []
    for column, domain in enumerate(problem.domains):
        tally = np.bincount(problem.points[kept, column], problem.counts[kept], domain.size).astype(np.float64)
        readings = [_below_ceiling(domain, lo, hi) for lo, hi in _readings(domain, tally)]
        column_levels = [
            Level(lo, hi, _mean(costs.column(column, *domain.close(lo, hi)), tally)) for lo, hi in readings
        ]
        column_levels.sort(key=lambda level: level.cost)
        table.append(
            [level for i, level in enumerate(column_levels) if i == 0 or _differs(level, column_levels[i - 1])]
        )
    return table


def _differs(level: Level, other: Level) -> bool:
    return not (np.array_equal(level.lo, other.lo) and np.array_equal(level.hi, other.hi))


def _mean(cost: FloatArray, tally: FloatArray) -> float:
    return float((cost * tally).sum() / max(tally.sum(), 1.0))


def _readings(domain: Generalization, tally: FloatArray) -> Iterator[tuple[IntArray, IntArray]]:
    leaf = np.arange(domain.size, dtype=np.int64)
    if isinstance(domain, Hierarchy):
        for row in domain.ancestors[::-1]:
            yield domain.lo[row], domain.hi[row]
        return
    yield leaf, leaf + 1
    middle = (np.cumsum(tally) - tally / 2) / max(tally.sum(), 1.0)
    parts = 1
    while parts < min(domain.size, _PARTS):
        part = np.minimum((middle * parts).astype(np.int64), parts - 1)
        yield np.searchsorted(part, part, side="left"), np.searchsorted(part, part, side="right")
        parts *= 2


def _below_ceiling(domain: Generalization, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
    """The reading, but no leaf above its ceiling (I3)."""
    floor, roof = domain.ceiling()
    return np.maximum(lo, floor), np.minimum(hi, roof)


def combinations_of(levels: list[list[Level]], most: int) -> list[tuple[int, ...]]:
    """Combinations of levels from the least to the most costly, at most about `most` of them, the coarsest always."""
    kept = [list(range(len(column))) for column in levels]
    while np.prod([float(len(column)) for column in kept]) > most and max(map(len, kept)) > 2:
        _thin(kept, levels)
    if np.prod([float(len(column)) for column in kept]) <= most:
        every = list(product(*kept))
    else:
        every = _sampled(levels, most)
    cost = np.array([sum(levels[column][level].cost for column, level in enumerate(one)) for one in every])
    return [every[i] for i in np.argsort(cost, kind="stable")]


def _thin(kept: list[list[int]], levels: list[list[Level]]) -> None:
    """Drop one inner level of the column that has most: the one nearest to its finer neighbour."""
    column = max(range(len(kept)), key=lambda c: len(kept[c]))
    costs = [levels[column][level].cost for level in kept[column]]
    inner = min(range(1, len(costs) - 1), key=lambda i: costs[i] - costs[i - 1])
    del kept[column][inner]


def _sampled(levels: list[list[Level]], most: int) -> list[tuple[int, ...]]:
    """A sample for tables of very many columns: from nothing read coarsely to everything."""
    draw = np.random.default_rng(len(levels))
    chosen = {tuple(len(column) - 1 for column in levels), tuple(0 for _ in levels)}
    for coarse in np.linspace(0.0, 1.0, most):
        raised = draw.random(len(levels)) < coarse
        picked = [
            int(draw.integers(1, len(c))) if up and len(c) > 1 else 0 for c, up in zip(levels, raised, strict=True)
        ]
        chosen.add(tuple(picked))
    return sorted(chosen)


def _adopt(problem: RecodingProblem, claims: Claims, final: IntArray, left: IntArray) -> None:
    """Points that were safe nowhere join groups of their region, as few as it takes: the last ones fixed cost most
    anyway."""
    for region in np.unique(problem.regions.of[left]):
        inside = np.flatnonzero((problem.regions.of == region) & ~problem.out)
        waiting = inside[final[inside] < 0]
        own = int(final.max()) + 1
        final[waiting] = own
        while not _one_holds(problem, claims, final, own):
            final[final == final[inside][final[inside] != own].max()] = own


def _one_holds(problem: RecodingProblem, claims: Claims, final: IntArray, own: int) -> bool:
    return bool(claims.hold(problem.grouping(np.where(final == own, 0, -1)))[0])
