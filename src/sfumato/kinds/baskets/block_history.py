"""Blocks of set-valued records over several releases: a block stays together, or its labels are suppressed.

Notation
    home     the block in which a person was published first; its labels were shown or hidden there
    visit    a block of a later release, of people who were published before

Guarantee
    Let every block of every release be a home (nobody in it was published before) or a visit, and let every visit be
    exactly a home, with the labels of the same people shown and hidden as there, or show no label at all. Then the
    labels that later releases show are a function of those that homes showed, of who is there, and of fresh
    permutations: beyond the home, nothing is said about any person's label, however many releases there are. In every
    release the row of a person is each row of the block with the same probability, also for an adversary who knows the
    rows of others in any release. Exchanging two members of a block in all releases leaves the probability of
    everything published unchanged. A row without labels is a function of item sets, which are known anyway.

    Item sets may change between releases; labels may not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.data.table import TextColumn
from sfumato.kinds.baskets.form import BasketBlocks, blocks_of, published_baskets
from sfumato.kinds.baskets.published_baskets import WITHHELD
from sfumato.release.past_releases import History, PastRelease

Person = str


@dataclass(frozen=True)
class AssignedBlock:
    """Where a person is at home: the release, the block in it, and by column whether the label is shown."""

    release: int
    block: int
    shown: Mapping[str, bool]


@dataclass(frozen=True)
class AssignedBlocks:
    """Everybody's home, and who lives in each."""

    seat: Mapping[Person, AssignedBlock]
    members: Mapping[tuple[int, int], frozenset[Person]]
    columns: Mapping[int, tuple[str, ...]]
    """By release the label columns that it published."""

    @classmethod
    def of(cls, history: History) -> AssignedBlocks:
        """The homes of all people who was ever published."""
        seat: dict[Person, AssignedBlock] = {}
        members: dict[tuple[int, int], set[Person]] = {}
        columns = {}
        for r, past in enumerate(history.releases):
            block, shown = blocks_of_records(past)
            columns[r] = tuple(shown)
            for place, key in enumerate(past.memory.keys):
                if key not in seat:
                    seat[key] = AssignedBlock(
                        r, int(block[place]), {name: bool(told[place]) for name, told in shown.items()}
                    )
                    members.setdefault((r, int(block[place])), set()).add(key)
        return cls(seat, {home: frozenset(people) for home, people in members.items()}, columns)

    def intact(self, present: frozenset[Person]) -> Iterator[tuple[tuple[int, int], frozenset[Person]]]:
        """The homes whose people are all there."""
        for home, people in self.members.items():
            if people <= present:
                yield home, people


def blocks_of_records(past: PastRelease) -> tuple[IntArray, dict[str, BoolArray]]:
    """The block of every remembered record, and by label column whether its label is shown."""
    past.exhibit.of(BasketBlocks)
    rows = past.memory.rows
    published = past.exhibit.once(published_baskets)
    shown = {name: _told(published.labels[name][rows]) for name in published.labels}
    return past.exhibit.once(blocks_of)[rows], shown


def _told(labels: NDArray[np.object_]) -> BoolArray:
    return np.array([label != WITHHELD for label in labels.tolist()], dtype=np.bool_)


def new_blocks(history: History) -> BoolArray:
    """Return per row of the newest release whether its block has only people who were never published before."""
    newest = history.releases[-1]
    homes = AssignedBlocks.of(History(history.releases[:-1]))
    block, _ = blocks_of_records(newest)
    known = np.array([key in homes.seat for key in newest.memory.keys], dtype=np.bool_)
    old = np.bincount(block[known], minlength=int(newest.exhibit.once(blocks_of).max(initial=-1)) + 1) > 0
    fresh: BoolArray = ~old[newest.exhibit.once(blocks_of)]
    return fresh


def describe_block_violations(history: History) -> Iterator[str]:
    """What the newest release says beyond the homes, in sentences; nothing when all visits are as the guarantee
    asks."""
    newest = history.releases[-1]
    homes = AssignedBlocks.of(History(history.releases[:-1]))
    block, shown = blocks_of_records(newest)
    people: dict[int, list[int]] = {}
    for place, number in enumerate(block.tolist()):
        people.setdefault(number, []).append(place)
    mixed = torn = told = 0
    for places in people.values():
        keys = [newest.memory.keys[place] for place in places]
        met = [homes.seat[key] for key in keys if key in homes.seat]
        if not met:
            continue
        mixed += len(met) < len(keys)
        if any(shown[name][place] for name in shown for place in places):
            home = (met[0].release, met[0].block)
            torn += homes.members[home] != frozenset(keys)
            told += any(
                bool(shown[name][place]) != homes.seat[key].shown.get(name, False)
                for name in shown
                for place, key in zip(places, keys, strict=True)
                if key in homes.seat
            )
    yield from (f"{mixed} block(s) mix people who are new with people who were published before",) if mixed else ()
    yield from (f"{torn} block(s) show labels of people who did not stand together before",) if torn else ()
    yield from (f"{told} block(s) show or hide other labels than before",) if told else ()
    yield from (f"{changed} label(s) are not what they were",) if (changed := _changed(history)) else ()


def _changed(history: History) -> int:
    """People of the newest release whose label is not the one that was remembered."""
    newest = history.releases[-1].memory
    count = 0
    for name in newest.values.names:
        now = _texts(newest.values.text(name))
        for past in history.releases[:-1]:
            if name in past.memory.values.names:
                before = dict(zip(past.memory.keys, _texts(past.memory.values.text(name)), strict=True))
                count += sum(before.get(key, label) != label for key, label in zip(newest.keys, now, strict=True))
    return count


def _texts(column: TextColumn) -> list[str]:
    return [column.labels[code] for code in column.codes.tolist()]
