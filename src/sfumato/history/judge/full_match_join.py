"""The full match join of three and more releases, decided: which cliques really lie on a perfect matching.

Guarantee
    An admitted clique has a witness: non-negative integers x with A x = b and x_C ≥ 1, checked in integers. An excluded
    clique has x_C = 0 in every real solution (a linear program whose optimum is zero), or its integer program is
    infeasible. What a time budget leaves open is called undecided and never counted as admitted.

Paper: [sequential Def. 3.3, Thm. 3.4] (the problem is NP-hard for three and more releases)

Notation
    x   how many times each clique is used;  A x = b: every node is used as often as it has records
    y   the part of x that is at most one, for the cliques in question; the batch maximizes its sum

Invariants
    I1  Nothing is admitted without an integer witness; nothing is excluded on a time-out or on a positive optimum.
    I2  Components (cliques that share no node, even indirectly) are independent problems.
    I3  With equal cuts and an acyclic schema every clique of the match join is admissible: root the join tree at any
        release; on each tree edge nodes meet iff they are equal on what both publish, so any way to pair equal records
        is allowed, one of them follows the wanted clique, and pairs of releases not joined by a tree edge agree along
        the path between them.
    I4  A release whose node is settled by the node of another one adds nothing: a matching without it extends in one
        way, and the counts fit since the true one extends so too. A component where only two others are left needs no
        program: there the kernel is the full join.

Departures
    The acyclic case is claimed elsewhere for different cuts per release too; that fails: the cycle of three releases
    together with a fully suppressed fourth one over all their columns is acyclic by its column names. Here columns
    count only where something is published, and cuts must be equal.

Cost: the configurations of the paper need a dozen linear programs of some thousand variables.


Joins
-----
The joins of a sequence of releases: which rows of different releases may belong to one person.

Guarantee
    full ⊆ kernel ⊆ match. For two releases the kernel *is* the full join. For three and more only `full_match_join`
    decides the full join; a level measured on the kernel or the match join flatters.

Paper: [sequential Def. 3.3, 3.4, 3.7, 3.8, Alg. 1, 2]

Notation
    clique   one node from each release, pairwise consistent; it stands for (product of multiplicities) cliques of
             records
    match    an edge between two releases that lies on some perfect matching between them
    flow     the pairs of nodes that truly share a record: a feasible flow, given by the links

Invariants
    I1  A flow that ships every record is a perfect matching, so an edge is a match iff it carries flow or closes a
        cycle in the residual graph: left → right along every edge, right → left where something flows. No matching has
        to be searched.
    I2  True links are never dropped; if one would be, the links are not a matching of these releases.

Departures
    [sequential Thm. 3.6] calls the kernel a proper subset of the match join; it may be all of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any

import numpy as np

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.errors import DataError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.generalized_tuples import intersecting_pairs
from sfumato.history.release_sequence import ReleaseSequence

Wanted = Callable[[BoolArray, BoolArray], BoolArray]
"""(admitted, excluded) → the cliques whose fate still matters."""

_ROUNDS = 40
"""Rounds of batches; what they leave is asked for one by one."""
_ZERO = 1e-7
_WHOLE = 1e-5


@dataclass
class DecidedCliques:
    """The fate of every clique of a join."""

    admitted: BoolArray
    excluded: BoolArray
    programs: dict[str, int] = field(default_factory=lambda: {"batch": 0, "single": 0, "integer": 0})
    seconds: float = 0.0

    @property
    def undecided(self) -> int:
        return int((~self.admitted & ~self.excluded).sum())


def whole_join_wanted(admitted: BoolArray, excluded: BoolArray) -> BoolArray:
    """The whole join is wanted, as diversity needs it (it has a denominator)."""
    return ~admitted & ~excluded


def decide_cliques(
    sequence: ReleaseSequence, cliques: IntArray, *, wanted: Wanted = whole_join_wanted, budget: float = 60.0
) -> DecidedCliques:
    """Admit or exclude the cliques of the kernel join, until all that is wanted is decided or the budget is spent."""
    started = time.process_time()
    verdict = DecidedCliques(np.zeros(len(cliques), dtype=np.bool_), np.zeros(len(cliques), dtype=np.bool_))
    if sequence.count <= 2 or decomposable(sequence):
        verdict.admitted[:] = True  # I3
        return verdict
    program = _Program(sequence, cliques, started + budget)
    verdict.admitted |= program.truth > 0
    for part in program.parts():
        if not verdict.admitted[part].all() and reducible(cliques[part]):
            verdict.admitted[part] = True  # I4
    _batches(program, verdict, wanted)
    _singles(program, verdict, wanted)
    verdict.seconds = time.process_time() - started
    return verdict


class _Program:
    """A x = b over the cliques, its components, and the true matching as its first solution."""

    def __init__(self, sequence: ReleaseSequence, cliques: IntArray, deadline: float) -> None:
        from scipy.sparse import csc_array

        sizes = [len(boxes) for boxes, _ in sequence.nodes]
        offset = np.cumsum([0, *sizes[:-1]])
        rows = (cliques + offset).ravel()
        columns = np.repeat(np.arange(len(cliques)), sequence.count)
        self.incidence = csc_array((np.ones(len(rows)), (rows, columns)), shape=(sum(sizes), len(cliques)))
        self.supply = np.concatenate([boxes.count for boxes, _ in sequence.nodes])
        self.nodes = cliques + offset
        self.deadline = deadline
        self.truth = _place(cliques, *true_cliques(sequence))
        self.component = _components(self.nodes, sum(sizes))
        self.by_node = self.incidence.tocsr()

    def parts(self) -> list[IntArray]:
        """The cliques of each component."""
        order = np.argsort(self.component, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.component[order])) + 1)

    def left(self) -> float:
        return self.deadline - time.process_time()

    def witness(self, columns: IntArray, solution: np.ndarray) -> IntArray | None:
        """The solution in integers, if it is one (I1); all other cliques keep their true amounts."""
        whole = np.rint(solution)
        if np.abs(whole - solution).max(initial=0.0) > _WHOLE:
            return None
        amounts = self.truth.copy()
        amounts[columns] = whole.astype(np.int64)
        used = np.zeros(len(self.supply), dtype=np.int64)
        for r in range(self.nodes.shape[1]):
            np.add.at(used, self.nodes[:, r], amounts)
        return amounts if (amounts >= 0).all() and np.array_equal(used, self.supply) else None


def _place(cliques: IntArray, true: IntArray, amount: IntArray) -> IntArray:
    """Amounts of the true matching in the order of `cliques`."""
    index = {tuple(row): place for place, row in enumerate(cliques.tolist())}
    placed = np.zeros(len(cliques), dtype=np.int64)
    for row, weight in zip(true.tolist(), amount.tolist(), strict=True):
        placed[index[tuple(row)]] = weight
    return placed


def _components(nodes: IntArray, size: int) -> IntArray:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    tail = np.repeat(nodes[:, 0], nodes.shape[1] - 1)
    graph = coo_array((np.ones(len(tail)), (tail, nodes[:, 1:].ravel())), shape=(size, size))
    _, label = connected_components(graph.tocsr(), directed=False)
    component: IntArray = label[nodes[:, 0]].astype(np.int64)
    return component


def _batches(program: _Program, verdict: DecidedCliques, wanted: Wanted) -> None:
    """Ask for as many undecided cliques at once as possible; an optimum of zero excludes all of them."""
    fractional = np.zeros(len(verdict.admitted), dtype=np.bool_)
    for _ in range(_ROUNDS):
        if program.left() <= 0:
            return
        asked = wanted(verdict.admitted, verdict.excluded) & ~fractional
        if not asked.any():
            return
        for component in np.unique(program.component[asked]):  # I2
            if program.left() <= 0:
                return
            columns = np.flatnonzero(program.component == component)
            _batch(program, verdict, columns, asked[columns], fractional)


def _batch(
    program: _Program, verdict: DecidedCliques, columns: IntArray, asked: BoolArray, fractional: BoolArray
) -> None:
    solution = _most(program, columns, asked)
    verdict.programs["batch"] += 1
    if solution is None:
        fractional[columns[asked]] = True
        return
    amounts, shares = solution
    if shares.sum() <= _ZERO:
        verdict.excluded[columns[asked]] = True
        return
    witness = program.witness(columns, amounts)
    if witness is not None:
        verdict.admitted |= witness > 0
    else:
        fractional[columns[asked][shares > _ZERO]] = True


def _most(program: _Program, columns: IntArray, asked: BoolArray) -> tuple[np.ndarray, np.ndarray] | None:
    """max Σ y with x = y + z on the asked cliques: (amounts, y), or nothing when the solver did not finish."""
    from scipy import optimize
    from scipy.sparse import hstack

    rows = np.unique(program.nodes[columns])
    matrix = program.incidence[:, columns].tocsr()[rows]
    count, extra = len(columns), int(asked.sum())
    solve: Any = optimize.linprog
    result = solve(
        np.concatenate([np.zeros(count), -np.ones(extra)]),
        A_eq=hstack([matrix, matrix[:, np.flatnonzero(asked)]], format="csc"),
        b_eq=program.supply[rows],
        bounds=[(0, None)] * count + [(0, 1)] * extra,
        method="highs-ds",
        options={"time_limit": max(program.left(), 0.1)},
    )
    if result.status != 0:
        return None
    amounts = result.x[:count].copy()
    amounts[asked] += result.x[count:]
    return amounts, amounts[asked].clip(max=1.0)


def _singles(program: _Program, verdict: DecidedCliques, wanted: Wanted) -> None:
    """One clique at a time: the smallest change of the true matching that uses it, in growing neighbourhoods."""
    tried = np.zeros(len(verdict.admitted), dtype=np.bool_)
    while program.left() > 0:
        asked = np.flatnonzero(wanted(verdict.admitted, verdict.excluded) & ~tried)
        if not len(asked):
            return
        clique = int(asked[0])
        tried[clique] = True
        _single(program, verdict, clique)


def _single(program: _Program, verdict: DecidedCliques, clique: int) -> None:
    whole = np.flatnonzero(program.component == program.component[clique])
    for columns in (*_neighbourhoods(program, clique, len(whole)), whole):
        last = len(columns) == len(whole)
        for integer in (False, True) if last else (False,):
            if program.left() <= 0:
                return
            verdict.programs["integer" if integer else "single"] += 1
            status, solution = _nearest(program, columns, clique, integer)
            if status == "infeasible" and last:
                verdict.excluded[clique] = True
                return
            witness = program.witness(columns, solution) if solution is not None else None
            if witness is not None:
                verdict.admitted |= witness > 0
                return


def _neighbourhoods(program: _Program, clique: int, limit: int) -> list[IntArray]:
    """Cliques within one and two steps of the true cliques around this one; often enough, and much smaller."""
    found: list[IntArray] = []
    nodes = np.unique(program.nodes[clique])
    for _ in range(2):
        touching = _touching(program, nodes)
        true = touching[program.truth[touching] > 0]
        nodes = np.unique(np.concatenate([nodes, program.nodes[true].ravel()]))
        inside = np.zeros(len(program.supply), dtype=np.bool_)
        inside[nodes] = True
        columns = _touching(program, nodes)
        columns = columns[inside[program.nodes[columns]].all(axis=1)]
        if len(columns) < limit:
            found.append(columns)
    return found


def _touching(program: _Program, nodes: IntArray) -> IntArray:
    table = program.by_node
    parts = [table.indices[table.indptr[n] : table.indptr[n + 1]] for n in nodes]
    return np.unique(np.concatenate(parts)).astype(np.int64)


def _nearest(program: _Program, columns: IntArray, clique: int, integer: bool) -> tuple[str, np.ndarray | None]:
    """min ‖d‖₁ with A d = 0, x₀ + d ≥ 0 and d_C ≥ 1 over these cliques, d = up − down."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import hstack

    rows = np.unique(program.nodes[columns])
    matrix = program.incidence[:, columns].tocsr()[rows]
    count = len(columns)
    least, most = np.zeros(2 * count), np.concatenate([np.full(count, np.inf), program.truth[columns]])
    place = int(np.flatnonzero(columns == clique)[0])
    least[place] = 1
    result: Any = milp(
        np.ones(2 * count),
        constraints=LinearConstraint(hstack([matrix, -matrix], format="csc"), 0, 0),
        bounds=Bounds(least, most),
        integrality=np.full(2 * count, int(integer)),
        options={"time_limit": max(program.left(), 0.1)},
    )
    if result.status == 2:
        return "infeasible", None
    if result.status != 0 or result.x is None:
        return "open", None
    return "solved", program.truth[columns] + result.x[:count] - result.x[count:]


def decomposable(sequence: ReleaseSequence) -> bool:
    """Equal cuts and an acyclic schema: then match, kernel and full join are one (I3)."""
    return _equal_cuts(sequence) and acyclic([set(np.flatnonzero(row).tolist()) for row in sequence.present])


def reducible(cliques: IntArray) -> bool:
    """Two releases are left when those settled by another one are taken away one after the other (I4).

    >>> reducible(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 2]])), reducible(np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1,
    ...     1, 1]]))
    (True, False)
    """
    rest = cliques
    while rest.shape[1] > 2:
        kinds = [len(np.unique(rest[:, r])) for r in range(rest.shape[1])]
        wide = int(rest.max()) + 1
        pairs = permutations(range(rest.shape[1]), 2)
        settled = [b for a, b in pairs if len(np.unique(rest[:, a] * wide + rest[:, b])) == kinds[a]]
        if not settled:
            return False
        rest = np.delete(rest, settled[0], axis=1)
    return True


def _equal_cuts(sequence: ReleaseSequence) -> bool:
    """Per attribute, all intervals that its releases publish are equal or disjoint."""
    for m in sequence.shared:
        told = [boxes for r, boxes in enumerate(sequence.releases) if sequence.present[r, m]]
        lo = np.concatenate([boxes.lo[:, m] for boxes in told])
        hi = np.concatenate([boxes.hi[:, m] for boxes in told])
        distinct = np.unique(np.stack([lo, hi], axis=1), axis=0)
        if (distinct[1:, 0] < distinct[:-1, 1]).any():
            return False
    return True


def acyclic(edges: list[set[int]]) -> bool:
    """Graham's reduction: drop columns of one release and releases inside others, until nothing is left or nothing
    moves.

    >>> acyclic([{1, 2}, {2, 3}]), acyclic([{1, 2}, {2, 3}, {1, 3}]), acyclic([{1, 2}, {2, 3}, {1, 3}, {1, 2, 3}])
    (True, False, True)
    """
    edges = [set(edge) for edge in edges]
    while True:
        counts: dict[int, int] = {}
        for edge in edges:
            for column in edge:
                counts[column] = counts.get(column, 0) + 1
        reduced = [{column for column in edge if counts[column] > 1} for edge in edges]
        kept = [
            e
            for i, e in enumerate(reduced)
            if not any(e <= o and (e != o or j < i) for j, o in enumerate(reduced) if j != i)
        ]
        if len(kept) <= 1:
            return True
        if kept == edges:
            return False
        edges = kept


# Joins
# -----


def true_cliques(sequence: ReleaseSequence) -> tuple[IntArray, IntArray]:
    """Cliques of the true matching at node level, and how many records each of them holds."""
    parts = [of[sequence.links[:, r]] for r, (_, of) in enumerate(sequence.nodes)]
    classes = equivalence_classes_of(parts)
    amount = np.bincount(classes.of, weights=sequence.weight, minlength=len(classes)).astype(np.int64)
    return np.stack(parts, axis=1)[classes.first], amount


def match_join(sequence: ReleaseSequence) -> IntArray:
    """All cliques of nodes, one row each [sequential Def. 3.3]."""
    columns = sequence.decisive
    first = sequence.nodes[0][0]
    cliques = np.arange(len(first))[:, None]
    lo, hi = first.lo[:, columns], first.hi[:, columns]
    for boxes, _ in sequence.nodes[1:]:
        i, j = intersecting_pairs(lo, hi, boxes.lo[:, columns], boxes.hi[:, columns])
        cliques = np.column_stack([cliques[i], j])
        lo = np.maximum(lo[i], boxes.lo[j][:, columns])
        hi = np.minimum(hi[i], boxes.hi[j][:, columns])
    return cliques


def kernel_join(sequence: ReleaseSequence) -> IntArray:
    """Cliques of the largest subgraph in which every edge is a match and lies in a clique [sequential Def. 3.8]."""
    return kernel_of(match_join(sequence), true_cliques(sequence)[0])


def kernel_of(cliques: IntArray, true: IntArray) -> IntArray:
    """Drop what is no match, then what is in no clique any more, until nothing changes."""
    pairs = list(combinations(range(cliques.shape[1]), 2))
    while True:
        alive = np.ones(len(cliques), dtype=np.bool_)
        for r, q in pairs:
            alive &= matches(cliques[:, [r, q]], true[:, [r, q]])
        if alive.all():
            return cliques
        cliques = cliques[alive]


def matches(edges: IntArray, flow: IntArray) -> BoolArray:
    """Which edges (left, right) between two releases are matches, given the edges that carry flow (I1)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    left, right = int(edges[:, 0].max()) + 1, int(edges[:, 1].max()) + 1
    if (flow[:, 0] >= left).any() or (flow[:, 1] >= right).any():
        raise DataError("the record links are no matching of the releases")  # I2
    tail = np.concatenate([edges[:, 0], flow[:, 1] + left])
    head = np.concatenate([edges[:, 1] + left, flow[:, 0]])
    residual = coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(left + right, left + right))
    _, component = connected_components(residual.tocsr(), directed=True, connection="strong")
    same: BoolArray = component[edges[:, 0]] == component[edges[:, 1] + left]
    return same
