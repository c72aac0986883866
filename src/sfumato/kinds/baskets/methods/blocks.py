"""`blocks`: set-valued records in disjoint blocks of alike ones, each published as one row of its block, by secret
draw.

Guarantee
    An adversary who knows all item sets, this program and the release finds the row of a person with probability
    exactly 1/g, g the size of the block. With the rows of m others of the block it is 1/(g − m); matches of other
    blocks reveal nothing. `insiders: m` makes blocks of at least k + m. Labels: as long as they are independent of
    items and of each other, the posterior of every label of a person is at most 1/l, also for an adversary who knows
    the label distribution and the suppression rule (`hiding`).
Proof
    Blocks and the items of all rows are functions of the set of item sets of each block, the same for all orders of its
    records (I1). The records are laid on the rows of their block by a permutation drawn uniformly and independently of
    every other block (I2). Labels are given to rows by that permutation; when they are exchangeable within the block,
    the release is as likely under each of the g! permutations. So the posterior is the prior: uniform on S_g, and
    uniform on what is left of it when m matches are known. Blocks are independent, so other blocks tell nothing. ∎
Beside items
    Quasi-identifiers are columns that an adversary may know, too. Blocks are then cut from items and these columns
    together (`baskets.known_columns`), and every row of a block shows the same cell in them: the smallest one around
    the values of its records. The proof is the same with "items and known columns" for "items": k over both. An
    adversary who knows the columns and at most m items (km-anonymity) knows less.
Again
    With a ledger a published person stays in the same block, with the same labels shown (`staying`), so several
    releases reveal no more than the first.
Paper
    [multitype ch. 3] publishes on a ring. There the true matching has a winding number: the offsets of a perfect
    matching sum to a multiple of n, at k = 2 there are two matchings in all, and one known match gives each person's.
    See `nonreciprocal`.
Invariants
    I1  Blocks and rows look at items and known columns only; rows of a block at how many of its records have each item,
        and at the range of their values.
    I2  Within each block the records are permuted uniformly, blocks independently.
    I3  Which labels are hidden depends on the labels of the block, their law and chance, never on whose they are.
    I4  Block numbers and the row order are random.
Departures
    Not in the thesis. Never worse than its ring in error rate on the same order, see `partition`.
Cost
    A million records at k = 16 in about half a minute, reading and audit included; memory O(records).


Block labels
------------
The labels of all blocks, hidden where the rule of their column and size says so.

A requirement that bounds shares hides by `hiding`, whose law of labels is their shares in the data. A requirement that
only counts different labels hides the blocks that show too few: what such a block holds is then any label of the data.

Invariants
    I1  Chance comes from the cryptographic source; whether a block that fits is hidden is drawn for each block by
        itself.


Block rows
----------
What the rows of a block show: the majority of its members in every row, or their items distributed evenly over the
rows.

vote    every row shows the items that most members have: for analyses of records. On sparse data hardly any item has a
majority.
dealt   every item occurs in exactly as many rows as members: for counting. Single items are counted exactly, none is
        lost; what stands together in a row is chance beyond what the block says, so a row is nobody's basket.

Invariants
    I1  Both are functions of how many members have each item: nothing in a row depends on which member it is given to.
    I2  Every member fits every row of its block: both contain what all members have, differ in doubtful items only, and
        in no more than the threshold.


Forecast
--------
What blocks will be good for, told before any is made: error rate, empty baskets and items kept, for both things rows
may show.

The records are put into Gray order; a few pieces of it, evenly spread, are made into blocks as the whole will be, and
what their rows would show is measured on them. So a forecast of a million records looks at some ten thousand.

Invariants
    I1  Looks at items only, and draws nothing: the advice is part of the public program.

>>> from sfumato.data.item_sets import Sets
>>> forecast(Sets.of([[0, 1], [0, 1], [0, 2], [0, 2]] * 5, width=3), size=4).advice
'vote'


Staying
-------
Who stands with whom when set-valued records are published again: at home, among strangers without labels, or for the
first time.

Invariants
    I1  New records share blocks with new records only; these blocks guarantee what those of a first release do.
    I2  A published person stays in the same block while all members are present, with the same labels shown and
        suppressed. Otherwise the person joins others of incomplete blocks, and no label is shown
        (`baskets.block_history` explains why this reveals nothing).
    I3  Which of these it is depends on who is there, never on labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from sfumato.core.arrays import BoolArray, IntArray
from sfumato.core.effort import USUAL, Effort
from sfumato.core.errors import Infeasible
from sfumato.core.randomness import Randomness
from sfumato.data.baskets import Baskets
from sfumato.data.generalization import Generalization
from sfumato.data.item_sets import Sets
from sfumato.history.record_identity import require_overlap_with_history
from sfumato.history.standing_requirements import standing_requirements
from sfumato.kinds.baskets.block_history import AssignedBlocks
from sfumato.kinds.baskets.form import BLOCK, BasketBlocks, BlockProvenance
from sfumato.kinds.baskets.known_columns import generalization_and_codes, items_with_known_columns, known_columns
from sfumato.kinds.baskets.methods.label_hiding import LabelHidingRule, Rule
from sfumato.kinds.baskets.methods.record_order import (
    BlockEffort,
    Partition,
    block_error,
    block_starts,
    entropy_columns,
    gray_order,
    partition,
    sweeps_told,
)
from sfumato.kinds.baskets.methods.voting import RingRequirements, can_satisfy, separator_for, vote
from sfumato.kinds.baskets.published_baskets import OWN, WITHHELD, PublishedBaskets, to_table
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.form import Form
from sfumato.release.method import Method, Task
from sfumato.release.past_releases import History, keys_of
from sfumato.release.release import Part, Release

_BALANCE = 0.01


class BasketBlocking(Method):
    """Publish similar item sets as blocks; inside a block the rows are in a secret random order."""

    name: ClassVar[str] = "blocks"
    form: ClassVar[type[Form]] = BasketBlocks
    paper: ClassVar[str] = "multitype ch. 3"
    kinds: ClassVar[tuple[str, ...]] = ("baskets",)
    remembers: ClassVar[bool] = True

    items: Literal["auto", "vote", "dealt"] = Field(
        default="auto",
        description=(
            "what rows show: `vote` (the majority of the block), `dealt` (exact item counts), or `auto` (by density)"
        ),
    )
    labels: Rule = Field(
        default="sparing",
        description=(
            "whole: suppress all labels of a block in which one is too frequent; sparing: only the copies of that one "
            "(without insiders)"
        ),
    )
    correlated: Literal["refused", "accepted"] = Field(
        default="refused",
        description=(
            "whether labels that follow from items beyond 1/l are refused, or accepted for independent labels only"
        ),
    )
    insiders: int = Field(
        default=0, ge=0, description="number of other members of a block whose rows the adversary may know"
    )
    spread: int = Field(
        default=2, ge=1, description="block size as a multiple of l; larger blocks suppress fewer labels"
    )
    balance: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="bit error rate that may be spent to keep item frequencies; default: 0.01 with labels, else 0",
    )

    def refusal(self, policy: Policy) -> str:
        for claim in policy.claims:
            if not can_satisfy(claim.model):
                return f"blocks cannot be made to satisfy {claim}"
            if claim.model.needs_sensitive and not claim.hide:
                return f"{claim.model.name} needs a label: give a column the role 'sensitive'"
            if more := [name for name in claim.given if name not in policy.quasi_identifiers]:
                return (
                    f"blocks hide rows from adversaries who know items and quasi-identifiers, and '{more[0]}' is none"
                )
        if wrong := [name for name, column in policy.columns.items() if column.role == "replaced"]:
            return f"column '{wrong[0]}' of set-valued records cannot be replaced"
        if wrong := [name for name in known_columns(policy) if policy.columns[name].boundary is not None]:
            return f"blocks keep no boundary, and column '{wrong[0]}' has one"
        if any(name in (*OWN, BLOCK) for name in policy.published):
            return f"the names {', '.join((BLOCK, *OWN))} are taken by the release"
        return ""

    def unremembered(self, policy: Policy) -> str:
        if any(claim.model.known_items is not None for claim in policy.claims):
            return "what a few known items leave is not judged over several releases; publish without a ledger"
        if known_columns(policy):
            return "cells of known columns beside items are not judged over several releases; publish without a ledger"
        if policy.series.leaving == "counterfeits":
            return "baskets have no counterfeit rows for people who left; set 'series: {leaving: withhold}'"
        return super().unremembered(policy)

    def after(self, policy: Policy, history: History, data: Any = None) -> list[str]:
        if not isinstance(data, Baskets) or not history:
            return []
        company, size = earlier_blocks_of(policy, history, data), self.size(standing_requirements(policy, history))
        require_assigned_blocks(company, size)
        return company.sentences(size)

    def enforces(self, claim: PrivacyRequirement, policy: Policy) -> bool:
        return can_satisfy(claim.model)

    def preference(self, records: int | None) -> tuple[int, str]:
        return 60, "blocks with a secret each keep their promise beside insiders, and lose no more than a ring"

    def size(self, claims: Sequence[PrivacyRequirement]) -> int:
        """Records of a block at least: what the requirements ask for, and the insiders."""
        needs = RingRequirements.of(claim.model for claim in claims)
        return needs.degree(self.spread if needs.about_labels else 1) + self.insiders

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        needs, size = RingRequirements.of(claim.model for claim in policy.claims), self.size(policy.claims)
        beside = f", beside {self.insiders} known match(es) of the same block" if self.insiders else ""
        lines = [f"blocks: at least {size} alike records each, {size - self.insiders} candidates for everybody{beside}"]
        if needs.about_labels:
            rule = "whole" if self.insiders else self.labels
            lines.append(
                f"labels: hidden ({rule}) so that none is believed above 1 in {needs.diversity:g}, rule known or not"
            )
        if known := known_columns(policy):
            lines.append(f"known beside the items: {', '.join(known)}; all rows of a block show the same cell in them")
        if data is None:
            return lines
        return [*lines, sweeps_told(policy.effort, len(data)), *self._foreseen(policy, data, size)]

    def _foreseen(self, policy: Policy, data: Any, size: int) -> list[str]:
        if not isinstance(data, Baskets):
            return []
        seen = forecast(data.sets, size, items_with_known_columns(policy, data))
        return [
            *seen.sentences(),
            f"rows will show: {self._shows(seen)}" + (f" ({seen.reason})" if self.items == "auto" else ""),
        ]

    def _shows(self, seen: Forecast) -> Shows:
        return seen.advice if self.items == "auto" else self.items

    def run(self, task: Task) -> Release:
        baskets: Baskets = task.data
        claims = standing_requirements(task.policy, task.history or History())
        needs = RingRequirements.of(claim.model for claim in claims)
        _require_columns(baskets, task.policy)
        size = self.size(claims)
        task.progress(0.1, "making blocks")
        company = earlier_blocks_of(task.policy, task.history, baskets)
        known = items_with_known_columns(task.policy, baskets)
        seated = assign_to_blocks(company, known, size, task.jobs, task.policy.effort)  # I1
        require_few_withheld(task.policy, seated.withheld, len(baskets))
        blocks = seated.blocks
        shows = self._shows(forecast(baskets.sets, size, known)) if self.items == "auto" else self.items
        task.progress(0.7, "dealing" if shows == "dealt" else "voting")
        unset = _BALANCE if needs.about_labels else 0.0
        rows = published_rows_of(baskets.sets, blocks, shows, unset if self.balance is None else self.balance)  # I1
        behind = _matched(blocks, task.randomness.child("matching").permutation(len(blocks.order)))  # I2
        hide = tuple(dict.fromkeys(name for claim in claims for name in claim.hide if name in task.policy.published))
        rule: Rule = "whole" if self.insiders else self.labels
        chance = task.randomness.child("hiding")
        hidden = hide_labels(
            baskets, claims, hide, seated.fresh, behind[: len(seated.fresh.order)], rule, self.insiders, chance
        )  # I3
        return self._release(task, seated, rows, behind, seated.with_homes(hidden, company, behind), shows, rule)

    def _release(
        self,
        task: Task,
        seated: BlockAssignment,
        rows: Rows,
        behind: IntArray,
        hidden: HiddenLabels,
        shows: Shows,
        rule: Rule,
    ) -> Release:
        baskets: Baskets = task.data
        blocks = seated.blocks
        labels = {}
        for name in task.policy.published:
            if name in task.policy.quasi_identifiers:
                labels[name] = _cells(*generalization_and_codes(task.policy, baskets, name), blocks)  # I1
                continue
            labels[name] = baskets.labels[name][behind].copy()
            if name in hidden.places:
                labels[name][hidden.places[name]] = WITHHELD
        number = task.randomness.child("blocks").permutation(len(blocks.sizes))[blocks.block]
        order = np.lexsort((task.randomness.child("rows").permutation(len(number)), number))  # I4
        worlds = PublishedBaskets(rows.base, rows.doubt, rows.threshold, baskets.names, labels).take(order)
        separator = separator_for(baskets.names)
        table = to_table(worlds, separator)
        table = table.add_column(0, BLOCK, pa.array(number[order] + 1, pa.int64()))
        promised = {"insiders": self.insiders, "shows": shows, "hides": rule, "correlated": self.correlated}
        form = BasketBlocks.model_validate({"degree": int(blocks.sizes.min()), "separator": separator} | promised)
        needed = bool(labels) or shows == "dealt"
        told = hidden.chances, hidden.limits, hidden.sparing
        trace = BlockProvenance({"data": behind[order]}, *told, lasting=needed)
        notes = _notes(self.insiders, shows, hidden)
        return Release(form, {"data": Part(table)}, suppressed=seated.withheld, trace=trace, notes=notes)


def _require_columns(baskets: Baskets, policy: Policy) -> None:
    for name in (name for name in policy.published if name not in baskets.labels):
        what, where = f"the records have no column '{name}'", policy.document.where("columns", name)
        raise Infeasible(what, where=where, hint="known: " + ", ".join(baskets.labels))


def _matched(blocks: Partition, keys: NDArray[np.int64]) -> IntArray:
    """The record behind each place: within every block its records in the order of their keys, a uniform
    permutation."""
    by_key = np.lexsort((keys, blocks.block))
    behind: IntArray = blocks.order[by_key]
    return behind


def _cells(domain: Generalization, codes: IntArray, blocks: Partition) -> NDArray[np.object_]:
    """For every place the smallest cell around the values of its block."""
    lo, hi = (side.reduceat(codes[blocks.order], blocks.starts[:-1]) for side in (np.minimum, np.maximum))
    return np.array(domain.labels(*domain.close(lo, hi + 1)), dtype=object)[blocks.block]


def _notes(insiders: int, shows: Shows, hidden: HiddenLabels) -> tuple[str, ...]:
    beside = f"at most {insiders} matches of a block" if insiders else "nobody's match in the same block"
    notes = [
        f"outsiders may know the items and quasi-identifiers of everybody and how the release was made, and {beside}",
        (
            "one record is one person; what is promised about labels holds for labels that are independent of items and"
            " of each other"
        ),
    ]
    if shows == "dealt":
        notes.append(
            "rows are for counting: the items of a block are distributed over its rows, and no row is a real basket"
        )
    notes += [f"{int(at.sum())} of {len(at)} labels of '{name}' are suppressed" for name, at in hidden.places.items()]
    return tuple(notes)


# Block labels
# ------------


@dataclass(frozen=True, slots=True)
class HiddenLabels:
    """Per column: places whose label is hidden, chances by size of block, the l of the rule, and sizes with the rule
    *sparing*."""

    places: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    chances: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)
    sparing: Mapping[str, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the requirements ask of one column: no label above 1/`share`, at least `distinct` different ones."""

    share: float = 1.0
    distinct: int = 0

    @classmethod
    def of(cls, claims: Sequence[PrivacyRequirement], column: str) -> Wanted:
        demands = [claim.model.demand() for claim in claims if column in claim.hide and claim.model.needs_sensitive]
        share = max((demand.diversity for demand in demands if not demand.counts_values), default=1.0)
        distinct = max((demand.distinct for demand in demands if demand.counts_values), default=0)
        return cls(max(share, distinct) if share > 1 else 1.0, distinct)


def hide_labels(
    baskets: Baskets,
    claims: Sequence[PrivacyRequirement],
    columns: tuple[str, ...],
    blocks: Partition,
    behind: IntArray,
    rule: Rule,
    insiders: int,
    randomness: Randomness,
) -> HiddenLabels:
    """Which places hide their labels, column by column."""
    places, chances, limits, sparing = {}, {}, {}, {}
    for name in columns:
        wanted = Wanted.of(claims, name)
        if wanted.share <= 1 and wanted.distinct <= 1:
            continue
        shown = np.unique(baskets.labels[name][behind].astype(str), return_inverse=True)[1].reshape(-1).astype(np.int64)
        if not len(shown):
            continue
        _require_possible(name, shown, int(shown.max()) + 1, wanted, insiders)
        if wanted.share > 1:
            rules = {
                size: LabelHidingRule.of(np.bincount(shown) / len(shown), size, wanted.share, rule, insiders)
                for size in np.unique(blocks.sizes).tolist()
            }
            places[name] = _by_share(shown, blocks, rules, randomness.child(name))
            chances[name] = {size: hiding.chance for size, hiding in rules.items()}
            limits[name] = wanted.share
            sparing[name] = frozenset(size for size, hiding in rules.items() if hiding.rule == "sparing")
        else:
            places[name], chances[name] = _by_number(shown, blocks, wanted.distinct + insiders), {}
    return HiddenLabels(places, chances, limits, sparing)


def _require_possible(name: str, codes: IntArray, values: int, wanted: Wanted, insiders: int) -> None:
    if values < max(wanted.share, wanted.distinct + insiders):
        what = f"column '{name}' has {values} different labels"
        raise Infeasible(what, where="protect", hint=f"ask for at most l = {values - insiders}")
    if np.bincount(codes).max() * wanted.share > len(codes) * (1 + 1e-12):
        what = f"one label of column '{name}' is more frequent than l = {wanted.share:g} allows"
        raise Infeasible(
            what, where="protect", hint="lower l: who knows the shares of labels already guesses above 1/l"
        )


def _by_share(
    shown: IntArray, blocks: Partition, rules: Mapping[int, LabelHidingRule], randomness: Randomness
) -> NDArray[np.bool_]:
    words = randomness.uniform(len(blocks.sizes))
    hidden = np.zeros(len(shown), dtype=bool)
    for size, hiding in rules.items():
        which = np.flatnonzero(blocks.sizes == size)
        at = blocks.starts[which][:, None] + np.arange(size)[None, :]
        hidden[at] = _hidden_in(shown[at], hiding, words[which])  # I1
    return hidden


def _hidden_in(labels: IntArray, hiding: LabelHidingRule, words: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Blocks x places: what is hidden; `words` are uniform in [0, 1), one for each block."""
    ranked = np.sort(labels, axis=1)
    too_many = (
        (ranked[:, hiding.most :] == ranked[:, : ranked.shape[1] - hiding.most]).any(axis=1)
        if 0 < hiding.most < ranked.shape[1]
        else np.full(len(labels), hiding.most < 1)
    )
    whole = too_many | (words < hiding.chance)
    hidden = np.repeat(whole[:, None], labels.shape[1], axis=1)
    for block in np.flatnonzero(too_many).tolist() if hiding.rule == "sparing" else ():
        values, counts = np.unique(labels[block], return_counts=True)
        over = values[counts > hiding.most]
        if len(over) == 1 and hiding.spares(values[values != over[0]], int(counts.max())):
            hidden[block] = labels[block] == over[0]
    return hidden


def _by_number(shown: IntArray, blocks: Partition, fewest: int) -> NDArray[np.bool_]:
    """All labels of the blocks that have fewer different ones."""
    pairs = np.unique(blocks.block * (int(shown.max()) + 1) + shown)
    different = np.bincount(pairs // (int(shown.max()) + 1), minlength=len(blocks.sizes))
    return np.repeat(different < fewest, blocks.sizes)


# Block rows
# ----------


Shows = Literal["vote", "dealt"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Base, doubt and threshold of every place of a partition, in its order."""

    base: Sets
    doubt: Sets
    threshold: NDArray[np.int64]


def published_rows_of(sets: Sets, blocks: Partition, shows: Shows, balance: float = 0.0) -> Rows:
    """The published rows of all blocks; `balance` is the bit error rate that the vote may spend on true counts."""
    parts, places = [], []
    for size in np.unique(blocks.sizes).tolist():
        members = blocks.of_size(size)
        parts.append(_voted(sets, members, balance) if shows == "vote" else _dealt(sets, members))  # I1, I2
        first = blocks.starts[:-1][blocks.sizes == size]
        places.append((first[:, None] + np.arange(size)[None, :]).reshape(-1))
    back = np.argsort(np.concatenate(places), kind="stable")
    base, doubt = Sets.stacked([part.base for part in parts]), Sets.stacked([part.doubt for part in parts])
    return Rows(base.take(back), doubt.take(back), np.concatenate([part.threshold for part in parts])[back])


def _voted(sets: Sets, members: NDArray[np.int32], balance: float) -> Rows:
    votes = vote(sets, members, balance)
    again = _each(members)
    return Rows(votes.base.take(again), votes.doubt.take(again), votes.threshold[again])


def _dealt(sets: Sets, members: NDArray[np.int32]) -> Rows:
    from sfumato.kinds.baskets.methods.kernels.blocks import deal

    rows = np.ascontiguousarray(members, dtype=np.int32)
    base_starts, base, doubt_starts, doubt, threshold = deal(sets.starts, sets.items, rows, sets.width)
    again = _each(members)
    return Rows(
        Sets(base_starts, base, sets.width), Sets(doubt_starts, doubt, sets.width).take(again), threshold[again]
    )


def _each(members: NDArray[np.int32]) -> IntArray:
    """Every block as often as it has members."""
    return np.repeat(np.arange(members.shape[0], dtype=np.int64), members.shape[1])


# Forecast
# --------


_PIECES, _LOOKED_AT = 12, 8_000
SPARSE_ERROR, SPARSE_EMPTY = 0.45, 0.05
"""A majority row with a larger error, or more empty baskets, is not used; items are distributed instead."""


@dataclass(frozen=True, slots=True)
class ExpectedQuality:
    """What rows of one kind would be like."""

    error_rate: float
    empty: float
    kept: float

    def __str__(self) -> str:
        return (
            f"error rate {self.error_rate:.3f}, {self.empty:.1%} of the baskets empty, {self.kept:.0%} of the items"
            " shown"
        )


@dataclass(frozen=True, slots=True)
class Forecast:
    """The outlook of both things rows may show, and which is advised."""

    size: int
    looked_at: int
    vote: ExpectedQuality
    dealt: ExpectedQuality

    @property
    def advice(self) -> Shows:
        return "dealt" if self.vote.error_rate > SPARSE_ERROR or self.vote.empty > SPARSE_EMPTY else "vote"

    @property
    def reason(self) -> str:
        if self.advice == "vote":
            return "votes keep the records recognizable"
        return "too few items have a majority in any block; distributed items keep every count of a single item exact"

    def sentences(self) -> list[str]:
        seen = f"foreseen on {self.looked_at:,} records, blocks of {self.size}"
        return [f"{seen}, vote: {self.vote}", f"{seen}, dealt: {self.dealt}"]


def forecast(sets: Sets, size: int, known: Sets | None = None) -> Forecast:
    """What blocks of this size will be like; `known` is what they are cut from where that is more than the items."""
    some, cut_from = sets, sets if known is None else known
    if len(sets) > _LOOKED_AT:
        orders = (gray_order(cut_from), gray_order(cut_from, entropy_columns(cut_from)))
        starts = block_starts(len(sets), size)
        order = min(orders, key=lambda order: block_error(cut_from, Partition(order, starts)))
        chosen = np.sort(order[_spread(len(sets), size)])
        some, cut_from = sets.take(chosen), cut_from.take(chosen)
    blocks = partition(cut_from, size, effort=BlockEffort(piece=800, steps=60, passes=6))  # I1
    kinds: tuple[Shows, Shows] = ("vote", "dealt")
    voted, dealt = (_outlook(some, blocks, published_rows_of(some, blocks, shows)) for shows in kinds)
    return Forecast(size, len(some), voted, dealt)


def _spread(count: int, size: int) -> IntArray:
    """Places of the order: a few runs of whole blocks."""
    run = max(size, _LOOKED_AT // _PIECES // size * size)
    first = np.linspace(0, count - run, _PIECES).astype(np.int64)
    return np.unique(first[:, None] + np.arange(run)[None, :])


def _outlook(sets: Sets, blocks: Partition, rows: Rows) -> ExpectedQuality:
    people = sets.take(blocks.order)
    wrong = people.hamming(rows.base) / np.maximum(people.sizes, 1)
    empty = float(((rows.base.sizes == 0) & (people.sizes > 0)).mean())
    return ExpectedQuality(float(wrong.mean()), empty, len(rows.base.items) / max(len(people.items), 1))


# Staying
# -------


@dataclass(frozen=True)
class EarlierBlocks:
    """Records by what becomes of them."""

    fresh: IntArray
    """Never published before (I1)."""
    homes: tuple[IntArray, ...] = ()
    """The people of every home that is whole (I2)."""
    strays: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """People whose home is broken (I2)."""
    shown: Mapping[str, BoolArray] = field(default_factory=dict)
    """By label column: whose label was shown at home."""

    def sentences(self, size: int) -> list[str]:
        """What will happen, for `check`."""
        told = [
            f"{sum(map(len, self.homes))} record(s) stay in their {len(self.homes)} block(s); {len(self.fresh)} are new"
        ]
        if 0 < len(self.fresh) < size:
            told.append(
                f"{len(self.fresh)} new record(s) are too few for a block of {size} and wait for the next release"
            )
        if len(self.strays):
            told.append(f"{len(self.strays)} record(s) stood beside people who left: they are published without labels")
        return told


def earlier_blocks_of(policy: Policy, history: History | None, baskets: Baskets) -> EarlierBlocks:
    """Who was published before, and with whom; labels must be what they were."""
    if not history:
        return EarlierBlocks(np.arange(len(baskets), dtype=np.int64))
    keys, homes = keys_of(policy, baskets), AssignedBlocks.of(history)
    require_overlap_with_history(policy, history, keys)
    _require_unchanged(policy, history, keys, baskets)
    place = {key: record for record, key in enumerate(keys)}
    whole = tuple(
        np.sort([place[key] for key in people]).astype(np.int64) for _, people in homes.intact(frozenset(keys))
    )
    known = np.array([key in homes.seat for key in keys], dtype=np.bool_)  # I3
    at_home = np.zeros(len(keys), dtype=np.bool_)
    if whole:
        at_home[np.concatenate(whole)] = True
    strays = np.flatnonzero(known & ~at_home)
    if len(strays) and policy.series.leaving == "refuse":
        what = f"{len(strays)} record(s) stood beside people who are no longer there"
        raise Infeasible(
            what, where="series.leaving", hint="say 'series: {leaving: withhold}' to publish them without labels"
        )
    told = {
        name: np.array([key in homes.seat and homes.seat[key].shown.get(name, False) for key in keys], dtype=np.bool_)
        for name in policy.published
    }
    return EarlierBlocks(np.flatnonzero(~known), whole, strays, told)


def _require_unchanged(policy: Policy, history: History, keys: Sequence[str], baskets: Baskets) -> None:
    """Refuse labels that are not what was published: what was hidden then and what is shown now would speak
    together."""
    for name in policy.published:
        changed: set[str] = set()
        now = dict(zip(keys, baskets.labels[name].tolist(), strict=True)) if name in baskets.labels else {}
        for past in history.releases:
            if name in past.memory.values.names:
                text = past.memory.values.text(name)
                before = zip(past.memory.keys, (text.labels[code] for code in text.codes.tolist()), strict=True)
                changed |= {key for key, label in before if now.get(key, label) != label}
        if changed:
            what = f"{len(changed)} label(s) of '{name}' are not what they were when they were published"
            hint = "labels that change are not judged over several releases of baskets; leave the column out"
            raise Infeasible(what, where=policy.document.where("columns", name), hint=hint)


@dataclass(frozen=True)
class BlockAssignment:
    """Blocks of all people who is published, the fresh ones first."""

    blocks: Partition
    """Records in blocks; `order` names records of the whole table."""
    fresh: Partition
    """The blocks of new people, which come first."""
    at_home: BoolArray
    """By place: in a home, so that labels may be shown."""
    withheld: int

    def with_homes(self, hidden: HiddenLabels, company: EarlierBlocks, behind: IntArray) -> HiddenLabels:
        """What is hidden in the blocks of new people, as before at home, and everything elsewhere (I2)."""
        if len(self.fresh.order) == len(self.blocks.order):
            return hidden
        fresh, places = len(self.fresh.order), {}
        for name, shown in company.shown.items():
            at = ~(self.at_home & shown[behind])
            at[:fresh] = hidden.places.get(name, False)
            places[name] = at
        return replace(hidden, places=places)


def require_assigned_blocks(company: EarlierBlocks, size: int) -> None:
    """Refuse when more is asked for than the blocks of earlier releases, which stay what they are, have."""
    short = min(map(len, company.homes), default=size)
    if short < size:
        what = f"earlier releases have blocks of {short} records, and {size} are asked for"
        raise Infeasible(
            what, where="protect", hint="ask for no more than was promised before; blocks stay what they are"
        )


def assign_to_blocks(
    company: EarlierBlocks, known: Sets, size: int, jobs: int, effort: Effort = USUAL
) -> BlockAssignment:
    """Assign all records to blocks of at least `size`; too few new people, or members of incomplete blocks, are
    suppressed."""
    fresh, strays = (_parted(records, known, size, jobs, effort) for records in (company.fresh, company.strays))
    require_assigned_blocks(company, size)
    own = Partition(
        np.concatenate([np.zeros(0, dtype=np.int64), *company.homes]),
        np.concatenate([[0], np.cumsum([len(home) for home in company.homes], dtype=np.int64)]).astype(np.int64),
    )
    blocks = _joined([fresh, own, strays])
    if not len(blocks.order):
        what = f"{len(known)} records cannot each have {size} candidates"
        raise Infeasible(what, where="protect", hint=f"ask for at most {len(known)} candidates, or give more records")
    at_home = np.zeros(len(blocks.order), dtype=np.bool_)
    at_home[len(fresh.order) : len(fresh.order) + len(own.order)] = True
    return BlockAssignment(blocks, fresh, at_home, len(known) - len(blocks.order))


def require_few_withheld(policy: Policy, withheld: int, records: int) -> None:
    """Refuse when more records than the policy allows would have to wait."""
    limit = policy.utility.suppress_at_most
    if limit is not None and withheld > limit * records + 1e-9:
        what = (
            f"{withheld} of {records} records are too few for a block of their own, and the policy allows {limit:.3%}"
        )
        raise Infeasible(
            what, where="utility.suppress_at_most", hint="publish when more people have come, or allow more"
        )


def _parted(records: IntArray, known: Sets, size: int, jobs: int, effort: Effort) -> Partition:
    if len(records) < size:
        return Partition(np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64))
    found = partition(known.take(records), size, jobs=jobs, effort=effort)
    return Partition(records[found.order], found.starts)


def _joined(parts: Sequence[Partition]) -> Partition:
    sizes = np.concatenate([part.sizes for part in parts])
    return Partition(
        np.concatenate([part.order for part in parts]),
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64),
    )
