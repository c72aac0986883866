"""Dependencies: columns that determine others in this data, and may do so in every adversary's head.

A dependency that holds here is not always known outside; the data holder decides which belong under ``knows:``. Those
that touch a rule of the policy and are not mentioned there are warned about, because they may break it ([versatile Thm
3.2]).


Discovery
---------
Functional dependencies that hold in the data: what an adversary could learn elsewhere, and the policy should mention.

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
from typing import ClassVar

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.table import Table
from sfumato.policy.policy import Policy
from sfumato.policy.privacy_rules import Dependency, closure, join_names
from sfumato.policy.rule_reduction import dependencies_of
from sfumato.workflow.discover.discover import Finder, Suggestion

_WIDE = 25


class DependencyFinder(Finder):
    """Functional dependencies that hold in the data."""

    name: ClassVar[str] = "dependencies"
    order: ClassVar[int] = 30

    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        names = [name for name in table.names if policy is None or name in policy.columns]
        columns = {name: table.text(name).codes.astype(np.int64) for name in names}
        found = dependencies(columns, width=2 if len(columns) <= _WIDE else 1)
        texts = [str(each).replace("→", "->") for each in found]
        reasons = tuple(f"{each} holds in every row" for each in found)
        return Suggestion({"knows": texts} if texts else {}, reasons, _overlooked(found, policy))


def _overlooked(found: list[Dependency], policy: Policy | None) -> tuple[str, ...]:
    """Dependencies that concern a requirement and do not follow from ``knows:``."""
    if policy is None:
        return ()
    known = dependencies_of(policy)
    unsaid = [each for each in found if not each.determines <= closure(each.given, known)]
    dangers = [(each, _danger(each, policy)) for each in unsaid]
    return tuple(f"{each} holds in the data but is not under 'knows': {danger}" for each, danger in dangers if danger)


def _danger(each: Dependency, policy: Policy) -> str:
    """What an adversary who knows the dependency could do to a requirement."""
    hidden = {name for claim in policy.claims for name in claim.hide}
    given = {name for claim in policy.claims for name in claim.given}
    if each.determines & hidden:
        return f"who learns {join_names(each.given)} learns the hidden {join_names(each.determines)}"
    if each.given & hidden:
        return (
            f"who knows {join_names(each.determines)} can rule out values of the hidden"
            f" {join_names(each.given & hidden)}"
        )
    return (
        f"who is given {join_names(each.given)} also knows {join_names(each.determines)}" if each.given <= given else ""
    )


# Discovery
# ---------


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
    left = equivalence_classes_of([columns[name] for name in sorted(given)])
    return len(left) <= most and len(equivalence_classes_of([left.of, columns[hide]])) == len(left)
