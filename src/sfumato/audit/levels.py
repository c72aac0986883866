"""The level of privacy of a sequence: to how many sensitive values, and how evenly, each known tuple can be linked.

Paper: [sequential Def. 4.1, 4.2]

Notation
    ⟨J|q⟩    the cliques of the join all of whose classes contain the quasi-identifier tuple q
    S(q)     the multiset of their sensitive values, a clique of classes counting as often as its multiplicities multiply to

Invariants
    I1  Only tuples that occur in the table are judged; each of them has at least its own true clique.
    I2  Weights are exact integers of any size: 500,000⁴ does not fit into 64 bits.

Departures
    S(q) counts cliques, not possible worlds: clique diversity is the paper's measure, not a probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sfumato.data.arrays import BoolArray, IntArray, places_within
from sfumato.data.boxes import contained
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.sequence import Boxes, ReleaseSequence
from sfumato.errors import DataError

_SLICE = 2_000_000
_SAFE = 1 << 62


def linkage_of(sequence: ReleaseSequence, cliques: IntArray, labels: tuple[str, ...], *, suppressed: bool = False) -> Linkage:
    """Everybody's candidates when an outsider joins all releases by `cliques`; who fits no row must be `suppressed`."""
    people = sequence.people()  # I1
    entries = [_spread(sequence, part, cliques) for part in _parts(sequence, people, cliques)]
    kind = np.concatenate([first + part[0] for first, part in zip(_offsets(entries), entries, strict=True)])
    value = np.concatenate([part[1] for part in entries])
    weight = np.concatenate([part[2] for part in entries])
    met, number = np.unique(kind, return_inverse=True)
    if len(met) < len(people) and not suppressed:
        raise DataError("somebody whose record was published fits no row")
    start = np.searchsorted(number, np.arange(len(met) + 1)).astype(np.int64)
    spread = Spread(start, value, weight, labels)
    total = np.array([min(int(t), _SAFE) for t in spread.total()], dtype=np.int64)
    return Linkage(people.count[met], total, {sequence.attributes[sequence.sensitive].name: spread})


def _offsets(entries: list[tuple[IntArray, IntArray, np.ndarray, int]]) -> IntArray:
    sizes = np.array([entry[3] for entry in entries], dtype=np.int64)
    return np.cumsum(sizes) - sizes


def _parts(sequence: ReleaseSequence, people: Boxes, cliques: IntArray) -> Iterator[Boxes]:
    """People in slices whose (tuple, clique) pairs cannot outgrow memory."""
    step = max(1, 20 * _SLICE // max(len(cliques), 1))
    for first in range(0, len(people), step):
        rows = slice(first, first + step)
        yield Boxes(people.lo[rows], people.hi[rows], people.count[rows])


def _spread(sequence: ReleaseSequence, people: Boxes, cliques: IntArray) -> tuple[IntArray, IntArray, np.ndarray, int]:
    """(tuple, sensitive value, weight) triples of these people, sorted, and how many people they are."""
    holds = [_holders(sequence, r, people) for r in range(sequence.count)]
    lead = int(np.argmin([len(who) for who, _, _ in holds]))
    who, clique, weight = _meet(holds[lead], cliques[:, lead])
    exact = _needs_objects(sequence)
    weight = weight.astype(object) if exact else weight
    for r in range(sequence.count):
        if r != lead:
            factor = _look_up(holds[r], who, cliques[clique, r])
            keep = factor > 0
            who, clique, weight = who[keep], clique[keep], weight[keep] * factor[keep]
    value = _sensitive_of(sequence, cliques)[clique]
    return (*_summed(who, value, weight), len(people))


def _holders(sequence: ReleaseSequence, r: int, people: Boxes) -> tuple[IntArray, IntArray, IntArray]:
    """(tuple, node, records): how many rows of each node of release r contain the tuple."""
    columns = sequence.quasi
    classes, node_of = sequence.releases[r], sequence.nodes[r][1]
    inside = contained(people.lo[:, columns], people.hi[:, columns], classes.lo[:, columns], classes.hi[:, columns])
    who, which = inside
    width = len(sequence.nodes[r][0])
    key, place = np.unique(who * width + node_of[which], return_inverse=True)
    records = np.bincount(place, weights=classes.count[which], minlength=len(key)).astype(np.int64)
    return key // width, key % width, records


def _meet(holds: tuple[IntArray, IntArray, IntArray], nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """All (tuple, clique, records) where the clique's node holds the tuple."""
    order = np.argsort(nodes, kind="stable")
    start = np.searchsorted(nodes[order], np.arange(int(nodes.max(initial=0)) + 2))
    who, node, records = (column[holds[1] < len(start) - 1] for column in holds)
    width = start[node + 1] - start[node]
    return np.repeat(who, width), order[np.repeat(start[node], width) + places_within(width)], np.repeat(records, width)


def _look_up(holds: tuple[IntArray, IntArray, IntArray], who: IntArray, node: IntArray) -> IntArray:
    """Records of `node` that contain `who`, 0 when there are none."""
    span = int(max(holds[1].max(initial=0), node.max(initial=0))) + 1
    key, wanted = holds[0] * span + holds[1], who * span + node
    place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    return np.where(key[place] == wanted, holds[2][place], 0)


def _needs_objects(sequence: ReleaseSequence) -> bool:
    largest = 1
    for boxes in sequence.releases:
        largest *= int(boxes.count.sum())
    return largest >= _SAFE  # I2


def _sensitive_of(sequence: ReleaseSequence, cliques: IntArray) -> IntArray:
    """s(C): the sensitive value of each clique, from any release that tells it."""
    m = sequence.sensitive
    teller = int(np.flatnonzero(sequence.present[:, m])[0])
    value: IntArray = sequence.nodes[teller][0].lo[cliques[:, teller], m]
    return value


def _summed(who: IntArray, value: IntArray, weight: np.ndarray) -> tuple[IntArray, IntArray, np.ndarray]:
    width = int(value.max(initial=0)) + 1
    key = who * width + value
    order = np.argsort(key, kind="stable")
    pairs, first = np.unique(key[order], return_index=True)
    totals = np.add.reduceat(weight[order], first) if len(first) else weight[:0]
    return pairs // width, pairs % width, totals


def short_of(sequence: ReleaseSequence, cliques: IntArray, k: float) -> Callable[[BoolArray, BoolArray], BoolArray]:
    """For `decide`: cliques that would give a new sensitive value to somebody who has fewer than k proven ones."""
    people = sequence.people()
    holds = [_holders(sequence, r, people) for r in range(sequence.count)]
    who, clique, _ = _meet(holds[0], cliques[:, 0])
    for r in range(1, sequence.count):
        keep = _look_up(holds[r], who, cliques[clique, r]) > 0
        who, clique = who[keep], clique[keep]
    width = int(sequence.sizes[sequence.sensitive])
    pair = who * width + _sensitive_of(sequence, cliques)[clique]

    def wanted(admitted: BoolArray, excluded: BoolArray) -> BoolArray:
        proven = np.zeros(len(people) * width, dtype=np.bool_)
        proven[pair[admitted[clique]]] = True
        short = proven.reshape(len(people), width).sum(axis=1) < k
        asked = short[who] & ~proven[pair] & ~admitted[clique] & ~excluded[clique]
        mask = np.zeros(len(cliques), dtype=np.bool_)
        mask[clique[asked]] = True
        return mask

    return wanted


def linkability(linkage: Linkage) -> int:
    """γ: the fewest distinct sensitive values that somebody can be linked to."""
    (spread,) = linkage.spread.values()
    return int(spread.distinct().min())


def diversity(linkage: Linkage) -> float:
    """δ: the inverse of the largest share that one sensitive value has among somebody's cliques."""
    (spread,) = linkage.spread.values()
    return min(int(t) / int(m) for t, m in zip(spread.total(), spread.largest(), strict=True))
