"""Junction trees: possible values of people, proved by counting, when tables clustered together have an acyclic schema.

Guarantee
    Cluster the tables until their column sets, the hidden column included, are acyclic. Let somebody's label in a column be all
    cells that were ever published of it for that person. Then for everybody who stands in all tables, with one value in all of
    them, a value is possible that in every cluster with the hidden column some person has whose labels are the same in all
    columns of the cluster. Each value has a witness of its own, so values that different proofs show may be united.

    Proof. By induction over the join tree. Rows of a leaf cluster and cliques built so far carry a key: labels of shared columns,
    and the hidden value where it is shared. Both sides have as many rows of a key as there are people with it, so any bijection
    inside a key is a matching, and the wanted row can be put on the wanted clique. Every column lies in a connected part of the
    tree, so agreement on shared columns is agreement everywhere; equal labels have a true value in common, so all cells
    meet. Clusters without the hidden column keep everybody's own rows. People who are not in all tables stay where they are. ∎

    Only possibility is proved, so only models that count different values can rest on it, and only where the policy asks for the
    paper's measure (``by: join``, `k-linkability`). Equal labels, not covering ones, are asked for: rows that cover everybody help
    nobody. A release that only a tree proves leaves no joint classes to go on from, so no method makes one on purpose.

Cost: people × tables, and a join tree for every merging of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.classes import group
from sfumato.decomposition.jointree import join_tree
from sfumato.history.bundles import Bundles
from sfumato.history.joint import Joint
from sfumato.history.people_sheet import PeopleSheet

Masks = NDArray[np.uint64]
"""Per person a set of values, as bits."""


@dataclass(frozen=True)
class HiddenValues:
    """Everybody's value of a hidden column, −1 where it is not told or not the same in all tables."""

    of: IntArray
    labels: tuple[str, ...]
    changed: BoolArray
    """Who has different values in different tables: nothing is proved of them here."""

    @classmethod
    def told(cls, sheets: Sequence[PeopleSheet], column: str, people: int) -> HiddenValues:
        number: dict[str, int] = {}
        of, changed = np.full(people, -1, dtype=np.int64), np.zeros(people, dtype=np.bool_)
        for sheet in (sheet for sheet in sheets if column in sheet.columns):
            codes = np.array([number.setdefault(label, len(number)) for label in sheet.labels[column]], dtype=np.int64)
            mine = codes[sheet.cells[column][sheet.here]]
            changed[sheet.here] |= (of[sheet.here] >= 0) & (of[sheet.here] != mine)
            of[sheet.here] = mine
        return cls(np.where(changed, -1, of), tuple(number), changed)

    def masks(self, classes: IntArray) -> Masks:
        """Per person the values of everybody of the same class; nobody's for class −1."""
        words = 1 + max(len(self.labels) - 1, 0) // 64
        inside = (classes >= 0) & (self.of >= 0)
        seen = np.zeros((int(classes.max(initial=-1)) + 1, words), dtype=np.uint64)
        bit = np.uint64(1) << (self.of[inside] % 64).astype(np.uint64)
        np.bitwise_or.at(seen, (classes[inside], self.of[inside] // 64), bit)
        found = np.zeros((len(classes), words), dtype=np.uint64)
        found[classes >= 0] = seen[classes[classes >= 0]]
        return found


def by_class(joint: Joint, values: HiddenValues) -> Masks:
    """The values that joint classes show."""
    return values.masks(joint.of)


def by_tree(bundles: Bundles, column: str, values: HiddenValues) -> Masks:
    """The values that a junction tree shows."""
    sheets = bundles.tables()
    whole = np.all([sheet.here for sheet in sheets], axis=0) & (values.of >= 0)
    labels = _labels(sheets, column, whole)
    found: Masks | None = None
    for cluster in clusters([sheet.columns for sheet in sheets], column):
        if column not in cluster:
            continue
        classes = np.full(len(whole), -1, dtype=np.int64)
        names = sorted(cluster - {column})
        classes[whole] = group([labels[name][whole] for name in names], rows=int(whole.sum())).of
        mine = values.masks(classes)
        found = mine if found is None else found & mine
    assert found is not None
    return found


def clusters(schemas: Sequence[frozenset[str]], column: str) -> list[frozenset[str]]:
    """Column sets merged until they are acyclic; those that share most are merged first.

    >>> [sorted(one) for one in clusters([frozenset("ab"), frozenset("bs"), frozenset("as")], "s")]
    [['a', 'b', 's']]
    >>> len(clusters([frozenset("as"), frozenset("bs"), frozenset("ab")], "x"))
    1
    """
    found = _outermost(schemas)
    while join_tree(found) is None:
        one, other = min(combinations(found, 2), key=lambda two: (-len(two[0] & two[1] - {column}), len(two[0] | two[1])))
        found = _outermost([*(each for each in found if each not in (one, other)), one | other])
    return found


def _outermost(sets: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Without those that lie in others."""
    once = list(dict.fromkeys(sets))
    return [one for one in once if not any(one < other for other in once)]


def _labels(sheets: Sequence[PeopleSheet], column: str, whole: BoolArray) -> dict[str, IntArray]:
    """Per column everybody's label: what all tables ever said."""
    found: dict[str, IntArray] = {}
    for name in {name for sheet in sheets for name in sheet.columns} - {column}:
        cells = [sheet.cells[name] + 1 for sheet in sheets if name in sheet.columns]
        found[name] = group(cells, rows=len(whole)).of
    return found
