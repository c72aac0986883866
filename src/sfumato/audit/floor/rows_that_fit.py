"""How many rows of a bucket could be one person's, by what the table itself shows: plain counters, a name behind each row.

A row could be somebody's when its known cells are those of one of their rows, wherever that one stands. So of every combination of
known cells a bucket has room for as many rows of a person as it has such rows, and as the person has; rows of different people
with the same combinations are looked at once.

>>> most_that_fit(["1", "1", "2", "2"], ["ann", "bob", "ann", "eve"], [("a",), ("b",), ("b",), ("a",)])
{'1': 2, '2': 2}
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from sfumato.audit.floor.files import Row

Seats = frozenset[tuple[Row, int]]
"""Combinations of known cells, and how many rows have each."""


def most_that_fit(bucket: Sequence[str], whose: Sequence[str], known: Sequence[Row]) -> dict[str, int]:
    """Per bucket the most rows that could be one person's."""
    people = set(_seats(whose, known).values())
    having = defaultdict[Row, list[Seats]](list)
    for person in people:
        for cells, _ in person:
            having[cells].append(person)
    of_bucket = _seats(bucket, known)
    most = {kind: max(_room(kind, person) for cells, _ in kind for person in having[cells]) for kind in set(of_bucket.values())}
    return {place: most[kind] for place, kind in of_bucket.items()}


def _seats(of: Sequence[str], known: Sequence[Row]) -> dict[str, Seats]:
    found = defaultdict[str, Counter[Row]](Counter)
    for place, cells in zip(of, known, strict=True):
        found[place][cells] += 1
    return {place: frozenset(counted.items()) for place, counted in found.items()}


def _room(bucket: Seats, person: Seats) -> int:
    rows = dict(person)
    return sum(min(many, rows.get(cells, 0)) for cells, many in bucket)
