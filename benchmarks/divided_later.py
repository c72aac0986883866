"""What it would cost people if groups were divided later: quarters in which newcomers make old groups divisible.

    python -m benchmarks.divided_later --rows 20000 --columns age,gender,education,marital --leave 0.03

With `cohorts: unknown` a lineage stays together although newcomers would allow finer cells. Here it does not: whoever
comes joins the smallest class that covers them, and every class is divided top-down as long as the people *now* in each
part have k values, whoever of them stood in earlier releases. Classes that fall below k values are withheld. This loses
less, and whoever knows of one release that somebody is in it is left with fewer than k values: the people of that
release who went the same way ever since.

Per quarter: people, withheld, loss of published cells, and how many of the people who are there have an earlier release
that leaves them with fewer than k values, with one value. Nothing is published; data and hierarchies are those of
`series`."""

from __future__ import annotations

import argparse
import csv

import numpy as np

from benchmarks.series import RESULTS, more_people, people, policy
from sfumato.policy.generalizations import generalization_of

HEAD = ("release", "people", "withheld", "loss", "fewer than k", "certain")


class Classes:
    """Everybody who may ever come, by codes, and the class in which each stands; −1 for who is not there."""

    def __init__(self, columns: tuple[str, ...], k: int) -> None:
        frame, self.k = more_people(people()), k
        declared = policy(columns, k, frame)
        self.domains = [generalization_of(declared, name, frame[name].unique().sort().to_list()) for name in columns]
        texts = [frame[name].to_list() for name in columns]
        self.codes = np.array(
            [[domain.code_of[text] for text in column] for domain, column in zip(self.domains, texts, strict=True)]
        ).T
        self.value = np.unique(frame["occupation"].to_numpy(), return_inverse=True)[1]
        self.of = np.full(len(frame), -1)
        self.lo, self.hi = [0 * self.codes[0]], [np.array([domain.size for domain in self.domains])]

    def cost(self, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        """What a record loses in each box, all columns together."""
        return sum(domain.width(lo[:, m], hi[:, m]) for m, domain in enumerate(self.domains)) / len(self.domains)

    def distinct(self, who: np.ndarray) -> int:
        return len(np.unique(self.value[who]))

    def opened(self, lo: np.ndarray, hi: np.ndarray) -> int:
        self.lo.append(lo)
        self.hi.append(hi)
        return len(self.lo) - 1

    def join(self, new: np.ndarray) -> None:
        """Newcomers go to the smallest class with people in it that covers them."""
        some = np.unique(self.of[self.of >= 0])
        lo, hi = np.array(self.lo)[some], np.array(self.hi)[some]
        order = np.argsort(self.cost(lo, hi), kind="stable")
        for one in new.tolist():
            inside = ((lo[order] <= self.codes[one]) & (self.codes[one] < hi[order])).all(axis=1)
            if inside.any():
                self.of[one] = some[order[inside.argmax()]]

    def divide(self) -> None:
        """Every class as far as its people allow."""
        open_ = np.unique(self.of[self.of >= 0]).tolist()
        while open_:
            place = open_.pop()
            open_ += self._parts(place, np.flatnonzero(self.of == place))

    def _parts(self, place: int, mine: np.ndarray) -> list[int]:
        """The parts of a class after its best division, which stand for it from then on; none when there is no
        division."""
        best, parts = 1e-12, []
        for m, domain in enumerate(self.domains):
            children = self._children(domain, mine, m, place)
            gain = sum(len(part) * (self._width(place, m) - domain.width(*box)) for part, box in children)
            if children and gain > best:
                best, parts = gain, [(m, part, box) for part, box in children]
        made = []
        for m, part, (low, high) in parts:
            lo, hi = self.lo[place].copy(), self.hi[place].copy()
            lo[m], hi[m] = low, high
            self.of[part] = self.opened(lo, hi)
            made.append(int(self.of[part[0]]))
        return [*made, place] if made and (self.of == place).any() else made

    def _width(self, place: int, m: int) -> float:
        return float(self.domains[m].width(self.lo[place][m], self.hi[place][m]))

    def _children(
        self, domain: object, mine: np.ndarray, m: int, place: int
    ) -> list[tuple[np.ndarray, tuple[int, int]]]:
        """The nodes below a class's cell whose people have k values by themselves, while those who stay have k, or
        nobody does."""
        below = list(nodes_below(domain, int(self.lo[place][m]), int(self.hi[place][m])))
        code = self.codes[mine, m]
        parts = [(mine[(code >= low) & (code < high)], (low, high)) for low, high in below]
        down = [(part, box) for part, box in parts if self.distinct(part) >= self.k]
        down.sort(key=lambda one: len(one[0]))
        rest = np.setdiff1d(mine, np.concatenate([part for part, _ in down])) if down else mine
        down, rest = self._donors(down, rest)
        while down and len(rest) and self.distinct(rest) < self.k:
            rest = np.concatenate([rest, down.pop(0)[0]])
        return down

    def _donors(self, down: list, rest: np.ndarray) -> tuple[list, np.ndarray]:
        """Single people of parts that can spare them stay with a rest that has too few values."""
        for at, (part, box) in enumerate(down):
            for one in part.tolist():
                if not len(rest) or self.distinct(rest) >= self.k:
                    break
                left = down[at][0][down[at][0] != one]
                if self.value[one] not in self.value[rest] and self.distinct(left) >= self.k:
                    down[at], rest = (left, box), np.append(rest, one)
        return down, rest

    def withhold(self) -> int:
        """Take out who stands in a class with too few values; how many they are."""
        count = 0
        for place in np.unique(self.of[self.of >= 0]).tolist():
            mine = np.flatnonzero(self.of == place)
            if self.distinct(mine) < self.k:
                self.of[mine], count = -1, count + len(mine)
        return count

    def covered(self, place: int, some: np.ndarray) -> np.ndarray:
        """Who of some people a class covers: they may have left, and stood in it for all that outsiders know."""
        return some[((self.lo[place] <= self.codes[some]) & (self.codes[some] < self.hi[place])).all(axis=1)]

    def loss(self) -> float:
        there = self.of[self.of >= 0]
        return float(self.cost(np.array(self.lo)[there], np.array(self.hi)[there]).mean())


def nodes_below(domain: object, lo: int, hi: int) -> list[tuple[int, int]]:
    """The largest publishable intervals strictly inside another one."""
    inside = sorted(
        {(int(low), int(high)) for low, high in zip(domain.lo, domain.hi, strict=True) if lo <= low and high <= hi}
        | {(leaf, leaf + 1) for leaf in range(lo, hi)},
        key=lambda one: one[0] - one[1],
    )
    found: list[tuple[int, int]] = []
    for low, high in inside:
        if (low, high) != (lo, hi) and not any(first <= low and high <= last for first, last in found):
            found.append((low, high))
    return found


def exposed(classes: Classes, past: list[np.ndarray]) -> tuple[int, int]:
    """People who are there, and of whom some earlier release leaves fewer than k values, and one, to who knows they are
    in it."""
    fewest = np.full(len(classes.of), len(classes.value))
    for then in past:
        there = np.flatnonzero((classes.of >= 0) & (then >= 0))
        gone = np.flatnonzero((classes.of < 0) & (then >= 0))
        pairs = np.unique(np.stack([classes.of[there], classes.value[there]], axis=1), axis=0)
        values = np.bincount(pairs[:, 0], minlength=int(classes.of.max()) + 1)
        for place in np.unique(classes.of[there]).tolist():
            if values[place] < classes.k:
                mine = there[classes.of[there] == place]
                values[place] = classes.distinct(
                    np.concatenate([mine, classes.covered(place, gone[then[gone] == then[mine[0]]])])
                )
        fewest[there] = np.minimum(fewest[there], values[classes.of[there]])
    return int((fewest < classes.k).sum()), int((fewest == 1).sum())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--columns", default="age,gender,education,marital")
    options.add_argument("--k", type=int, default=3)
    options.add_argument("--leave", type=float, default=0.0)
    options.add_argument("--releases", type=int, default=12)
    chosen = options.parse_args()
    classes, rng, here, used = (
        Classes(tuple(chosen.columns.split(",")), chosen.k),
        np.random.default_rng(5),
        None,
        chosen.rows,
    )
    past: list[np.ndarray] = []
    with (RESULTS / f"divided-later-{chosen.rows}{'-leave' if chosen.leave else ''}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for quarter in range(chosen.releases):
            if here is None:
                here = np.arange(chosen.rows)
                classes.of[here] = 0
            else:
                stay, more = here[rng.random(len(here)) >= chosen.leave], round(0.05 * len(here))
                classes.of[np.setdiff1d(here, stay)] = -1
                here, used = np.concatenate([stay, np.arange(used, used + more)]), used + more
                classes.join(here[-more:])
            withheld = classes.withhold() + int((classes.of[here] < 0).sum())
            classes.divide()
            line = [quarter + 1, len(here), withheld, round(classes.loss(), 5), *exposed(classes, past)]
            writer.writerow(line)
            print(*line, sep=", ", flush=True)
            past.append(classes.of.copy())


if __name__ == "__main__":
    main()
