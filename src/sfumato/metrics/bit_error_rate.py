"""Bit error rate: how many items of the published base are wrong for a record, relative to the record's size.

The mean of |record xor base| / |record| over all records, where every published row that may stand for the record counts alike:
that is what the files say, and what anybody with the original finds, so it is one figure in the report and in `measure`. With more
than 2,000 records an evenly spread sample of 2,000 is measured. `true_error_rate` is the same over the true rows alone, which only
the data holder knows; it is lower.

Paper
    [multitype 3.7.1], ER.
Departures
    A record without items counts with size 1.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.data.sets import Sets
from sfumato.data.worlds import PublishedBaskets
from sfumato.forms.baskets import Basket, published_baskets
from sfumato.metrics.base import Metric
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_SAMPLE = 2_000


class BitErrorRate(Metric):
    """Wrong items of the published base, relative to the size of the record."""

    name: ClassVar[str] = "bit_error_rate"
    range: ClassVar[str] = "0 …"
    forms: ClassVar[tuple[type[Form], ...]] = (Basket,)
    paper: ClassVar[str] = "multitype 3.7.1"

    def measure(self, exhibit: Exhibit) -> float:
        published = exhibit.once(published_baskets)
        original = exhibit.original.recoded(together(exhibit.original.names, published.names))
        chosen = np.unique(np.linspace(0, len(original) - 1, _SAMPLE).astype(np.int64))
        return error_rate(original.sets.take(chosen), published, original.names)


def together(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Every item of both, once."""
    return tuple(dict.fromkeys([*first, *second]))


def _on(sets: Sets, published: PublishedBaskets, names: tuple[str, ...]) -> Sets:
    """Published sets over the universe `names`."""
    place = {name: index for index, name in enumerate(names)}
    moved = np.array([place[name] for name in published.names] or [0], dtype=np.int64)
    return sets.renamed(moved, len(names))


def true_rate(people: Sets, published: PublishedBaskets, names: tuple[str, ...]) -> float:
    """The rate over the true pairs: row i stands for person i."""
    return float((people.hamming(_on(published.base, published, names)) / np.maximum(people.sizes, 1)).mean())


def error_rate(people: Sets, published: PublishedBaskets, names: tuple[str, ...]) -> float:
    """The mean, over people, of the mean relative distance to the bases of their compatible rows."""
    base, doubt = _on(published.base, published, names), _on(published.doubt, published, names)
    matrices = [sets.matrix().T.tocsr() for sets in (base, doubt)]
    both = base.matrix().multiply(doubt.matrix())
    kept = np.asarray(both.sum(axis=1)).reshape(-1)
    rates = []
    for first in range(0, len(people), 50):
        rows = people.take(np.arange(first, min(first + 50, len(people))))
        with_base, with_doubt = (np.asarray((rows.matrix() @ matrix).todense()) for matrix in matrices)
        with_both = np.asarray((rows.matrix() @ both.T.tocsr()).todense())
        apart = rows.sizes[:, None] + base.sizes[None, :] - 2 * with_base
        doubted = with_doubt + kept[None, :] - 2 * with_both
        fits = (apart == doubted) & (apart <= published.threshold[None, :])
        mean = (apart * fits).sum(axis=1) / np.maximum(fits.sum(axis=1), 1)
        rates.append(mean / np.maximum(rows.sizes, 1))
    return float(np.concatenate(rates).mean())
