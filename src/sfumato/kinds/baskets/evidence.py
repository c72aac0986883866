"""Published baskets: each person's candidates are the published records whose possible worlds contain the own set.

Guarantee, by what is at hand
    original            candidates are counted exactly on the published columns. Which of them are *equally likely*
                        cannot be read off them, so a bound on the share of a label is judged for the best-placed
                        candidates: a release that fails there is broken, one that passes is *not judged*. Beyond
                        `EXACT_UP_TO` records some people are looked at instead of all, and the grade says *estimate*.
    original and trace  the all-assignments graph itself: exactly the candidates that are equally likely.
    neither             rows that overlap too few others refute a requirement; otherwise it is *not judged*.
Paper
    [multitype Def. 1-3, 3.5]; "at least k" on the published parts, "exactly k and equally likely" on the private graph.
Notation
    A suppressed label is the empty text: no value for models that count different values, a separate value for models
    that bound shares.


Compatible
----------
Which original records may stand behind which published baskets: the possible worlds, read off the published columns.

A record r is compatible with a published record (base b, doubt d, threshold t) when r and b differ only in items of d,
and in at most t of them. Equal records and equal published rows are looked at once.

Paper
    [multitype 3.4, 3.5].
Notation
    sure ~ b minus d, items every world has; A, E, F ~ how many items r shares with sure, with b and d, with d minus b.
    Compatible: A = |sure|, A + E + F = |r|, and F + |b and d| − E ≤ t. One sparse product gives A + K·E + K²·F.
Cost
    Per kind of person the published rows that may hold the rarest items, in blocks of bounded memory.

>>> from sfumato.data.baskets import Baskets
>>> people = Baskets.of([["jogging", "swimming"], ["jogging", "soccer", "swimming"], ["tennis"]])
>>> Compatibility.of(people, PublishedBaskets.of([["jogging", "swimming"]], [["tennis", "soccer"]],
...     [1])).candidates().tolist()
[1, 1, 0]


Itemsets
--------
How many published baskets fit the few items an adversary knows: the reading behind k^m-anonymity.

For every set of at most m items that a person has, the published records that may contain all of them: an item of the
base is there, a doubtful item may be, as long as the threshold allows that many additions. A person's figure is the
least over all own item sets.

Cost
    One pass over the published items per set of m − 1 items in use; m ≤ 3 is meant.

>>> from sfumato.data.item_sets import Sets
>>> people = Sets.of([[0, 1], [0, 1], [1, 2]], width=3)
>>> none = Sets.of([[], [], []], width=3)
>>> fewest_matching_rows(people, people, none, np.zeros(3, dtype=np.int64), m=1).tolist()
[2, 2, 1]


Overlap
-------
What published baskets alone rule out: two rows whose possible worlds have no set in common never stand for the same
person.

The person behind a row is one of its worlds, so the rows compatible with that person are among those that overlap the
row. If they are too few, or show too few labels, a requirement is violated for any original; if not, nothing is proven
without the original records.

Notation
    sure, maybe, out ~ items of the base that are not in doubt, items of the base in doubt, doubtful items outside the
    base. Where two bases differ, one of the two rows must give way: this one where only its item is in doubt, the other
    where only the other's is, either where both are, neither means no common world. Overlap: each gives way at most as
    often as its threshold says, and both together often enough.
Cost
    Rows looked at x all rows, in blocks of bounded memory.

>>> worlds = PublishedBaskets.of([["a"], ["a", "b"], ["c"]], [["b"], [], []], [1, 0, 0])
>>> possible_overlaps(worlds, np.array([0, 2])).toarray().tolist()
[[True, True, False], [False, False, True]]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import positions_in_runs
from sfumato.core.errors import DataError
from sfumato.data.baskets import Baskets
from sfumato.data.item_sets import Sets
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.kinds.baskets.form import Basket, BasketProvenance, published_baskets
from sfumato.kinds.baskets.published_baskets import WITHHELD, PublishedBaskets
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.certificate import AT_BEST, NOT_JUDGED, Finding, one_sided_verdict
from sfumato.release.evidence import Evidence
from sfumato.release.form import Form
from sfumato.release.view import ReleaseView

_OVERLAPS, _FEWEST_ROWS = 20_000_000, 50
EXACT_UP_TO = 20_000
"""Records up to which all pairs are looked at even when the provenance shows enough of them."""
LOOKED_AT = 500
"""People, or rows, looked at beyond that when there is no trace."""


class BasketReading(Evidence):
    """Published records whose possible worlds contain the person's set."""

    name: ClassVar[str] = "baskets"
    steady: ClassVar[bool] = False
    form: ClassVar[type[Form]] = Basket

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        if claim.given:
            why = f"that an outsider knows '{claim.given[0]}' beside the items is not judged"
            return _open(claim.model.name, claim.model.required(), claim.given, claim.hide, why)
        if exhibit.original is None:
            return _without_people(exhibit, claim)
        finding = super().judge(exhibit, claim)
        why = "which rows a person may have is not published; give the private provenance to judge shares of labels"
        if not _by_share(claim):
            why = (
                f"{LOOKED_AT:,} of {len(exhibit.original):,} people were examined, and the "
                "minimum of a sample bounds nothing for all"
            )
            why += "; give the private provenance to judge everybody"
        said = one_sided_verdict(finding.holds, self._grade(exhibit, claim), finding.achieved, finding.reason, why)
        return replace(finding, **said)

    def _grade(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> str:
        known, many = exhibit.traced(BasketProvenance).assignments is not None, len(exhibit.original) > EXACT_UP_TO
        if claim.model.known_items is not None or (known and _by_share(claim)):
            return "exact"
        if _by_share(claim):
            return AT_BEST
        if many and not known:
            return AT_BEST
        return "bound (at least)" if many else "exact"

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        published = exhibit.once(published_baskets)
        if (items := claim.model.known_items) is not None:
            sets, worlds = align_item_universes(exhibit.original, published)
            least = fewest_matching_rows(sets, worlds.base, worlds.doubt, worlds.threshold, items)
            return Linkage(np.ones(len(least), dtype=np.int64), least)
        hidden = {name: label_codes(published, name) for name in claim.hide}
        graph = exhibit.traced(BasketProvenance).assignments
        if graph is not None and (_by_share(claim) or len(exhibit.original) > EXACT_UP_TO):
            return _from_graph(exhibit, published, np.asarray(graph), hidden, by_share=_by_share(claim))
        known = Compatibility.of(some_of(exhibit.original), published)
        candidates = known.candidates()
        if not _by_share(claim):
            spread = {
                name: _as_spread(known.spread(codes, len(values)), values) for name, (codes, values) in hidden.items()
            }
            return Linkage(known.people, candidates, spread)
        degree = exhibit.of(Basket).degree
        shares = {name: _best_placed(known, codes, values, degree) for name, (codes, values) in hidden.items()}
        return Linkage(known.people, candidates, shares, note="shares are judged for the best-placed candidates")


def _without_people(exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
    """Refuted by rows whose worlds overlap those of too few rows, or not judged."""
    asked = (claim.model.name, claim.model.required(), claim.given, claim.hide)
    why = "candidates are counted for people; give the original records to judge this"
    if _by_share(claim) or claim.model.known_items is not None:
        return _open(*asked, why)
    published = exhibit.once(published_baskets)
    looked_at = min(len(published), max(_FEWEST_ROWS, _OVERLAPS // max(len(published), 1)))
    rows = np.unique(np.linspace(0, len(published) - 1, looked_at).astype(np.int64))
    near = possible_overlaps(published, rows).astype(np.int64)
    candidates = np.asarray(near.sum(axis=1), dtype=np.int64).reshape(-1)
    spread = {}
    for name in claim.hide:
        codes, values = label_codes(published, name)
        spread[name] = _as_spread(_shown_near(near, codes, len(values)), values)
    linkage = Linkage(np.ones(len(rows), dtype=np.int64), candidates, spread)
    below = int((~claim.model.satisfied(linkage)).sum())
    if not below:
        return _open(*asked, f"none of the {len(rows)} rows looked at refutes it; " + why)
    reason = f"{below} of {len(rows)} rows share possible sets with too few others, whatever the original is"
    return Finding(asked[0], False, asked[1], claim.model.achieved(linkage), asked[2], asked[3], AT_BEST, reason)


def _open(
    name: str, required: Mapping[str, Any], given: tuple[str, ...], hide: tuple[str, ...], reason: str
) -> Finding:
    return Finding(name, True, required, {}, given, hide, NOT_JUDGED, reason)


def _shown_near(near: Any, codes: NDArray[np.int64], values: int) -> Any:
    """How often each label is shown among the rows that overlap."""
    rows = np.flatnonzero(codes >= 0)
    counts = (near @ _counted(rows, codes[rows], len(codes), values)).tocsr()
    counts.sort_indices()
    return counts


def some_of(original: Baskets) -> Baskets:
    """All people, or evenly spread ones where they are too many to compare each with every row."""
    return original if len(original) <= EXACT_UP_TO else original.take(evenly_spread_numbers(len(original)))


def evenly_spread_numbers(count: int) -> NDArray[np.int64]:
    """`LOOKED_AT` of `count` numbers, evenly spread."""
    return np.unique(np.linspace(0, count - 1, LOOKED_AT).astype(np.int64))


def label_codes(published: PublishedBaskets, name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return a label column as codes, −1 for suppressed labels."""
    if name not in published.labels:
        raise DataError(f"the published baskets lack the column '{name}'", where="data")
    values, codes = np.unique(published.labels[name].astype(str), return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    if len(values) and values[0] == WITHHELD:
        return codes - 1, tuple(values[1:].tolist())
    return codes, tuple(values.tolist())


def _by_share(claim: PrivacyRequirement) -> bool:
    """Whether the model bounds how often a label may stand, rather than how many different ones there are."""
    return claim.model.needs_sensitive and not claim.model.demand().counts_values


def _as_spread(counts: Any, values: tuple[str, ...]) -> ValueDistribution:
    """Give rows without any shown label one entry of the suppressed kind, so that every kind has an entry."""
    bare = np.diff(counts.indptr) == 0
    start = np.concatenate([[0], np.cumsum(np.maximum(np.diff(counts.indptr), 1))]).astype(np.int64)
    value, weight = np.full(start[-1], len(values), dtype=np.int64), np.ones(start[-1], dtype=np.int64)
    filled = np.repeat(~bare, np.diff(start))
    value[filled], weight[filled] = counts.indices, counts.data
    return ValueDistribution(start, value, weight, (*values, WITHHELD))


def _best_placed(
    known: Compatibility, codes: NDArray[np.int64], values: tuple[str, ...], degree: int
) -> ValueDistribution:
    """The most even choice of `degree` candidates: labels are cut at the lowest level that still leaves that many."""
    counts = known.spread(codes, len(values))
    hidden = known.candidates() - np.asarray(counts.sum(axis=1)).reshape(-1)
    ragged = _as_spread(counts, values)
    weight = ragged.weight.copy()
    for kind in range(ragged.kinds):
        part = slice(ragged.start[kind], ragged.start[kind + 1])
        weight[part] = _levelled(ragged.weight[part], degree - int(hidden[kind]))
    extra = np.maximum(degree - np.add.reduceat(weight, ragged.start[:-1]), 0)
    return _with_singles(ValueDistribution(ragged.start, ragged.value, weight, ragged.labels), extra)


def _levelled(weight: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    level = 1
    while np.minimum(weight, level).sum() < wanted and level < weight.max():
        level += 1
    return np.minimum(weight, level)


def _with_singles(spread: ValueDistribution, extra: NDArray[np.int64]) -> ValueDistribution:
    """Return the distribution with `extra[i]` further values of weight one for kind i: suppressed labels, each a
    separate value."""
    kind = np.concatenate([spread.kind(), np.repeat(np.arange(spread.kinds), extra)])
    single = np.arange(int(extra.sum()), dtype=np.int64) + len(spread.labels)
    value, weight = (
        np.concatenate([spread.value, single]),
        np.concatenate([spread.weight, np.ones(len(single), dtype=np.int64)]),
    )
    order = np.argsort(kind, kind="stable")
    start = np.searchsorted(kind[order], np.arange(spread.kinds + 1)).astype(np.int64)
    return ValueDistribution(start, value[order], weight[order], (*spread.labels, *[WITHHELD] * len(single)))


def _from_graph(
    exhibit: ReleaseView,
    published: PublishedBaskets,
    graph: NDArray[np.int64],
    hidden: dict[str, tuple[NDArray[np.int64], tuple[str, ...]]],
    *,
    by_share: bool,
) -> Linkage:
    """Candidates as the private graph has them: row r, column j of `graph` is the record behind published row j in
    round r."""
    degree, count = graph.shape
    people, rows = graph.reshape(-1).astype(np.int64), np.tile(np.arange(count, dtype=np.int64), degree)
    good = pairs_compatible(exhibit.original, published, people, rows)
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


# Compatible
# ----------


_BITS = 20
_ENTRIES = 20_000_000
_PAIRS = 500_000
_FEW = 4_000


@dataclass(frozen=True, slots=True, eq=False)
class Compatibility:
    """Kinds of people (equal sets) against kinds of published rows (equal base, doubt and threshold)."""

    pairs: Any
    """Sparse matrix, people's kinds x rows' kinds, 1 where compatible."""
    person: NDArray[np.int64]
    """The kind of each original record."""
    row: NDArray[np.int64]
    """The kind of each published row."""

    @classmethod
    def of(cls, original: Baskets, published: PublishedBaskets) -> Compatibility:
        """Every compatible pair."""
        sets, worlds = align_item_universes(original, published)
        first_person, person = sets.classes()
        first_row, row = _row_kinds(worlds)
        return cls(_pairs(sets.take(first_person), worlds.take(first_row)), person, row)

    @property
    def people(self) -> NDArray[np.int64]:
        return np.bincount(self.person, minlength=self.pairs.shape[0]).astype(np.int64)

    def candidates(self) -> NDArray[np.int64]:
        """How many published rows each kind of person may stand behind."""
        rows = np.bincount(self.row, minlength=self.pairs.shape[1])
        return np.asarray(self.pairs @ rows, dtype=np.int64)

    def spread(self, codes: NDArray[np.int64], values: int) -> Any:
        """Sparse matrix, people's kinds x values: how often each value stands among the candidates (codes < 0: not
        shown)."""
        from scipy.sparse import csr_matrix

        shown = codes >= 0
        ones = np.ones(int(shown.sum()), dtype=np.int64)
        counts = csr_matrix((ones, (self.row[shown], codes[shown])), shape=(self.pairs.shape[1], values))
        mixed = (self.pairs.astype(np.int64) @ counts).tocsr()
        mixed.sum_duplicates()
        mixed.sort_indices()
        return mixed


def align_item_universes(original: Baskets, published: PublishedBaskets) -> tuple[Sets, PublishedBaskets]:
    """Both sides over the union of their items."""
    names = tuple(dict.fromkeys([*original.names, *published.names]))
    place = {name: index for index, name in enumerate(names)}
    moved = np.array([place[name] for name in published.names], dtype=np.int64)

    def recoded(sets: Sets) -> Sets:
        return sets.renamed(moved, len(names)) if len(moved) else Sets(sets.starts, sets.items, len(names))

    worlds = PublishedBaskets(
        recoded(published.base), recoded(published.doubt), published.threshold, names, published.labels
    )
    return Sets(original.sets.starts, original.sets.items, len(names)), worlds


def _row_kinds(worlds: PublishedBaskets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    base, doubt = worlds.base.classes()[1], worlds.doubt.classes()[1]
    keys = np.stack([base, doubt, worlds.threshold], axis=1)
    _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), kind.reshape(-1).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What the test needs to know of each published row."""

    weights: Any
    sure: NDArray[np.int64]
    kept: NDArray[np.int64]
    threshold: NDArray[np.int64]


def _weighed(worlds: PublishedBaskets) -> _Rows:
    """Items of sure weigh 1, of base and doubt K, of doubt alone K²."""
    from scipy.sparse import csr_matrix

    shape = (len(worlds), worlds.base.width)
    base, doubt = worlds.base.matrix().astype(np.int64), worlds.doubt.matrix().astype(np.int64)
    both = base.multiply(doubt).tocsr()
    weights = base - both + (both * (1 << _BITS)) + (doubt - both) * (1 << 2 * _BITS)
    kept = np.asarray(both.sum(axis=1), dtype=np.int64).reshape(-1)
    return _Rows(csr_matrix(weights, shape=shape), worlds.base.sizes - kept, kept, worlds.threshold)


def fits(
    total: NDArray[np.int64],
    size: NDArray[np.int64],
    sure: NDArray[np.int64],
    kept: NDArray[np.int64],
    threshold: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """The test itself, on A + K·E + K²·F."""
    mask = (1 << _BITS) - 1
    a, e, f = total & mask, total >> _BITS & mask, total >> 2 * _BITS
    return np.asarray((a == sure) & (a + e + f == size) & (f + kept - e <= threshold))


def _pairs(sets: Sets, worlds: PublishedBaskets) -> Any:
    """First the rows that may hold a person's rarest items, then the test itself on those only."""
    from scipy.sparse import csr_matrix, vstack

    rows = _weighed(worlds)
    turned = rows.weights.T.tocsr()
    turned.data[:] = 1
    telling = _rarest(sets, np.diff(turned.indptr))
    blocks = []
    for first, last in _blocks(telling, np.diff(turned.indptr)):
        some = telling.take(np.arange(first, last))
        shared = (some.matrix().astype(np.int64) @ turned).tocoo()
        possible = shared.data == some.sizes[shared.row]
        person, row = _tested(
            sets, rows, first + shared.row[possible].astype(np.int64), shared.col[possible].astype(np.int64)
        )
        empty = np.flatnonzero(some.sizes == 0)
        open_rows = np.flatnonzero((rows.sure == 0) & (rows.kept <= rows.threshold))
        person = np.concatenate([person - first, np.repeat(empty, len(open_rows))])
        row = np.concatenate([row, np.tile(open_rows, len(empty))])
        ones = np.ones(len(row), dtype=np.int64)
        blocks.append(csr_matrix((ones, (person, row)), shape=(last - first, len(worlds))))
    return vstack(blocks).tocsr()


def _rarest(sets: Sets, support: NDArray[np.int64]) -> Sets:
    """Of every row the rarest item, and the next ones while together they are in few published rows."""
    owner = sets.owners
    order = np.lexsort((support[sets.items], owner))
    items, reach = sets.items[order], support[sets.items[order]].astype(np.int64)
    together = np.cumsum(reach)
    before = np.concatenate([[0], together])[sets.starts[:-1]]
    first = np.arange(len(items)) == sets.starts[:-1][owner] if len(items) else np.zeros(0, dtype=bool)
    kept = first | (together - before[owner] <= _FEW)
    return Sets.from_flat(owner[kept], items[kept], len(sets), sets.width)


def _tested(
    sets: Sets, rows: _Rows, person: NDArray[np.int64], row: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Those of the pairs that are compatible."""
    good = np.empty(len(person), dtype=bool)
    for first in range(0, len(person), _PAIRS):
        some = slice(first, first + _PAIRS)
        good[some] = _fit(sets, rows, person[some], row[some])
    return person[good], row[good]


def _fit(sets: Sets, rows: _Rows, who: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.bool_]:
    matrix = sets.take(who).matrix().astype(np.int64)
    total = np.asarray(matrix.multiply(rows.weights[row]).sum(axis=1), dtype=np.int64).reshape(-1)
    return fits(total, sets.sizes[who], rows.sure[row], rows.kept[row], rows.threshold[row])


def _blocks(sets: Sets, support: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Runs of people whose product with all rows stays within bounded memory."""
    entries = np.concatenate([[0], np.cumsum(support[sets.items])])[sets.starts]
    first = 0
    while first < len(sets):
        last = max(first + 1, int(np.searchsorted(entries, entries[first] + _ENTRIES, side="right")) - 1)
        yield first, last
        first = last


def pairs_compatible(
    original: Baskets, published: PublishedBaskets, people: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """For given pairs of a record and a published row: compatible or not; without looking at any other pair."""
    sets, worlds = align_item_universes(original, published)
    verdict, by_row = np.empty(len(people), dtype=bool), np.argsort(rows, kind="stable")
    for first in range(0, len(people), _PAIRS):
        pairs = by_row[first : first + _PAIRS]
        lowest, highest = int(rows[pairs[0]]), int(rows[pairs[-1]])
        some = worlds.take(np.arange(lowest, highest + 1))
        verdict[pairs] = _fit(sets, _weighed(some), people[pairs], rows[pairs] - lowest)
    return verdict


# Itemsets
# --------


_MOST_SETS = 2_000_000


@dataclass(slots=True, eq=False)
class _CoverSearch:
    """Everything the recursion shares: people's sets, what each published row may contain, and the least found so
    far."""

    people: Sets
    may: Sets
    costs: NDArray[np.int64]
    """For each entry of `may`: 1 when the item is no item of the base and has to be added."""
    least: NDArray[np.int64]
    looked: int = 0


def fewest_matching_rows(
    people: Sets, base: Sets, doubt: Sets, threshold: NDArray[np.int64], m: int
) -> NDArray[np.int64]:
    """For each person: the fewest published rows that fit some of their item sets of size at most m."""
    width = people.width
    may = Sets.from_flat(
        np.concatenate([base.owners, doubt.owners]), np.concatenate([base.items, doubt.items]), len(base), width
    )
    inside = np.isin(may.owners * width + may.items, base.owners * width + base.items, assume_unique=True)
    search = _CoverSearch(people, may, (~inside).astype(np.int64), np.full(len(people), len(base), dtype=np.int64))
    _extend(search, np.arange(len(people)), np.arange(len(base)), threshold.copy(), -1, m)
    return search.least


def _extend(
    search: _CoverSearch,
    who: NDArray[np.int64],
    rows: NDArray[np.int64],
    slack: NDArray[np.int64],
    last: int,
    left: int,
) -> None:
    """Try every further item beyond `last` that some of `who` have; `slack` is how many additions each row still
    allows."""
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
        raise DataError(
            f"more than {_MOST_SETS:,} item sets are in use", where="km-anonymity", hint="ask for a smaller m"
        )
    if left == 1:
        return
    for further in np.unique(item):
        mine = open_now & (thing == further)
        kept = place[mine]
        _extend(
            search,
            owner[item == further],
            rows[kept],
            (slack[kept] - search.costs[entry[mine]]),
            int(further),
            left - 1,
        )


def _entries(sets: Sets, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    place, entry = _places(sets, rows)
    return rows[place], sets.items[entry].astype(np.int64)


def _places(sets: Sets, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For all entries of the chosen rows: the place of the row in `rows`, and the entry's own index."""
    sizes = sets.sizes[rows]
    place = np.repeat(np.arange(len(rows)), sizes)
    inside = positions_in_runs(sizes)
    return place, sets.starts[rows][place] + inside


# Overlap
# -------


_OVERLAP_ENTRIES = 4_000_000


def possible_overlaps(worlds: PublishedBaskets, rows: NDArray[np.int64]) -> Any:
    """Sparse matrix, the given rows x all rows: true where they have a possible world in common."""
    from scipy.sparse import csr_matrix, vstack

    sure, maybe, out = _kinds_of_item(worlds)
    weights = (sure + maybe * (1 << _BITS) + out * (1 << 2 * _BITS)).T.tocsr()
    sizes = [np.asarray(kind.sum(axis=1), dtype=np.int64).reshape(-1) for kind in (sure, maybe)]
    step = max(1, _OVERLAP_ENTRIES // max(len(worlds), 1))
    blocks = []
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        common = [_fields((kind[some] @ weights).toarray()) for kind in (sure, maybe, out)]
        blocks.append(
            csr_matrix(_meet(common, [size[some] for size in sizes], sizes, worlds.threshold[some], worlds.threshold))
        )
    return vstack(blocks).tocsr()


def _kinds_of_item(worlds: PublishedBaskets) -> tuple[Any, Any, Any]:
    base, doubt = worlds.base.matrix().astype(np.int64), worlds.doubt.matrix().astype(np.int64)
    both = base.multiply(doubt).tocsr()
    return (base - both).tocsr(), both, (doubt - both).tocsr()


def _fields(total: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    mask = (1 << _BITS) - 1
    return [total & mask, total >> _BITS & mask, total >> 2 * _BITS]


def _meet(
    common: list[list[NDArray[np.int64]]],
    mine: list[NDArray[np.int64]],
    theirs: list[NDArray[np.int64]],
    threshold: NDArray[np.int64],
    thresholds: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """`common[p][q]`: items that are of kind p here and of kind q there (sure, maybe, out)."""
    (ss, sm, so), (ms, mm, mo), (os, om, _) = common
    torn = mine[0][:, None] - ss - sm - so + theirs[0][None, :] - ss - ms - os
    here = mine[1][:, None] - ms - mm - mo + os
    there = theirs[1][None, :] - sm - mm - om + so
    room = threshold[:, None] + thresholds[None, :]
    fits = (
        (torn == 0) & (here <= threshold[:, None]) & (there <= thresholds[None, :]) & (here + there + mo + om <= room)
    )
    return np.asarray(fits, dtype=bool)
