"""Plain twins of the kernels below greedy clustering: boxes by every node above, diversity by sets, neighbours by a
full scan."""

from __future__ import annotations

from collections import Counter


def plain_side(columns, j, codes):
    """(lo, hi, price) of the smallest publishable interval of column j around some codes."""
    head, low, high = columns.heads[j], min(codes), max(codes)
    nodes = columns.nodes[int(head["offset"]) :]
    if len(set(codes)) == 1:
        return low, high + 1, 0
    if not head["tree"]:
        return low, high + 1, int(nodes["price"][high] - nodes["price"][low])
    around, node = [], low
    while True:
        if nodes["lo"][node] <= low and high < nodes["hi"][node]:
            around.append((int(nodes["lo"][node]), int(nodes["hi"][node]), int(nodes["price"][node])))
        if nodes["up"][node] == node or nodes["up"][node] < 0:
            break
        node = int(nodes["up"][node])
    return min(around, key=lambda side: (side[1] - side[0], side[2]))


def plain_box(columns, points):
    """The sides of the smallest box around some points, and what is to be paid for column j and all after it."""
    sides = [plain_side(columns, j, [int(point[j]) for point in points]) for j in range(len(columns.heads))]
    rests = [sum(side[2] for side in sides[j:]) for j in range(len(sides))]
    return [(*side, rest) for side, rest in zip(sides, rests, strict=True)]


class PlainGathering:
    """What is left of a root and what a group has, as counters and sets."""

    def __init__(self, values, weight, demanded):
        self.values, self.weight, self.demanded = values.tolist(), weight.tolist(), demanded.tolist()
        self.left = Counter()
        self.have = [set() for _ in self.weight]

    def plain_open_root(self, cells):
        self.left = Counter()
        for cell in cells:
            self.left[int(cell["combo"])] += int(cell["count"])

    def plain_meet(self, combo):
        for have, value in zip(self.have, self.values[combo], strict=True):
            have.add(value)

    def plain_forget_group(self):
        self.have = [set() for _ in self.weight]

    def plain_spend(self, combo, many):
        self.left[combo] -= many
        self.left += Counter()

    def left_kinds(self):
        return [len({self.values[combo][j] for combo in self.left}) for j in range(len(self.weight))]

    def plain_suffices(self, k):
        enough = all(kinds >= wanted for kinds, wanted in zip(self.left_kinds(), self.demanded, strict=True))
        return enough and self.left.total() >= max(k, 1)

    def fresh(self, j):
        return {combo for combo, values in enumerate(self.values) if values[j] not in self.have[j]}

    def plain_ask_for_diversity(self):
        """The combos that are left and bring most new values."""
        level = {
            c: sum(w for j, w in enumerate(self.weight) if self.values[c][j] not in self.have[j]) for c in self.left
        }
        return {combo for combo, own in level.items() if own == max(level.values())}


def plain_best_cell(table, wish, point):
    """The first cell of a point that has records and offers a wished combo (None: any will do)."""
    start, end = int(table.points["start"][point]), int(table.points["end"][point])
    own = zip(
        range(start, end),
        table.cells["count"][start:end].tolist(),
        table.cells["combo"][start:end].tolist(),
        strict=True,
    )
    return next((cell for cell, count, combo in own if count > 0 and (wish is None or combo in wish)), -1)


def plain_nearest(table, columns, points, box_points, wish):
    """Of some points the first of the cheapest to join the box around `box_points` that offer what is wished for."""
    offering = [point for point in points if plain_best_cell(table, wish, point) >= 0]
    sides = [plain_prices(columns, j, box_points, table.codes[offering, j].tolist()) for j in range(len(columns.heads))]
    price = [sum(own) for own in zip(*sides, strict=True)]
    return offering[price.index(min(price))] if offering else -1


def plain_prices(columns, j, box_points, codes):
    """The price of column j once each of the codes has joined the box; every code costs nothing where there is no box
    yet."""
    own = [int(point[j]) for point in box_points]
    price = {code: plain_side(columns, j, [*own, code])[2] if own else 0 for code in set(codes)}
    return [price[code] for code in codes]


def plain_join_round(columns, members, sizes, root, failing):
    """The group that each becomes part of; `members` are the points of each group."""
    members, sizes = [list(points) for points in members], list(sizes)
    into, moved = list(range(len(members))), set()

    def price(points):
        return sum(side[2] for side in plain_box(columns, points))

    for group in range(len(members)):
        if not failing[group] or group in moved:
            continue
        growth = {}
        for other in range(len(members)):
            if other != group and root[other] == root[group] and into[other] == other:
                both = (sizes[group] + sizes[other]) * price(members[group] + members[other])
                growth[other] = both - sizes[group] * price(members[group]) - sizes[other] * price(members[other])
        if growth:
            other = min(growth, key=lambda each: (growth[each], each))
            kept, gone = min(group, other), max(group, other)
            members[kept] += members[gone]
            sizes[kept] += sizes[gone]
            into[gone] = kept
            moved |= {kept, gone}
    while any(into[into[group]] != into[group] for group in into):
        into = [into[group] for group in into]
    return into
