"""The best guess of whoever knows everything but the secret, for every method that publishes baskets, never above its
promise.

Everything: all item sets, the program, the release, and the rows of 0, 1 or 10 % of the people (insiders). Small cases
list every secret; on real baskets the adversary guesses and is counted. What is promised stands in the notes of a
release: of a ring nothing beside insiders, of rings arranged by label nothing at all to such an outsider."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from random_baskets import random_sets

import sfumato as sf
from sfumato.core.randomness import Randomness
from sfumato.core.registry import catalogue
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.data.table import Table
from sfumato.io.basket_source import read_fimi
from sfumato.kinds.baskets.attacks import play_blocks
from sfumato.kinds.baskets.evidence import align_item_universes
from sfumato.kinds.baskets.methods.blocks import published_rows_of
from sfumato.kinds.baskets.methods.nonreciprocal import Rings, assignments, ring_targets, rotate_rings
from sfumato.kinds.baskets.methods.record_order import partition
from sfumato.kinds.baskets.published_baskets import from_table
from sfumato.release.method import Method
from sfumato.release.view import ReleaseView
from tests.secret import secret

Story = tuple[float, tuple[int, ...]]
"""A chance, and the place of every person."""


def of_blocks(sets: Sets, size: int) -> list[Story]:
    blocks = partition(sets, size)
    groups = [blocks.order[a:b].tolist() for a, b in zip(blocks.starts[:-1], blocks.starts[1:], strict=True)]
    ways = list(product(*(permutations(group) for group in groups)))
    return [(1 / len(ways), _places([who for way in every for who in way])) for every in ways]


def of_ring(sets: Sets, size: int, walk: str = "truncated", runs: int = 20) -> list[Story]:
    """The k disjoint assignments of every run are equally likely."""
    rounds = [assignments(ring_targets(len(sets), size), walk, Randomness(secret(run))) for run in range(runs)]  # type: ignore[arg-type]
    return [(1 / runs / size, _places(owner.tolist())) for owners in rounds for owner in owners]


def of_turned_rings(sets: Sets, size: int) -> list[Story]:
    """One ring, turned by a secret step below `size`; the arrangement is granted."""
    rings = Rings(np.arange(len(sets)), np.array([0, len(sets)]))
    return [(1 / size, _places(rotate_rings(rings, np.array([step])).tolist())) for step in range(size)]


def _places(behind: list[int]) -> tuple[int, ...]:
    return tuple(int(place) for place in np.argsort(behind))


WAYS = {
    "blocks": of_blocks,
    "nonreciprocal, truncated": of_ring,
    "nonreciprocal, closed": lambda sets, size: of_ring(sets, size, "closed"),
    "nonreciprocal, backtracking": lambda sets, size: of_ring(sets, size, "backtracking"),
    "nonreciprocal, shift": of_turned_rings,
}


def test_every_method_that_publishes_baskets_is_looked_at() -> None:
    known = {name for name, method in catalogue("methods", Method).items() if "baskets" in method.kinds}
    assert {way.partition(",")[0] for way in WAYS} == known


def best_guess(stories: list[Story], insiders: tuple[int, ...]) -> float:
    """The largest chance of a row of anybody else, whatever the rows of the insiders turn out to be."""
    told: dict[tuple[int, ...], list[Story]] = defaultdict(list)
    for chance, at in stories:
        told[tuple(at[who] for who in insiders)].append((chance, at))
    best = 0.0
    for listed in told.values():
        for person in set(range(len(listed[0][1]))) - set(insiders):
            often: Counter[int] = Counter()
            for chance, at in listed:
                often[at[person]] += chance  # type: ignore[assignment]
            best = max(best, max(often.values()) / sum(often.values()))
    return best


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("count", "size"), [(4, 2), (6, 2), (6, 3), (7, 3)])
def test_by_enumeration(way: str, count: int, size: int) -> None:
    """Without insiders 1/k whatever the method; beside one of 4 … 7 people (10 % and more) blocks alone promise 1/(k −
    1)."""
    stories = WAYS[way](random_sets(np.random.default_rng(count), count, 6), size)
    assert best_guess(stories, ()) <= 1 / size + 1e-9
    beside = max(best_guess(stories, (insider,)) for insider in range(count))
    if way == "blocks":
        assert beside <= 1 / (size - 1) + 1e-9
    else:
        assert beside > 1 / (size - 1) or size == 2  # nothing is promised, and this is why


def of_rows(release: object) -> tuple[np.ndarray, list[np.ndarray]]:
    """Where everybody's row is, and everybody's candidates."""
    table = release.parts["data"].table  # type: ignore[attr-defined]
    row_of = np.argsort(np.asarray(release.trace.rows["data"]))  # type: ignore[attr-defined]
    if "block" in table.column_names:
        block = np.array(table["block"].to_pylist())
        same = {number: np.flatnonzero(block == number) for number in np.unique(block).tolist()}
        candidates = [same[block[row]] for row in row_of]
    else:
        candidates = list(np.argsort(np.asarray(release.trace.assignments), axis=1).T)  # type: ignore[attr-defined]
    return row_of, candidates


def guessed(
    expected: Sets, base: Sets, release: object, insider: np.ndarray, chance: np.random.Generator
) -> tuple[int, float]:
    """How many rows are found by looking for what is expected among the candidates left, and how many could be by
    chance."""
    row_of, candidates = of_rows(release)
    taken = np.zeros(len(row_of), dtype=bool)
    taken[row_of[insider]] = True
    others = np.flatnonzero(~insider)
    left = [candidates[person][~taken[candidates[person]]] for person in others.tolist()]
    sizes, rows = np.array([len(own) for own in left]), np.concatenate(left)
    far = expected.take(np.repeat(others, sizes)).hamming(base.take(rows)) + chance.random(len(rows)) / 2
    nearest = [own[np.argmin(apart)] for own, apart in zip(left, np.split(far, np.cumsum(sizes)[:-1]), strict=True)]
    return int((np.array(nearest) == row_of[others]).sum()), float((1 / sizes).sum())


def made_again(sets: Sets, size: int, shows: str) -> Sets:
    """What the program shows at everybody's place of the order, if nobody had been moved by the secret."""
    blocks = partition(sets, size)
    return published_rows_of(sets, blocks, shows).base.take(np.argsort(blocks.order))  # type: ignore[arg-type]


read_once = cache(read_fimi)
REAL = [("chess", 240), ("bms_webview1", 400), ("retail", 400)]
METHODS_ON_REAL = [
    {"blocks": {"items": "vote"}},
    {"blocks": {"items": "dealt", "insiders": 1}},
    {"nonreciprocal": {"order": "gray"}},
]


@pytest.mark.parametrize("method", METHODS_ON_REAL, ids=str)
@pytest.mark.parametrize(("name", "count"), REAL)
def test_by_sampling_on_real_baskets(name: str, count: int, method: dict[str, object], public: Path) -> None:
    """Looking for the own items, or for what the program shows when run again: found no more often than by chance, as
    promised."""
    whole = read_once(public / "data" / "set_valued" / f"{name}.dat.gz")
    chance = np.random.default_rng(3)
    baskets = Baskets(whole.sets.take(chance.choice(len(whole), count, replace=False)), whole.names)
    tree = {"version": 1, "data": {"kind": "baskets"}, "protect": [{"k-anonymity": {"k": 4}}], "method": method}
    made = sf.publish(sf.Policy.parse(tree), data=baskets, seed=secret(4))
    assert made.certificate.holds
    form, table = made.release.form, Table(made.release.parts["data"].table)
    sets, worlds = align_item_universes(baskets, from_table(table, form.separator, beside=form.made))
    expected = [sets, made_again(sets, form.degree, form.shows)] if "blocks" in method else [sets]
    for insiders in (0, 1, count // 10) if "blocks" in method else (0,):
        insider = chance.permutation(count) < insiders
        for what in expected:
            right, promised = guessed(what, worlds.base, made.release, insider, chance)
            assert right <= promised + 4 * np.sqrt(promised)
            assert insiders > 1 or promised <= (count - insiders) / 4 + 1 / 3
    if "blocks" in method:
        exhibit = ReleaseView(made.release.form, made.release.parts, made.policy, original=baskets)
        figures = play_blocks(exhibit, 0.0)
        assert figures["rows_found"] <= figures["promised"] + 1e-12 and figures["people_beyond_the_promise"] == 0


def test_a_tenth_of_a_real_ring_tells_more_than_is_promised_without_insiders(public: Path) -> None:
    """The winding number on real data: the commonest offset of insiders is everybody's, at k = 2 without exception."""
    baskets = read_fimi(public / "data" / "set_valued" / "chess.dat.gz")
    order, count = np.arange(len(baskets)), len(baskets)
    for size, least in ((2, 1.0), (4, 0.3)):
        owner = assignments(ring_targets(count, size), "truncated", Randomness(secret(9)))[0][order]
        offset = (np.argsort(owner) - np.arange(count)) % count
        insider = np.random.default_rng(1).random(count) < 0.1
        guess = Counter(offset[insider].tolist()).most_common(1)[0][0]
        assert (offset[~insider] == guess).mean() >= least
