"""The best guess of whoever knows all item sets, the program and the rows of 0, 1 or 10 % of the people, on whole real
sets.

    python benchmarks/basket_guesses.py

For every method, k = 2, 4, 8, the share of the other people whose row is found. Blocks: by the row most like the own
items, or most like what the program shows at the person's place, among the rows of the block that no insider has;
`promised` is the exact mean of 1/(g − m) over those people. Ring and turned rings: by the step that insiders moved most
often (the winding number), or else by the nearest items; `promised` is 1/k without insiders, nothing beside them. Means
over eight secrets. A figure is *above* when it exceeds its promise by more than four standard errors, people of a block
counted once; at k = 2 the secret of a ring is one bit, and so is the turn of a ring one draw: there eight draws say
little, and the listed small cases all."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "papers"))
from curves import write_csv

from sfumato.core.randomness import Randomness
from sfumato.data.item_sets import Sets
from sfumato.io.basket_source import read_fimi
from sfumato.kinds.baskets.methods.blocks import _matched, published_rows_of
from sfumato.kinds.baskets.methods.nonreciprocal import Rings, assignments, ring_members, ring_targets, rotate_rings
from sfumato.kinds.baskets.methods.record_order import gray_order, partition
from sfumato.kinds.baskets.methods.voting import vote

DATA = Path(__file__).parents[2] / "shared" / "data" / "set_valued"
NAMES, LEVELS, DRAWS = ("chess", "mushroom", "bms_webview1", "retail"), (2, 4, 8), 8
INSIDERS = {"none": lambda count: 0, "one": lambda count: 1, "10 %": lambda count: count // 10}
HEADER = ("data", "k", "method", "insiders", "found", "promised", "above")
Told = tuple[str, float, float, int]


@dataclass(frozen=True)
class Table:
    """Who may have which place, and how far the place is from what is expected of the person, by several
    expectations."""

    person: np.ndarray
    place: np.ndarray
    far: tuple[np.ndarray, ...]

    def guesses(self, taken: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Per expectation everybody's likeliest place among those that nobody has, and how many there were."""
        free = ~taken[self.place]
        person, place = self.person[free], self.place[free]
        for far in self.far:
            best = np.lexsort((far[free] + rng.random(len(person)) / 2, person))
            first = np.flatnonzero(np.diff(person[best], prepend=-1))
            yield place[best][first], np.bincount(person, minlength=len(taken))


def in_blocks(sets: Sets, k: int, shows: str, rng: np.random.Generator) -> list[Told]:
    blocks = partition(sets, k)
    shown = published_rows_of(sets, blocks, shows).base  # type: ignore[arg-type]
    sizes, own = np.diff(blocks.starts), np.argsort(blocks.order)
    place = np.concatenate([np.tile(np.arange(a, b), b - a) for a, b in pairwise(blocks.starts.tolist())])
    person = np.repeat(blocks.order, np.repeat(sizes, sizes))
    rows = shown.take(place)
    table = Table(person, place, (sets.take(person).hamming(rows), shown.take(own[person]).hamming(rows)))
    found = []
    for name, number in INSIDERS.items():
        right, promised, people = np.zeros(2), 0.0, 0
        for _ in range(DRAWS):
            place_of = np.argsort(_matched(blocks, rng.permutation(len(sets))))  # the secret: whose row stands where
            inside = rng.permutation(len(sets)) < number(len(sets))
            taken = np.zeros(len(sets), dtype=bool)
            taken[place_of[inside]] = True
            for way, (guess, left) in enumerate(table.guesses(taken, rng)):
                others = np.flatnonzero(left)  # whoever has a candidate left; insiders may, and are not asked
                hit = (guess == place_of[others])[~inside[others]]
                right[way] += hit.sum()
            promised += (1 / left[~inside]).sum()
            people += int((~inside).sum())
        found.append((name, float(right.max()) / people, promised / people, people))
    return found


def on_ring(sets: Sets, k: int, walk: str, rng: np.random.Generator) -> list[Told]:
    order, count = gray_order(sets), len(sets)
    shown = vote(sets, order[ring_members(count, k)].astype(np.int32)).base
    person, place = np.repeat(np.arange(count), k), (np.arange(count)[:, None] + np.arange(k)).reshape(-1) % count
    table = Table(person, place, (sets.take(order[person]).hamming(shown.take(place)),))
    found = []
    for name, number in INSIDERS.items():
        right, people = np.zeros(2), 0
        for _ in range(DRAWS):
            place_of = np.argsort(_moved(count, k, walk, Randomness(int(rng.integers(1 << 62)))))
            inside = rng.permutation(count) < number(count)
            step = (place_of - np.arange(count)) % count
            guess, _ = next(table.guesses(np.zeros(count, dtype=bool), rng))
            usual = Counter(step[inside].tolist()).most_common(1)[0][0] if inside.any() else -1
            right += ((guess == place_of)[~inside].sum(), (step[~inside] == usual).sum())
            people += int((~inside).sum())
        found.append((name, float(right.max()) / people, 1 / k if name == "none" else math.nan, people))
    return found


def _moved(count: int, k: int, walk: str, secret: Randomness) -> np.ndarray:
    """The record behind each place, both by their places in the order."""
    if walk == "shift":
        return rotate_rings(Rings(np.arange(count), np.array([0, count])), np.array([secret.integer(k)]))
    return assignments(ring_targets(count, k), walk, secret)[0]  # type: ignore[arg-type]


WAYS = {
    "blocks, vote": lambda sets, k, rng: in_blocks(sets, k, "vote", rng),
    "blocks, dealt": lambda sets, k, rng: in_blocks(sets, k, "dealt", rng),
    "blocks of k + 1, vote": lambda sets, k, rng: in_blocks(sets, k + 1, "vote", rng),
    "ring, truncated": lambda sets, k, rng: on_ring(sets, k, "truncated", rng),
    "ring, closed": lambda sets, k, rng: on_ring(sets, k, "closed", rng),
    "turned ring": lambda sets, k, rng: on_ring(sets, k, "shift", rng),
}


def main(names: list[str]) -> None:
    rows: list[list[object]] = []
    for number, (name, k, way) in enumerate(product(names, LEVELS, WAYS)):
        sets = read_fimi(DATA / f"{name}.dat.gz").sets
        if way == "ring, closed" and len(sets) > 10_000:
            continue
        for who, share, promised, people in WAYS[way](sets, k, np.random.default_rng(number)):
            spread = (
                DRAWS if way == "turned ring" or (k == 2 and "ring" in way) else people / k
            )  # one turn, one bit: one draw
            limit = math.inf if math.isnan(promised) else promised + 4 * math.sqrt(promised * (1 - promised) / spread)
            told = "" if math.isnan(promised) else f"{promised:.4f}"
            rows.append([name, k, way, who, f"{share:.4f}", told, "yes" if share > limit else ""])
            print(*rows[-1], sep="\t", flush=True)
            write_csv("basket-guesses", HEADER, rows)


if __name__ == "__main__":
    main(sys.argv[1:] or list(NAMES))
