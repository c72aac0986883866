"""Local search: groups are rebuilt in small neighbourhoods and boxes are opened among them, district by district, in turns.

Three kinds of turns. `rebuilding` takes a costly group and a few groups near it apart and puts them together more cheaply; it is
best where groups are small. `opening` opens a box around a costly record for everybody who pays more than it costs; it is best
where groups are large or shares of values bind. Where only numbers are claimed, the third kind gives several groups up at once and
opens boxes for those who stood in them (`kernels.clearing`): it goes furthest, in long turns, and begins when the others have had
several. Whatever has brought more for its work lately is used next, the others from time to time.

A district is some groups that are near each other in one order of the columns, which differs from turn to turn. Districts have
nothing in common, so they are worked on side by side.

Paper: in the spirit of sequential clustering (Goldberger, Tassa 2010); any claims, within the regions of [boundaries Def. 9].

Notation
    work      comparisons, roughly; a second of search is `SPEED` of them, whatever the machine and whoever else uses it

Invariants
    I1  What a turn makes of a district is taken only when it costs less, and, by the models themselves, every group satisfies the
        claims. So the result is never worse than the best start.
    I2  What a turn does depends on the turns before it alone, never on the time, the work that is still allowed, or how many
        districts are worked on at once. So the answer is the same for any number of jobs, and more seconds never give a worse one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.errors import Infeasible
from sfumato.methods.recoding.costs import Costs
from sfumato.methods.recoding.ground import Ground
from sfumato.methods.recoding.opening import with_boxes_opened
from sfumato.methods.recoding.problem import Grouping, RecodingProblem
from sfumato.methods.recoding.rebuilding import SMALL, Rebuilding, typical_size
from sfumato.methods.recoding.units import Entries

Progress = Callable[[float], None]
Kind = Literal["rebuild", "open", "clear"]
Each = Callable[..., Iterator[Any]]
"""`map`, or one that works on several districts at once."""

SPEED = 230_000_000
"""Work that one core does in a second."""
REBUILT = 6
"""A comparison of rebuilding takes as long as so many of opening."""
DISTRICT, PER_GROUP, MOST = 6_000, 600, 60_000
"""Entries of a district: at least so many, and so many groups of the kind that costs most, but no more than the last."""
ABREAST = 8
"""Districts that are worked on before anybody looks how much work is left; at most so many at once."""
PER_ENTRY = 10_000
"""Work of opening boxes per entry of a district, in a turn."""
HANDED = 1_000
"""Entries up to which handing districts over to other cores would take longer than to work on them."""
ENTRIES, SOME, MANY = 3, 4, 16
"""The first turn of clearing groups does as many times the work of one that opens boxes as the groups that cost most have entries
in threes, but at least and at most so many times; and never more than all turns before it, so that short searches stay short."""
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
"""Unless time was asked for, a search ends after the first work, when a stretch, the second share of all its work, takes less than
the third off the loss."""
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
    progress: Progress | None = None,
) -> Grouping:
    """The best of the starts, improved until nothing helps or so many seconds of work are done.

    With `while_worth` it ends before, when a part of them gains next to nothing. `seed` shifts the draws: nothing that is
    published rests on them, and it shows how much a result owes to them.
    """
    if not starts:
        raise Infeasible("a search needs a grouping to start from")
    costs = Costs.of(problem, objective)
    best = min(starts, key=lambda start: costs.mean(problem, start))
    if best.groups == 0:
        return best
    ground, most = Ground(problem, objective), int(seconds * SPEED)
    search = _Search(ground, problem, best, most, jobs, progress, turn=seed * SEEDS, while_worth=while_worth)
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
    """The best of several short searches, from each start in turn with draws of its own, until so many seconds of work are done.

    Few records end a search soon, in a place that owes much to chance; with many the first search takes all the time, so the start
    that leads furthest comes first. Where few have a choice, less time is taken.
    """
    if not starts:
        raise Infeasible("a search needs a grouping to start from")
    ground, most, done = Ground(problem, objective), int(seconds * SPEED), 0
    costs = Costs.of(problem, objective)
    best, least = starts[0], costs.mean(problem, starts[0])
    for attempt in range(_ATTEMPTS * len(starts)):
        start, seed = starts[attempt % len(starts)], attempt // len(starts)
        if start.groups == 0 or done >= most:
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

    ground: Ground
    problem: RecodingProblem
    start: Grouping
    most: int
    jobs: int
    progress: Progress | None
    done: int = 0
    turn: int = 0
    hurry: float = 1.0
    patience: int = PATIENCE
    while_worth: bool = False
    kinds: dict[Kind, _Turns] = field(default_factory=dict)

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
        self.total = whole.cost - (Rebuilding(self.ground, self.settled, 0).cost if len(self.settled.unit) else 0.0)
        self.district = int(np.clip(PER_GROUP * typical_size(whole.state), DISTRICT, MOST))

    def _apart(self, whole: Rebuilding) -> tuple[Entries, Entries]:
        """Groups that nothing can be done about, and the others: where a region is one group too small for two, or costs nothing.

        Of people who were published before most are such: only who is new has a choice.
        """
        state, entries = whole.state, whole.entries
        places, region = np.unique(state.region, return_inverse=True)
        records = np.bincount(region, weights=state.size)
        stuck = (np.bincount(region) == 1) & (records < 2 * self._fewest())
        stuck |= np.bincount(region, weights=state.cost * state.size) <= 1e-12
        stuck |= self.problem.settled_regions[places]
        first = entries.first
        return _part(entries, first, np.flatnonzero(stuck[region])), _part(entries, first, np.flatnonzero(~stuck[region]))

    def _fewest(self) -> int:
        """The fewest records of a group, as far as the claims count."""
        return max([self.ground.claims.fewest, *(requirement.model.demand().fewest for requirement in self.problem.requirements)])

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
        while self.done < self.most and idle < self.patience and self.total > 1e-9 and not self._hardly_gains(passed):
            before = self.total
            self._take_turn(self._next_kind(), each)
            idle = idle + 1 if before - self.total <= 2e-5 * before else 0
            passed.append((self.done, self.total))

    def _hardly_gains(self, passed: list[tuple[int, float]]) -> bool:
        """Whether the last stretch was not worth its work, where that may end the search."""
        if self.done < SOON or not self.while_worth or not self._steady():
            return False
        high = min((total for done, total in passed if done <= self.done - STRETCH * self.most), default=np.inf)
        return high - self.total < WORTH * self.total

    def _steady(self) -> bool:
        """Whether gains become less and less: with claims on shares, entropy or distance, and in large groups, some are late."""
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
            found = list(each(lambda part: self._work_on(kind, turns, part), batch))
            made += [done.entries for done in found]
            saved += sum(done.saved for done in found)
            work += sum(done.work for done in found)
            self._tell(work)
            if self.done + work >= self.most:
                break
        self.entries = _together([*made, *(part for _, part in parts[len(made) :])])
        self.total -= saved
        self.done += work
        turns.rate, turns.work, turns.last = saved / max(work, 1), work, self.done
        if saved <= 1e-3 * self.total:
            turns.longer = min(turns.longer * 1.5, 40.0)

    def _tell(self, work: int) -> None:
        if self.progress is not None:
            self.progress(min(1.0, (self.done + work) / self.most))

    def _work_on(self, kind: Kind, turns: _Turns, numbered: tuple[int, Entries]) -> _Done:
        number, part = numbered
        before = Rebuilding(self.ground, part, number)
        if kind == "rebuild":
            old = before.cost
            before.round()
            return _Done(before.entries, old - before.cost, REBUILT * before.work + 1000)
        whole = PER_ENTRY * len(self.entries.unit) * turns.longer
        share = min(1.0, self.done / whole) if kind == "clear" else 1.0  # I2: as long as all turns before it, at most
        work = int(PER_ENTRY * len(part.unit) * turns.longer * share) + 100_000
        found = with_boxes_opened(self.ground, part, work, number, clearing=kind == "clear")
        saved = before.cost - Rebuilding(self.ground, found, number).cost
        if saved <= 1e-9 or not self.ground.claims.hold(self.ground.units.part(found.unit, found.group, found.count)).all():
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
        """Groups that are published alike become one, which has more to lend; unless it would not fit into a neighbourhood."""
        if not self.ground.monotone:
            return
        state = Rebuilding(self.ground, self.entries, 0).state
        published: list[IntArray] = [state.region]
        for column, source in enumerate(self.ground.columns):
            ends = state.lo[:, column].astype(np.int64), state.last[:, column].astype(np.int64) + 1
            published += self.problem.domains[source].close(*ends)
        alike = group(published)
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
