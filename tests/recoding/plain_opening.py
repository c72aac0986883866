"""Plain twin of opening boxes: lists and counters, every box, cost and verdict counted anew from who stands where."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from .plain_search import plain_random_below

TINY, SLACK, FAR, STRAYS, TURNS, GUESTS, BROKEN = 1e-9, 1e-10, 24, 64, 4, 12, 2


@dataclass
class PlainTerms:
    """What a group must offer; a tag is (hidden column, value)."""

    fewest: int
    kinds: list
    share: list
    entropy: list
    far: list
    overall: list
    """Per hidden column the share of every value."""

    def plain_met(self, tags):
        """Whether records with these tags (one tuple of values each) may stand together."""
        size = len(tags)
        if size < self.fewest:
            return size == 0
        return all(self._column_met(h, Counter(tag[h] for tag in tags), size) for h in range(len(self.kinds)))

    def _column_met(self, h, tally, size):
        entropy = -sum(many / size * math.log(many / size) for many in tally.values())
        apart = sum(abs(tally[value] / size - share) for value, share in enumerate(self.overall[h]))
        return (
            len(tally) >= self.kinds[h]
            and max(tally.values()) <= self.share[h] * size + SLACK
            and (self.entropy[h] <= 0 or entropy >= self.entropy[h] + SLACK)
            and (self.far[h] >= 1 or apart <= 2 * self.far[h] - SLACK)
        )

    def plain_too_much(self, tags):
        """The tag that is most above what it should be, and how many to drop."""
        size, worst, found = len(tags), 0.0, (None, 0)
        for h in range(len(self.kinds)):
            if self.far[h] >= 1 and self.share[h] >= 1 and self.entropy[h] <= 0:
                continue
            tally = Counter(tag[h] for tag in tags)
            for value, share in enumerate(self.overall[h]):
                wanted = share * size if self.far[h] < 1 else self.share[h] * size if self.share[h] < 1 else 0.0
                above = tally[value] - wanted
                if above > worst:
                    half = self.share[h] >= 1 or self.far[h] < 1
                    worst, found = above, ((h, value), max(1, int(above / 2 if half else above)))
        return found


class PlainStanding:
    """Who stands where: per unit a list of [group, records], per group a list of units, the newest first in both."""

    def __init__(self, codes, tags, region, groups, spare_groups, cost_of, close, sizes, terms):
        self.codes, self.tags, self.region, self.sizes, self.terms = codes, tags, region, sizes, terms
        self.cost_of, self.close = cost_of, close
        self.of_unit = [[] for _ in codes]
        self.of_group = {g: [] for g in range(len(groups) + spare_groups)}
        for g, members in enumerate(groups):
            for unit, many in members:
                self.of_unit[unit].append([g, many])
                self.of_group[g].append(unit)
        self.live = list(range(len(groups)))
        self.free = list(range(len(groups) + spare_groups - 1, len(groups) - 1, -1))

    def held(self, g):
        return {unit: next(many for home, many in self.of_unit[unit] if home == g) for unit in self.of_group[g]}

    def size(self, g):
        return sum(self.held(g).values())

    def records(self, g):
        """The tags of everybody in a group."""
        return [self.tags[unit] for unit, many in self.held(g).items() for _ in range(many)]

    def box(self, g):
        columns = zip(*(self.codes[unit] for unit in self.of_group[g]), strict=True)
        return [self.close(c, min(column), max(column)) for c, column in enumerate(columns)]

    def price(self, box):
        return float(sum(self.cost_of(c, lo, last) for c, (lo, last) in enumerate(box)))

    def cost(self, g):
        return self.price(self.box(g)) if self.of_group[g] else 0.0

    def plain_move(self, unit, a, b, many):
        places = self.of_unit[unit]
        source = next(place for place in places if place[0] == a)
        source[1] -= many
        if source[1] == 0:
            places.remove(source)
            self.of_group[a].remove(unit)
        for place in places:
            if place[0] == b:
                place[1] += many
                return
        places.insert(0, [b, many])
        self.of_group[b].insert(0, unit)

    def total(self):
        return sum(self.size(g) * self.cost(g) for g in self.live)

    def everybody(self):
        return sorted(sorted(self.held(g).items()) for g in self.live)


class PlainOpening:
    """One step after the other."""

    def __init__(self, stand, dice):
        self.stand, self.dice = stand, dice
        self.filled = self.housed = 0
        """Groups that were filled up again, and pieces that found another home."""

    def below(self, n):
        return plain_random_below(self.dice, n)

    def plain_step(self, heat):
        """Open one box, or let a group take people in, or do nothing."""
        stand = self.stand
        chosen = self.costly()
        if chosen is None:
            return
        unit, g = chosen
        if self.below(2 if stand.terms.kinds else 3) == 0:
            self.plain_join(unit, g, heat)
            return
        box = self.drawn(unit, g)
        if stand.price(box) < stand.cost(g) - TINY:
            self.opened(box, unit, heat)

    def costly(self):
        """A unit and the costliest group that it, or one of two others, stands in."""
        stand, dearest, chosen = self.stand, TINY, None
        for _ in range(3):
            unit = self.below(len(stand.codes))
            for g, _many in stand.of_unit[unit]:
                if stand.cost(g) > dearest:
                    dearest, chosen = stand.cost(g), (unit, g)
        return chosen

    def plain_offer(self, boxes):
        """Open every box, each with a unit of its region, from somewhere on in equal steps; only what saves something
        stays."""
        begin, step = self.below(len(boxes)), 1 + self.below(len(boxes))
        while math.gcd(step, len(boxes)) > 1:
            step += 1
        for i in range(len(boxes)):
            self.opened(*boxes[(begin + i * step) % len(boxes)], 0.0)

    def opened(self, box, unit, heat):
        stand, price = self.stand, self.stand.price(box)
        pieces = self.pieces_in(box, unit)
        gives = self.allotted(pieces, price)
        if gives is None:
            return
        new = stand.free.pop()
        stand.live.append(new)
        self.tried(pieces, gives, new, heat)

    def counted(self, pieces):
        """How many of these records stand in each group."""
        inside = Counter()
        for unit, g in pieces:
            inside[g] += self.stand.held(g)[unit]
        return inside

    def offered(self, inside, host, price):
        """What groups give who pay more: surplus, or all they have there; few are left with less than they need."""
        stand, fewest = self.stand, self.stand.terms.fewest
        broken, begin, donors = self.below(BROKEN + 1), self.below(len(inside)), list(inside)
        gives = dict.fromkeys(donors, 0)
        for g in donors[begin:] + donors[:begin]:
            if g == host or stand.cost(g) <= price + TINY:
                continue
            rest = stand.size(g) - inside[g]
            short = 0 < rest < fewest
            gives[g] = max(stand.size(g) - fewest, 0) if short and not broken else inside[g]
            broken -= short and broken > 0
        return gives

    def pieces_in(self, box, unit):
        stand = self.stand
        return [(u, home) for u in range(len(stand.codes)) if self.inside(u, box, unit) for home, _ in stand.of_unit[u]]

    def plain_join(self, unit, own, heat):
        """A group takes in everybody in its box, or in one that holds the unit as well, who pays more."""
        stand = self.stand
        free, seen = self.below(2) == 0, []
        for _ in range(GUESTS):
            g = stand.live[self.below(len(stand.live))]
            seen += [g] if stand.region[stand.of_group[g][0]] == stand.region[unit] else []
            if free and seen:
                break
        if not seen:
            return
        outside = [
            sum(not lo <= x <= last for x, (lo, last) in zip(stand.codes[unit], stand.box(g), strict=True))
            for g in seen
        ]
        host = seen[outside.index(min(outside))]
        box = stand.box(host)
        if not free:
            pairs = enumerate(zip(box, stand.codes[unit], strict=True))
            box = [stand.close(c, min(lo, x), max(last, x)) for c, ((lo, last), x) in pairs]
        if stand.price(box) >= stand.cost(own) - TINY:
            return
        pieces = self.pieces_in(box, unit)
        gives = self.offered(self.counted(pieces), host, stand.price(box))
        if sum(gives.values()) > 0:
            self.tried(pieces, gives, host, heat)

    def tried(self, pieces, gives, new, heat):
        """Everybody moves who is given; whoever should not have moves back."""
        stand = self.stand
        before, log, touched = stand.total(), [], []
        most = -heat * math.log((self.below(1 << 30) + 1) / (1 << 30)) - TINY
        fine = self.moved(pieces, gives, new, log, touched, before + most)
        if not (fine and stand.total() - before < most):
            for unit, a, b, many in reversed(log):
                if many:
                    stand.plain_move(unit, b, a, many)
        self.ended(touched)

    def inside(self, unit, box, seed):
        stand = self.stand
        codes = zip(stand.codes[unit], box, strict=True)
        return stand.region[unit] == stand.region[seed] and all(lo <= code <= last for code, (lo, last) in codes)

    def member(self, g):
        units = self.stand.of_group[g]
        return units[self.below(FAR) % len(units)]

    def drawn(self, unit, g):
        stand, style, box = self.stand, self.below(4), self.stand.box(g)
        codes = stand.codes

        def around(c, interval, other):
            return stand.close(c, min(interval[0], codes[other][c]), max(interval[1], codes[other][c]))

        def leaf(c):
            return (codes[unit][c], codes[unit][c])

        if style <= 1:
            for _ in range(1 + self.below(3 - style)):
                c = self.below(len(box))
                box[c] = around(c, leaf(c), self.member(g))
        if style == 1:
            for _ in range(1 + self.below(2)):
                c = self.below(len(box))
                box[c] = around(c, box[c], self.below(len(codes)))
        elif style == 2:
            box = [leaf(c) for c in range(len(box))]
            for _ in range(1 + self.below(3)):
                other = self.member(g)
                box = [around(c, interval, other) for c, interval in enumerate(box)]
        elif style == 3:
            for c in range(len(box)):
                reading = self.below(3)
                if reading < 2:
                    box[c] = around(c, leaf(c), self.below(len(codes)) if reading else unit)
        return box

    def allotted(self, pieces, price):
        """How much each donor gives; none when the new group would have too few."""
        fewest, inside = self.stand.terms.fewest, self.counted(pieces)
        if sum(inside.values()) < fewest:
            return None
        gives = self.offered(inside, None, price)
        return None if self.lent(inside, gives, price) is None else gives

    def lent(self, inside, gives, price):
        """Who gives nothing yet gives what is still missing, the costliest first; what that costs, none when it is not
        enough."""
        stand, fewest, added = self.stand, self.stand.terms.fewest, 0.0
        while sum(gives.values()) < fewest:
            lenders = [g for g in gives if gives[g] == 0 and stand.cost(g) <= price + TINY and stand.size(g) > fewest]
            if not lenders:
                return None
            lender = max(lenders, key=stand.cost)
            gives[lender] = min(fewest - sum(gives.values()), stand.size(lender) - fewest, inside[lender])
            added += gives[lender] * (price - stand.cost(lender))
        return added

    def ended(self, touched):
        """Groups that are empty are free again; the last of the others takes the place."""
        stand = self.stand
        for g in touched:
            if not stand.of_group[g]:
                stand.live[stand.live.index(g)] = stand.live[-1]
                stand.live.pop()
                stand.free.append(g)

    def moved(self, pieces, gives, new, log, touched, most):
        """Whether everybody has a place in the end; `most` is what the total may come to, who lacks something counting
        nothing."""
        stand = self.stand
        touched.append(new)
        begin = self.below(len(pieces))
        for unit, g in pieces[begin:] + pieces[:begin]:
            many = min(stand.held(g)[unit], gives[g])
            if many > 0:
                gives[g] -= many
                touched += [g] if g not in touched else []
                stand.plain_move(unit, g, new, many)
                log.append([unit, g, new, many])
        if stand.terms.kinds and not self.agreed(new, log, touched):
            return False
        lacking = [g for g in touched if not stand.terms.plain_met(stand.records(g))]
        left = most - stand.total() + sum(stand.size(g) * stand.cost(g) for g in lacking)
        return left > 0 and self.rehoused(log, touched, left)

    def agreed(self, new, log, touched):
        stand, terms = self.stand, self.stand.terms
        for _ in range(TURNS):
            for g in touched[1:]:
                if not terms.plain_met(stand.records(g)):
                    self.reclaimed(g, new, log)
            if terms.plain_met(stand.records(new)):
                return stand.size(new) > 0
            if not self.given_up(new, log):
                return False
        return False

    def reclaimed(self, g, new, log):
        stand, terms = self.stand, self.stand.terms
        for anything in (False, True):
            for move in reversed(log):
                unit, donor, _, many = move
                if donor != g:
                    continue
                if terms.plain_met(stand.records(g)) and stand.size(g) > 0:
                    return
                tags = stand.records(g)
                lacks = [
                    Counter(tag[h] for tag in tags)[stand.tags[unit][h]]
                    < terms.overall[h][stand.tags[unit][h]] * len(tags)
                    for h in range(len(terms.kinds))
                ]
                if many > 0 and (anything or any(lacks)):
                    stand.plain_move(unit, new, g, many)
                    move[3] = 0

    def given_up(self, new, log):
        stand, terms = self.stand, self.stand.terms
        tags, drop = stand.records(new), Counter()
        columns = [Counter(tag[h] for tag in tags) for h in range(len(terms.kinds))]
        size = len(tags)
        if len(columns) > 1:
            raise NotImplementedError("the twin looks at one hidden column")
        while size >= terms.fewest and not terms.plain_met([(v,) for v in columns[0].elements()]):
            found, many = terms.plain_too_much([(v,) for v in columns[0].elements()])
            if found is None:
                break
            many = min(many, columns[0][found[1]])
            drop[found[1]] += many
            columns[0][found[1]] -= many
            size -= many
        if size < terms.fewest or not terms.plain_met([(v,) for v in columns[0].elements()]):
            return False
        for move in reversed(log):
            unit, g, _, left = move
            many = min(drop[stand.tags[unit][0]], left)
            if many > 0:
                drop[stand.tags[unit][0]] -= many
                stand.plain_move(unit, new, g, many)
                move[3] -= many
        return True

    def rehoused(self, log, touched, most):
        stand, strays, place = self.stand, 0, 0
        while place < len(touched):
            g, place = touched[place], place + 1
            if stand.terms.plain_met(stand.records(g)):
                continue
            if not stand.terms.kinds and self.below(stand.terms.fewest) < stand.size(g):
                most = self.refilled(g, most - stand.size(g) * stand.cost(g), log, touched)
                if most <= 0:
                    return False
                continue
            for unit in list(stand.of_group[g]):
                many, strays = stand.held(g)[unit], strays + 1
                home, growth = self.home_for(unit, many, [g], most)
                if home is None or strays > STRAYS:
                    return False
                most -= growth
                self.housed += 1
                self.noted(unit, g, home, many, log, touched)
        return True

    def noted(self, unit, a, b, many, log, touched):
        self.stand.plain_move(unit, a, b, many)
        log.append([unit, a, b, many])
        touched += [g for g in (a, b) if g not in touched]

    def refilled(self, g, most, log, touched):
        """Surplus of others in its box, the costliest first, until the group has enough; what is left of `most`, or
        nothing."""
        stand, fewest = self.stand, self.stand.terms.fewest
        pieces = self.pieces_in(stand.box(g), stand.of_group[g][0])
        inside, need, price = self.counted(pieces), fewest - stand.size(g), stand.cost(g)
        gives = dict.fromkeys(inside, 0)
        while need > 0 and most > 0:
            lenders = [h for h in inside if h != g and gives[h] == 0 and stand.size(h) > fewest]
            if not lenders:
                return 0.0
            lender = max(lenders, key=stand.cost)
            gives[lender] = min(need, stand.size(lender) - fewest, inside[lender])
            need -= gives[lender]
            most -= gives[lender] * (price - stand.cost(lender))
        self.filled += most > 0
        for unit, h in pieces if most > 0 else []:
            many = min(stand.held(h)[unit], gives[h])
            if many > 0:
                gives[h] -= many
                self.noted(unit, h, g, many, log, touched)
        return most

    def home_for(self, unit, many, apart, most):
        stand, home, least = self.stand, None, most
        for g in stand.live:
            if g in apart or not stand.of_group[g] or stand.region[stand.of_group[g][0]] != stand.region[unit]:
                continue
            box = [(min(lo, x), max(last, x)) for (lo, last), x in zip(stand.box(g), stand.codes[unit], strict=True)]
            growth = (stand.size(g) + many) * stand.price(box) - stand.size(g) * stand.cost(g)
            welcome = not stand.terms.kinds or stand.terms.plain_met(stand.records(g) + [stand.tags[unit]] * many)
            if growth < least and welcome:
                home, least = g, growth
        return home, least
