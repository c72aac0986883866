"""Baskets in blocks: everybody's candidates are the rows of the own block, less those that insiders may know.

Guarantee, by what is at hand
    the folder alone     rows of a block that show the same items cannot be told apart, so their number is exact; so are the labels
                         shown, where none is hidden. Dealt rows differ, and hidden labels speak by the law of all labels: both are
                         *not judged*.
    original and trace   that rows were dealt evenly and stand for records of their block is checked (`blocks`), and what hidden
                         labels say is counted from the law of labels and the chance of hiding (`audit.hidden_labels`): exact.
    original alone       rows of a block and shown labels are counted: a release that fails is broken, one that passes is consistent
                         with its certificate, a bound (at most).
    known columns        rows of a block show the same cells there (`blocks`), so columns tell them apart as little as items. What
                         is asked of outsiders who know few items beside them is judged for those who know all: a bound (at least).
    labels and items     with the trace a joint guess is played on the labels (`audit.joint_guess`). Where it exceeds 1/l by more
                         than chance the claim is *not judged*, and nothing is published, unless the policy accepts it: then the
                         finding is *measured, exact for labels independent of items*.
Why exact
    See the proof in `blocks`; what it needs and files cannot show is that permutations were drawn uniformly. That is the method's
    word, as in every form that rests on chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.audit.base import Reading
from sfumato.audit.hidden_labels import LabelLaw, hidden_copies, hidden_whole
from sfumato.audit.home_claims import judge_homes
from sfumato.audit.joint_guess import PEOPLE, JointGuess, joint_guess
from sfumato.audit.readings.baskets import BasketReading, _by_share, _open, label_codes
from sfumato.data.arrays import IntArray
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.worlds import WITHHELD
from sfumato.errors import DataError
from sfumato.forms.basket_blocks import BasketBlocks, BlockTrace, blocks_of
from sfumato.forms.baskets import published_baskets
from sfumato.history.home_blocks import HomeBlocks
from sfumato.policy.beside_items import everything_known, known_columns
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.release.certificate import AT_BEST, MEASURED, Finding, unless_refuted
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.release.past import History

_INDEPENDENT = "exact for labels independent of items"
Entries = tuple[list[float], list[int]]


class BlockReading(BasketReading):
    """The rows of the person's block."""

    name: ClassVar[str] = "basket blocks"
    form: ClassVar[type[Form]] = BasketBlocks
    joins_itself: ClassVar[bool] = True

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        if claim.model.known_items is not None and not known_columns(exhibit.policy):
            return super().judge(exhibit, claim)
        if more := [name for name in claim.given if name not in known_columns(exhibit.policy)]:
            why = f"that an outsider knows '{more[0]}' is not judged on blocks"
            return _open(claim.model.name, claim.model.required(), claim.given, claim.hide, why)
        finding = self._by_blocks(exhibit, claim)
        fewer = claim.model.known_items is not None and finding.grade == "exact"
        return _graded(finding, "bound (at least)") if fewer else finding

    def _by_blocks(self, exhibit: Exhibit, claim: Claim) -> Finding:
        """For an outsider who knows all items and known columns."""
        asked = (claim.model.name, claim.model.required(), claim.given, claim.hide)
        traced = exhibit.behind is not None and exhibit.private
        dealt, hides = exhibit.of(BasketBlocks).shows == "dealt", _by_share(claim) and _hides(exhibit, claim)
        if not exhibit.private and _by_share(claim) and exhibit.of(BasketBlocks).correlated == "accepted":
            return _for_independent(claim, "")
        if not exhibit.private and (dealt or hides):
            why = "that dealt rows are nobody's own" if dealt else "what hidden labels say by the shares of all labels"
            return _open(*asked, f"{why} is not judged without the original records")
        if not exhibit.private and claim.hide and _hides(exhibit, claim):
            finding = Reading.judge(self, exhibit, claim)  # labels that are hidden everywhere are named nowhere
            why = "which labels hidden blocks may hold is not judged without the original records"
            return _graded(finding, "exact") if finding.holds else _open(*asked, why)
        if not traced and (dealt or hides):
            finding = Reading.judge(self, exhibit, claim)
            why = "what hidden or dealt labels say is not judged without the private trace"
            return replace(finding, **unless_refuted(finding.holds, AT_BEST, finding.achieved, finding.reason, why))
        return self._beside_items(exhibit, claim, _graded(Reading.judge(self, exhibit, claim), "exact"), traced=traced)

    def _beside_items(self, exhibit: Exhibit, claim: Claim, finding: Finding, *, traced: bool) -> Finding:
        """The finding, unless items tell labels: then it is exact for independent labels only, and not shown to hold."""
        accepted = exhibit.of(BasketBlocks).correlated == "accepted"
        if not _by_share(claim) or not finding.holds or not (accepted or traced):
            return finding
        promised, told = claim.model.demand().largest_share, ""
        if traced:
            assert exhibit.behind is not None
            guesses = [joint_guess_of(exhibit, name, exhibit.behind["data"]) for name in claim.hide]
            beyond = [guess for guess in guesses if guess.exceeds(promised)]
            if not beyond and not accepted:
                return finding
            most = max(guess.with_release for guess in guesses)
            told = f"; measured {most:.2f} where {promised:.2f} is promised"
        if accepted:
            return _for_independent(claim, told)
        why = f"{_INDEPENDENT}{told}"
        hint = "items tell labels; make larger blocks (spread), ask for less, or say 'correlated: accepted' under blocks"
        return _open(finding.model, finding.required, finding.given, finding.hide, f"{why}: {hint}")

    def judge_all(self, exhibit: Exhibit, claim: Claim) -> Finding:
        if claim.model.known_items is not None:
            raise DataError("what a few known items leave is not judged over several releases")
        finding = judge_homes(exhibit, claim, self.judge)
        traced = exhibit.behind is not None and exhibit.private
        return self._beside_items(exhibit, claim, finding, traced=traced) if claim.hide and not finding.open else finding

    def so_far(self, history: History, policy: Policy) -> Iterator[str]:
        homes = HomeBlocks.of(history)
        yield f"{len(homes.seat)} people were published in {len(homes.members)} block(s) and stay there, with the same labels shown"
        yield "people who are new form blocks of their own; where somebody left, the others show no label any more"

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        if claim.model.known_items is not None and not known_columns(exhibit.policy):
            return super().read(exhibit, claim)
        block, form = exhibit.once(blocks_of), exhibit.of(BasketBlocks)
        sizes = np.bincount(block).astype(np.int64)
        spread = {name: _spread(exhibit, name, block, sizes, claim) for name in claim.hide}
        note = f"blocks of {int(sizes.min())} to {int(sizes.max())} rows" + (f", {form.insiders} known" if form.insiders else "")
        return Linkage(sizes, np.maximum(sizes - form.insiders, 0), spread, note)


def _for_independent(claim: Claim, told: str) -> Finding:
    """A claim that the data holder knows to be exact for independent labels only: a figure, and no promise."""
    grade = f"{MEASURED}, {_INDEPENDENT}"
    required = claim.model.required()
    return Finding(claim.model.name, True, required, {}, claim.given, claim.hide, grade, f"{_INDEPENDENT}{told}")


def _graded(finding: Finding, grade: str, reason: str = "") -> Finding:
    return replace(finding, grade=grade, reason=reason or finding.reason)


def joint_guess_of(exhibit: Exhibit, name: str, behind: IntArray) -> JointGuess:
    """What is guessed of a label column, on whole blocks of at most `PEOPLE` people; `behind` names people of each row's block."""
    block, published = exhibit.once(blocks_of), exhibit.once(published_baskets)
    blocks = int(block.max()) + 1
    chosen = np.unique(np.linspace(0, blocks - 1, max(1, PEOPLE * blocks // len(block))).astype(np.int64))
    rows = np.flatnonzero(np.isin(block, chosen))
    codes, values = exhibit.original.label_codes(name)
    place = {value: index for index, value in enumerate(values)} | {WITHHELD: -1}
    shown = np.array([place[label] for label in published.labels[name][rows].tolist()], dtype=np.int64)
    people = np.asarray(behind)[rows]
    known = everything_known(exhibit.policy, exhibit.original)
    return joint_guess(known.take(people), codes[people], block[rows], shown)


def _hides(exhibit: Exhibit, claim: Claim) -> bool:
    published = exhibit.once(published_baskets)
    return any(bool((published.labels[name] == WITHHELD).any()) for name in claim.hide if name in published.labels)


def _spread(exhibit: Exhibit, name: str, block: IntArray, sizes: IntArray, claim: Claim) -> Spread:
    """How labels spread over the rows of every block, as an outsider believes it who knows the law and the rule."""
    codes, values = label_codes(exhibit.once(published_baskets), name)
    shown = codes >= 0
    hidden = np.bincount(block[~shown], minlength=len(sizes))
    counted = Spread.count(block[shown], codes[shown], len(sizes), values)
    insiders = exhibit.of(BasketBlocks).insiders
    if not hidden.any() and not insiders:
        return counted
    beliefs = _Beliefs(exhibit, name, values, claim)
    weights: list[list[float]] = []
    labels: list[list[int]] = []
    for kind in np.arange(len(sizes)).tolist():
        part = slice(counted.start[kind], counted.start[kind + 1])
        if hidden[kind]:
            some = beliefs.of(counted.value[part], counted.weight[part], int(hidden[kind]), int(sizes[kind]))
        else:
            some = counted.weight[part].tolist(), counted.value[part].tolist()
        some = _without_insiders(some, insiders) if hidden[kind] < sizes[kind] else some
        weights.append(some[0])
        labels.append(some[1])
    start = np.concatenate([[0], np.cumsum([len(row) for row in weights])]).astype(np.int64)
    named = (*values, *[WITHHELD] * (1 + max((max(row, default=0) for row in labels), default=0) - len(values)))
    return Spread(start, np.concatenate(labels).astype(np.int64), np.concatenate(weights), named)


def _without_insiders(entries: Entries, insiders: int) -> Entries:
    """What is left for the worst-placed person: insiders have the rarest labels of the block."""
    order = np.argsort(entries[0], kind="stable")
    weight = np.array(entries[0], dtype=np.float64)[order]
    left = float(insiders)
    for place in range(len(weight) - 1):
        gone = min(weight[place], left)
        weight[place] -= gone
        left -= gone
    kept = weight > 1e-12
    return weight[kept].tolist(), np.array(entries[1])[order][kept].tolist()


class _Beliefs:
    """What is believed where labels are hidden; the law is that of the original, and found once per size."""

    def __init__(self, exhibit: Exhibit, name: str, values: tuple[str, ...], claim: Claim) -> None:
        self.by_share = _by_share(claim)
        self.values = len(values)
        self.possible = len(exhibit.original.label_codes(name)[1]) if exhibit.private else self.values
        form = exhibit.of(BasketBlocks)
        self.insiders, trace = form.insiders, exhibit.traced(BlockTrace)
        self.chances = trace.chances.get(name, {})
        self.l = trace.limits.get(name, claim.model.demand().diversity)
        self.sparing = trace.sparing.get(name, frozenset()) if form.hides == "sparing" else frozenset()
        self.law: NDArray[np.float64] | None = None
        if exhibit.private and exhibit.behind is not None:
            self.law, self.place = _law_of(exhibit.original.label_codes(name), values)
        self.whole: dict[int, float] = {}

    def of(self, value: IntArray, weight: IntArray, hidden: int, size: int) -> Entries:
        """Weights and labels of one block with hidden labels; beyond the labels shown, numbers stand for labels not named."""
        if not self.by_share:  # a hidden block may hold any label; copies of one are of a label that is not shown
            return ([1.0] * self.possible, list(range(self.possible))) if not len(value) else self._beside(value, weight, [1.0])
        if self.law is None:
            return self._beside(value, weight, [1.0] * hidden)
        if len(value):
            belief = hidden_copies(self._for(size), self.place[value], hidden) * hidden
            return self._beside(value, weight, _pieces(belief, hidden))
        if size not in self.whole:
            self.whole[size] = self._whole(size)
        return self._beside(value, weight, _pieces(self.whole[size], 1.0))

    def _beside(self, value: IntArray, weight: IntArray, more: list[float]) -> Entries:
        named = list(range(self.values, self.values + len(more)))
        return [*weight.astype(float).tolist(), *more], [*value.tolist(), *named]

    def _for(self, size: int) -> LabelLaw:
        assert self.law is not None
        return LabelLaw(self.law, size, int(np.floor((size - self.insiders) / self.l + 1e-9)), self.l, size in self.sparing)

    def _whole(self, size: int) -> float:
        """The largest belief in a label where all are hidden, beside the insiders whose labels help most."""
        law, chance = self._for(size), float(self.chances.get(size, 0.0))
        if self.insiders > 1:  # a block that surely breaks is believed at max share / chance
            return min(1.0, float(law.shares.max()) / chance) if chance > 0 else 1.0
        if not self.insiders:
            return hidden_whole(law, chance).belief
        return max(hidden_whole(law, chance, (known,)).belief for known in {*law.suspects, int(np.argmin(law.shares))})


def _law_of(labels: tuple[IntArray, tuple[str, ...]], values: tuple[str, ...]) -> tuple[NDArray[np.float64], IntArray]:
    """The shares of labels in the original, and where the published labels stand among them."""
    codes, named = labels
    place = {label: index for index, label in enumerate(named)}
    return np.bincount(codes) / len(codes), np.array([place[value] for value in values], dtype=np.int64)


def _pieces(largest: float, total: float) -> list[float]:
    """`total` as pieces none of which is larger than the first."""
    pieces = [largest]
    while total - sum(pieces) > 1e-12:
        pieces.append(min(largest, total - sum(pieces)))
    return pieces
