"""Quasi-identifiers beside the items of set-valued records: what an adversary knows of a person in columns, said in
terms of items.

A value becomes items of its own: of a number, every one of a few thresholds that it reaches; of a value in a hierarchy,
every node above it but the root. So two people share as many of these items as their values are near, and whatever
compares sets of items (blocks of alike records, a guess from what is known) compares both kinds of knowledge at once.

>>> from sfumato.data.generalization import Ranges
>>> ages = Ranges(("20", "30", "40", "50"))
>>> of_values(ages, np.array([0, 2, 3, 3])).sizes.tolist()
[0, 1, 2, 2]
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.data.baskets import Baskets
from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy, encode
from sfumato.data.item_sets import Sets
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy

_THRESHOLDS = 8


def known_columns(policy: Policy) -> tuple[str, ...]:
    """The quasi-identifiers that are published beside the items."""
    return tuple(name for name in policy.quasi_identifiers if name in policy.published)


def generalization_and_codes(policy: Policy, baskets: Baskets, name: str) -> tuple[Generalization, IntArray]:
    """How a column may be generalized, and the leaf of every record."""
    text = baskets.text(name)
    domain = generalization_of(policy, name, text.labels)
    return domain, encode(domain, text.labels, column=name).astype(np.int64)[text.codes]


def items_with_known_columns(policy: Policy, baskets: Baskets) -> Sets:
    """The items of every record, and items that stand for its values in known columns."""
    known = [of_values(*generalization_and_codes(policy, baskets, name)) for name in known_columns(policy)]
    return beside([baskets.sets, *known]) if known else baskets.sets


def of_values(domain: Generalization, codes: IntArray) -> Sets:
    """Items for the values of one column."""
    if isinstance(domain, Hierarchy):
        paths = [[node for node in domain.path(leaf) if node != domain.root] for leaf in range(domain.size)]
        return Sets.of(paths, len(domain.names)).take(codes)
    cuts = np.unique(np.quantile(codes, np.linspace(0, 1, _THRESHOLDS + 2)[1:-1], method="higher"))
    reached = codes[:, None] >= cuts[cuts > codes.min(initial=0)][None, :]
    return Sets.from_dense(reached)


def beside(parts: list[Sets]) -> Sets:
    """Row by row the items of all parts, each in a universe of its own."""
    first = np.cumsum([0, *(part.width for part in parts)])
    rows = np.concatenate([part.owners for part in parts])
    items = np.concatenate([part.items + start for part, start in zip(parts, first[:-1], strict=True)])
    return Sets.from_flat(rows, items, len(parts[0]), int(first[-1]))
