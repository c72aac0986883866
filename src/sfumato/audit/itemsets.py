"""How many published baskets fit the few items an outsider knows: the reading behind k^m-anonymity.

For every set of at most m items that a person has, the published records that may contain all of them: an item of the base is
there, a doubtful item may be, as long as the threshold allows that many additions. A person's figure is the least over all own
item sets.

Cost
    One pass over the published items per set of m − 1 items in use; m ≤ 3 is meant.

>>> from sfumato.data.sets import Sets
>>> people = Sets.of([[0, 1], [0, 1], [1, 2]], width=3)
>>> none = Sets.of([[], [], []], width=3)
>>> fewest_fits(people, people, none, np.zeros(3, dtype=np.int64), m=1).tolist()
[2, 2, 1]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import places_within
from sfumato.data.sets import Sets
from sfumato.errors import DataError

_MOST_SETS = 2_000_000


@dataclass(slots=True, eq=False)
class _CoverSearch:
    """Everything the recursion shares: people's sets, what each published row may contain, and the least found so far."""

    people: Sets
    may: Sets
    costs: NDArray[np.int64]
    """For each entry of `may`: 1 when the item is no item of the base and has to be added."""
    least: NDArray[np.int64]
    looked: int = 0


def fewest_fits(people: Sets, base: Sets, doubt: Sets, threshold: NDArray[np.int64], m: int) -> NDArray[np.int64]:
    """For each person: the fewest published rows that fit some of their item sets of size at most m."""
    width = people.width
    may = Sets.from_flat(np.concatenate([base.owners, doubt.owners]), np.concatenate([base.items, doubt.items]), len(base), width)
    inside = np.isin(may.owners * width + may.items, base.owners * width + base.items, assume_unique=True)
    search = _CoverSearch(people, may, (~inside).astype(np.int64), np.full(len(people), len(base), dtype=np.int64))
    _extend(search, np.arange(len(people)), np.arange(len(base)), threshold.copy(), -1, m)
    return search.least


def _extend(
    search: _CoverSearch, who: NDArray[np.int64], rows: NDArray[np.int64], slack: NDArray[np.int64], last: int, left: int
) -> None:
    """Try every further item beyond `last` that some of `who` have; `slack` is how many additions each row still allows."""
    owner, item = _entries(search.people, who)
    later = item > last
    owner, item = owner[later], item[later]
    place, entry = _places(search.may, rows)
    thing = search.may.items[entry]
    open_now = (search.costs[entry] <= slack[place]) & (thing > last)
    support = np.bincount(thing[open_now], minlength=search.people.width)
    np.minimum.at(search.least, owner, support[item])
    search.looked += 1
    if search.looked > _MOST_SETS:
        raise DataError(f"more than {_MOST_SETS:,} item sets are in use", where="km-anonymity", hint="ask for a smaller m")
    if left == 1:
        return
    for further in np.unique(item):
        mine = open_now & (thing == further)
        kept = place[mine]
        _extend(search, owner[item == further], rows[kept], (slack[kept] - search.costs[entry[mine]]), int(further), left - 1)


def _entries(sets: Sets, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    place, entry = _places(sets, rows)
    return rows[place], sets.items[entry].astype(np.int64)


def _places(sets: Sets, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For all entries of the chosen rows: the place of the row in `rows`, and the entry's own index."""
    sizes = sets.sizes[rows]
    place = np.repeat(np.arange(len(rows)), sizes)
    inside = places_within(sizes)
    return place, sets.starts[rows][place] + inside
