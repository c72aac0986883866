"""What the records below generalized tuples can gain by being published there, at given prices: the inner step of the
price bound.

Every record of unit i carries a price u[i]; publishing it at node t costs c[t]. The *gain* of a node is the largest
total of u − c over sets of records below it that a release may publish there: at least `least` records, showing at
least `kinds` different tags. All numbers are integers, so gains are exact. Records with u > c all take part; when they
are too few or too alike, the best others of new tags are added, and then the best others of any kind.

Invariants
    I1  No admissible set of records below a node totals more than its gain: among the records that must be added, those
        of the best-priced new tags and then the best-priced remaining ones are taken, and every exchange would lower
        the total.
    I2  A node is skipped only when it would not gain even if everybody who must be added had the best price among the
        others.


Share prices
------------
What records below generalized tuples can gain at given prices when no value may have more than its share.

As in `node_prices`, every record of unit i carries a price u[i], publishing it at node t costs c[t], and the *gain* of
a node is the largest total of u − c over sets of records below it that a release may publish there. Here a set in which
some tag occurs m times has at least needed[m] records: max(k, l·m) for frequency l-diversity, the least n with m ≤ α·n
for (α,k)-anonymity.

Notation
    level m    sets in which no tag occurs more than m times, of at least needed[m] records; `needed` never falls
    hot        records with u > c; the others are cold

Invariants
    I1  The gain is the best over all levels: a set whose most frequent tag occurs m times is of level m, and a set of
        level m may be published.
    I2  The best set of a level has the m best hot records of every tag and, where these are too few, the best cold ones
        of tags that are not full: at most m of every tag is a matroid, and among the sets of one size greedy choice is
        best in it.
    I3  A level is passed over only when even the best cold price for every missing record would not make it better.

Cost: a pass over the memberships; nodes whose hot records do not satisfy the requirement by themselves are put into
heaps, from which as many records are taken as are looked at."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.core.compiled import jit

NOTHING = np.int64(-(1 << 62))
"""The gain of a node that no admissible set of records fits into."""


@jit
def _offer(
    price: IntArray, room: IntArray, who: IntArray, used: int, total: int, need: int, u: int, count: int, unit: int
) -> tuple[int, int]:
    """Put a unit into a list of the best offers, sorted by falling price, as short as it can be to hold `need` records.

    Returns how many offers the list has, and how many records (`used` and `total` before).
    """  # fmt: skip
    if total >= need and (used == 0 or u <= price[used - 1]):
        return used, total
    slot = used
    while slot > 0 and price[slot - 1] < u:
        price[slot], room[slot], who[slot] = price[slot - 1], room[slot - 1], who[slot - 1]
        slot -= 1
    price[slot], room[slot], who[slot] = u, count, unit
    used += 1
    total += count
    while used > 0 and total - room[used - 1] >= need:
        total -= room[used - 1]
        used -= 1
    return used, total


class Scratch(NamedTuple):
    """Working memory: marks per tag, and two lists of offers (price, records, unit)."""

    shown: IntArray
    """The last node that showed each tag."""
    best: IntArray
    """The best unit of each tag that is new to a node, plus one."""
    met: IntArray
    varied: IntArray
    """Representatives of new tags: three rows of an offer list."""
    filling: IntArray


@jit
def _hot(entries: NDArray[np.int32], c: int, count: IntArray, u: IntArray) -> tuple[int, int, int]:
    """Records priced above the cost of the node, what they total, and the best price of the others, at least 0."""
    records, value, next_best = 0, 0, 0
    for unit in entries:
        price = u[unit]
        if price > c:
            records += count[unit]
            value += count[unit] * (price - c)
        elif price > next_best:
            next_best = price
    return records, value, next_best


@jit
def _various(entries: NDArray[np.int32], c: int, node: int, tag: IntArray, u: IntArray, shown: IntArray) -> int:
    """How many tags the records show that are priced above the cost of the node."""
    various = 0
    for unit in entries:
        if u[unit] > c and shown[tag[unit]] != node:
            shown[tag[unit]] = node
            various += 1
    return various


@jit
def _representatives(
    entries: NDArray[np.int32], node: int, wanted: int, tag: IntArray, u: IntArray, work: Scratch
) -> int:
    """The best units of the best `wanted` tags that the node does not show yet; fewer when there are no more."""
    fresh = 0
    for unit in entries:
        if work.shown[tag[unit]] == node:
            continue
        if work.best[tag[unit]] == 0:
            work.met[fresh] = tag[unit]
            fresh += 1
            work.best[tag[unit]] = unit + 1
        elif u[unit] > u[work.best[tag[unit]] - 1]:
            work.best[tag[unit]] = unit + 1
    used, total = 0, 0
    for i in range(fresh):
        unit = work.best[work.met[i]] - 1
        work.best[work.met[i]] = 0
        used, total = _offer(work.varied[0], work.varied[1], work.varied[2], used, total, wanted, u[unit], 1, unit)
    return used


@jit
def _fill(entries: NDArray[np.int32], c: int, need: int, reps: int, count: IntArray, u: IntArray, work: Scratch) -> int:
    """The best `need` records besides those that take part already, as offers; −1 when there are too few."""
    price, room, who = work.filling[0], work.filling[1], work.filling[2]
    used, total, available = 0, 0, 0
    for unit in entries:
        if u[unit] <= c:
            left = count[unit]
            for i in range(reps):
                if work.varied[2, i] == unit:
                    left -= 1
            available += left
            if left > 0:
                used, total = _offer(price, room, who, used, total, need, u[unit], left, unit)
    if available < need:
        return -1
    for i in range(used):
        room[i] = min(need, room[i])
        need -= room[i]
    return used


@jit
def node_gains(
    start: IntArray,
    member: NDArray[np.int32],
    cost: IntArray,
    count: IntArray,
    tag: IntArray,
    u: IntArray,
    toll: IntArray,
    least: int,
    kinds: int,
    full: bool,
    gain: IntArray,
    taken: IntArray,
) -> int:
    """Fill `gain` with the gain of every node and return the total of the positive ones.

    Every node pays its `toll` off its gain. `taken` grows by the records that nodes of positive gain take of each unit.
    Unless
    `full`, nodes that cannot gain are skipped, with a gain of 0.
    """  # fmt: skip
    tags = tag.max() + 1 if len(tag) else 0
    offers = np.zeros((3, kinds + 2), np.int64), np.zeros((3, least + 2), np.int64)
    work = Scratch(
        np.full(tags, -1, np.int64), np.zeros(tags, np.int64), np.zeros(tags, np.int64), offers[0], offers[1]
    )
    total = 0
    for node in range(len(cost)):
        c, entries = cost[node], member[start[node] : start[node + 1]]
        gain[node] = 0
        hot, value, next_best = _hot(entries, c, count, u)
        missing = max(least - hot, 0)
        if not full and (hot == 0 or value + missing * (next_best - c) <= toll[node]):  # I2
            continue
        various = _various(entries, c, node, tag, u, work.shown) if kinds > 1 else min(hot, 1)
        reps = _representatives(entries, node, kinds - various, tag, u, work) if various < kinds else 0  # I1
        need = least - hot - reps
        used = _fill(entries, c, need, reps, count, u, work) if need > 0 else 0
        if used < 0 or reps < kinds - various:
            gain[node] = NOTHING
            continue
        for i in range(reps):
            value += work.varied[0, i] - c
        for i in range(used):
            value += work.filling[1, i] * (work.filling[0, i] - c)
        gain[node] = value - toll[node]
        if gain[node] > 0:
            total += gain[node]
            _take(entries, c, reps, used, count, u, work, taken)
    return total


@jit
def _take(
    entries: NDArray[np.int32],
    c: int,
    reps: int,
    used: int,
    count: IntArray,
    u: IntArray,
    work: Scratch,
    taken: IntArray,
) -> None:
    """Note the records that take part."""
    for unit in entries:
        if u[unit] > c:
            taken[unit] += count[unit]
    for i in range(reps):
        taken[work.varied[2, i]] += 1
    for i in range(used):
        taken[work.filling[2, i]] += work.filling[1, i]


def plain_node_gains(
    start: IntArray,
    member: NDArray[np.int32],
    cost: IntArray,
    count: IntArray,
    tag: IntArray,
    u: IntArray,
    toll: IntArray,
    least: int,
    kinds: int,
) -> list[int]:
    """The gain of every node, record by record."""  # fmt: skip
    gains = []
    for node in range(len(cost)):
        units = member[start[node] : start[node + 1]].tolist()
        records = sorted(
            ((int(u[i] - cost[node]), int(tag[i])) for i in units for _ in range(int(count[i]))), reverse=True
        )
        chosen = [record for record in records if record[0] > 0]
        rest = [record for record in records if record[0] <= 0]
        while len({tag for _, tag in chosen}) < kinds and rest:
            fresh = [record for record in rest if record[1] not in {tag for _, tag in chosen}]
            if not fresh:
                break
            chosen.append(fresh[0])
            rest.remove(fresh[0])
        missing = max(least - len(chosen), 0)
        chosen += rest[:missing]
        fits = len(chosen) >= least and len({tag for _, tag in chosen}) >= kinds
        gains.append(sum(value for value, _ in chosen) - int(toll[node]) if fits else int(NOTHING))
    return gains


# Share prices
# ------------


class PricedUnits(NamedTuple):
    """Per unit its records, their tag and their price."""

    size: IntArray
    tag: IntArray
    u: IntArray


class ShareBench(NamedTuple):
    """Working memory."""

    all: IntArray
    """Records of each tag."""
    heat: IntArray
    """Hot records of each tag."""
    used: IntArray
    """Records of each tag that take part at the level that is looked at."""
    seen: IntArray
    """The last node that each tag was met at."""
    met: IntArray
    """The tags of the node."""
    total: IntArray
    """Per rank: what the hot records bring that have this rank among those of their tag."""
    number: IntArray
    """Per rank: how many these are."""
    hot: IntArray
    """Units in a heap, behind them those that were taken out: the best is the very last."""
    cold: IntArray
    ordered: IntArray
    """How many cold units were taken out."""


class NodeHeat(NamedTuple):
    """What is to be known of a node."""

    cost: int
    records: int
    heat: int
    """Hot records."""
    value: int
    """What these total."""
    deepest: int
    """How many of them share a tag at most."""
    mildest: int
    """The best total of one cold record; 0 when there is none."""
    tags: int


@jit
def _sink(heap: IntArray, at: int, size: int, u: IntArray) -> None:
    """Let an entry of a heap sink to where it belongs."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and u[heap[child + 1]] > u[heap[child]]:
            child += 1
        if u[heap[child]] <= u[heap[at]]:
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@jit
def _out(heap: IntArray, size: int, u: IntArray) -> None:
    """Take the best unit out of a heap and put it behind the others."""
    heap[0], heap[size - 1] = heap[size - 1], heap[0]
    _sink(heap, 0, size - 1, u)


@jit
def _heaps(entries: NDArray[np.int32], c: int, records: PricedUnits, bench: ShareBench) -> tuple[int, int]:
    """Put hot and cold units into their heaps; how many they are."""
    hot, cold = 0, 0
    for unit in entries:
        if records.u[unit] > c:
            bench.hot[hot] = unit
            hot += 1
        else:
            bench.cold[cold] = unit
            cold += 1
    for at in range(hot // 2 - 1, -1, -1):
        _sink(bench.hot, at, hot, records.u)
    for at in range(cold // 2 - 1, -1, -1):
        _sink(bench.cold, at, cold, records.u)
    bench.ordered[0] = 0
    return hot, cold


@jit
def _rank(node: NodeHeat, hot: int, records: PricedUnits, bench: ShareBench) -> None:
    """Put the hot units in order, and add up the records of each rank among those of their tag."""
    for i in range(node.tags):
        bench.used[bench.met[i]] = 0
    for rank in range(node.deepest + 1):
        bench.total[rank] = 0
        bench.number[rank] = 0
    for left in range(hot, 0, -1):
        _out(bench.hot, left, records.u)
        unit = bench.hot[left - 1]
        first = bench.used[records.tag[unit]] + 1
        for rank in range(first, first + records.size[unit]):
            bench.total[rank] += records.u[unit] - node.cost
            bench.number[rank] += 1
        bench.used[records.tag[unit]] += records.size[unit]


@jit
def _room(m: int, node: NodeHeat, bench: ShareBench) -> int:
    """How many records a set of a level may have."""
    room = 0
    for i in range(node.tags):
        room += min(m, bench.all[bench.met[i]])
    return room


@jit
def _filled(m: int, need: int, floor: int, node: NodeHeat, cold: int, records: PricedUnits, bench: ShareBench) -> int:
    """What the best `need` cold records of tags that are not full bring; `NOTHING` when that is at most `floor`."""
    for i in range(node.tags):
        bench.used[bench.met[i]] = min(m, bench.heat[bench.met[i]])
    value, looked = 0, 0
    while need > 0:
        if looked == bench.ordered[0]:
            _out(bench.cold, cold - looked, records.u)
            bench.ordered[0] += 1
        unit = bench.cold[cold - 1 - looked]
        looked += 1
        worth = records.u[unit] - node.cost
        if value + need * worth <= floor:  # I3
            return -(1 << 62)
        some = min(need, min(records.size[unit], m - bench.used[records.tag[unit]]))
        bench.used[records.tag[unit]] += some
        value += some * worth
        need -= some
    return value


@jit
def _best_level(
    least: int, node: NodeHeat, cold: int, needed: IntArray, records: PricedUnits, bench: ShareBench
) -> tuple[int, int, int]:
    """The best total above `least`, its level (0: there is none) and how many cold records it has (I1)."""
    best, chosen, filling, value, hot = least, 0, 0, 0, 0
    for m in range(1, len(needed)):
        if m <= node.deepest:
            value += bench.total[m]
            hot += bench.number[m]
        need = max(needed[m] - hot, 0)
        if needed[m] > node.records or value + need * node.mildest <= best:  # I3
            if m >= node.deepest:
                break
            continue
        if _room(m, node, bench) < needed[m]:
            continue
        added = 0
        if need > 0:
            added = _filled(m, need, best - value, node, cold, records, bench)
        if added > -(1 << 62):
            best, chosen, filling = value + added, m, need
    return best, chosen, filling


@jit
def _share_prices_take(
    m: int, need: int, node: NodeHeat, hot: int, cold: int, records: PricedUnits, bench: ShareBench, taken: IntArray
) -> None:
    """Note the records of the best set of a level (I2)."""
    for i in range(node.tags):
        bench.used[bench.met[i]] = 0
    for i in range(hot - 1, -1, -1):
        unit = bench.hot[i]
        some = min(records.size[unit], m - bench.used[records.tag[unit]])
        bench.used[records.tag[unit]] += some
        taken[unit] += some
    at = cold - 1
    while need > 0:
        unit = bench.cold[at]
        some = min(need, min(records.size[unit], m - bench.used[records.tag[unit]]))
        bench.used[records.tag[unit]] += some
        taken[unit] += some
        need -= some
        at -= 1


@jit
def _look(number: int, entries: NDArray[np.int32], c: int, records: PricedUnits, bench: ShareBench) -> NodeHeat:
    """One pass over the units of a node."""
    size, hot, value, deepest, mildest, tags = 0, 0, 0, 0, -(1 << 62), 0
    for unit in entries:
        of = records.tag[unit]
        if bench.seen[of] != number:
            bench.seen[of] = number
            bench.met[tags] = of
            bench.heat[of] = 0
            bench.all[of] = 0
            tags += 1
        size += records.size[unit]
        bench.all[of] += records.size[unit]
        worth = records.u[unit] - c
        if worth > 0:
            hot += records.size[unit]
            value += records.size[unit] * worth
            bench.heat[of] += records.size[unit]
            deepest = max(deepest, bench.heat[of])
        else:
            mildest = max(mildest, worth)
    return NodeHeat(c, size, hot, value, deepest, mildest if mildest > -(1 << 62) else 0, tags)


@jit
def _bench(start: IntArray, tags: int, levels: int) -> ShareBench:
    longest = 0
    for node in range(len(start) - 1):
        longest = max(longest, start[node + 1] - start[node])
    return ShareBench(
        np.zeros(tags, np.int64), np.zeros(tags, np.int64), np.zeros(tags, np.int64), np.full(tags, -1, np.int64),
        np.zeros(tags, np.int64),
        np.zeros(levels, np.int64), np.zeros(levels, np.int64), np.zeros(longest, np.int64), np.zeros(longest,
        np.int64),
        np.zeros(1, np.int64),
    )  # fmt: skip


@jit
def share_gains(
    start: IntArray,
    member: NDArray[np.int32],
    cost: IntArray,
    count: IntArray,
    tag: IntArray,
    u: IntArray,
    toll: IntArray,
    needed: IntArray,
    full: bool,
    gain: IntArray,
    taken: IntArray,
) -> int:
    """Fill `gain` with the gain of every node and return the total of the positive ones.

    Every node pays its `toll` off its gain. `taken` grows by the records that nodes of positive gain take of each unit.
    Unless
    `full`, a gain that is not positive may be given as 0. `needed` has an entry for every number of times that a tag
    may occur
    below a node.
    """  # fmt: skip
    records = PricedUnits(count, tag, u)
    bench = _bench(start, tag.max() + 1 if len(tag) else 0, len(needed))
    total = 0
    for at in range(len(cost)):
        entries = member[start[at] : start[at + 1]]
        gain[at] = NOTHING if full else 0
        node = _look(at, entries, cost[at], records, bench)
        short = max(needed[1] - node.heat, 0)
        if node.records < needed[1] or (not full and node.value + short * node.mildest <= toll[at]):
            continue
        if node.heat > 0 and node.heat >= needed[node.deepest]:
            gain[at] = node.value - toll[at]
            if gain[at] > 0:
                total += gain[at]
                for unit in entries:
                    if u[unit] > node.cost:
                        taken[unit] += count[unit]
            continue
        hot, cold = _heaps(entries, node.cost, records, bench)
        _rank(node, hot, records, bench)
        value, m, filling = _best_level(int(NOTHING) if full else int(toll[at]), node, cold, needed, records, bench)
        gain[at] = value - toll[at] if m > 0 else gain[at]
        if gain[at] > 0:
            total += gain[at]
            _share_prices_take(m, filling, node, hot, cold, records, bench, taken)
    return total


def plain_share_gains(
    start: IntArray,
    member: NDArray[np.int32],
    cost: IntArray,
    count: IntArray,
    tag: IntArray,
    u: IntArray,
    toll: IntArray,
    needed: IntArray,
) -> list[int]:
    """The gain of every node by trying every number of records of every tag."""  # fmt: skip
    gains = []
    for node in range(len(cost)):
        units = member[start[node] : start[node + 1]].tolist()
        worth: dict[int, list[int]] = {}
        for i in sorted(units, key=lambda i: -int(u[i])):
            worth.setdefault(int(tag[i]), []).extend([int(u[i] - cost[node])] * int(count[i]))
        best = int(NOTHING)
        for some in product(*(range(len(records) + 1) for records in worth.values())):
            if sum(some) and sum(some) >= needed[max(some)]:
                best = max(
                    best, sum(sum(records[:number]) for records, number in zip(worth.values(), some, strict=True))
                )
        gains.append(best - int(toll[node]) if best > NOTHING else best)
    return gains
