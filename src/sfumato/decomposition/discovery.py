"""Functional dependencies that hold in the data: what an outsider could learn elsewhere, and the policy should mention.

Guarantee
    Every reported X → Y holds in all rows, and no reported X has a smaller X' ⊂ X that also determines Y.

Notation
    X determines Y when adding Y to X makes no more classes: |classes(X ∪ Y)| = |classes(X)|.

Invariants
    I1  A dependency refuted on some rows is refuted on all: a small sample kills most candidates before the full count.

Departures
    Left sides that (almost) number the rows determine everything by accident, and constant columns are determined by
    everything; neither is reported.

Cost
    One grouping of the sample per candidate, one grouping of all rows per survivor.

>>> columns = {"zip": np.array([0, 0, 1, 2, 2]), "county": np.array([0, 0, 1, 1, 1]), "sex": np.array([0, 1, 1, 1, 0])}
>>> [str(each) for each in dependencies(columns, width=1, keys_above=0.9)]
['zip → county']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.decomposition.dependencies import Dependency

_SAMPLE = 2_000


def dependencies(columns: Mapping[str, IntArray], width: int = 2, keys_above: float = 0.5) -> list[Dependency]:
    """All minimal dependencies with at most `width` columns on the left and one on the right."""
    varied = {name: codes for name, codes in columns.items() if len(codes) and (codes != codes[0]).any()}
    rows = len(next(iter(varied.values()), np.zeros(0)))
    sample = _sample(varied, rows)
    found: list[Dependency] = []
    for given, hide in _candidates(sorted(varied), width):
        if any(known.given <= given and hide in known.determines for known in found):
            continue
        if _determines(sample, given, hide) and _determines(varied, given, hide, most=keys_above * rows):  # I1
            found.append(Dependency(given, frozenset({hide})))
    return found


def _sample(columns: Mapping[str, IntArray], rows: int) -> dict[str, IntArray]:
    chosen = np.linspace(0, max(rows - 1, 0), min(rows, _SAMPLE)).astype(np.int64)
    return {name: codes[chosen] for name, codes in columns.items()}


def _candidates(names: list[str], width: int) -> Iterator[tuple[frozenset[str], str]]:
    for size in range(1, width + 1):
        for given in combinations(names, size):
            yield from ((frozenset(given), hide) for hide in names if hide not in given)


def _determines(columns: Mapping[str, IntArray], given: frozenset[str], hide: str, most: float = np.inf) -> bool:
    left = group([columns[name] for name in sorted(given)])
    return len(left) <= most and len(group([left.of, columns[hide]])) == len(left)
