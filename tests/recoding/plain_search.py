"""Plain twins of the local search: a draft is a list of counters, and every cost is counted anew from the units a group
holds."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

TINY, LIMIT = 1e-9, 1.15


def plain_random_below(dice, n):
    """The small generator (shifts 13, 7, 17 on 64 bits) in whole numbers."""
    x = int(dice[0])
    x ^= x << 13 & (1 << 64) - 1
    x ^= x >> 7
    x ^= x << 17 & (1 << 64) - 1
    dice[0] = x
    return (x >> 11) % n


@dataclass
class Board:
    """Units by number: leaves, hidden values, records, price; what intervals cost; what a group should offer."""

    codes: list
    tags: list
    records: list
    prices: list
    cost_of: object
    """(column, smallest leaf, largest leaf) → cost of one record."""
    fewest: int
    kinds: list
    even: list

    def cost(self, units):
        """What one record of a group of these units costs; an empty group costs nothing."""
        if not units:
            return 0.0
        columns = zip(*(self.codes[unit] for unit in units), strict=True)
        return sum(self.cost_of(place, min(column), max(column)) for place, column in enumerate(columns))

    def plain_total_cost(self, draft):
        return sum(group.total() * self.cost(group) for group in draft)

    def plain_lacking(self, group):
        """Whether a group with members has too few records, too few different values, or one value too often."""
        if not group.total():
            return False
        if group.total() < self.fewest:
            return True
        for hidden, (kinds, even) in enumerate(zip(self.kinds, self.even, strict=True)):
            seen = Counter()
            for unit, many in group.items():
                seen[self.tags[unit][hidden]] += many
            if len(seen) < kinds or (even and max(seen.values()) * kinds > group.total()):
                return True
        return False

    def plain_sound(self, draft):
        return not any(self.plain_lacking(group) for group in draft)

    def best_home(self, draft, unit, many, apart):
        """(group, growth) of the group whose total grows least; an empty one only when the records suffice alone."""
        homes = [
            ((group.total() + many) * self.cost([*group, unit]) - group.total() * self.cost(group), place)
            for place, group in enumerate(draft)
            if place != apart and (group or many >= self.fewest)
        ]
        growth, home = min(homes, default=(float("inf"), -1))
        return home, growth

    # ---- improving what there is -------------------------------------------------------------------------------------

    def relocate(self, draft):
        moved = False
        for place, unit in itertools.product(range(len(draft)), range(len(self.codes))):
            group, many = draft[place], draft[place][unit]
            if 0 < group.total() - many < self.fewest:
                many = group.total() - self.fewest
            if many <= 0:
                continue
            after = move_out(group, unit, many)
            saved = group.total() * self.cost(group) - after.total() * self.cost(after)
            if saved <= TINY:
                continue
            home, growth = self.best_home(draft, unit, many, place)
            if home >= 0 and growth < saved - TINY:
                joined = draft[home] + Counter({unit: many})
                if not self.plain_lacking(after) and not self.plain_lacking(joined):
                    draft[place], draft[home] = after, joined
                    moved = True
        return moved

    def emptied(self, draft, place):
        """The draft with all units of a group sent to other groups, None when one finds none."""
        draft = [Counter(group) for group in draft]
        for unit in sorted(draft[place]):
            many = draft[place][unit]
            home, _ = self.best_home(draft, unit, many, place)
            if home < 0:
                return None
            draft[place] = move_out(draft[place], unit, many)
            draft[home][unit] += many
        return draft

    def worth_a_try(self, draft, place):
        allowed = 1.5 * draft[place].total() * self.cost(draft[place])
        for unit in sorted(draft[place]):
            allowed -= self.best_home(draft, unit, draft[place][unit], place)[1]
            if allowed < 0:
                return False
        return True

    def dissolve(self, draft):
        moved = False
        for place in range(len(draft)):
            if draft[place] and self.cost(draft[place]) > TINY and self.worth_a_try(draft, place):
                other = self.emptied(draft, place)
                if (
                    other
                    and self.plain_total_cost(other) < self.plain_total_cost(draft) - TINY
                    and self.plain_sound(other)
                ):
                    draft[:] = other
                    moved = True
        return moved

    def plain_polish(self, draft):
        for _ in range(20):
            moved = self.relocate(draft)
            if not self.dissolve(draft) and not moved:
                return

    # ---- growing groups anew -----------------------------------------------------------------------------------------

    def helping(self, left, size):
        need = max(self.fewest - size, 1)
        return need if left - need >= self.fewest else left

    def welcome(self, group, unit, many):
        for hidden, (kinds, even) in enumerate(zip(self.kinds, self.even, strict=True)):
            mine = self.tags[unit][hidden]
            same = sum(number for other, number in group.items() if self.tags[other][hidden] == mine)
            if even and (same + many) * kinds > max(group.total() + many, self.fewest):
                return False
            missing = kinds - len({self.tags[other][hidden] for other in group})
            if same and 0 < missing >= self.fewest - group.total():
                return False
        return True

    def grow(self, group, left, greed):
        while self.plain_lacking(group):
            size, already = group.total(), group.total() * self.cost(group)
            best, chosen = float("inf"), -1
            for unit in range(len(left)):
                if left[unit] > 0:
                    many = self.helping(left[unit], size)
                    score = ((size + many) * self.cost([*group, unit]) - already) / many - greed * self.prices[unit]
                    if score < best and self.welcome(group, unit, many):
                        best, chosen = score, unit
            if chosen < 0:
                return False
            many = self.helping(left[chosen], size)
            group[chosen] += many
            left[chosen] -= many
        return True

    def settle(self, draft, left, room):
        for unit, many in enumerate(left):
            if many >= self.fewest and len(draft) < room:
                draft.append(Counter({unit: many}))
                left[unit] = 0
        for unit, many in enumerate(left):
            if many > 0:
                home, _ = self.best_home(draft, unit, many, -1)
                if home < 0:
                    return False
                draft[home][unit] += many
                left[unit] = 0
        return True

    def plain_construct(self, room, greed, limit, dice):
        """The whole pool grouped anew, None when that fails or costs more than the limit."""
        draft, left, spent = [], list(self.records), 0.0
        below = 1 << 60 if self.kinds else self.fewest
        while len(draft) < room:
            start = plain_random_below(dice, len(left))
            turn = [(start + step) % len(left) for step in range(len(left))]
            seed = next((unit for unit in turn if 0 < left[unit] < below), -1)
            if seed < 0:
                break
            group = Counter({seed: left[seed]})
            stuck = len(draft)
            draft.append(group)
            left[seed] = 0
            if not self.grow(group, left, greed):
                return self.emptied(draft, stuck) if self.settle(draft, left, room) else None
            spent += group.total() * self.cost(group)
            if spent > limit:
                return None
        fits = self.settle(draft, left, room) and self.plain_total_cost(draft) <= limit
        return draft if fits else None


def move_out(group, unit, many):
    return group - Counter({unit: many})


class PlainNeighbourhoods:
    """Groups of one table as counters of units; proposals as lists of groups that replace others."""

    def __init__(self, board, groups, region, order, reach, near, pool, room):
        self.board, self.groups, self.region, self.order = board, groups, region, order
        self.reach, self.near, self.pool, self.room = reach, near, pool, room

    def plain_extents(self):
        """Size, smallest leaves, largest leaves and cost of every group."""
        for group in self.groups:
            columns = list(zip(*(self.board.codes[unit] for unit in group), strict=True))
            yield group.total(), [min(c) for c in columns], [max(c) for c in columns], self.board.cost(group)

    def nearest(self, seed, gone, window, lean):
        """The seed, then the groups of its region whose union with it is cheap and that have much to save."""
        begin = max(0, self.order.index(seed) - window // 2)
        seen = self.order[begin : begin + window]
        others = [g for g in seen if g != seed and g not in gone and self.region[g] == self.region[seed]]
        far = {
            g: self.board.cost([*self.groups[seed], *self.groups[g]]) - lean * self.board.cost(self.groups[g])
            for g in others
        }
        return [seed, *sorted(others, key=far.__getitem__)[: self.near - 1]]

    def some_of(self, near, wanted, dice):
        chosen = [near[0]]
        for _ in range(2 * wanted):
            if len(chosen) >= min(wanted, len(near)):
                break
            place = min(plain_random_below(dice, len(near) - 1), plain_random_below(dice, len(near) - 1))
            if near[1 + place] not in chosen:
                chosen.append(near[1 + place])
        return chosen

    def gathered(self, chosen):
        """The groups that fit into a pool, their units in the order of appearance, and a board about these alone."""
        units, fitting, prices, records = [], [], {}, Counter()
        for number in chosen:
            if len(units) + len(self.groups[number]) > self.pool:
                break
            fitting.append(number)
            for unit in sorted(self.groups[number]):
                many, cost = self.groups[number][unit], self.board.cost(self.groups[number])
                units += [unit] if unit not in units else []
                before = prices.get(unit, 0.0) * records[unit]
                records[unit] += many
                prices[unit] = (before + cost * many) / records[unit]
        board = Board(
            [self.board.codes[unit] for unit in units], [self.board.tags[unit] for unit in units],
            [records[unit] for unit in units], [prices[unit] for unit in units],
            self.board.cost_of, self.board.fewest, self.board.kinds, self.board.even,
        )  # fmt: skip
        draft = [Counter({units.index(unit): many for unit, many in self.groups[number].items()}) for number in fitting]
        return fitting, units, board, draft

    def improved(self, chosen, dice):
        """(gain, groups it is about, the best arrangement found)."""
        fitting, units, board, best = self.gathered(chosen)
        if not fitting:
            return 0.0, [], []
        before = board.plain_total_cost(best)
        best += [Counter()] * (len(best) < self.room)
        board.plain_polish(best)
        greed = 0.25 * plain_random_below(dice, 5)
        trial = board.plain_construct(self.room, greed, LIMIT * board.plain_total_cost(best), dice)
        if trial is not None and board.plain_sound(trial):
            trial += [Counter()] * (len(trial) < self.room)
            board.plain_polish(trial)
            if board.plain_total_cost(trial) < board.plain_total_cost(best) - TINY:
                best = trial
        named = [Counter({units[unit]: many for unit, many in group.items()}) for group in best if group]
        return before - board.plain_total_cost(best), fitting, named

    def plain_propose(self, seeds, window, tries, dice):
        """Proposals: (groups that are replaced, groups that replace them)."""
        gone, made = set(), []
        for seed in seeds:
            if seed in gone:
                continue
            lean = 0.5 * plain_random_below(dice, 3)
            near = self.nearest(seed, gone, window, lean)
            for _ in range(tries):
                chosen = self.some_of(near, 2 + plain_random_below(dice, self.reach - 1), dice)
                gain, fitting, groups = self.improved(chosen, dice)
                if gain > 1e-7:
                    made.append((fitting, groups))
                    gone |= set(fitting)
                    break
        return made
