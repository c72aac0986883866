"""`nonreciprocal`: set-valued records on a ring, each published as itself or one of its next neighbours, by secret draw.

Guarantee
    k-anonymity: the true row of a person is each of k compatible rows with probability exactly 1/k, for an outsider who knows all
    item sets and this program, *and nobody's match*. l-diversity: with `labels: guarded` no label, shown or withheld, is guessed
    with a chance above 1/l by such an outsider who also knows the shares of labels, as long as labels are independent of items and
    of each other. Nothing is promised beside insiders: the offsets of a perfect matching on a ring add up to a multiple of n (its
    winding number), so one known match tells about all others. At k = 2 there are two matchings in all, and whoever knows one row
    knows everybody's; at k = 4 the best guess with the winding number is about 0.4. `blocks` has no such number and is the default.
Paper
    [multitype ch. 3].
Invariants
    I1  The order, the ring and the vote look at items only.
    I2  The true assignment is drawn uniformly from k disjoint ones.
    I3  Which labels are withheld depends on the ring, the published labels and their shares, not on who has them.
    I4  Published rows are shuffled.
Departures
    The thesis' greedy l-diversification does not hold what it says and is not offered. Labels are withheld instead
    (`labels: guarded`; `withhold` bounds no share, because that a label is withheld hints at one shown nearby, and serves claims
    that count different labels only), or, under a weaker threat model, rings are arranged by label (`labels: shift`). Where labels
    are protected, a little bit error rate is spent on showing items as often as records have them (`balance`): such a release is
    made for counting, and a plain majority drops what a third of each group has from all of them.
Cost
    A million records at k = 16 in minutes; memory O(records x k).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sfumato.data.baskets import Baskets
from sfumato.data.published_baskets import OWN, to_table
from sfumato.data.worlds import WITHHELD, PublishedBaskets
from sfumato.errors import Infeasible
from sfumato.forms.baskets import Basket, BasketTrace
from sfumato.methods.base import Method, Task
from sfumato.methods.baskets.assignments import Walk, assignments
from sfumato.methods.baskets.needs import Needs, able
from sfumato.methods.baskets.orders import ORDERS, OrderName
from sfumato.methods.baskets.rings import targets
from sfumato.methods.baskets.separators import separator_for
from sfumato.methods.baskets.shifts import arrange, turn
from sfumato.methods.baskets.voting import vote
from sfumato.methods.baskets.withholding import distinct_shown, guarded, withhold
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.randomness import Randomness
from sfumato.release.form import Form
from sfumato.release.release import Part, Release

_RING = 64
_TRIES = 6
_BALANCE = 0.01
_HINT = "that one was withheld hints at a label that is shown nearby, and that hint is not bounded by 1/l"
_NO_HINT = "with that hint no label is guessed with a chance above 1/l, as long as labels are independent of each other"

_ALL_KNOWN = (
    "outsiders may know the items of everybody and how the release was made, but nobody's match: on a ring one known match "
    "tells about others (at k = 2 about all), because the offsets of all matches add up to a multiple of the number of records"
)
_FEW_KNOWN = (
    "outsiders must not know the items of everybody, nor anybody's match: rings are arranged by label, so whoever makes them again "
    "from all items reads off every label, and one known match gives those of the whole ring"
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The graph as its assignments (record behind each published place, per round), the true round, hidden labels."""

    graph: NDArray[np.int64]
    true: int
    hidden: dict[str, NDArray[np.bool_]]

    @property
    def behind(self) -> NDArray[np.int64]:
        record: NDArray[np.int64] = self.graph[self.true]
        return record


class Nonreciprocal(Method):
    """Each set is published as a vote of k neighbours on a ring; which of them it is, is drawn by secret walks."""

    name: ClassVar[str] = "nonreciprocal"
    form: ClassVar[type[Form]] = Basket
    paper: ClassVar[str] = "multitype ch. 3"
    kinds: ClassVar[tuple[str, ...]] = ("baskets",)

    order: OrderName = Field(default="window", description="how records are put on the ring: window, gray-tsp or gray")
    walk: Walk = Field(default="truncated", description="how assignments are drawn: truncated, closed or backtracking")
    labels: Literal["withhold", "guarded", "shift"] = Field(
        default="guarded",
        description="guarded: withhold labels so that knowing the rule does not help, with at least 2l candidates; withhold: those "
        "that would be too frequent (for claims that count different labels); or arrange rings by label (weaker)",
    )
    spread: int = Field(default=1, ge=1, description="candidates per record as a multiple of l; more means fewer withheld labels")

    balance: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="bit error rate spent on showing items as often as records have them; unset: 0.01 with labels, else 0",
    )

    def refusal(self, policy: Policy) -> str:
        for claim in policy.claims:
            if not able(claim.model):
                return f"a ring cannot be made to satisfy {claim}"
            if claim.model.needs_sensitive and not claim.hide:
                return f"{claim.model.name} needs a label: give a column the role 'sensitive'"
            if self.labels == "withhold" and claim.model.needs_sensitive and not claim.model.demand().counts_values:
                return "that a label is withheld is a hint at one shown nearby that nothing bounds; take labels: guarded, or blocks"
            if claim.given:
                return f"on a ring items are what is known, and not '{claim.given[0]}'; take 'blocks'"
        wrong = [name for name, column in policy.columns.items() if column.role in ("quasi-identifier", "replaced")]
        if wrong:
            return f"column '{wrong[0]}' is an identifier, sensitive or other on a ring; 'blocks' has known columns beside items"
        if any(name in OWN for name in policy.published):
            return f"the names {', '.join(OWN)} are taken by the release"
        hidden = {name for claim in policy.claims for name in claim.hide}
        return "labels: shift works with one sensitive column" if self.labels == "shift" and len(hidden) > 1 else ""

    def unremembered(self, policy: Policy) -> str:
        return "neighbours on one ring are not those on the next, and a ledger intersects them; take 'blocks'"

    def enforces(self, claim: Claim, policy: Policy) -> bool:
        return able(claim.model)

    def preference(self, records: int | None) -> tuple[int, str]:
        return 40, "it publishes sets without a hierarchy"

    def describe(self, policy: Policy, data: Any = None) -> list[str]:
        needs = Needs.of(claim.model for claim in policy.claims)
        degree = self._degree(needs)
        lines = [f"ring: {degree} candidates for every record, in {self.order} order"]
        if needs.about_labels and self.labels == "guarded":
            lines.append(f"labels: withheld so that no guess is right more often than 1 in {needs.diversity:g}, rule known or not")
        if needs.about_labels and self.labels == "withhold":
            lines.append(f"labels: withheld until none stands more than {needs.most(degree)} times among {degree} candidates")
        return lines

    def run(self, task: Task) -> Release:
        baskets: Baskets = task.data
        needs = Needs.of(claim.model for claim in task.policy.claims)
        hide = tuple(dict.fromkeys(name for claim in task.policy.claims for name in claim.hide))
        _check_labels(baskets, task.policy, hide, needs, excess=1.0 if self.labels == "guarded" else 2.0)
        drawn = self._shifted(task, needs, hide[0]) if self.labels == "shift" and hide else self._ringed(task, needs, hide)
        task.progress(0.8, "voting")
        known = _FEW_KNOWN if self.labels == "shift" and hide else _ALL_KNOWN
        return _release(task, drawn, self.allowance(needs), (known, _HINT if self.labels == "withhold" else _NO_HINT))

    def allowance(self, needs: Needs) -> float:
        """The bit error rate that the vote may spend on true counts."""
        unset = _BALANCE if needs.about_labels else 0.0
        return unset if self.balance is None else self.balance

    def _ringed(self, task: Task, needs: Needs, hide: tuple[str, ...]) -> Drawn:
        """Draw on a ring; where too few different labels would be shown, once more on a ring of higher degree."""
        degree, unit = self._degree(needs), needs.degree(1)
        for attempt in range(_TRIES):
            drawn, shown = self._draw(task, needs, hide, degree, task.randomness.child(f"ring {attempt}"))
            if shown >= needs.different:
                return drawn
            degree += unit
            if degree > len(task.data):
                break
        what = f"no ring shows {needs.different} different labels to everybody"
        raise Infeasible(what, where="protect", hint="lower l, or ask for 'kind: frequency', which bounds the chance of a guess")

    def _degree(self, needs: Needs) -> int:
        """Candidates per record; a guarded ring needs room for the chances behind withheld labels."""
        guarded = self.labels == "guarded" and needs.about_labels
        return needs.degree(max(2, self.spread) if guarded else self.spread)

    def _draw(self, task: Task, needs: Needs, hide: tuple[str, ...], degree: int, randomness: Randomness) -> tuple[Drawn, int]:
        baskets: Baskets = task.data
        edges = targets(len(baskets), degree)
        task.progress(0.1, "ordering")
        order = ORDERS[self.order](baskets.sets, degree)  # I1
        task.progress(0.6, "walking")
        graph = order[assignments(edges, self.walk, randomness.child("walks"))]
        true = randomness.child("choice").integer(degree)  # I2
        hidden, shown = {}, len(baskets)
        for name in hide if needs.about_labels else ():
            published = baskets.label_codes(name)[0][graph[true]]
            start = randomness.child(f"withhold {name}").integer(len(baskets))
            if self.labels == "guarded":
                hidden[name] = guarded(published, degree, degree / needs.diversity, start)  # I3
            else:
                hidden[name] = withhold(published, degree, needs.most(degree), start)  # I3
            shown = min(shown, distinct_shown(published, hidden[name], degree)) if needs.different else shown
        return Drawn(graph, true, hidden), shown

    def _shifted(self, task: Task, needs: Needs, name: str) -> Drawn:
        """Rings arranged by label, each turned by a secret amount."""
        baskets: Baskets = task.data
        different = max(needs.candidates, int(np.ceil(needs.diversity)), needs.different)
        order = ORDERS[self.order](baskets.sets, different)
        rings = arrange(order, baskets.label_codes(name)[0], different, _RING * different)
        secret = task.randomness.child("turns").integers(different, len(rings.bounds) - 1)
        places = [turn(rings, (secret + extra) % different) for extra in range(different)]
        return Drawn(rings.order[np.stack(places)], 0, {})


def _check_labels(baskets: Baskets, policy: Policy, hide: tuple[str, ...], needs: Needs, excess: float) -> None:
    """The labels are there, and none is more than `excess` times as frequent as l allows."""
    for name in (name for name in policy.published if name not in baskets.labels):
        what, where = f"the records have no column '{name}'", policy.document.where("columns", name)
        raise Infeasible(what, where=where, hint="known: " + ", ".join(baskets.labels))
    for name in hide if needs.about_labels else ():
        codes, values = baskets.label_codes(name)
        if len(values) < max(needs.diversity, needs.different):
            what = f"column '{name}' has {len(values)} different labels"
            raise Infeasible(what, where="protect", hint=f"ask for at most l = {len(values)}")
        if np.bincount(codes).max() * needs.diversity > len(codes) * excess:
            beyond = "more than twice as frequent as" if excess == 2 else "more frequent than"
            what = f"one label of column '{name}' is {beyond} l = {needs.diversity:g} allows"
            raise Infeasible(what, where="protect", hint="lower l; most labels would have to be withheld")


def _release(task: Task, drawn: Drawn, balance: float, assumed: tuple[str, str]) -> Release:
    baskets: Baskets = task.data
    votes = vote(baskets.sets, drawn.graph.T.astype(np.int32), balance)
    labels = {}
    for name in task.policy.published:
        labels[name] = baskets.labels[name][drawn.behind].copy()
        if name in drawn.hidden:
            labels[name][drawn.hidden[name]] = WITHHELD
    shuffle = task.randomness.child("rows").permutation(len(baskets))  # I4
    worlds = PublishedBaskets(votes.base, votes.doubt, votes.threshold, baskets.names, labels).take(shuffle)
    separator = separator_for(baskets.names)
    degree = len(drawn.graph)
    trace = BasketTrace({"data": drawn.behind[shuffle]}, assignments=drawn.graph[:, shuffle], lasting=bool(labels))
    form = Basket(degree=degree, separator=separator)
    return Release(form, {"data": Part(to_table(worlds, separator))}, trace=trace, notes=_notes(drawn, *assumed))


def _notes(drawn: Drawn, known: str, hint: str) -> tuple[str, ...]:
    notes = [known, "one record is one person, and labels do not follow from items by common knowledge"]
    for name, hidden in drawn.hidden.items():
        notes.append(f"{int(hidden.sum())} of {len(hidden)} labels of '{name}' are withheld; {hint}")
    return tuple(notes)
