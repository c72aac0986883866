"""Worlds: published baskets are well formed, and the original records fit behind them, one each, labels included.

From the published file alone: thresholds lie between 0 and the number of doubtful items, and nothing but the policy's labels
stands beside the items. With the original: rows and records can be paired one to one so that each row's worlds contain its
record and each label shown is the record's own.

Paper: [multitype Def. 2]: an assignment is a one-to-one mapping.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.base import Check
from sfumato.audit.checks.blocks import in_cells
from sfumato.audit.compatible import Compatibility, edge_fits
from sfumato.audit.readings.baskets import EXACT_UP_TO, spread_over
from sfumato.data.worlds import WITHHELD, PublishedBaskets
from sfumato.forms.baskets import Basket, published_baskets
from sfumato.policy.beside_items import known_columns
from sfumato.release.certificate import SOME_FOUND, Finding, unless_refuted
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_LARGEST = 30_000_000


class WellFormed(Check):
    """Thresholds fit the doubtful items; only columns of the policy are published."""

    name: ClassVar[str] = "worlds"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def examine(self, exhibit: Exhibit) -> Finding:
        published = exhibit.once(published_baskets)
        beyond = int((published.threshold > published.doubt.sizes).sum())
        strangers = [name for name in published.labels if name not in exhibit.policy.published]
        wrong = [f"{beyond} thresholds exceed the doubtful items"] if beyond else []
        wrong += [f"column '{name}' is published but not by the policy" for name in strangers]
        achieved = {"thresholds": beyond, "unnamed": len(strangers)}
        return Finding(self.name, not wrong, {"thresholds": 0, "unnamed": 0}, achieved, reason="; ".join(wrong))


class OneToOne(Check):
    """Every published row stands for a record of its own."""

    name: ClassVar[str] = "one-to-one"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private

    def examine(self, exhibit: Exhibit) -> Finding:
        published = exhibit.once(published_baskets)
        withheld, limit = exhibit.records.suppressed if exhibit.records else 0, exhibit.policy.utility.suppress_at_most
        missing = len(exhibit.original) - withheld - len(published)
        if missing or (limit is not None and withheld > limit * len(exhibit.original) + 1e-9):
            reason = f"{len(published)} rows for {len(exhibit.original)} records, of which {withheld} are said to be withheld"
            return Finding(self.name, False, {"rows": 0}, {"rows": abs(missing) or withheld}, reason=reason)
        unmatched, grade = _unmatched(exhibit, published)
        reason = f"{unmatched} published rows stand for no original record of their own" if unmatched else ""
        why = "not every row was compared with every record; none that was compared is wrong"
        return Finding(self.name, required={"rows": 0}, **unless_refuted(not unmatched, grade, {"rows": unmatched}, reason, why))


def _unmatched(exhibit: Exhibit, published: PublishedBaskets) -> tuple[int, str]:
    if exhibit.behind is not None:
        people, rows = np.asarray(exhibit.behind["data"]), np.arange(len(published))
        good = edge_fits(exhibit.original, published, people, rows) & _agree(exhibit, published, people, rows)
        return len(rows) - int((good & _once(people)).sum()), "exact"
    if len(published) > EXACT_UP_TO:
        known = Compatibility.of(exhibit.original, published.take(spread_over(len(published))))
        lost = np.bincount(known.row) * (np.asarray(known.pairs.sum(axis=0)).reshape(-1) == 0)
        return int(lost.sum()), SOME_FOUND
    known = Compatibility.of(exhibit.original, published)
    if int(known.people @ known.candidates()) > _LARGEST:
        without = int((np.bincount(known.row) * (np.asarray(known.pairs.sum(axis=0)).reshape(-1) == 0)).sum())
        return without, SOME_FOUND
    return _by_matching(exhibit, published, known), "exact"


def _once(people: NDArray[np.int64]) -> NDArray[np.bool_]:
    once: NDArray[np.bool_] = np.bincount(people, minlength=int(people.max()) + 1)[people] == 1
    return once


def _agree(exhibit: Exhibit, published: PublishedBaskets, people: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each label shown in a row is that of the record."""
    same = np.ones(len(rows), dtype=bool)
    for name, shown in published.labels.items():
        if name in known_columns(exhibit.policy):
            same &= in_cells(exhibit, name, people, rows)
        elif name in exhibit.original.labels:
            same &= (shown[rows] == exhibit.original.labels[name][people]) | (shown[rows] == WITHHELD)
    return same


def _by_matching(exhibit: Exhibit, published: PublishedBaskets, known: Compatibility) -> int:
    """Rows left over by a largest one-to-one pairing."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    people, rows = _expanded(known)
    good = _agree(exhibit, published, people, rows)
    shape = (len(known.person), len(known.row))
    graph = csr_matrix((np.ones(int(good.sum()), dtype=np.int8), (people[good], rows[good])), shape=shape)
    return int((maximum_bipartite_matching(graph, perm_type="row") < 0).sum())


def _expanded(known: Compatibility) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All compatible (record, row) pairs."""
    member = _members(known.person, known.pairs.shape[0])
    listed = _members(known.row, known.pairs.shape[1])
    full: Any = (member @ known.pairs @ listed.T).tocoo()
    return full.row.astype(np.int64), full.col.astype(np.int64)


def _members(kind: NDArray[np.int64], kinds: int) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(kind), dtype=np.int64), (np.arange(len(kind)), kind)), shape=(len(kind), kinds))
