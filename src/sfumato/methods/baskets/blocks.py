"""`blocks`: set-valued records in disjoint blocks of alike ones, each published as one row of its block, by secret draw.

Guarantee
    Whoever knows all item sets, this program and the release finds the row of a person with probability exactly 1/g, g the
    size of the block; whoever also knows the rows of m others of the block, with 1/(g − m); matches of other blocks tell nothing.
    `insiders: m` makes blocks of at least k + m. Labels: as long as they are independent of items and of each other, no label of a
    person is believed with more than 1/l by whoever also knows the law of labels and the rule that hides them (`hiding`).
Proof
    Blocks and the items of all rows are functions of the set of item sets of each block, the same for all orders of its
    records (I1). The records are laid on the rows of their block by a permutation drawn uniformly and independently of every other
    block (I2). Labels are given to rows by that permutation; when they are exchangeable within the block, the release is as likely
    under each of the g! permutations. So the posterior is the prior: uniform on S_g, and uniform on what is left of it when m
    matches are known. Blocks are independent, so other blocks tell nothing. ∎
Beside items
    Quasi-identifiers are columns that an outsider may know, too. Blocks are then cut from items and these columns together
    (`policy.beside_items`), and every row of a block shows the same cell in them: the smallest one around the values of its
    records. The proof is the same with "items and known columns" for "items": k over both. Whoever knows the columns and at most
    m items (km-anonymity) knows less.
Again
    With a ledger whoever was published stays in the own block, with the same labels shown (`staying`); several releases say no
    more than the first.
Paper
    [multitype ch. 3] publishes on a ring. There the true matching has a winding number: the offsets of a perfect matching sum to a
    multiple of n, at k = 2 there are two matchings in all, and one known match gives everybody's. See `nonreciprocal`.
Invariants
    I1  Blocks and rows look at items and known columns only; rows of a block at how many of its records have each item, and at the
        range of their values.
    I2  Within each block the records are permuted uniformly, blocks independently.
    I3  Which labels are hidden depends on the labels of the block, their law and chance, never on whose they are.
    I4  Blocks are numbered and rows ordered by chance.
Departures
    Not in the thesis. Never worse than its ring in error rate on the same order, see `partition`.
Cost
    A million records at k = 16 in about half a minute, reading and audit included; memory O(records).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from sfumato.data.arrays import IntArray
from sfumato.data.baskets import Baskets
from sfumato.data.generalization import Generalization
from sfumato.data.published_baskets import OWN, to_table
from sfumato.data.worlds import WITHHELD, PublishedBaskets
from sfumato.errors import Infeasible
from sfumato.forms.basket_blocks import BLOCK, BasketBlocks, BlockTrace
from sfumato.history.promises import promises
from sfumato.methods.base import Method, Task
from sfumato.methods.baskets.block_labels import HiddenLabels, hide_labels
from sfumato.methods.baskets.block_rows import Rows, Shows, rows_of
from sfumato.methods.baskets.forecast import Forecast, forecast
from sfumato.methods.baskets.hiding import Rule
from sfumato.methods.baskets.needs import Needs, able
from sfumato.methods.baskets.partition import Partition
from sfumato.methods.baskets.separators import separator_for
from sfumato.methods.baskets.staying import BlockSeating, company_of, require_few_withheld, require_homes, seating
from sfumato.policy.beside_items import coded, everything_known, known_columns
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.release.form import Form
from sfumato.release.past import History
from sfumato.release.release import Part, Release

_BALANCE = 0.01


class BasketBlocking(Method):
    """Each set is published as one row of a block of alike sets; which row is whose, is drawn uniformly in every block."""

    name: ClassVar[str] = "blocks"
    form: ClassVar[type[Form]] = BasketBlocks
    paper: ClassVar[str] = "multitype ch. 3"
    kinds: ClassVar[tuple[str, ...]] = ("baskets",)
    remembers: ClassVar[bool] = True

    items: Literal["auto", "vote", "dealt"] = Field(
        default="auto",
        description="what rows show: the vote of their block (for records), its items dealt evenly (for counts), or by density",
    )
    labels: Rule = Field(
        default="sparing",
        description="whole: hide all labels of a block that shows one too often; sparing: only the copies of that one where that "
        "says too little (without insiders)",
    )
    correlated: Literal["refused", "accepted"] = Field(
        default="refused",
        description="labels that items tell beyond 1/l are refused; accepted: the claim is said to be for independent labels only",
    )
    insiders: int = Field(default=0, ge=0, description="others of the own block whose rows an outsider may know")
    spread: int = Field(default=2, ge=1, description="records of a block as a multiple of l; more means fewer hidden labels")
    balance: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="bit error rate spent on showing items as often as records have them; unset: 0.01 with labels, else 0",
    )

    def refusal(self, policy: Policy) -> str:
        for claim in policy.claims:
            if not able(claim.model):
                return f"blocks cannot be made to satisfy {claim}"
            if claim.model.needs_sensitive and not claim.hide:
                return f"{claim.model.name} needs a label: give a column the role 'sensitive'"
            if more := [name for name in claim.given if name not in policy.quasi_identifiers]:
                return f"blocks hide rows from whoever knows items and quasi-identifiers, and '{more[0]}' is none"
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
            return "no rows of baskets stand in for people who left; say 'series: {leaving: withhold}'"
        return super().unremembered(policy)

    def after(self, policy: Policy, history: History, data: Any = None) -> list[str]:
        if not isinstance(data, Baskets) or not history:
            return []
        company, size = company_of(policy, history, data), self.size(promises(policy, history))
        require_homes(company, size)
        return company.sentences(size)

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return able(claim.model)

    def preference(self, records: int | None) -> tuple[int, str]:
        return 60, "blocks with a secret each keep their promise beside insiders, and lose no more than a ring"

    def size(self, claims: Sequence[Claim]) -> int:
        """Records of a block at least: what the claims ask for, and the insiders."""
        needs = Needs.of(claim.model for claim in claims)
        return needs.degree(self.spread if needs.about_labels else 1) + self.insiders

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        needs, size = Needs.of(claim.model for claim in policy.claims), self.size(policy.claims)
        beside = f", beside {self.insiders} known match(es) of the same block" if self.insiders else ""
        lines = [f"blocks: at least {size} alike records each, {size - self.insiders} candidates for everybody{beside}"]
        if needs.about_labels:
            rule = "whole" if self.insiders else self.labels
            lines.append(f"labels: hidden ({rule}) so that none is believed above 1 in {needs.diversity:g}, rule known or not")
        if known := known_columns(policy):
            lines.append(f"known beside the items: {', '.join(known)}; all rows of a block show the same cell in them")
        return lines if data is None else [*lines, *self._foreseen(policy, data, size)]

    def _foreseen(self, policy: Policy, data: Any, size: int) -> list[str]:
        if not isinstance(data, Baskets):
            return []
        seen = forecast(data.sets, size, everything_known(policy, data))
        return [*seen.sentences(), f"rows will show: {self._shows(seen)}" + (f" ({seen.reason})" if self.items == "auto" else "")]

    def _shows(self, seen: Forecast) -> Shows:
        return seen.advice if self.items == "auto" else self.items

    def run(self, task: Task) -> Release:
        baskets: Baskets = task.data
        claims = promises(task.policy, task.history or History())
        needs = Needs.of(claim.model for claim in claims)
        _require_columns(baskets, task.policy)
        size = self.size(claims)
        task.progress(0.1, "making blocks")
        company = company_of(task.policy, task.history, baskets)
        known = everything_known(task.policy, baskets)
        seated = seating(company, known, size, task.jobs)  # I1
        require_few_withheld(task.policy, seated.withheld, len(baskets))
        blocks = seated.blocks
        shows = self._shows(forecast(baskets.sets, size, known)) if self.items == "auto" else self.items
        task.progress(0.7, "dealing" if shows == "dealt" else "voting")
        unset = _BALANCE if needs.about_labels else 0.0
        rows = rows_of(baskets.sets, blocks, shows, unset if self.balance is None else self.balance)  # I1
        behind = _matched(blocks, task.randomness.child("matching").permutation(len(blocks.order)))  # I2
        hide = tuple(dict.fromkeys(name for claim in claims for name in claim.hide if name in task.policy.published))
        rule: Rule = "whole" if self.insiders else self.labels
        chance = task.randomness.child("hiding")
        hidden = hide_labels(
            baskets, claims, hide, seated.fresh, behind[: len(seated.fresh.order)], rule, self.insiders, chance
        )  # I3
        return self._release(task, seated, rows, behind, seated.with_homes(hidden, company, behind), shows, rule)

    def _release(
        self, task: Task, seated: BlockSeating, rows: Rows, behind: IntArray, hidden: HiddenLabels, shows: Shows, rule: Rule
    ) -> Release:
        baskets: Baskets = task.data
        blocks = seated.blocks
        labels = {}
        for name in task.policy.published:
            if name in task.policy.quasi_identifiers:
                labels[name] = _cells(*coded(task.policy, baskets, name), blocks)  # I1
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
        trace = BlockTrace({"data": behind[order]}, *told, lasting=needed)
        notes = _notes(self.insiders, shows, hidden)
        return Release(form, {"data": Part(table)}, suppressed=seated.withheld, trace=trace, notes=notes)


def _require_columns(baskets: Baskets, policy: Policy) -> None:
    for name in (name for name in policy.published if name not in baskets.labels):
        what, where = f"the records have no column '{name}'", policy.document.where("columns", name)
        raise Infeasible(what, where=where, hint="known: " + ", ".join(baskets.labels))


def _matched(blocks: Partition, keys: NDArray[np.int64]) -> IntArray:
    """The record behind each place: within every block its records in the order of their keys, a uniform permutation."""
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
        "one record is one person; what is promised about labels holds for labels that are independent of items and of each other",
    ]
    if shows == "dealt":
        notes.append("rows are for counting: the items of a block are dealt to its rows, and no row is anybody's basket")
    notes += [f"{int(at.sum())} of {len(at)} labels of '{name}' are withheld" for name, at in hidden.places.items()]
    return tuple(notes)
