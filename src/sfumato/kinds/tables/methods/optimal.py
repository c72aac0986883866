"""`optimal`: a recoding with a proven bound on what any recoding of the policy must lose.

The starts are those of `refined`, so the release is never worse than `mondrian`, `clustering` or `refined` on the same
policy. The integer program, the price bound and the neighbourhoods are in `bound`.

Guarantee: the bound is at most the loss of every release of the *space*: each record is published, in every
quasi-identifier, as a node of its hierarchy within its boundary (in a column of ranges: as any interval between two
values of the column), records with equal values may be published differently, and exactly those records are suppressed
whose region breaks a requirement as a whole; where the policy names a limit on suppression, any others too, up to that
limit. All recoding methods publish in this space.

Invariants
    I1  No bound is published that might be false: none where requirements of one component speak of different columns,
        where several components share a limit on suppression, where records are suppressed and a requirement compares
        with all that is published, or where single groups are asked for more than the requirement itself says (a mean
        risk, an estimated entropy).
    I2  The bound is about releases that use the policy's limit on suppression. This one does so only when the program
        states the claims completely; for others (entropy, recursive) it is a relaxation that must not decide who is
        left out.

Paper: [obfuscation §3.3, §6.2]

Departures
    The paper's blocks of q tuples are not needed: units with counts make the whole table smaller than one block. Its
    comparison with Mondrian is between different spaces; here both publish in the same one.


Proof
-----
From a recoding problem to a release and a proof: the best grouping that was found, and what no grouping can be below.

Regions are proven one by one: a region is *closed* when its groups cost no more than its bound. First prices bound all
regions at once; nodes whose use would cost more than the known groups are dropped; what is left of a region is solved
exactly when it is small. Where shares are limited, groups that the prices suggest (`guided`) are a second start. What
is left of the time goes to prices and to neighbourhoods in turns, to whichever of them closed more of the gap for its
time lately.

Guarantee: `ProvenArrangement.bound` is at most the cost of every release in the space (`space`), and at most its
`total`.

Invariants
    I1  The groups at hand never get more costly, so the outcome is at least as good as every start.
    I2  A bound only replaces a lower one. A bound by the solver counts only when every node that could make a release
        cheaper than the known one was in the program.

Cost: as many seconds as are given, less when everything is closed or nothing helps any more.


Guided
------
Starts that follow the prices: nodes take the records that gain most there, one node after the other.

At good prices a cheap release consists of nodes that gain something, and of the records that make them gain. So the
nodes of least slack are tried in turn. Each takes the best admissible set among the remaining records. Records that are
left get a higher price and are tried again. What is left in the end joins other groups. Cheap nodes first and dear
nodes first lead to different releases: dear ones take what has no other place, with the partners that a requirement on
shares asks for, before cheap ones have used these up.

Invariants
    I1  Every record is in one group, and every group satisfies the claims (`joining`).

Cost: a few looks at every node that is asked, 30 microseconds each; both starts of Adult with three columns take a
second. What is left is compared with all groups, so where much is left there is no such start.


Neighbourhoods
--------------
Large neighbourhoods: take apart groups that cost more than their prices say, with what lies near, and solve that part
exactly.

Prices say where a release loses against the bound: a group wastes what it costs above the prices of its records, and
the sum of all waste is about the gap. A neighbourhood grows from a wasteful group along nodes of little slack, which
are those that a better release would use, and is solved as an integer program of its own.

Invariants
    I1  A neighbourhood keeps within one region.
    I2  Every group of the neighbourhood is among its nodes, so the program can always answer what there is already.

Cost: a neighbourhood of some thousand memberships takes the solver between a hundredth of a second and a few seconds.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.arrays import BoolArray, FloatArray, IntArray, positions_in_runs
from sfumato.data.hierarchy import encode
from sfumato.data.table import Table
from sfumato.kinds.tables.form import Optimality, RecodedProvenance
from sfumato.kinds.tables.methods.class_merging import Entries, join_until_satisfied
from sfumato.kinds.tables.methods.integer_program import TOLERANCE, Arrangement, Neighbourhood, part_of, solve, states
from sfumato.kinds.tables.methods.local_search import refine
from sfumato.kinds.tables.methods.price_bound import NEVER, Nodes, PriceBound, Prices, RecodingSpace, compile_kernel
from sfumato.kinds.tables.methods.recoding import (
    Component,
    RecodingMethod,
    components,
    known_quasi_identifiers,
    publish_recoding,
    suppression_budget,
)
from sfumato.kinds.tables.methods.recoding_costs import columns_of
from sfumato.kinds.tables.methods.recoding_history import HISTORY
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem
from sfumato.kinds.tables.methods.refined import starts
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.sections import values_of
from sfumato.release.method import Task
from sfumato.release.release import Release

_SEARCH, _SEARCH_SHARES = 0.5, 0.2
"""Share of the time for the search of `refined`, and where shares of values are limited: there prices lead to better
groups."""
_RELAXED = 0.2
"""Share of the time where the program is only a relaxation of the claims (entropy, recursive, t-closeness): it rarely
answers."""


class Optimal(RecodingMethod):
    """Search a recoding with a proven lower bound of the loss; the optimum for small tables."""

    name: ClassVar[str] = "optimal"
    paper: ClassVar[str] = "obfuscation §3.3, §6.2"
    reads: ClassVar[frozenset[str]] = RecodingMethod.reads - {"columns.uniform"}  # the bound is on other cells

    seconds: float = Field(default=20.0, gt=0, description="time limit for search and proof, in seconds of one core")

    def preference(self, records: int | None) -> tuple[int, str]:
        return 2, "it proves how near it is to the best release, which takes its time"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        return [
            *super().describe(policy, data),
            f"space: {space_of(policy)}",
            (
                "bound: the private report will say what no such release can lose less than, where that can be proven;"
                f" this may take {self.seconds_of_search(policy, self.seconds):g} s"
            ),
            *self.search_told(policy, self.seconds),
        ]

    def group(self, problem: RecodingProblem, task: Task) -> Grouping:
        """The best groups that were found; nothing is said about the best possible ones."""
        return self._proven(problem, task, self.seconds_of_search(task.policy, self.seconds), 0).now.grouping()

    def release(self, task: Task, problem: RecodingProblem) -> Release:
        parts, policy = components(problem), task.policy
        if HISTORY in problem.names or task.withheld or not can_be_bounded(policy, problem, parts):
            return super().release(task, problem)
        spare = suppression_budget(policy, problem)  # I2
        seconds = self.seconds_of_search(task.policy, self.seconds) / len(parts)
        proofs = [self._proven(part.problem, task, seconds, spare) for part in parts]
        said = _statement(policy, problem, proofs, coding_loss(policy, task.data))
        made = publish_recoding(
            task, problem, [(part, proof.now.grouping()) for part, proof in zip(parts, proofs, strict=True)]
        )
        return replace(made, trace=RecodedProvenance(made.trace.rows, optimality=said, lasting=True))

    def _proven(self, problem: RecodingProblem, task: Task, seconds: float, budget: int) -> ProvenArrangement:
        objective = task.policy.utility.minimize
        space = RecodingSpace(problem, objective, beside=len(task.policy.quasi_identifiers) - len(problem.names))
        search = time_to_search(space)
        first = starts(problem, objective, task)
        refined = refine(problem, first, objective=objective, seconds=search * seconds, jobs=task.jobs)
        return optimize(
            space,
            refined,
            seconds=(1 - search) * seconds * (1.0 if states(problem) else _RELAXED),
            budget=budget,
            spend=states(problem),
            progress=lambda done: task.progress(done, "proving"),
        )


def time_to_search(space: RecodingSpace) -> float:
    """The share of the time before anything is proven."""
    return _SEARCH_SHARES if space.shared else _SEARCH


def can_be_bounded(policy: Policy, problem: RecodingProblem, parts: Sequence[Component]) -> bool:
    """Whether a bound would be true of every release of the space; where that is not certain, nothing is said (I1)."""
    if not all(part.problem.uniform and part.problem.requirements for part in parts):
        return False
    if any(claim.model.by_group() is not claim.model for claim in policy.claims):
        return False  # groups are asked for more than the requirement is: it may be a mean over all of them
    if policy.utility.importance:
        return False  # the bound is one of the plain figure, and the search minimizes another
    if policy.person is not None or policy.of_population:
        return False  # what is asked of people is no part of the program
    whole = len(parts) == 1 and parts[0].problem.names == policy.quasi_identifiers
    if policy.utility.minimize == "entropy_loss" and not whole:
        return problem.suppressed == 0 and suppression_budget(policy, problem) == 0
    if compares(problem) and problem.suppressed + suppression_budget(policy, problem) > 0:
        return False
    return suppression_budget(policy, problem) == 0 or len(parts) == 1


def compares(problem: RecodingProblem) -> bool:
    """Return whether a requirement may depend on the whole release, so that its demand does not restrict single
    groups."""
    demands = [requirement.model.demand() for requirement in problem.requirements]
    return any(not demand.sufficient and not demand.of_values for demand in demands)


def space_of(policy: Policy) -> str:
    """The space in words."""
    ranges = [name for name in known_quasi_identifiers(policy) if policy.columns[name].hierarchy == "ranges"]
    words = "every record as nodes of the hierarchies within its boundary"
    if ranges:
        words += f" (any interval of values for {', '.join(ranges)})"
    limit = policy.utility.suppress_at_most
    rest = f", and others up to {limit:.3%}" if limit else ""
    return (
        words + f", equal records also differently; suppressed are records whose region breaks a claim as a whole{rest}"
    )


def coding_loss(policy: Policy, table: Table) -> float:
    """The part of the figure that coding alone costs: bits about values that share a leaf (top, bottom, round, recode).

    Every release of the space has it, and the search, which sees leaves, does not.
    """
    if policy.utility.minimize != "entropy_loss":
        return 0.0
    bits = 0.0
    for name in policy.quasi_identifiers:
        text, counts = table.text(name), table.text(name).counts().astype(np.float64)
        domain = generalization_of(policy, name, values_of(policy.everybody(), table, name))
        leaves = np.bincount(encode(domain, text.labels, column=name), weights=counts)
        bits += float(
            sum((each * np.log2(np.maximum(each, 1.0))).sum() * sign for each, sign in ((leaves, 1), (counts, -1)))
        )
    return bits / max(table.records * len(policy.quasi_identifiers), 1)


def _statement(
    policy: Policy, problem: RecodingProblem, proofs: Sequence[ProvenArrangement], beside: float
) -> Optimality:
    """Return the statement for the data holder: the bound, rounded down, what it is about and how it was proved."""
    bound = max(_figure(policy, problem, proofs, [proof.bound for proof in proofs]), 0.0) + beside
    loss = _figure(policy, problem, proofs, [proof.total for proof in proofs]) + beside
    if any(proof.solved for proof in proofs):
        how = "integer program, solved by HiGHS within its tolerance"
    else:
        how = "prices of records, evaluated in whole numbers"
    proven = loss <= 0 or loss - bound <= PROVEN * loss
    digits = 6 if proven else 4  # no more about the original than the statement needs
    return Optimality(
        objective=policy.utility.minimize,
        lower_bound=_rounded_down(bound, digits),
        proven_optimal=proven,
        space=space_of(policy),
        proof=how,
    )


def _figure(
    policy: Policy, problem: RecodingProblem, proofs: Sequence[ProvenArrangement], totals: Sequence[float]
) -> float:
    """The policy's figure, a mean over all quasi-identifiers, when the components cost so much."""
    spaces = [proof.now.space for proof in proofs]
    shares = [len(space.problem.names) / len(policy.quasi_identifiers) for space in spaces]
    if len(proofs) == 1:
        return shares[0] * spaces[0].figure(totals[0], problem.suppressed)
    above = sum(share * (total - space.base) for share, total, space in zip(shares, totals, spaces, strict=True))
    return (above + problem.suppressed) / problem.records


def _rounded_down(value: float, digits: int) -> float:
    written = float(f"{value:.{digits}g}")
    return written if written <= value else float(f"{value - abs(value) * 10.0 ** -(digits - 1) / 2:.{digits}g}")


# Proof
# -----


SMALL, LARGE = 40_000, 80_000
"""Memberships of a region that is solved before, and after, neighbourhoods were."""
TURN, LEAST = 0.2, 3.0
"""A turn takes this share of the time that is left for turns, and at least so many seconds."""
PROVEN = 1e-5
"""A gap below this is the solver's tolerance."""

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class ProvenArrangement:
    """The best arrangement and the bound, both as totals over the records that are to be published."""

    now: Arrangement
    bound: float
    solved: bool
    """Whether the solver's word is part of the bound; else it is computed in whole numbers."""

    @property
    def total(self) -> float:
        return self.now.total

    @property
    def proven(self) -> bool:
        return self.total - self.bound <= PROVEN * self.total


def optimize(
    space: RecodingSpace,
    start: Grouping,
    *,
    seconds: float,
    budget: int = 0,
    spend: bool = True,
    progress: Progress | None = None,
) -> ProvenArrangement:
    """Improve a start and bound it, for so many seconds of this thread.

    The bound is about releases that suppress up to `budget` records by choice; whether the arrangement does so is for
    `spend`."""
    compile_kernel()
    desk = _Desk(space, Arrangement.of(space, start), budget, spend, time.thread_time() + seconds)
    steps: list[Callable[[], None]] = [
        lambda: desk.price(0.03),
        lambda: desk.close(SMALL, 0.35),
        lambda: desk.price(0.3),
        lambda: desk.follow(0.1),
        lambda: desk.take_turns(0.7),
        lambda: desk.close(LARGE, 0.6),
        lambda: desk.take_turns(1.0),
    ]
    for number, step in enumerate(steps):
        if desk.open.any() and desk.left > 0:
            step()
        if progress is not None:
            progress((number + 1) / len(steps))
    return ProvenArrangement(desk.now, min(float(desk.bound.sum()), desk.now.total), desk.solved)


class _Desk:
    """What is known so far."""

    def __init__(self, space: RecodingSpace, now: Arrangement, budget: int, spend: bool, end: float) -> None:
        self.space, self.now, self.budget, self.end = space, now, budget, end
        self.spend = spend
        self.nodes = space.nodes(seconds=0.2 * self.left)
        self.prices_of = PriceBound(space, self.nodes, may_suppress=budget > 0)
        self.prices: Prices | None = None
        self.bound: FloatArray = np.zeros(self.prices_of.regions)
        self.solved = False
        self.turns = 0

    @property
    def left(self) -> float:
        return self.end - time.thread_time()

    @property
    def cost(self) -> FloatArray:
        """What the groups and the suppressed records of each region cost."""
        cost = np.bincount(self.now.region, weights=self.now.cost * self.now.size, minlength=len(self.bound))
        region, suppressed = self.space.units.region, self.now.suppressed
        dropped = np.bincount(region, weights=suppressed * self.space.suppressed_cost, minlength=len(self.bound))
        return np.asarray(cost + dropped, dtype=np.float64)

    @property
    def open(self) -> BoolArray:
        """Regions that might still be improved; all or none where they share a budget."""
        gap, cost = self.cost - self.bound, self.cost
        if self.budget:
            gap, cost = np.full(len(gap), gap.sum()), np.full(len(cost), cost.sum())
        unclosed: BoolArray = (gap > 2 * TOLERANCE * cost) & (gap > 1e-12)
        return unclosed

    def price(self, share: float) -> None:
        """Raise the price bound, for a share of the time that is left; with quotas where there are prices already."""
        if self.prices is not None:
            self.prices_of, self.prices = self.prices_of.with_quotas(self.prices)
        self.prices = self.prices_of.ascend(self.now.total, seconds=share * self.left, start=self.prices)
        if not self.budget or not self.solved:
            self.bound = np.maximum(self.bound, np.minimum(self.prices.by_region / self.space.scale, self.cost))  # I2

    def follow(self, share: float) -> None:
        """Begin again from groups that the prices suggest, each searched for a share of the time, where that is
        cheaper."""
        assert self.prices is not None
        if self.now.suppressed.any() or not self.space.shared:
            return  # a search publishes everybody, and where only numbers are claimed it finds better groups by itself
        for start in guided_starts(self.prices_of, self.prices):
            found = refine(self.space.problem, [start], objective=self.space.objective, seconds=0.5 * share * self.left)
            self.now = min(self.now, Arrangement.of(self.space, found), key=lambda one: one.total)  # I1

    def take_turns(self, share: float) -> None:
        """Neighbourhoods and prices, for a share of the time: next comes what closed more of the gap for its time."""
        end = time.thread_time() + share * self.left
        rates: dict[Callable[[float], None], float] = {self.improve: np.inf, self.price: np.inf}
        while self.open.any() and (left := end - time.thread_time()) > 0 and max(rates.values()) > 0:
            turn = max(rates, key=lambda one: rates[one])
            gap, begin = self.gap, time.thread_time()
            turn(max(TURN * left, min(LEAST, left)) / self.left)
            rates[turn] = (gap - self.gap) / max(time.thread_time() - begin, 1e-3)

    @property
    def gap(self) -> float:
        return float((self.cost - self.bound).sum())

    def improve(self, share: float) -> None:
        """Solve neighbourhoods of the open regions, others than in earlier turns."""
        assert self.prices is not None
        self.turns += 1
        around = Surroundings.of(self.prices_of, self.prices)
        search = NeighbourhoodSearch(self.now, around, self.open, budget=self.budget * self.spend, seed=self.turns)
        search.run(time.thread_time() + share * self.left)
        self.now = search.now  # I1

    def close(self, most: int, share: float) -> None:
        """Solve open regions exactly, small ones first, when at most so many memberships are left of them."""
        assert self.prices is not None
        end = time.thread_time() + share * self.left
        owner = self.prices_of.node_region
        slack = self.prices_of.slack(self.prices)
        priced = self.prices.by_region
        for regions in self._jobs():
            if time.thread_time() > end:
                break
            wanted = np.isin(owner, regions)
            gap = self.cost[regions].sum() * self.space.scale - priced[regions].sum()
            nodes = self.nodes.only(wanted & (slack <= gap * (1 + 1e-9) + 1))
            if len(nodes.member) <= most:
                self._solve(regions, nodes, self._complete(gap), max(end - time.thread_time(), 0.5))

    def _jobs(self) -> list[IntArray]:
        """Sets of regions to solve together."""
        regions = np.flatnonzero(self.open)
        if self.budget:
            return [np.arange(len(self.bound))]
        size = np.bincount(self.prices_of.node_region, weights=np.diff(self.nodes.start), minlength=len(self.bound))
        return [np.array([region]) for region in regions[np.argsort(size[regions])]]

    def _complete(self, gap: float) -> bool:
        """Whether no node outside the list can be part of a cheaper release: using one would cost more than the gap
        (I2)."""
        assert self.prices is not None
        top = int(self.prices.u.max(initial=0))
        return self.nodes.cap >= NEVER or self.space.least * (self.nodes.cap - top) > gap

    def _solve(self, regions: IntArray, nodes: Nodes, complete: bool, seconds: float) -> None:
        unit = np.flatnonzero(np.isin(self.space.units.region, regions) & (self.space.count > 0))
        before = float(self.cost[regions].sum())
        answer = solve(
            self.space, part_of(self.space, nodes, unit, self.space.count[unit], budget=self.budget), seconds=seconds
        )
        groups = np.flatnonzero(np.isin(self.now.region, regions))
        if self.spend or not answer.suppressed.any():
            self.now = self.now.replaced(groups, unit, answer) or self.now  # I1
        proven = min(answer.bound, before)  # a release that needs a dropped node costs at least what was known before
        if complete and proven > float(self.bound[regions].sum()):
            self.solved = True
            self.bound[regions] = 0.0
            self.bound[regions[0]] = (
                proven  # only the sum over the regions means anything where they were solved together
            )


# Guided
# ------


_ASKED = 20_000
"""Most nodes that are asked, those of least slack."""
_RAISES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""By how much the prices of the records that are left are raised, as shares of what a suppressed record costs."""
_COMPARED = 300_000_000
"""Most pairs of groups that are compared in a round of joining: some seconds."""


def guided_starts(bound: PriceBound, prices: Prices) -> list[Grouping]:
    """A grouping by cheap nodes first, and one by dear nodes first; none where no node is listed or too much is
    left."""
    slack = bound.slack(prices)
    asked = np.argsort(slack, kind="stable")[:_ASKED]
    asked = asked[slack[asked] < 1 << 61]
    if not len(asked):
        return []
    cheap = asked[np.argsort(bound.nodes.cost[asked], kind="stable")]
    problem, columns = bound.space.problem, columns_of(bound.space.problem, "width")
    dealt = [_dealt(bound, prices.u, orders) for orders in ([cheap], [cheap[::-1], cheap])]
    return [join_until_satisfied(problem, groups, columns) for groups in dealt if groups is not None]  # I1


def _dealt(bound: PriceBound, u: IntArray, orders: list[IntArray]) -> Grouping | None:
    """Nodes in the first order with the prices as they are, then in the last one with higher and higher prices."""
    dealer = _Dealer(bound)
    dealer.ask(orders[0], u)
    for share in _RAISES if len(orders) > 1 else _RAISES[1:]:
        raised = u + int(share * bound.space.suppressed_cost * bound.space.scale)
        dealer.ask(orders[-1], np.where(dealer.left > 0, np.minimum(raised, bound.space.highest), u))
    return dealer.grouping() if dealer.comparisons <= _COMPARED else None


class _Dealer:
    """Records that are still there, and the groups so far."""

    def __init__(self, bound: PriceBound) -> None:
        self.space, self.nodes = bound.space, bound.nodes
        self.left = self.space.count.copy()
        self._taken = np.zeros(len(self.left), dtype=np.int64)
        self._groups: list[tuple[IntArray, IntArray]] = []

    def ask(self, order: IntArray, u: IntArray) -> None:
        """Every node in turn takes the best set of what is left, where that gains something."""
        start, member = self.nodes.start, self.nodes.member
        for node in order.tolist():
            units = member[start[node] : start[node + 1]]
            there = self.left[units]
            if int(there.sum()) >= self.space.least:
                self._take(units[there > 0], self.nodes.cost[node : node + 1], u)

    def _take(self, units: NDArray[np.int32], cost: IntArray, u: IntArray) -> None:
        from sfumato.kinds.tables.methods.kernels.price_bound import node_gains, share_gains

        space, taken = self.space, self._taken
        gain = np.zeros(1, dtype=np.int64)
        listed = np.array([0, len(units)]), units, cost, self.left, space.tag, u, np.zeros(1, dtype=np.int64)
        taken[units] = 0
        if space.shared:
            share_gains(*listed, space.needed, False, gain, taken)
        else:
            node_gains(*listed, space.least, space.kinds, False, gain, taken)
        if gain[0] > 0:
            chosen = units[taken[units] > 0].astype(np.int64)
            self._groups.append((chosen, taken[chosen]))
            self.left[chosen] -= taken[chosen]

    @property
    def comparisons(self) -> int:
        """Pairs that are looked at when whatever is left joins a group, or another one that is left."""
        left = int(np.count_nonzero(self.left))
        return left * (left + len(self._groups))

    def grouping(self) -> Grouping:
        """The groups, and each unit of which something is left as one of its own."""
        rest = np.flatnonzero(self.left)
        parts = [*self._groups, *((rest[at : at + 1], self.left[rest[at : at + 1]]) for at in range(len(rest)))]
        number = np.repeat(np.arange(len(parts)), [len(unit) for unit, _ in parts])
        unit, count = (np.concatenate(column) for column in zip(*parts, strict=True))
        return self.space.units.grouping(Entries.tidy(unit, number, count))


# Neighbourhoods
# --------------


NEAR = 4_000_000
"""Memberships of the nodes of least slack that neighbourhoods are made of."""
PATIENCE = 2.0
"""Seconds that the solver may spend on one neighbourhood."""


@dataclass(frozen=True)
class Surroundings:
    """The nodes of least slack, looked up by unit."""

    space: RecodingSpace
    u: FloatArray
    """Prices, in true costs."""
    slack: FloatArray
    cost: FloatArray
    start: IntArray
    """Memberships of unit i are ``node[start[i]:start[i + 1]]``."""
    node: IntArray
    first: IntArray
    member: IntArray
    """Units of node t are ``member[first[t]:first[t + 1]]``."""

    @classmethod
    def of(cls, bound: PriceBound, prices: Prices) -> Surroundings:
        slack = bound.slack(prices)
        nodes, slack = _nearest(bound.nodes, slack)
        order = np.argsort(nodes.member, kind="stable")
        units = len(prices.u)
        start = np.searchsorted(nodes.member[order], np.arange(units + 1)).astype(np.int64)
        u, near, cost = (whole / bound.space.scale for whole in (prices.u, slack, nodes.cost))
        return cls(bound.space, u, near, cost, start, nodes.owner[order], nodes.start, nodes.member.astype(np.int64))

    def nodes_of(self, unit: IntArray) -> tuple[IntArray, IntArray]:
        """The memberships of some units: index of the unit, and node."""
        length = self.start[unit + 1] - self.start[unit]
        index = np.repeat(np.arange(len(unit)), length)
        inside = positions_in_runs(length)
        return index, self.node[self.start[unit][index] + inside]


def _nearest(nodes: Nodes, slack: IntArray) -> tuple[Nodes, IntArray]:
    length = np.diff(nodes.start)
    order = np.argsort(slack, kind="stable")
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order[: int(np.searchsorted(np.cumsum(length[order]), NEAR, side="right"))]] = True
    chosen &= slack < 1 << 61
    return nodes.only(chosen), slack[chosen]


class NeighbourhoodSearch:
    """An arrangement that gets cheaper, neighbourhood by neighbourhood."""

    def __init__(
        self, start: Arrangement, around: Surroundings, open_regions: BoolArray, *, budget: int, seed: int
    ) -> None:
        self.now, self.around, self.open, self.budget = start, around, open_regions, budget
        self.room = 2_000
        """Most memberships of a neighbourhood; it adapts to what the solver can do in the time."""
        self.draw = np.random.default_rng(seed)
        self._look()
        self.tired = np.zeros(len(start.cost))

    def _look(self) -> None:
        entries = self.now.entries
        self.first = entries.first
        order = np.argsort(entries.unit, kind="stable")
        self.groups_of = entries.group[order]
        self.unit_start = np.searchsorted(entries.unit[order], np.arange(len(self.now.suppressed) + 1))
        priced = np.bincount(
            entries.group, weights=entries.count * self.around.u[entries.unit], minlength=len(self.now.cost)
        )
        self.waste = np.where(self.open[self.now.region], np.maximum(self.now.cost * self.now.size - priced, 0.0), 0.0)

    def run(self, end: float) -> None:
        """Neighbourhood after neighbourhood until the time is over, or many of them in a row brought nothing."""
        vain, idle = 0, 5 + min(60, len(self.now.cost))
        while time.thread_time() < end and vain < idle and self.waste.sum() > 1e-9:
            vain = 0 if self.improve() else vain + 1

    def improve(self) -> bool:
        """Solve one neighbourhood; whether that helped."""
        weight = self.waste * 0.5**self.tired
        if weight.sum() <= 0:
            return False
        seed = int(self.draw.choice(len(weight), p=weight / weight.sum()))
        groups = self._grown(seed)
        self.tired[groups] += 0.25
        self.tired[seed] += 1.0
        unit, count = self.now.records_of(groups)
        begin = time.thread_time()
        answer = solve(self.around.space, self._part(groups, unit, count), seconds=PATIENCE, gap=1e-4)
        self._adapt(time.thread_time() - begin)
        better = self.now.replaced(groups, unit, answer)
        if better is None:
            return False
        fresh = len(better.cost) - (len(self.now.cost) - len(groups))
        self.tired = np.concatenate([np.delete(self.tired, groups), np.zeros(fresh)])
        self.now = better
        self._look()
        return True

    def _adapt(self, spent: float) -> None:
        self.room = int(
            np.clip(self.room * (1.1 if spent < PATIENCE / 4 else 0.8 if spent > PATIENCE / 2 else 1.0), 300, 60_000)
        )

    def _grown(self, seed: int) -> IntArray:
        """Groups around a seed, nearest first: reached through nodes of little slack (I1 holds because nodes keep to
        regions)."""
        chosen: set[int] = set()
        seen: set[int] = set()
        queue: list[tuple[float, int]] = [(0.0, seed)]
        used = 0
        while queue and used < self.room:
            far, group = heapq.heappop(queue)
            if group in chosen:
                continue
            chosen.add(group)
            unit = self.now.entries.unit[self.first[group] : self.first[group + 1]]
            _, nodes = self.around.nodes_of(unit)
            used += len(nodes) + len(unit)
            for node in np.unique(nodes).tolist():
                if node not in seen:
                    seen.add(node)
                    self._reach(node, far, queue, chosen)
        return np.array(sorted(chosen), dtype=np.int64)

    def _reach(self, node: int, far: float, queue: list[tuple[float, int]], chosen: set[int]) -> None:
        """Queue the groups of a node's members; of a large node only some."""
        around = self.around
        member = around.member[around.first[node] : around.first[node + 1]]
        if len(member) > 30:
            member = self.draw.choice(member, 30, replace=False)
        distance = far + float(around.slack[node]) + 1e-6 + 0.05 * float(around.cost[node])
        for unit in member.tolist():
            for group in self.groups_of[self.unit_start[unit] : self.unit_start[unit + 1]][:3].tolist():
                if group not in chosen:
                    heapq.heappush(queue, (distance * (1.0 + 0.3 * float(self.draw.random())), group))

    def _part(self, groups: IntArray, unit: IntArray, count: IntArray) -> Neighbourhood:
        """The program of the neighbourhood: near nodes that its records can fill, and the groups' own tuples (I2)."""
        member, node = self.around.nodes_of(unit)
        waste = self.now.total_of(groups, unit) - float(self.around.u[unit] @ count)
        kept = self.around.slack[node] <= max(waste, 0.0) + 1e-9
        member, node = member[kept], node[kept]
        present, owner = np.unique(node, return_inverse=True)
        own_member, own_node, own_cost = self._own(groups, unit)
        member, owner = np.concatenate([member, own_member]), np.concatenate([owner, len(present) + own_node])
        cost = np.concatenate([self.around.cost[present], own_cost])
        enough = np.bincount(owner, weights=count[member], minlength=len(cost)) >= self.around.space.least
        usable = enough[owner]
        spare = (
            self.budget - int(self.now.suppressed.sum()) + int(self.now.suppressed[unit].sum()) if self.budget else 0
        )
        return Neighbourhood(unit, count, cost[enough], member[usable], (np.cumsum(enough) - 1)[owner[usable]], spare)

    def _own(self, groups: IntArray, unit: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """The groups' tuples as nodes, with all units of the neighbourhood that fit into them."""
        space, entries = self.around.space, self.now.entries
        inside = np.isin(entries.group, groups)
        number = np.searchsorted(groups, entries.group[inside])
        intervals = space.problem.intervals(space.units.part(entries.unit[inside], number, entries.count[inside]))
        fits = np.ones((len(groups), len(unit)), dtype=np.bool_)
        for column, (lo, hi) in enumerate(intervals):
            code = space.units.codes[unit, column]
            fits &= (code >= lo[:, None]) & (code < hi[:, None])
        fits &= space.units.region[unit] == space.units.region[entries.unit[self.first[groups]]][:, None]
        node, member = np.nonzero(fits)
        return member, node, self.now.cost[groups]
