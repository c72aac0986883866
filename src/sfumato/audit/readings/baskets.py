"""Published baskets: everybody's candidates are the published records whose possible worlds contain the own set.

Guarantee, by what is at hand
    original            candidates are counted exactly on the published columns. Which of them are *equally likely* cannot be
                        read off them, so a bound on the share of a label is judged for the best-placed candidates: a release
                        that fails there is broken, one that passes is *not judged*. Beyond
                        `EXACT_UP_TO` records some people are looked at instead of all, and the grade says *estimate*.
    original and trace  the all-assignments graph itself: exactly the candidates that are equally likely.
    neither             rows that overlap too few others refute a claim; otherwise it is *not judged*.
Paper
    [multitype Def. 1-3, 3.5]; "at least k" on the published parts, "exactly k and equally likely" on the private graph.
Notation
    A withheld label is the empty text: no value for models that count different values, a value of its own for models that
    bound shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.base import Reading
from sfumato.audit.compatible import Compatibility, edge_fits, on_one_universe
from sfumato.audit.itemsets import fewest_fits
from sfumato.audit.overlap import overlaps
from sfumato.data.baskets import Baskets
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.worlds import WITHHELD, PublishedBaskets
from sfumato.errors import DataError
from sfumato.forms.baskets import Basket, BasketTrace, published_baskets
from sfumato.policy.claims import Claim
from sfumato.release.certificate import AT_BEST, NOT_JUDGED, Finding, unless_refuted
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_OVERLAPS, _FEWEST_ROWS = 20_000_000, 50
EXACT_UP_TO = 20_000
"""Records up to which all pairs are looked at even when the trace shows enough of them."""
LOOKED_AT = 500
"""People, or rows, looked at beyond that when there is no trace."""


class BasketReading(Reading):
    """Published records whose possible worlds contain the person's set."""

    name: ClassVar[str] = "baskets"
    steady: ClassVar[bool] = False
    form: ClassVar[type[Form]] = Basket

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        if claim.given:
            why = f"that an outsider knows '{claim.given[0]}' beside the items is not judged"
            return _open(claim.model.name, claim.model.required(), claim.given, claim.hide, why)
        if exhibit.original is None:
            return _without_people(exhibit, claim)
        finding = super().judge(exhibit, claim)
        why = "which rows a person may have taken is not told by the release; give the private trace to judge shares of labels"
        said = unless_refuted(finding.holds, self._grade(exhibit, claim), finding.achieved, finding.reason, why)
        return replace(finding, **said)

    def _grade(self, exhibit: Exhibit, claim: Claim) -> str:
        known, many = exhibit.traced(BasketTrace).assignments is not None, len(exhibit.original) > EXACT_UP_TO
        if claim.model.known_items is not None or (known and _by_share(claim)):
            return "exact"
        if _by_share(claim):
            return AT_BEST
        if many and not known:
            return f"estimate ({LOOKED_AT:,} of {len(exhibit.original):,} people)"
        return "bound (at least)" if many else "exact"

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        published = exhibit.once(published_baskets)
        if (items := claim.model.known_items) is not None:
            sets, worlds = on_one_universe(exhibit.original, published)
            least = fewest_fits(sets, worlds.base, worlds.doubt, worlds.threshold, items)
            return Linkage(np.ones(len(least), dtype=np.int64), least)
        hidden = {name: label_codes(published, name) for name in claim.hide}
        graph = exhibit.traced(BasketTrace).assignments
        if graph is not None and (_by_share(claim) or len(exhibit.original) > EXACT_UP_TO):
            return _from_graph(exhibit, published, np.asarray(graph), hidden, by_share=_by_share(claim))
        known = Compatibility.of(some_of(exhibit.original), published)
        candidates = known.candidates()
        if not _by_share(claim):
            spread = {name: _as_spread(known.spread(codes, len(values)), values) for name, (codes, values) in hidden.items()}
            return Linkage(known.people, candidates, spread)
        degree = exhibit.of(Basket).degree
        shares = {name: _best_placed(known, codes, values, degree) for name, (codes, values) in hidden.items()}
        return Linkage(known.people, candidates, shares, note="shares are judged for the best-placed candidates")


def _without_people(exhibit: Exhibit, claim: Claim) -> Finding:
    """Refuted by rows whose worlds overlap those of too few rows, or not judged."""
    asked = (claim.model.name, claim.model.required(), claim.given, claim.hide)
    why = "candidates are counted for people; give the original records to judge this"
    if _by_share(claim) or claim.model.known_items is not None:
        return _open(*asked, why)
    published = exhibit.once(published_baskets)
    looked_at = min(len(published), max(_FEWEST_ROWS, _OVERLAPS // max(len(published), 1)))
    rows = np.unique(np.linspace(0, len(published) - 1, looked_at).astype(np.int64))
    near = overlaps(published, rows).astype(np.int64)
    candidates = np.asarray(near.sum(axis=1), dtype=np.int64).reshape(-1)
    spread = {}
    for name in claim.hide:
        codes, values = label_codes(published, name)
        spread[name] = _as_spread(_shown_near(near, codes, len(values)), values)
    linkage = Linkage(np.ones(len(rows), dtype=np.int64), candidates, spread)
    below = int((~claim.model.satisfied(linkage)).sum())
    if not below:
        return _open(*asked, f"none of the {len(rows)} rows looked at refutes it; " + why)
    reason = f"{below} of {len(rows)} rows share possible sets with too few others, whoever the people are"
    return Finding(asked[0], False, asked[1], claim.model.achieved(linkage), asked[2], asked[3], AT_BEST, reason)


def _open(name: str, required: Mapping[str, Any], given: tuple[str, ...], hide: tuple[str, ...], reason: str) -> Finding:
    return Finding(name, True, required, {}, given, hide, NOT_JUDGED, reason)


def _shown_near(near: Any, codes: NDArray[np.int64], values: int) -> Any:
    """How often each label is shown among the rows that overlap."""
    rows = np.flatnonzero(codes >= 0)
    counts = (near @ _counted(rows, codes[rows], len(codes), values)).tocsr()
    counts.sort_indices()
    return counts


def some_of(original: Baskets) -> Baskets:
    """All people, or evenly spread ones where they are too many to compare each with every row."""
    return original if len(original) <= EXACT_UP_TO else original.take(spread_over(len(original)))


def spread_over(count: int) -> NDArray[np.int64]:
    """`LOOKED_AT` of `count` numbers, evenly spread."""
    return np.unique(np.linspace(0, count - 1, LOOKED_AT).astype(np.int64))


def label_codes(published: PublishedBaskets, name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """A label column as codes, −1 where the label is withheld."""
    if name not in published.labels:
        raise DataError(f"the published baskets lack the column '{name}'", where="data")
    values, codes = np.unique(published.labels[name].astype(str), return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    if len(values) and values[0] == WITHHELD:
        return codes - 1, tuple(values[1:].tolist())
    return codes, tuple(values.tolist())


def _by_share(claim: Claim) -> bool:
    """Whether the model bounds how often a label may stand, rather than how many different ones there are."""
    return claim.model.needs_sensitive and not claim.model.demand().counts_values


def _as_spread(counts: Any, values: tuple[str, ...]) -> Spread:
    """Rows without any shown label get one entry of the withheld kind, so that every kind has something to show."""
    bare = np.diff(counts.indptr) == 0
    start = np.concatenate([[0], np.cumsum(np.maximum(np.diff(counts.indptr), 1))]).astype(np.int64)
    value, weight = np.full(start[-1], len(values), dtype=np.int64), np.ones(start[-1], dtype=np.int64)
    filled = np.repeat(~bare, np.diff(start))
    value[filled], weight[filled] = counts.indices, counts.data
    return Spread(start, value, weight, (*values, WITHHELD))


def _best_placed(known: Compatibility, codes: NDArray[np.int64], values: tuple[str, ...], degree: int) -> Spread:
    """The most even choice of `degree` candidates: labels are cut at the lowest level that still leaves that many."""
    counts = known.spread(codes, len(values))
    hidden = known.candidates() - np.asarray(counts.sum(axis=1)).reshape(-1)
    ragged = _as_spread(counts, values)
    weight = ragged.weight.copy()
    for kind in range(ragged.kinds):
        part = slice(ragged.start[kind], ragged.start[kind + 1])
        weight[part] = _levelled(ragged.weight[part], degree - int(hidden[kind]))
    extra = np.maximum(degree - np.add.reduceat(weight, ragged.start[:-1]), 0)
    return _with_singles(Spread(ragged.start, ragged.value, weight, ragged.labels), extra)


def _levelled(weight: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    level = 1
    while np.minimum(weight, level).sum() < wanted and level < weight.max():
        level += 1
    return np.minimum(weight, level)


def _with_singles(spread: Spread, extra: NDArray[np.int64]) -> Spread:
    """The spread with `extra[i]` further values of weight one for kind i: withheld labels, each a value of its own."""
    kind = np.concatenate([spread.kind(), np.repeat(np.arange(spread.kinds), extra)])
    single = np.arange(int(extra.sum()), dtype=np.int64) + len(spread.labels)
    value, weight = np.concatenate([spread.value, single]), np.concatenate([spread.weight, np.ones(len(single), dtype=np.int64)])
    order = np.argsort(kind, kind="stable")
    start = np.searchsorted(kind[order], np.arange(spread.kinds + 1)).astype(np.int64)
    return Spread(start, value[order], weight[order], (*spread.labels, *[WITHHELD] * len(single)))


def _from_graph(
    exhibit: Exhibit,
    published: PublishedBaskets,
    graph: NDArray[np.int64],
    hidden: dict[str, tuple[NDArray[np.int64], tuple[str, ...]]],
    *,
    by_share: bool,
) -> Linkage:
    """Candidates as the private graph has them: row r, column j of `graph` is the record behind published row j in round r."""
    degree, count = graph.shape
    people, rows = graph.reshape(-1).astype(np.int64), np.tile(np.arange(count, dtype=np.int64), degree)
    good = edge_fits(exhibit.original, published, people, rows)
    people, rows = people[good], rows[good]
    records = len(exhibit.original)
    candidates = np.bincount(people, minlength=records).astype(np.int64)
    spread = {}
    for name, (codes, values) in hidden.items():
        shown = codes[rows] if not by_share else np.where(codes >= 0, codes, len(values) + np.arange(count))[rows]
        labels = values if not by_share else (*values, *[WITHHELD] * count)
        seen = shown >= 0
        spread[name] = _as_spread(_counted(people[seen], shown[seen], records, len(labels)), labels)
    note = f"{degree} candidates each, as drawn" if by_share else ""
    return Linkage(np.ones(records, dtype=np.int64), candidates, spread, note)


def _counted(people: NDArray[np.int64], value: NDArray[np.int64], records: int, values: int) -> Any:
    from scipy.sparse import csr_matrix

    counts = csr_matrix((np.ones(len(people), dtype=np.int64), (people, value)), shape=(records, max(values, 1)))
    counts.sum_duplicates()
    return counts
