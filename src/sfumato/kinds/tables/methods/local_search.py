"""Local search: groups are rebuilt in small neighbourhoods and boxes are opened among them, district by district, in
turns.

Three kinds of turns. `rebuilding` takes a costly group and a few groups near it apart and puts them together more
cheaply; it is best where groups are small. `opening` opens a box around a costly record for all people who pays more
than it costs; it is best where groups are large or shares of values bind. If only counts are required, the third kind
dissolves several groups at once and opens boxes for their records (`kernels.box_opening`). It changes most, takes long
turns, and begins after several turns of the others. Whatever has brought more for its work lately is used next, the
others from time to time.

A district is some groups that are near each other in one order of the columns, which differs from turn to turn.
Districts have nothing in common, so they are worked on side by side.

Paper: in the spirit of sequential clustering (Goldberger, Tassa 2010); any requirements, within the regions of
[boundaries Def. 9].

Notation
    work      comparisons, roughly; a second of search is `SPEED` of them, on every machine and under any load

Invariants
    I1  What a turn makes of a district is taken only when it costs less, and, by the models themselves, every group
        satisfies the requirements. So the result is never worse than the best start.
    I2  What a turn does depends on the turns before it alone, never on the time, the work that is still allowed, or how
        many districts are worked on at once. So the answer is the same for any number of jobs, and more seconds never
        give a worse one.


Ground
------
The ground of a search: the units of a problem, what boxes around them cost and what groups of them must offer, made
once.


Rebuilding
----------
Neighbourhoods of some groups, taken apart and put together again (`kernels.neighbourhood_rebuilding`), for one round
over them.

A neighbourhood is a costly group and a few groups near it. Its records are moved one unit at a time, surplus records of
large groups are lent, groups are dissolved into others, and the whole neighbourhood is grown anew around random units;
the cheapest arrangement is proposed. Points may be divided between groups: overlapping local recoding. Neighbourhoods
hold a few of the groups that cost most, so they grow with these.

Invariants
    I1  Proposals keep within one region and place every record they take.
    I2  A proposal is accepted only when the models themselves say that each of its groups satisfies the requirements.
    I3  An accepted proposal lowers the cost.
    I4  The same groups and number give the same answer.


Opening
-------
Boxes that are opened among some groups (`kernels.box_opening`, `kernels.box_opening`): the arrays that the compiled
loops work on, made
and read back.

Groups that annealing has made are often no cheaper than those it began with, and still hold boxes that are worth
having: these are offered to the groups that were there, which take what saves something.

Invariants
    I1  Nothing is said about groups whose claims the loop cannot read (`terms_of` gives none).
    I2  The same groups, work and number give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.core.arrays import BoolArray, CodeArray, FloatArray, IntArray
from sfumato.core.effort import SearchCourse, begin_search, taking
from sfumato.core.errors import Infeasible
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.hierarchy import Hierarchy
from sfumato.kinds.tables.methods.class_merging import Entries, Units
from sfumato.kinds.tables.methods.recoding_costs import Costs, cell_costs
from sfumato.kinds.tables.methods.recoding_problem import Claims, Grouping, RecodingProblem

if TYPE_CHECKING:
    from sfumato.kinds.tables.methods.kernels.box_opening import Site
    from sfumato.kinds.tables.methods.kernels.cell_costs import CellCosts
    from sfumato.kinds.tables.methods.kernels.class_membership import Seating, Shape, Terms, Workbench
    from sfumato.kinds.tables.methods.kernels.neighbourhood_rebuilding import Offer, Proposals, State


class SearchState:
    """What does not change while groups do."""

    def __init__(self, problem: RecodingProblem, objective: str) -> None:
        self.problem, self.objective = problem, objective
        self.claims = Claims(problem)
        self.units = Units(problem, self.claims)
        self.costs = cell_costs(problem, objective)
        self._sort_columns()
        self.terms = terms_of(problem, self.claims)
        self.shape = shape_of(problem, self.columns)
        self.monotone = all(requirement.model.monotone for requirement in problem.requirements)

    def _sort_columns(self) -> None:
        """Tables first, and columns that tell units apart most, so that hopeless comparisons end early."""
        from sfumato.kinds.tables.methods.kernels.cell_costs import TABLE, cell_costs_of

        codes = self.units.codes.astype(np.int64)
        one, other = codes[np.random.default_rng(1).integers(0, len(codes), (2, 1000))]
        pairs = list(zip(np.minimum(one, other).T, np.maximum(one, other).T, strict=True))
        apart = [cell_costs_of(self.costs, column, lo, last).mean() for column, (lo, last) in enumerate(pairs)]
        self.columns = np.lexsort((-np.array(apart), self.costs.rule))
        self.codes = np.ascontiguousarray(self.units.codes[:, self.columns])
        kept = {name: getattr(self.costs, name)[self.columns] for name in ("rule", "size", "start", "weight")}
        self.costs = self.costs._replace(tables=int((kept["rule"] == TABLE).sum()), **kept)

    def offer(self) -> Offer:
        """Return the demands on a group that are tested before the models, with their own working memory."""
        from sfumato.kinds.tables.methods.kernels.neighbourhood_rebuilding import Offer

        labels = max((len(column.labels) for column in self.problem.sensitive), default=0)
        return Offer(self.claims.fewest, *self._variety, np.zeros(labels + 1, dtype=np.int64))

    @cached_property
    def _variety(self) -> tuple[IntArray, BoolArray]:
        asked = [self.claims.variety(name) for name in self.claims.hidden]
        kinds = np.array([kinds for kinds, _ in asked], dtype=np.int64)
        return kinds, np.array([even for _, even in asked], dtype=np.bool_)


# Local search
# ------------


Progress = Callable[[float], None]
Kind = Literal["rebuild", "open", "clear"]
Each = Callable[..., Iterator[Any]]
"""`map`, or one that works on several districts at once."""

SPEED = 230_000_000
"""Work that one core does in a second."""
REBUILT = 6
"""A comparison of rebuilding takes as long as so many of opening."""
DISTRICT, PER_GROUP, MOST = 6_000, 600, 60_000
"""Entries of a district: at least so many, and so many groups of the kind that costs most, but no more than the
last."""
ABREAST = 8
"""Districts that are worked on before any person looks how much work is left; at most so many at once."""
PER_ENTRY = 10_000
"""Work of opening boxes per entry of a district, in a turn."""
HANDED = 1_000
"""Entries up to which handing districts over to other cores would take longer than to work on them."""
ENTRIES, SOME, MANY = 3, 4, 16
"""The first turn of clearing groups does as many times the work of one that opens boxes as the groups that cost most
have entries in threes, but at least and at most so many times; and never more than all turns before it, so that short
searches stay short."""
SEEDS = 1_000_003
"""Turns between one seed and the next: more than any search takes."""
PATIENCE, SHORT = 12, 6
"""Turns in a row that may bring next to nothing, in a search and in a short one."""
WAIT = 4
"""A kind of turns that brought less is tried again after so many times the work of its last turn."""
HURRY = 0.05
"""The share of their work that the first turns of opening boxes take in short searches."""
CROWD = 30
"""Entries of the groups that cost most, from which on clearing groups may gain much after it gained little."""
SOON, STRETCH, WORTH = SPEED // 5, 0.05, 2.5e-4
"""Unless time was asked for, a search ends after the first work, when a stretch, the second share of all its work,
takes less than the third off the loss."""
EARLIEST, AT_LEAST, TURNS = 0.09, SPEED, 4
"""Share of the work, work, and turns that are done before the gain of a doubling may end a search: gains come in
leaps."""
LONG, AFTER = 0.4, 3
"""A later turn that does this share of all work so far prepares gains of others: so many turns follow before a search
ends."""
BEYOND = 1.5
"""How many times its limit a search takes at most: a step that would take it further is not begun."""
PER_RECORD = 250_000
"""Work for each record that has a choice, at most, in short searches."""
_ATTEMPTS = 12
"""Short searches from each start."""


def refine(
    problem: RecodingProblem,
    starts: Sequence[Grouping],
    *,
    objective: str = "loss",
    seconds: float = 15.0,
    jobs: int = 1,
    seed: int = 0,
    while_worth: bool = False,
    least_gain: float = 0.0,
    progress: Callable[[float, float], None] | None = None,
) -> Grouping:
    """The best of the starts, improved until nothing helps or so many seconds of work are done.

    With `while_worth` it ends before, when a part of them gains next to nothing; with `least_gain`, when the last
    doubling of the work took less than this share off the loss. `progress` is called with the share of the work that is
    done and the loss so far. `seed` shifts the draws: nothing that is published rests on them, and it shows how much a
    result owes to them."""
    if not starts:
        raise Infeasible("a search needs a grouping to start from")
    costs = Costs.of(problem, objective)
    best = min(starts, key=lambda start: costs.mean(problem, start))
    if best.groups == 0:
        return best
    course = begin_search(seconds)
    ground, most = SearchState(problem, objective), int(course.allowed * SPEED)
    search = _Search(
        ground, problem, best, most, jobs, progress, turn=seed * SEEDS, while_worth=while_worth, least_gain=least_gain,
        course=course,
    )  # fmt: skip
    search.run()
    return search.found()


def refine_each(
    problem: RecodingProblem,
    starts: Sequence[Grouping],
    *,
    objective: str = "loss",
    seconds: float = 1.0,
    progress: Progress | None = None,
) -> Grouping:
    """The best of several short searches, from each start in turn with draws of its own, until so many seconds of work
    are done.

    Few records end a search soon, in a place that owes much to chance; with many the first search takes all the time,
    so the start that leads furthest comes first. Where few have a choice, less time is taken."""
    if not starts:
        raise Infeasible("a search needs a grouping to start from")
    ground, most, done = SearchState(problem, objective), int(seconds * SPEED), 0
    costs = Costs.of(problem, objective)
    best, least = starts[0], costs.mean(problem, starts[0])
    for attempt in range(_ATTEMPTS * len(starts)):
        start, seed = starts[attempt % len(starts)], attempt // len(starts)
        if start.groups == 0 or done >= most or taking():
            break
        search = _Search(ground, problem, start, most - done, 1, None, turn=seed * SEEDS, hurry=HURRY, patience=SHORT)
        most = max(min(most, int(search.entries.count.sum()) * PER_RECORD), 1)
        search.run()
        done += max(search.done, most // 100)
        found = search.found()
        if (loss := costs.mean(problem, found)) < least:
            best, least = found, loss
        if progress is not None:
            progress(min(1.0, done / most))
    return best


def hardly_gains(passed: Sequence[tuple[float, float]], whole: float, least: float) -> bool:
    """Whether the last doubling of the work took less than a share off the cost, where that may end a search.

    `passed` has the work done and the cost after every turn, `whole` is the work that is allowed."""
    done, cost = passed[-1]
    if len(passed) <= TURNS or done < max(EARLIEST * whole, AT_LEAST):
        return False
    later = range(max(TURNS + 1, len(passed) - AFTER), len(passed))
    if any(passed[turn][0] - passed[turn - 1][0] >= LONG * passed[turn][0] for turn in later):
        return False
    half = min((before for earlier, before in passed if earlier <= done / 2), default=np.inf)
    return bool(half - cost < least * cost)


@dataclass
class _Turns:
    """What turns of one kind have brought lately."""

    rate: float = np.inf
    longer: float = 1.0
    work: int = 0
    """Of the last turn."""
    last: int = 0
    """What was done when it ended."""


@dataclass
class _Done:
    """What became of a district."""

    entries: Entries
    saved: float
    work: int


@dataclass
class _Search:
    """Groups that get cheaper."""

    ground: SearchState
    problem: RecodingProblem
    start: Grouping
    most: int
    jobs: int
    progress: Callable[[float, float], None] | None
    done: int = 0
    turn: int = 0
    hurry: float = 1.0
    patience: int = PATIENCE
    while_worth: bool = False
    least_gain: float = 0.0
    kinds: dict[Kind, _Turns] = field(default_factory=dict)
    course: SearchCourse | None = None
    full: bool = False
    """Whether the next step would exceed the allowed work too far."""

    def __post_init__(self) -> None:
        whole = Rebuilding(self.ground, self.ground.units.entries(self.start), 0)
        self.settled, self.entries = self._apart(whole)
        self.kinds = {"rebuild": _Turns()}
        self.crowded = typical_size(whole.state) >= CROWD
        if self.ground.terms is not None:
            self.kinds["open"] = _Turns(longer=self.hurry)
            if not len(self.ground.terms.kinds):
                longer = float(np.clip(typical_size(whole.state) / ENTRIES, SOME, MANY))
                late = int(PER_ENTRY * len(self.entries.unit) * self.hurry)  # as if it had had a turn
                self.kinds["clear"] = _Turns(rate=0.0, longer=longer * self.hurry, work=late)
        self.fixed = Rebuilding(self.ground, self.settled, 0).cost if len(self.settled.unit) else 0.0
        self.total = whole.cost - self.fixed
        self.district = int(np.clip(PER_GROUP * typical_size(whole.state), DISTRICT, MOST))

    def _apart(self, whole: Rebuilding) -> tuple[Entries, Entries]:
        """Groups that nothing can be done about, and the others: where a region is one group too small for two, or
        costs nothing.

        Of people who were published before most are such: only who is new has a choice.
        """
        state, entries = whole.state, whole.entries
        places, region = np.unique(state.region, return_inverse=True)
        records = np.bincount(region, weights=state.size)
        stuck = (np.bincount(region) == 1) & (records < 2 * self._fewest())
        stuck |= np.bincount(region, weights=state.cost * state.size) <= 1e-12
        stuck |= self.problem.settled_regions[places]
        first = entries.first
        return _part(entries, first, np.flatnonzero(stuck[region])), _part(
            entries, first, np.flatnonzero(~stuck[region])
        )

    def _fewest(self) -> int:
        """The fewest records of a group, as far as the claims count."""
        return max(
            [
                self.ground.claims.fewest,
                *(requirement.model.demand().fewest for requirement in self.problem.requirements),
            ]
        )

    def found(self) -> Grouping:
        """The groups as they are."""
        return self.ground.units.grouping(_together([part for part in (self.settled, self.entries) if len(part.unit)]))

    def run(self) -> None:
        """Turns until the work is done, or many in a row brought next to nothing."""
        if self.jobs == 1 or len(self.entries.unit) <= HANDED:
            self._take_turns(map)
            return
        with ThreadPoolExecutor(self.jobs) as workers:
            self._take_turns(workers.map)

    def _take_turns(self, each: Each) -> None:
        idle, passed = 0, [(self.done, self.total)]
        self._record()
        while self.done < self.most and not self.full and not taking():
            if idle >= self.patience or self.total <= 1e-9 or self._is_settled(passed):
                if self.course is not None:
                    self.course.ended = True
                break
            if self.least_gain and hardly_gains(passed, self._limit(), self.least_gain):
                break
            before = self.total
            self._take_turn(self._next_kind(), each)
            idle = idle + 1 if before - self.total <= 2e-5 * before else 0
            passed.append((self.done, self.total))
            self._record()

    def _record(self) -> None:
        """Note work and loss of all records, published exactly or not, in the course of the search."""
        if self.course is not None:
            self.course.steps.append((self.done / SPEED, self.total + self.fixed))

    def _limit(self) -> int:
        """The work of the whole search, watched or not."""
        return self.most if self.course is None else int(self.course.limit * SPEED)

    def _is_settled(self, passed: list[tuple[int, float]]) -> bool:
        """Whether the last stretch of the work was not worth it, where that may end the search."""
        if self.done < SOON or not self.while_worth or not self._steady():
            return False
        high = min((total for done, total in passed if done <= self.done - STRETCH * self._limit()), default=np.inf)
        return high - self.total < WORTH * self.total

    def _steady(self) -> bool:
        """Whether gains become less and less: with requirements on shares, entropy or distance, and in large groups,
        some are late."""
        terms = self.ground.terms
        if terms is None or self.crowded:
            return False
        return bool((terms.share >= 1).all() and (terms.entropy <= 0).all() and (terms.far >= 1).all())

    def _next_kind(self) -> Kind:
        """What brought most for its work, unless the other has waited for several times the work of its last turn."""
        waited = [kind for kind, turns in self.kinds.items() if self.done - turns.last > WAIT * turns.work]
        return waited[0] if waited else max(self.kinds, key=lambda kind: self.kinds[kind].rate)

    def _take_turn(self, kind: Kind, each: Each) -> None:
        self.turn += 1
        self._merge_alike()
        turns, parts = self.kinds[kind], list(self._districts())
        made: list[Entries] = []
        saved, work = 0.0, 0
        for first in range(0, len(parts), ABREAST):
            batch = parts[first : first + ABREAST]
            if self._exceeds(kind, turns, batch, work):
                self.full = True
                break
            found = list(each(lambda part: self._work_on(kind, turns, part), batch))
            made += [done.entries for done in found]
            saved += sum(done.saved for done in found)
            work += sum(done.work for done in found)
            self._tell(work)
            if self.done + work >= self.most or taking():
                break
        self.entries = _together([*made, *(part for _, part in parts[len(made) :])])
        self.total -= saved
        self.done += work
        turns.rate, turns.work, turns.last = saved / max(work, 1), work, self.done
        if saved <= 1e-3 * self.total:
            turns.longer = min(turns.longer * 1.5, 40.0)

    def _exceeds(self, kind: Kind, turns: _Turns, batch: Sequence[tuple[int, Entries]], work: int) -> bool:
        """Whether working on some districts would take the search more than `BEYOND` times over its limit."""
        share = sum(len(part.unit) for _, part in batch) / max(len(self.entries.unit), 1)
        ahead = share * (turns.work if kind == "rebuild" else self._whole(kind, turns))
        return self.course is not None and self.done + work > 0 and self.done + work + ahead > BEYOND * self.most

    def _whole(self, kind: Kind, turns: _Turns) -> float:
        """The work of a whole turn that opens boxes; of clearing as much as all turns before it, at most (I2)."""
        whole = PER_ENTRY * len(self.entries.unit) * turns.longer
        return min(whole, self.done) if kind == "clear" else whole

    def _tell(self, work: int) -> None:
        if self.progress is not None:
            self.progress(
                min(1.0, (self.done + work) / self.most), (self.total + self.fixed) / max(self.problem.records, 1)
            )

    def _work_on(self, kind: Kind, turns: _Turns, numbered: tuple[int, Entries]) -> _Done:
        number, part = numbered
        before = Rebuilding(self.ground, part, number)
        if kind == "rebuild":
            old = before.cost
            before.round()
            return _Done(before.entries, old - before.cost, REBUILT * before.work + 1000)
        whole = PER_ENTRY * len(self.entries.unit) * turns.longer
        share = self._whole(kind, turns) / whole
        work = int(PER_ENTRY * len(part.unit) * turns.longer * share) + 100_000
        found = improve_by_opening_boxes(self.ground, part, work, number, clearing=kind == "clear")
        saved = before.cost - Rebuilding(self.ground, found, number).cost
        if (
            saved <= 1e-9
            or not self.ground.claims.hold(self.ground.units.part(found.unit, found.group, found.count)).all()
        ):
            return _Done(part, 0.0, work)  # I1
        return _Done(found, saved, work)

    def _districts(self) -> Iterator[tuple[int, Entries]]:
        """Groups in an order of this turn's columns, cut into districts, each with a number of its own (I2)."""
        entries, codes, first = self.entries, self.ground.codes, self.entries.first
        draw = np.random.default_rng(self.turn)
        member = codes[entries.unit[first[:-1] + draw.integers(0, np.diff(first))]]
        keys = [member[:, column] for column in draw.permutation(member.shape[1])]
        order = np.lexsort(np.array([*keys, self.ground.units.region[entries.unit[first[:-1]]]]))
        size = np.diff(first)[order]
        parts = max(1, -(-int(size.sum()) // self.district))
        shift = draw.random()
        part = np.minimum(((np.cumsum(size) - size) / size.sum() * parts + shift).astype(np.int64), parts)
        for number, groups in enumerate(np.split(order, np.flatnonzero(np.diff(part)) + 1)):
            yield self.turn * 1_000_003 + number, _part(entries, first, groups)

    def _merge_alike(self) -> None:
        """Groups that are published alike become one, which has more to lend; unless it would not fit into a
        neighbourhood."""
        if not self.ground.monotone:
            return
        state = Rebuilding(self.ground, self.entries, 0).state
        published: list[IntArray] = [state.region]
        for column, source in enumerate(self.ground.columns):
            ends = state.lo[:, column].astype(np.int64), state.last[:, column].astype(np.int64) + 1
            published += self.problem.domains[source].close(*ends)
        alike = equivalence_classes_of(published)
        entries = np.bincount(alike.of, weights=np.diff(self.entries.first), minlength=len(alike))
        alone = entries[alike.of] > SMALL // 4
        number = np.where(alone, len(alike) + np.arange(len(alone)), alike.of)
        self.entries = Entries.tidy(self.entries.unit, number[self.entries.group], self.entries.count)


def _part(entries: Entries, first: IntArray, groups: IntArray) -> Entries:
    """Some groups, numbered anew."""
    size = first[groups + 1] - first[groups]
    rows = np.repeat(first[groups] - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))
    return Entries(entries.unit[rows], np.repeat(np.arange(len(groups)), size), entries.count[rows])


def _together(parts: Sequence[Entries]) -> Entries:
    """The groups of all parts, numbered one after the other."""
    before = np.cumsum([0, *(int(part.group[-1]) + 1 for part in parts)])
    owner = np.concatenate([part.group + offset for part, offset in zip(parts, before[:-1], strict=True)])
    return Entries(np.concatenate([part.unit for part in parts]), owner, np.concatenate([part.count for part in parts]))


# Rebuilding
# ----------


REACH, FEW = 9, 4
"""The largest neighbourhood, in groups, where these are small and where they are large."""
NEAR = 16
"""How many of the nearest groups neighbourhoods are chosen from."""
TRIES = 6
"""Neighbourhoods that are tried around each group."""
SMALL, LARGE = 80, 320
"""The largest neighbourhood, in units, where groups are small and where they are large."""
PIECES = 16
"""A round is taken in so many pieces, between which proposals are accepted."""


class Rebuilding:
    """Groups of units that get cheaper."""

    def __init__(self, ground: SearchState, entries: Entries, number: int) -> None:
        self.ground, self.entries = ground, entries
        self.draw = np.random.default_rng(number)  # I4
        self.dice = np.array([88172645463325252 ^ (number * 0x9E3779B97F4A7C15 & (1 << 63) - 1)], dtype=np.uint64)
        self.offer = ground.offer()
        self.work = 0
        self.state = self._state()
        self.tired: FloatArray = np.ones(len(self.state.size))
        """How often each group was looked at in vain; fresh groups are looked at first."""
        self.pool, self.reach = neighbourhood_of(self.state)

    @property
    def cost(self) -> float:
        return float((self.state.size * self.state.cost).sum())

    def _state(self) -> State:
        from sfumato.kinds.tables.methods.kernels.neighbourhood_rebuilding import State, extents

        first, columns = self.entries.first, len(self.ground.columns)
        groups = len(first) - 1
        lo, last = (np.zeros((groups, columns), dtype=np.int32) for _ in range(2))
        region, order = self.ground.units.region[self.entries.unit[first[:-1]]], np.arange(groups)
        state = State(
            self.ground.codes, self.ground.units.tags, self.entries.unit, self.entries.count, first,
            np.zeros(groups, dtype=np.int64), lo, last, np.zeros(groups), region, order, order,
        )  # fmt: skip
        extents(state, self.ground.costs)
        return state

    def round(self) -> None:
        """Once over all groups that cost something, in pieces between which proposals are accepted."""
        pieces = max(1, min(PIECES, len(self.state.size) // 64))
        for _ in range(pieces):
            costly = np.flatnonzero(self.state.cost > 1e-12)
            weary = self.tired[costly] * self.draw.random(len(costly))
            seeds = costly[np.argsort(weary)[: max(1, len(costly) // pieces)]]
            self.tired[seeds] += 1
            self._accept(self._propose(seeds))  # I1, I3: the kernel proposes nothing else

    def _propose(self, seeds: IntArray) -> Proposals:
        from sfumato.kinds.tables.methods.kernels.neighbourhood_rebuilding import (
            Proposals,
            new_draft,
            new_pool,
            propose,
        )

        columns, groups = len(self.ground.columns), len(self.state.size)
        room = 2 * len(self.state.unit) + 4 * self.pool
        unit, records, owner, proposal = np.zeros((4, room), dtype=np.int64)
        gone = np.full(groups, -1, dtype=np.int64)
        out = Proposals(unit, records, owner, proposal, gone, np.zeros(4, dtype=np.int64))
        pool = new_pool(self.pool, columns, self.ground.units.tags.shape[1])
        one, other, spare = (new_draft(6 * self.reach, self.pool, columns) for _ in range(3))
        near, chosen, left = (np.zeros(n, dtype=np.int64) for n in (NEAR, self.reach, self.pool))
        propose(
            self.state, self.ground.costs, self.offer, seeds, groups, TRIES, out, pool, (one, other, spare), near,
            np.zeros(NEAR),
            chosen, left, self.dice,
        )  # fmt: skip
        self.work += int(out.used[3])
        return out

    def _accept(self, out: Proposals) -> None:
        """Replace groups by proposals whose groups all satisfy the claims (I2)."""
        entries, groups, proposals = (int(n) for n in out.used[:3])
        if not proposals:
            return
        unit, owner, count = out.unit[:entries], out.group[:entries], out.records[:entries]
        holds = self.ground.claims.hold(self.ground.units.part(unit, owner, count))
        accepted = np.bincount(out.proposal[:groups], weights=~holds, minlength=proposals) == 0
        gone = (out.gone >= 0) & accepted[out.gone]
        kept, new = ~gone[self.entries.group], accepted[out.proposal[owner]]
        owners = np.concatenate([self.entries.group[kept], len(gone) + owner[new]])
        self.tired = np.concatenate([self.tired, np.ones(groups)])[np.flatnonzero(np.bincount(owners))]
        units = np.concatenate([self.entries.unit[kept], unit[new]])
        counts = np.concatenate([self.entries.count[kept], count[new]])
        self.entries = Entries.tidy(units, owners, counts)
        self.state = self._state()


def neighbourhood_of(state: State) -> tuple[int, int]:
    """Return how many units and groups a neighbourhood holds: enough for a few of the groups that cost most."""
    typical = typical_size(state)
    pool = int(np.clip(FEW * typical, SMALL, LARGE))
    return pool, int(np.clip(pool / max(typical, 1.0), FEW, REACH))


def typical_size(state: State) -> float:
    """Entries of a group, in the mean over what groups cost."""
    cost, size = state.cost * state.size, np.diff(state.first)
    return float((cost * size).sum() / max(float(cost.sum()), 1e-12))


# Opening
# -------


KnownBoxes = tuple[CodeArray, CodeArray, IntArray]
"""The first and last leaf of some boxes in every column, and the region of each."""
Five = tuple[IntArray, IntArray, IntArray, IntArray, IntArray]
Eight = tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]

HOT, HOTTER, COLD = 0.03, 0.06, 0.002
"""Temperatures, as shares of the mean cost of a group: at first, at first where groups are cleared, and in the end."""
OFFERS = 4
"""How often all boxes of another grouping are offered, at most."""
MANY_VALUES = 128
"""Every so many sensitive values add the time of one more step to a step, which counts the values of its groups."""


def terms_of(problem: RecodingProblem, claims: Claims) -> Terms | None:
    """What the requirements ask of a group, as numbers; none when a model asks for what numbers do not say (I1)."""
    from sfumato.kinds.tables.methods.kernels.class_membership import Terms

    demands = [(requirement, requirement.model.demand()) for requirement in problem.requirements]
    if not all(demand.told for _, demand in demands):
        return None
    placed = np.where(problem.out[problem.cell_point], 0, problem.row_cell.counts)
    kinds, share, entropy, far, overall = [], [], [], [], []
    for name in claims.hidden:
        asked = [demand for requirement, demand in demands if name in requirement.hide]
        kinds.append(max(demand.distinct for demand in asked))
        share.append(min(demand.largest_share for demand in asked))
        entropy.append(max(demand.entropy for demand in asked))
        labels = next(column.labels for column in problem.sensitive if column.name == name)
        stated = [one.model.compared_with(name) for one, demand in demands if name in one.hide and demand.distance < 1]
        if any(other != stated[0] for other in stated):
            return None
        tally = np.bincount(problem.cell_values[name], weights=placed, minlength=len(labels))
        counts = dict(stated[0] if stated and stated[0] else zip(labels, tally, strict=True))
        whole = sum(counts.values()) or 1.0
        overall.append(np.array([counts.pop(label, 0.0) / whole for label in labels]))
        far.append(
            min(demand.distance for demand in asked) - sum(counts.values()) / whole / 2
        )  # what nobody here has is lacking
    start = np.cumsum([0, *map(len, overall)]).astype(np.int64)
    fewest = max([claims.fewest, *(demand.fewest for _, demand in demands)])
    shares, disorder, near = (np.array(each, dtype=np.float64) for each in (share, entropy, far))
    every = np.concatenate([*overall, np.zeros(0)])
    return Terms(fewest, start, np.array(kinds, dtype=np.int64), shares, disorder, near, every)


def shape_of(problem: RecodingProblem, columns: IntArray) -> Shape:
    """The trees of the columns, in the order of the search."""
    from sfumato.kinds.tables.methods.kernels.class_membership import Shape

    none = np.zeros(0, dtype=np.int64)
    domains = [problem.domains[column] for column in columns]
    trees = [domain if isinstance(domain, Hierarchy) else None for domain in domains]
    sides = [(tree.parent, tree.lo, tree.hi) if tree else (none, none, none) for tree in trees]
    before = np.cumsum([0, *(len(parent) for parent, _, _ in sides)])[:-1]
    start = np.where([tree is not None for tree in trees], before, -1).astype(np.int64)
    parent, lo, hi = (np.concatenate(side).astype(np.int64) for side in zip(*sides, strict=True))
    return Shape(parent, lo, hi, start, np.array([domain.size for domain in domains], dtype=np.int64))


def improve_by_opening_boxes(
    ground: SearchState, entries: Entries, work: int, number: int, *, clearing: bool = False
) -> Entries:
    """The groups after some work, from hot to cold (I2).

    With `clearing` several groups are given up at once (`kernels.box_opening`), which is for requirements on numbers
    alone.
    """
    from sfumato.kinds.tables.methods.kernels.box_opening import clear_groups, open_boxes

    if ground.terms is None:
        return entries
    unit, stand, terms = _seated(ground, entries)
    desk = desk_for(stand)
    live = stand.live[: stand.number[0]]
    mean = float((stand.size[live] * stand.cost[live]).sum()) / max(len(live), 1)
    if mean <= 0.0:
        return entries
    dice = np.array([88172645463325252 ^ (number * 0x9E3779B97F4A7C15 & (1 << 63) - 1)], dtype=np.uint64)
    before = _total(stand)
    told = stand, ground.costs, ground.shape, terms, desk
    work = max(work // (1 + int(terms.start[-1]) // MANY_VALUES), 1)
    if clearing:
        clear_groups(*told, site_for(stand), HOTTER * mean, COLD * mean, work, dice)
    else:
        open_boxes(*told, HOT * mean, COLD * mean, work, dice)
    if _total(stand) > before - 1e-9:  # then what was there takes what is better in what was found
        boxes = _boxes(stand)
        unit, stand, terms = _seated(ground, entries)
        _offered(ground, stand, terms, desk_for(stand), boxes, dice)
    kept = np.flatnonzero(stand.records > 0)
    return Entries.tidy(unit[stand.unit[kept]], stand.home[kept], stand.records[kept])


def _seated(ground: SearchState, entries: Entries) -> tuple[IntArray, Seating, Terms]:
    """The units of some groups, their seating, and the terms over the values that these units have."""
    assert ground.terms is not None
    unit, local = np.unique(entries.unit, return_inverse=True)
    terms, tags = present_values(ground.terms, ground.units.tags[unit])
    stand = seating_of(
        np.ascontiguousarray(ground.codes[unit]), tags, ground.units.region[unit], ground.costs, ground.shape, terms,
        Entries(local.astype(np.int64), entries.group, entries.count),
    )  # fmt: skip
    return unit, stand, terms


def present_values(terms: Terms, tags: CodeArray | IntArray) -> tuple[Terms, IntArray]:
    """Return terms and tags over the sensitive values that occur, numbered in the same order.

    A group has none of the others, and no term counts them but a distance, whose values all stay."""
    numbered, overall = np.array(tags, dtype=np.int64).reshape(len(tags), len(terms.kinds)), []
    for h, far in enumerate(terms.far):
        shares = terms.overall[terms.start[h] : terms.start[h + 1]]
        if far >= 1.0:
            values, numbered[:, h] = np.unique(numbered[:, h], return_inverse=True)
            shares = shares[values]
        overall.append(shares)
    start = np.cumsum([0, *map(len, overall)]).astype(np.int64)
    return terms._replace(start=start, overall=np.concatenate([*overall, np.zeros(0)])), numbered


def _total(stand: Seating) -> float:
    live = stand.live[: stand.number[0]]
    return float((stand.size[live] * stand.cost[live]).sum())


def _boxes(stand: Seating) -> KnownBoxes:
    """The boxes of all groups as they are."""
    live = stand.live[: stand.number[0]]
    return stand.lo[live], stand.last[live], stand.region[stand.unit[stand.of_group[live]]]


def _offered(ground: SearchState, stand: Seating, terms: Terms, desk: Workbench, boxes: KnownBoxes, dice: Any) -> None:
    """Boxes of another grouping of the same units, opened where that saves something, until none does."""
    from sfumato.kinds.tables.methods.kernels.box_opening import offer_boxes

    for _ in range(OFFERS):
        if offer_boxes(stand, ground.costs, ground.shape, terms, desk, *boxes, dice) > -1e-9:
            return


def seating_of(
    code: CodeArray,
    tags: CodeArray | IntArray,
    region: IntArray,
    costs: CellCosts,
    shape: Shape,
    terms: Terms,
    entries: Entries,
) -> Seating:
    """The groups of some units, each unit with its leaves, sensitive values and region."""
    from sfumato.kinds.tables.methods.kernels.class_membership import Seating, fill_bits, measure_first

    units, columns = code.shape
    pieces, groups = len(entries.unit), int(entries.group[-1]) + 1
    room, most = 2 * pieces + units + 200, groups + int(entries.count.sum()) // max(terms.fewest, 1) + 2
    words = (units + 63) // 64
    number = np.unique(region, return_inverse=True)[1].astype(np.int64)
    tag = (tags.astype(np.int64) + terms.start[:-1]).reshape(units, len(terms.kinds))
    rank = [
        np.concatenate([[0], np.cumsum(np.bincount(code[:, c], minlength=n) > 0)]) for c, n in enumerate(shape.size)
    ]
    base = np.cumsum([0, *(int(each[-1]) + 1 for each in rank)]).astype(np.int64)
    first_rank = np.cumsum([0, *map(len, rank)])[:-1].astype(np.int64)
    tally = np.zeros((most, int(terms.start[-1])), dtype=np.int64)
    for h in range(tag.shape[1]):
        np.add.at(tally, (entries.group, tag[entries.unit, h]), entries.count)
    stand = Seating(
        code, tag, number, np.zeros((int(number.max()) + 1, words), dtype=np.uint64),
        np.zeros((int(base[-1]), words), dtype=np.uint64), base, np.concatenate(rank).astype(np.int64), first_rank,
        *_pieces(entries, units, room, most), _size(entries, most), np.zeros(most), np.zeros((most, columns),
        dtype=np.int32),
        np.zeros((most, columns), dtype=np.int32), tally, *_lists(groups, most, pieces, room),
    )  # fmt: skip
    fill_bits(stand)
    measure_first(stand, costs, shape, groups)
    return stand


def _size(entries: Entries, most: int) -> IntArray:
    return np.bincount(entries.group, weights=entries.count, minlength=most).astype(np.int64)


def _pieces(entries: Entries, units: int, room: int, most: int) -> Eight:
    """Unit, records and home of each piece, and the lists of units and groups."""
    pieces = len(entries.unit)
    unit, records = np.zeros((2, room), dtype=np.int64)
    home, beside, after, before = np.full((4, room), -1, dtype=np.int64)
    unit[:pieces], records[:pieces], home[:pieces] = entries.unit, entries.count, entries.group
    order = np.argsort(entries.unit, kind="stable")
    same = entries.unit[order][1:] == entries.unit[order][:-1]
    beside[order[:-1][same]] = order[1:][same]
    of_unit, of_group = np.full(units, -1, dtype=np.int64), np.full(most, -1, dtype=np.int64)
    of_unit[entries.unit[order[::-1]]] = order[::-1]
    follows = np.flatnonzero(entries.group[1:] == entries.group[:-1])
    after[follows], before[follows + 1] = follows + 1, follows
    first = entries.first[:-1]
    of_group[: len(first)] = first
    return unit, records, home, beside, of_unit, after, before, of_group


def _lists(groups: int, most: int, pieces: int, room: int) -> Five:
    """Groups that are live and free, pieces that are spare, and how many of each."""
    live, free, spare = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64), np.zeros(room, dtype=np.int64)
    place = np.full(most, -1, dtype=np.int64)
    live[:groups], place[:groups] = np.arange(groups), np.arange(groups)
    free[: most - groups] = np.arange(most - 1, groups - 1, -1)
    spare[: room - pieces] = np.arange(room - 1, pieces - 1, -1)
    return live, place, free, spare, np.array([groups, most - groups, room - pieces], dtype=np.int64)


def desk_for(stand: Seating) -> Workbench:
    """Allocate the working memory of a step."""
    from sfumato.kinds.tables.methods.kernels.class_membership import STRAYS, Workbench

    room, (most, columns) = len(stand.unit), stand.lo.shape
    moves = room + STRAYS + 1
    found, inside, gives, donors = (np.zeros(n, dtype=np.int64) for n in (room, most, most, most))
    return Workbench(
        np.zeros(stand.below.shape[1], dtype=np.uint64), found, inside, gives, donors, np.zeros((moves, 4),
        dtype=np.int64),
        np.zeros(moves, dtype=np.int64), np.full(most, -1, dtype=np.int64), np.zeros(most, dtype=np.int64),
        np.zeros(most, dtype=np.int64), np.zeros(most), np.zeros((most, columns), dtype=np.int64),
        np.zeros((most, columns), dtype=np.int64), np.zeros(columns, dtype=np.int64), np.zeros(columns, dtype=np.int64),
        np.zeros(stand.tally.shape[1], dtype=np.int64), np.zeros(3, dtype=np.int64),
    )  # fmt: skip


def site_for(stand: Seating) -> Site:
    """Allocate the working memory of a step that clears groups."""
    from sfumato.kinds.tables.methods.kernels.box_opening import CLEARED, NEAR, Site

    room, columns = len(stand.unit), stand.lo.shape[1]
    group, near, unit, records, lo, last, number = (
        np.zeros(n, dtype=np.int64) for n in (CLEARED, NEAR, room, room, columns, columns, 2)
    )
    return Site(group, near, np.zeros(NEAR), unit, records, np.zeros(room), lo, last, number)
