"""k-degree anonymity by adding edges: every original edge stays, and as few new ones as possible make every degree
common.

Guarantee
    Everybody shares the published number of ties with at least k − 1 others, and every original edge is published. The
    certificate says how many edges were added and how many any graph of this kind must add at least; where both agree
    the release is the best possible. Nothing more is promised: who knows friends of a person, ties among them, or
    planted accounts before publication (see `structural-attack`) may recognize people, because all original edges are
    there to be recognized. Added edges are not marked, but an adversary who can guess which edges are natural may guess
    some of them.

Paper
    [obfuscation §3.4], after Liu and Terzi.

Invariants
    I1  Names are new, who is raised among equals is drawn, and partners are mixed (`methods.degree_anonymity`): running
        the method again on the published graph repeats none of its choices.
    I2  The manifest tells the number of added edges and its bound, on purpose: figures about the whole graph.

Departures
    [obfuscation §3.4] describes the problem and reports no figures for it. The optimum is proven by the solver up to
    `exact_up_to` people; beyond, a bound by counting (`methods.degree_anonymity`) says how far from the optimum a
    release may be.

Cost
    O(D·k²) for D different degrees, O(L²) for L people who are raised, and sorting the edges.


Additions
---------
The edges to add: from the cheapest degree sequence, for small graphs by the solver, and then mixed.

Invariants
    I1  `least` is a lower bound for every k-degree anonymous graph that keeps all edges; `proof` says whether counting
        or the solver stands behind it.
    I2  Mixing exchanges ends of added edges and changes nobody's number of ties. The new edges are then random, not
        determined by an order of processing.


Bound
-----
How many edges every k-degree anonymous supergraph must add at least, by counting alone.

Guarantee
    Two arguments, the larger figure counts. *All people.* Each added edge raises two degrees by one, and the degrees
    rise by `sequence.least_rise` at least. *Hubs.* Let S be the m people with the largest published degrees D[0] … D[m
    − 1]. In the end at most m(m − 1)/2 pairs inside S are joined, so at least ΣD[:m] − m(m − 1)/2 published edges touch
    S. At most C of them are original, where C is the largest number of original edges that any m people touch; the
    others were added. ΣD[:m] is at least what `sequence.prefix_rises` says.

Invariants
    I1  C is bounded from above: for any set H and 0 ≤ λ ≤ 1 let an edge inside H count 1 − λ for itself and λ for each
        end that is chosen, any other edge 1 for each end. That is at least what the choice touches; the m largest sums
        bound C.

Cost
    O(D·k²) as the sequence, and O(N) for each of at most `_SIZES` sizes m.

>>> star = Graph.from_pairs([0] * 9, list(range(1, 10)))
>>> least_total_increase(np.sort(star.degrees)[::-1], 2), fewest_edges(star, 2)
(8, 8)


Exact
-----
The fewest edges that make a small graph k-degree anonymous, as a constraint problem solved to proven optimality.

Paper
    [obfuscation §3.4]

Departures
    The paper gives every person a column for each neighbour, which its authors found very hard to solve. Here a
    variable says whether a pair becomes an edge, and another whether a person gets a degree: the same solutions without
    their many names.

Notation
    x(u, v)   pair u, v, not joined so far, becomes an edge.
    y(v, t)   person v has t ties in the end.
    z(t)      a person has t ties in the end; then at least k people have.

>>> path = Graph.from_pairs([0, 1, 2], [1, 2, 3])
>>> edges, proven = add_fewest_edges(path, 4, most=3, least=1, seed=1, effort=5)
>>> len(edges), proven
(1, 1)


Realisation
-----------
Edges that give everybody the number of ties a plan asks for, beside those that exist; the plan grows where it cannot be
met.

The node that needs most edges is connected first, to the nodes that need most among those not yet its neighbours. What
is left is stuck: then edges are exchanged, people of crowded degrees take one more tie each, and at last whole degrees
are raised together.

Invariants
    I1  Every degree of the plan is shared by nobody or by at least k people, at any time.
    I2  Only pairs that are joined neither in the graph nor by an added edge become added edges.
    I3  It ends: whenever a person lacks a tie the plan is raised, and with everybody joined to everybody nobody lacks
        one.

Cost
    O(L²) for L people who lack ties, O(N) for each of those who are stuck.


Sequence
--------
The cheapest k-anonymous degree sequence above a given one: who has to be raised to which number of ties, edges left
aside.

Paper
    [obfuscation §3.4] states the problem; the dynamic program goes back to Liu and Terzi, whom it cites.

Notation
    d      degrees in descending order.
    f(i)   least total rise that makes the first i people k-anonymous by themselves.

Invariants
    I1  Groups are runs of consecutive people raised to the degree of the first. Whatever k-anonymous sequence is at
        least d person by person, its descending order is at least d place by place, and sorting does not change its
        sum.
    I2  Runs of k … 2k − 1 suffice: a longer run splits into two, and the second is raised less.
    I3  Of people with the same degree 5k are enough: a run from above reaches at most 2k − 1 of them, a run downwards
        begins with at most 2k − 1, and the more than k in the middle stay as they are, however many more join them.

Cost
    O(D·k²) for D different degrees, whatever the number of people (I3), in vector operations of length k.

>>> anonymous_degrees(np.array([5, 4, 4, 1, 1]), 2).tolist()
[5, 5, 5, 1, 1]
>>> least_total_increase(np.array([5, 4, 4, 1, 1]), 2)
2
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.constraint_solver import SolverModel
from sfumato.core.errors import Infeasible, SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.data.graph import Graph, contained_in_sorted
from sfumato.kinds.graphs.form import Edges, GraphProvenance
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.release import Part, Release

UNCOVERED = (
    (
        "an outsider knows of a person's ties only their number; who knows friends of a person, ties among them, or"
        " planted accounts may recognize people, because every original edge is published"
    ),
    (
        "added edges are not marked, but are not made to look natural: an outsider who can tell which ties are likely"
        " may guess some"
    ),
)


class DegreeAnonymity(Method):
    """Add as few edges as possible until every node shares its degree with k − 1 others; every edge stays."""

    name: ClassVar[str] = "degree-anonymity"
    form: ClassVar[type[Form]] = Edges
    paper: ClassVar[str] = "obfuscation §3.4"
    kinds: ClassVar[tuple[str, ...]] = ("graph",)

    exact_up_to: int = Field(default=60, ge=0, description="largest number of nodes for which the optimum is searched")
    effort: float = Field(
        default=10,
        gt=0,
        description="time limit of the solver, in its own deterministic seconds; default: by effort",
    )

    def refusal(self, policy: Policy) -> str:
        if not policy.claims:
            return "it needs a k-degree-anonymity under 'protect'"
        if any(not _counts_people(claim) for claim in policy.claims):
            return "added edges promise nothing but k-degree-anonymity"
        return ""

    def unremembered(self, policy: Policy) -> str:
        return "people with as many ties as others in one release need not be so in the next; publish without a ledger"

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return _counts_people(claim)

    def preference(self, records: int | None) -> tuple[int, str]:
        return 10, "it makes degrees common and keeps every edge"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        """How many edges have to be added at least, from the source when it can be read; nothing is drawn."""
        try:
            graph: Graph = policy.data.read()
        except SfumatoError as wrong:
            return [f"the source cannot be read from here, so nothing is predicted: {wrong.what}"]
        said = [f"source: {graph.nodes:,} people, {graph.size:,} edges"]
        try:
            return [*said, *self._predicted(graph, _feasible(policy, graph))]
        except Infeasible as error:
            return [*said, f"warning: {error.what}; publishing will be refused ({error.hint})"]

    def _solver_time(self, policy: Policy) -> float:
        return self.effort if "effort" in self.model_fields_set else self.shares[policy.effort] * self.effort

    def _predicted(self, graph: Graph, k: int) -> list[str]:
        least = fewest_edges(graph, k)
        if not least:
            return ["every degree is shared by enough people already or nearly so; counting asks for no new edge"]
        share = least / max(graph.size, 1)
        said = [f"output: every edge stays, and no graph of this kind adds fewer than {least:,} ({share:.1%})"]
        return said if graph.nodes > self.exact_up_to else [*said, "the solver looks for the proven optimum"]

    def run(self, task: Task) -> Release:
        graph: Graph = task.data
        k = _feasible(task.policy, graph)
        task.progress(0.1, "adding edges")
        chance = task.randomness
        added = add_edges(
            graph, k, chance.child("partners"), exact_up_to=self.exact_up_to, effort=self._solver_time(task.policy)
        )
        names = chance.child("names").permutation(graph.nodes)  # I1
        published = graph.joined(0, added.low, added.high).relabelled(names)
        part = Part({name: np.asarray(column, dtype=np.int64) for name, column in published.to_columns().items()})
        return Release(
            Edges(nodes=graph.nodes, only_added=True),  # I2
            {"edges": part},
            trace=GraphProvenance(
                names=names, numbering=graph.numbering, fewest_added_edges=added.least, proof=added.proof, lasting=True
            ),
            notes=UNCOVERED,
        )


def _counts_people(claim: PrivacyRequirement) -> bool:
    """Whether people with the same degree, if they are many enough, are all that the requirement asks for."""
    demand = claim.model.demand()
    return demand.sufficient and not demand.of_values


def _feasible(policy: Policy, graph: Graph) -> int:
    """The largest k of the requirements, or `Infeasible`."""
    k = max(claim.model.demand().candidates for claim in policy.claims)
    if graph.nodes < k:
        what = f"no degree can be shared by {k} people in a graph of {graph.nodes}"
        raise Infeasible(
            what, where=policy.document.where("protect"), hint=f"ask for k of at most {graph.nodes}, or add people"
        )
    return k


# Additions
# ---------


_ATTEMPTS = 3
_SMALL = 10_000
"""With more people than that a second attempt hardly ever finds fewer edges."""
_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Additions:
    """Edges to add, and how many any answer needs at least."""

    low: IntArray
    high: IntArray
    least: int
    proof: Literal["counting", "solver"] = "counting"

    @property
    def size(self) -> int:
        return len(self.low)


def add_edges(graph: Graph, k: int, randomness: Randomness, *, exact_up_to: int, effort: float) -> Additions:
    """Few edges that make the graph k-degree anonymous; the fewest, where `least` says so."""
    least = fewest_edges(graph, k)
    found = _grown(graph, k, least, randomness)
    if found.size > least and graph.nodes <= exact_up_to:
        found = _solved(graph, k, found, randomness, effort)
    low, high = mixed(graph, found.low, found.high, randomness.child("mixing"))
    return Additions(low, high, found.least, found.proof)


def _grown(graph: Graph, k: int, least: int, randomness: Randomness) -> Additions:
    """The best of a few attempts, which differ in who of several people with the same degree is raised."""
    best: DegreeRealisation | None = None
    for attempt in range(_ATTEMPTS if graph.nodes <= _SMALL else 1):
        chance = randomness.child(attempt)
        order = np.lexsort([chance.uniform(graph.nodes), -graph.degrees])
        plan = np.empty(graph.nodes, dtype=np.int64)
        plan[order] = anonymous_degrees(graph.degrees[order], k)
        grown = DegreeRealisation(graph, k, plan, chance).finish()
        best = grown if best is None or grown.size < best.size else best
        if best.size == least:
            break
    assert best is not None
    return Additions(*best.edges(), least)


def _solved(graph: Graph, k: int, known: Additions, randomness: Randomness, effort: float) -> Additions:
    """The solver's answer where it finds fewer edges or proves more; it works on shuffled people."""
    names = randomness.child("solver").permutation(graph.nodes)
    one, other = names[known.low], names[known.high]
    guess = set(zip(np.minimum(one, other).tolist(), np.maximum(one, other).tolist(), strict=True))
    seed = randomness.child("solver seed").integer(1 << 31)
    shuffled = graph.relabelled(names)
    pairs, least = add_fewest_edges(
        shuffled, k, most=known.size, least=known.least, seed=seed, effort=effort, known=guess
    )
    proof: Literal["counting", "solver"] = "solver" if least > known.least else "counting"
    if pairs is None:
        return Additions(known.low, known.high, least, proof)  # I1
    ends = np.argsort(names)[np.array(pairs, dtype=np.int64).reshape(-1, 2)]
    return Additions(ends.min(axis=1), ends.max(axis=1), least, proof)


def mixed(graph: Graph, low: IntArray, high: IntArray, randomness: Randomness) -> tuple[IntArray, IntArray]:
    """Other edges with the same degrees: in every round pairs of added edges exchange ends where that gives new pairs
    of people."""
    codes = np.sort(low * graph.nodes + high)
    for _ in range(_ROUNDS if len(codes) > 1 else 0):
        codes = _exchanged(graph, codes[randomness.permutation(len(codes))], randomness)
    ends = np.divmod(codes, max(graph.nodes, 1))
    return ends[0], ends[1]


def _exchanged(graph: Graph, codes: IntArray, randomness: Randomness) -> IntArray:
    half = len(codes) // 2
    a, b = np.divmod(codes[:half], graph.nodes)
    c, d = np.divmod(codes[half : 2 * half], graph.nodes)
    turned = randomness.integers(2, half) == 1
    c, d = np.where(turned, d, c), np.where(turned, c, d)
    fresh = np.stack([_coded(graph, a, d), _coded(graph, c, b)])  # I2
    proper = (a != d) & (c != b) & ~graph.has_edges(a, d) & ~graph.has_edges(c, b)
    proper &= ~contained_in_sorted(codes_sorted := np.sort(codes), fresh[0]) & ~contained_in_sorted(
        codes_sorted, fresh[1]
    )
    values, times = np.unique(fresh, return_counts=True)
    proper &= (times[np.searchsorted(values, fresh)] == 1).all(axis=0)  # no pair of people is wanted twice
    first, second = np.where(proper, fresh[0], codes[:half]), np.where(proper, fresh[1], codes[half : 2 * half])
    return np.sort(np.concatenate([first, second, codes[2 * half :]]))


def _coded(graph: Graph, one: IntArray, other: IntArray) -> IntArray:
    coded: IntArray = np.minimum(one, other) * graph.nodes + np.maximum(one, other)
    return coded


# Bound
# -----


_SIZES = 20


def fewest_edges(graph: Graph, k: int) -> int:
    """No k-degree anonymous graph that keeps all edges has fewer new ones than this."""
    order = np.argsort(-graph.degrees, kind="stable")
    degrees = graph.degrees[order]
    everybody = -(-least_total_increase(degrees, k) // 2)
    most = min(_SIZES * k, graph.nodes)
    rises = prefix_increases(degrees, k, most)
    hubs = (_touching(graph, order, m, int(rises[m] + degrees[:m].sum())) for m in range(k, most + 1, k))
    return max(everybody, *hubs)


def _touching(graph: Graph, order: IntArray, m: int, goal: int) -> int:
    return goal - m * (m - 1) // 2 - most_touched(graph, order[:m])


def most_touched(graph: Graph, hubs: IntArray) -> int:
    """At least as many edges as any choice of as many people as `hubs` touches; sharp when the hubs are the best
    choice."""
    m = len(hubs)
    chosen = np.zeros(graph.nodes, dtype=bool)
    chosen[hubs] = True
    within = np.zeros(graph.nodes, dtype=np.int64)
    within[hubs] = [int(chosen[graph.neighbours_of(int(hub))].sum()) for hub in hubs]
    inside = int(within.sum()) // 2
    whole = inside + _largest(graph.degrees - within, m)  # I1: λ = 0
    halves = (inside + _largest(2 * graph.degrees - within, m)) // 2  # λ = ½
    return min(whole, halves, _largest(graph.degrees, m), graph.size)


def _largest(values: IntArray, count: int) -> int:
    return int(np.partition(values, len(values) - count)[len(values) - count :].sum())


# Exact
# -----


Pairs = list[tuple[int, int]]


def add_fewest_edges(
    graph: Graph, k: int, *, most: int, least: int, seed: int, effort: float, known: Collection[tuple[int, int]] = ()
) -> tuple[Pairs | None, int]:
    """The best edges found, if any, and how many are needed at least; `known` is an answer of `most` edges to begin
    with."""
    model = SolverModel()
    low, high = np.triu_indices(graph.nodes, 1)
    free = ~graph.has_edges(low, high)
    pairs: Pairs = list(zip(low[free].tolist(), high[free].tolist(), strict=True))
    chosen = [model.integer(0, 1) for _ in pairs]
    model.within(dict.fromkeys(chosen, 1), least, most)
    _post_degrees(model, graph, k, most, dict(zip(pairs, chosen, strict=True)))
    hints = {variable: int(pair in known) for pair, variable in zip(pairs, chosen, strict=True)}
    values, proven = model.minimize(dict.fromkeys(chosen, 1), hints, seed, effort)
    added = None if values is None else [pair for pair, value in zip(pairs, values, strict=False) if value]
    return added, max(proven, least)


def _post_degrees(model: SolverModel, graph: Graph, k: int, most: int, chosen: dict[tuple[int, int], Any]) -> None:
    ties: list[dict[Any, int]] = [{} for _ in range(graph.nodes)]
    for (u, v), variable in chosen.items():
        ties[u][variable] = ties[v][variable] = -1
    having: dict[int, list[Any]] = {}
    for person, degree in enumerate(graph.degrees.tolist()):
        options = {model.truth(): t for t in range(degree, min(degree + most, graph.nodes - 1) + 1)}
        model.within(dict.fromkeys(options, 1), 1, 1)  # Σ y(v, t) = 1
        model.within(options | ties[person], degree, degree)  # Σ t·y(v, t) − Σ x = degree
        for option, t in options.items():
            having.setdefault(t, []).append(option)
    for options_of_t in having.values():
        used = model.truth()
        model.within(dict.fromkeys(options_of_t, 1) | {used: -k}, 0, None)  # z(t) → at least k people
        for option in options_of_t:
            model.within({used: 1, option: -1}, 0, None)  # y(v, t) → z(t)


# Realisation
# -----------


class DegreeRealisation:
    """A graph that grows towards planned degrees."""

    def __init__(self, graph: Graph, k: int, plan: IntArray, randomness: Randomness) -> None:
        self.graph, self.k, self.randomness = graph, k, randomness
        self.plan = plan.copy()
        self.people = np.bincount(plan, minlength=graph.nodes + 1)
        """How many people the plan gives each degree."""
        self.lacking = plan - graph.degrees
        self.added: defaultdict[int, set[int]] = defaultdict(set)

    def finish(self) -> DegreeRealisation:
        """Add edges until nobody lacks a tie."""
        while True:
            self._serve()
            self._exchange()
            self._borrow()
            stuck = np.flatnonzero(self.lacking)
            if not len(stuck):
                return self
            self._lift(int(stuck[0]))

    @property
    def size(self) -> int:
        return sum(map(len, self.added.values())) // 2

    def edges(self) -> tuple[IntArray, IntArray]:
        """The added edges, the smaller end first."""
        pairs = [(v, u) for v, others in self.added.items() for u in others if v < u]
        array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return array[:, 0], array[:, 1]

    def _serve(self) -> None:
        """Largest lack first; partners are those who lack most, at random among equals."""
        chance = self.randomness.uniform(self.graph.nodes)
        waiting = np.flatnonzero(self.lacking)
        while len(waiting):
            rank = self.lacking[waiting] + chance[waiting]
            node = int(waiting[rank.argmax()])
            free = ~self._near(node)[waiting]
            open_to, rank = waiting[free], rank[free]
            wanted = min(int(self.lacking[node]), len(open_to))
            if wanted:
                for other in open_to[np.argpartition(-rank, wanted - 1)[:wanted]].tolist():
                    self._join(node, other)
            waiting = waiting[(self.lacking[waiting] > 0) & (waiting != node)]

    def _exchange(self) -> None:
        """Two missing ties for one added edge x-y: x and y each join a person who lacks a tie instead of each other."""
        if not self.added or not self.lacking.any():
            return
        left, right = self.edges()
        x, y = np.concatenate([left, right]), np.concatenate([right, left])
        for first, second in self._stuck_pairs():
            near = self._near(first)
            close = near if first == second else self._near(second)  # one and the same person gets no tie twice (I2)
            for place in self._shuffled(np.flatnonzero(~near[x] & ~close[y])):
                a, b = int(x[place]), int(y[place])
                if min(self.lacking[first], self.lacking[second]) < 1 + (first == second):
                    break
                if b in self.added[a] and not near[a] and not close[b]:
                    self._part(a, b)
                    self._join(first, a)
                    self._join(second, b)
                    near[a] = close[b] = True

    def _stuck_pairs(self) -> Iterator[tuple[int, int]]:
        """Everybody who lacks two ties with himself, then the others two by two."""
        for node in self._shuffled(np.flatnonzero(self.lacking > 1)):
            yield int(node), int(node)
        single = self._shuffled(np.flatnonzero(self.lacking))
        yield from zip(single[0::2].tolist(), single[1::2].tolist(), strict=False)

    def _borrow(self) -> None:
        """People of crowded degrees move to the next degree, where that is crowded as well, and give one tie."""
        for node in np.flatnonzero(self.lacking).tolist():
            near, progress = self._near(node), True
            while self.lacking[node] and progress:
                progress = False
                able = ~near & (self.people[self.plan] > self.k) & (self.people[self.plan + 1] >= self.k)
                for other in self._sociable(np.flatnonzero(able)).tolist():
                    if not self.lacking[node]:
                        break
                    if self.people[self.plan[other]] > self.k:  # I1; the degree above only gains people meanwhile
                        self._raise(other)
                        self._join(node, other)
                        near[other] = progress = True

    def _lift(self, stuck: int) -> None:
        """Raise the cheapest whole degree, or k people of a very crowded one, that a person who can help `stuck`
        belongs to.

        Ties have two ends: an odd number of missing ones is made even where a degree can be raised by an odd number of
        people."""
        free = np.flatnonzero(~self._near(stuck) & (self.plan < self.graph.nodes - 1))
        degrees = np.unique(
            self.plan[free]
        )  # I3: never empty, two people who lack a tie and are not joined have been joined
        crowd = self.people[degrees]
        few = self.k + (self.lacking.sum() + self.k) % 2
        moved = np.where((crowd >= self.k + few) & (self.people[degrees + 1] == 0), few, crowd)  # I1
        best = int(np.lexsort([moved, (self.lacking.sum() + moved) % 2])[0])
        group = self._shuffled(np.flatnonzero(self.plan == degrees[best]))
        helpful = np.isin(group, free)
        for node in np.concatenate([group[helpful], group[~helpful]])[: moved[best]].tolist():
            self._raise(node)

    def _raise(self, node: int) -> None:
        self.people[self.plan[node]] -= 1
        self.plan[node] += 1
        self.people[self.plan[node]] += 1
        self.lacking[node] += 1

    def _near(self, node: int) -> BoolArray:
        """Who cannot be joined to `node` (I2)."""
        near = np.zeros(self.graph.nodes, dtype=bool)
        near[self.graph.neighbours_of(node)] = True
        near[list(self.added[node])] = True
        near[node] = True
        return near

    def _join(self, one: int, other: int) -> None:
        self.added[one].add(other)
        self.added[other].add(one)
        self.lacking[one] -= 1
        self.lacking[other] -= 1

    def _part(self, one: int, other: int) -> None:
        self.added[one].discard(other)
        self.added[other].discard(one)
        self.lacking[one] += 1
        self.lacking[other] += 1

    def _sociable(self, people: IntArray) -> IntArray:
        """A random order in which people with many ties tend to come first, as new ties among people do."""
        waits = -np.log1p(-self.randomness.uniform(len(people))) / (self.graph.degrees[people] + 0.5)
        ordered: IntArray = people[np.argsort(waits)]
        return ordered

    def _shuffled(self, values: IntArray) -> IntArray:
        shuffled: IntArray = values[self.randomness.permutation(len(values))]
        return shuffled


# Sequence
# --------


_FAR = np.int64(1 << 60)


def anonymous_degrees(degrees: IntArray, k: int) -> IntArray:
    """The cheapest k-anonymous sequence at least `degrees` (descending), place by place."""
    thin = _thinned(degrees, k)
    targets, few = degrees.copy(), degrees[thin]
    _, before = _program(few, k)
    goals, end = few.copy(), len(few)
    while end:
        begin = int(before[end])
        goals[begin:end] = few[begin]
        end = begin
    targets[thin] = goals
    return targets


def least_total_increase(degrees: IntArray, k: int) -> int:
    """The total rise of `anonymous_degrees`: no k-anonymous sequence above `degrees` rises less."""
    return int(_program(degrees[_thinned(degrees, k)], k)[0][-1])


def prefix_increases(degrees: IntArray, k: int, most: int) -> IntArray:
    """For m = 0 … most: the least total rise of the first m people in any k-anonymous sequence above `degrees`."""
    top = degrees[: most + 2 * k]
    cost, _ = _program(top, k)
    sums = np.concatenate([[0], np.cumsum(top)])
    rises = np.zeros(most + 1, dtype=np.int64)
    for m in range(1, most + 1):
        begins = np.arange(max(0, m - 2 * k + 1), min(m, len(degrees) - k + 1))
        rises[m] = (
            cost[begins] + (m - begins) * top[begins] - (sums[m] - sums[begins])
        ).min()  # the last run may go on after m
    return rises


def _thinned(degrees: IntArray, k: int) -> BoolArray:
    """Which people the program has to look at (I3)."""
    places = np.arange(len(degrees))
    fresh = np.ones(len(degrees), dtype=bool)
    np.not_equal(degrees[1:], degrees[:-1], out=fresh[1:])
    looked: BoolArray = places - np.maximum.accumulate(np.where(fresh, places, 0)) < 5 * k
    return looked


def _program(degrees: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """f(i), and where the last run of the first i people begins."""
    count = len(degrees)
    sums = np.concatenate([[0], np.cumsum(degrees)])
    cost, before = np.full(count + 1, _FAR), np.zeros(count + 1, dtype=np.int64)
    cost[0] = 0
    for end in range(k, count + 1):
        low, high = max(0, end - 2 * k + 1), end - k + 1  # I2
        lengths = np.arange(end - low, end - high, -1)
        costs = cost[low:high] + lengths * degrees[low:high] - (sums[end] - sums[low:high])  # I1
        best = int(costs.argmin())
        cost[end], before[end] = costs[best], low + best
    return cost, before
