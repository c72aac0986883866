"""Plain twin of clearing groups: who has no group is written down, everything else is counted anew from who stands
where."""

from __future__ import annotations

import math

from .plain_opening import TINY, PlainOpening

CLEARED, STEPS, TRIES, MORE, DEAR, STRAYS = 5, 3, 24, 2, 1.3, 64


class PlainClearing(PlainOpening):
    """A few steps around one group after the other; with it some of the `nearest` groups are cleared."""

    def __init__(self, stand, dice, nearest):
        super().__init__(stand, dice)
        self.nearest = nearest
        self.several = self.together = self.sent = self.again = 0
        """Steps that were kept in which several groups were cleared and something changed; groups whose rest stayed
        together; pieces that were sent to another home; steps that were not kept."""

    def plain_steps(self, heat):
        """Steps around one group until one is kept, a few at most."""
        chosen = self.costly()
        if chosen is None:
            return
        unit, g = chosen
        near = self.all_near(unit, g)
        for _ in range(STEPS):
            if self.plain_try(unit, g, near, heat):
                break
            self.again += 1

    def plain_try(self, unit, g, near, heat):
        """One step; whether it is kept."""
        most = -heat * math.log((self.below(1 << 30) + 1) / (1 << 30)) - TINY
        self.unit, self.before, first = unit, self.stand.total(), self.stand.everybody()
        self.cleared = self.some_of(near, g)
        self.paid, self.boxes = ({h: of(h) for h in self.cleared} for of in (self.stand.cost, self.stand.box))
        self.log, self.touched = [], list(self.cleared)
        fine = self.filled_boxes(most) and self.settled(most - self.added())
        kept = fine and self.stand.total() - self.before < most
        if not kept:
            for moved, a, b, many in reversed(self.log):
                self.stand.plain_move(moved, b, a, many)
        self.ended(self.touched)
        self.several += len(self.cleared) > 1 and self.stand.everybody() != first
        return kept

    def all_near(self, unit, g):
        """The groups whose box together with that of a group, or with a unit of it, costs least."""
        stand = self.stand
        lean, whole = 0.5 * self.below(3), self.below(2) == 0
        own = stand.box(g) if whole else [(code, code) for code in stand.codes[unit]]
        others = [h for h in stand.live if h != g and stand.cost(h) > TINY and self.region(h) == stand.region[unit]]

        def apart(h):
            hull = [(min(lo, a), max(last, b)) for (lo, last), (a, b) in zip(stand.box(h), own, strict=True)]
            return stand.price(hull) - lean * stand.cost(h)

        return sorted(others, key=apart)[: self.nearest]

    def some_of(self, near, g):
        """A group and some of those near it, the nearer the likelier."""
        found, wanted = [g], 1 + self.below(CLEARED) if near else 0
        for _ in range(2 * wanted):
            h = near[min(self.below(len(near)), self.below(len(near)))]
            found += [h] if len(found) < wanted and h not in found else []
        return found

    def region(self, g):
        return self.stand.region[self.stand.of_group[g][0]]

    def added(self):
        """What was added to the total so far, where who has no group costs nothing."""
        stand = self.stand
        return sum(stand.size(g) * stand.cost(g) for g in stand.live if g not in self.cleared) - self.before

    def filled_boxes(self, most):
        """Boxes are opened while there are strays and boxes for them; whether they add little enough."""
        stand = self.stand
        for _ in range(len(self.cleared) + MORE):
            self.strays = [(u, h) for h in self.cleared for u in stand.of_group[h]]
            box = self.best_box() if self.strays else None
            if box is None:
                break
            if not stand.free:
                return False
            pieces = self.pieces_in(box, self.unit)
            gives, new = self.given(pieces, stand.price(box))[1], stand.free.pop()
            stand.live.append(new)
            self.touched.append(new)
            begin = self.below(len(pieces))
            for unit, g in pieces[begin:] + pieces[:begin]:
                many = min(stand.held(g)[unit], gives[g])
                if many > 0:
                    gives[g] -= many
                    self.noted(unit, g, new, many, self.log, self.touched)
            if not self.added() < most:
                return False
        return True

    def stray(self):
        return self.strays[self.below(len(self.strays))][0]

    def best_box(self):
        stand, least, best, unit = self.stand, DEAR, None, self.stray()
        for i in range(TRIES):
            unit = self.stray() if i % 4 == 0 else unit
            box = self.around(unit)
            price, inside = stand.price(box), [(u, h) for u, h in self.strays if self.inside(u, box, self.unit)]
            paid = sum(stand.held(h)[u] * self.paid[h] for u, h in inside)
            if not paid or sum(stand.held(h)[u] for u, h in inside) * price / paid >= least:
                continue
            dear = self.given(self.pieces_in(box, self.unit), price)[0]
            if dear < least:
                least, best = dear, box
        return best

    def around(self, unit):
        """A box around a stray and others, or around a cleared group and the stray, with some columns coarser or
        finer."""
        stand = self.stand
        codes, columns = stand.codes, len(stand.sizes)

        def covering(interval, c, other):
            return stand.close(c, min(interval[0], codes[other][c]), max(interval[1], codes[other][c]))

        if self.below(3) == 0:
            box = [(code, code) for code in codes[unit]]
            for _ in range(1 + self.below(4)):
                other = self.stray()
                box = [covering(interval, c, other) for c, interval in enumerate(box)]
            return box
        g = self.cleared[self.below(len(self.cleared))]
        box = [covering(interval, c, unit) for c, interval in enumerate(self.boxes[g])]
        if self.below(4) == 0:
            c, other = self.below(columns), self.below(len(codes))
            box[c] = covering(box[c], c, other)
        for _ in range(self.below(4)):
            c = self.below(columns)
            box[c] = (codes[unit][c], codes[unit][c])
            box[c] = covering(box[c], c, self.stray()) if self.below(3) > 0 else box[c]
        return box

    def given(self, pieces, price):
        """What a box adds for what its strays paid, and what every group gives to it."""
        stand, fewest = self.stand, self.stand.terms.fewest
        inside, added, paid, gives = self.counted(pieces), 0.0, 0.0, {}
        for g, many in inside.items():
            if g in self.cleared:
                paid += many * self.paid[g]
                gives[g] = many
                added += many * price
                continue
            short = 0 < stand.size(g) - many < fewest
            gives[g] = 0 if stand.cost(g) <= price + TINY else max(stand.size(g) - fewest, 0) if short else many
            added -= gives[g] * (stand.cost(g) - price)
        lent = self.lent(inside, gives, price)
        return (math.inf if lent is None or not paid else (added + lent) / paid), gives

    def settled(self, left):
        """Rests that are large enough stay together, others find homes; whether that adds less than what is left."""
        stand, fewest, strays = self.stand, self.stand.terms.fewest, 0
        lasting = [g for g in self.cleared if stand.size(g) >= fewest]
        left -= sum(stand.size(g) * stand.cost(g) for g in lasting)
        self.together += any(a == g for g in lasting for _, a, _, _ in self.log)
        homeless = [g for g in self.cleared if g not in lasting]
        for g in self.cleared:
            if left <= 0:
                return False
            for unit in list(stand.of_group[g]) if g in homeless else []:
                many, strays = stand.held(g)[unit], strays + 1
                home, growth = self.home_for(unit, many, homeless, left)
                if home is None or strays > STRAYS:
                    return False
                left -= growth
                self.sent += 1
                self.noted(unit, g, home, many, self.log, self.touched)
        return True
