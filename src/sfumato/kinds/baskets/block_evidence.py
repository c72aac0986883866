"""Baskets in blocks: each person's candidates are the rows of the own block, less those that insiders may know.

Guarantee, by what is at hand
    the folder alone     rows of a block that show the same items cannot be told apart, so their number is exact; so are the labels
                         shown, where none is hidden. Count-preserving rows differ, and suppressed labels follow the
                         distribution of all labels: both are *not assessed*.
    original and         the check `blocks` verifies that items were distributed evenly and that rows belong to records
    provenance           of their block. What suppressed labels reveal follows from the label distribution and the
                         probability of suppression (`baskets.block_evidence`): exact.
    original alone       rows of a block and shown labels are counted: a release that fails is broken, one that passes is *not
                         judged* where only provenance tells more.
    known columns        rows of a block show the same cells there (`blocks`), so columns tell them apart as little as items. What
                         is asked of adversaries who know few items beside them is judged for those who know all: a
                         bound (at least).
    labels and items     with the provenance a joint guess is played on the labels (`baskets.block_evidence`). Where it
                         exceeds 1/l by more than chance the requirement is *not judged*, and nothing is published,
                         unless the policy accepts it: then the finding is *measured, exact for labels independent of
                         items*.
Why exact
    See the proof in `blocks`; what it needs and files cannot show is that permutations were drawn uniformly. That is the method's
    word, as in every form that rests on chance.


Hidden labels
-------------
What hidden labels of a block say, counted from the rule as it is published: an adversary's belief in the likeliest
label.

Labels are drawn from a law. A block *breaks* when a label stands more than `most` times. Hidden whole are the blocks that break
and, with a chance, others; under the rule *sparing*, where one label alone stands too often, only its copies are hidden, if of the
`TOP` most frequent labels those that are not shown outweigh the likeliest of them enough (size · Σ p^c ≥ l · c · max p^c).

Blocks are built up label by label, with the labels of the top last; what is kept is how many places are filled, which labels of the
top are shown, and how often a label stands that stands too often. So nothing here is the formula of the method that hides.

>>> import numpy as np
>>> law = LabelDistribution(np.array([0.5, 0.5]), size=2, most=1, l=2.0)
>>> whole = belief_when_block_hidden(law, 0.0)
>>> whole.chance, whole.belief
(0.5, 0.5)


Joint guess
-----------
How often labels are guessed by a person who knows how items and labels go together, with and without a release in
blocks.

Labels that follow from items are no secret of the release, but blocks help: each label of a block belongs to exactly one of its
people, so what is likely of one is less likely of the others. The adversary learns naive Bayes on half of the people and guesses
those of the other half, and the other way round; within a block the likelihoods of people x labels are scaled in turn by rows and
by columns until every person has one label and every label one person (which comes near the mean over all ways to give them out).

Cost: people x items x labels, on at most `PEOPLE` people of whole blocks.


Home claims
-----------
Claims about set-valued records over several releases: what homes said when they were published, and nothing after it.

Blocks of people who are new are judged like a first release. That all other blocks say no more than the homes of their people did
is counted for every release of the history (`baskets.block_history`); what homes promised is what their own releases were
judged by.
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError
from sfumato.data.item_sets import Sets
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.kinds.baskets.block_history import AssignedBlocks, describe_block_violations, new_blocks
from sfumato.kinds.baskets.evidence import BasketReading, _by_share, _open, label_codes
from sfumato.kinds.baskets.form import BasketBlocks, BlockProvenance, blocks_of, published_baskets
from sfumato.kinds.baskets.known_columns import items_with_known_columns, known_columns
from sfumato.kinds.baskets.published_baskets import WITHHELD
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.certificate import AT_BEST, MEASURED, Finding, one_sided_verdict
from sfumato.release.evidence import Evidence
from sfumato.release.form import Form
from sfumato.release.past_releases import History, PastRelease
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView

_INDEPENDENT = "exact for labels independent of items"
Entries = tuple[list[float], list[int]]


class BlockReading(BasketReading):
    """The rows of the person's block."""

    name: ClassVar[str] = "basket blocks"
    form: ClassVar[type[Form]] = BasketBlocks
    joins_itself: ClassVar[bool] = True

    def judge(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        if claim.model.known_items is not None and not known_columns(exhibit.policy):
            return super().judge(exhibit, claim)
        if more := [name for name in claim.given if name not in known_columns(exhibit.policy)]:
            why = f"that an outsider knows '{more[0]}' is not judged on blocks"
            return _open(claim.model.name, claim.model.required(), claim.given, claim.hide, why)
        finding = self._by_blocks(exhibit, claim)
        fewer = claim.model.known_items is not None and finding.grade == "exact"
        return _graded(finding, "bound (at least)") if fewer else finding

    def _by_blocks(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        """For an adversary who knows all items and known columns."""
        asked = (claim.model.name, claim.model.required(), claim.given, claim.hide)
        traced = exhibit.behind is not None and exhibit.private
        dealt, hides = exhibit.of(BasketBlocks).shows == "dealt", _by_share(claim) and _hides(exhibit, claim)
        if not exhibit.private and _by_share(claim) and exhibit.of(BasketBlocks).correlated == "accepted":
            return _for_independent(claim, "")
        if not exhibit.private and (dealt or hides):
            why = "whether a row shows its own record" if dealt else "what suppressed labels reveal"
            return _open(*asked, f"{why} is not judged without the original records")
        if not exhibit.private and claim.hide and _hides(exhibit, claim):
            finding = Evidence.judge(self, exhibit, claim)  # labels that are hidden everywhere are named nowhere
            why = "which labels hidden blocks may hold is not judged without the original records"
            return _graded(finding, "exact") if finding.holds else _open(*asked, why)
        if not traced and (dealt or hides):
            finding = Evidence.judge(self, exhibit, claim)
            why = "what suppressed or distributed labels reveal is not assessed without the private provenance"
            return replace(finding, **one_sided_verdict(finding.holds, AT_BEST, finding.achieved, finding.reason, why))
        return self._beside_items(exhibit, claim, _graded(Evidence.judge(self, exhibit, claim), "exact"), traced=traced)

    def _beside_items(
        self, exhibit: ReleaseView, claim: PrivacyRequirement, finding: Finding, *, traced: bool
    ) -> Finding:
        """The finding, unless items tell labels: then it is exact for independent labels only, and not shown to
        hold."""
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
        hint = (
            "items tell labels; make larger blocks (spread), ask for less, or say 'correlated: accepted' under blocks"
        )
        return _open(finding.model, finding.required, finding.given, finding.hide, f"{why}: {hint}")

    def judge_all(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
        if claim.model.known_items is not None:
            raise DataError("what a few known items leave is not judged over several releases")
        finding = judge_basket_history(exhibit, claim, self.judge)
        traced = exhibit.behind is not None and exhibit.private
        return (
            self._beside_items(exhibit, claim, finding, traced=traced) if claim.hide and not finding.open else finding
        )

    def so_far(self, history: History, policy: Policy) -> Iterator[str]:
        homes = AssignedBlocks.of(history)
        yield (
            f"{len(homes.seat)} people were published in {len(homes.members)} block(s) and stay there, with the same"
            " labels shown"
        )
        yield "people who are new form blocks of their own; where somebody left, the others show no label any more"

    def read(self, exhibit: ReleaseView, claim: PrivacyRequirement) -> Linkage:
        if claim.model.known_items is not None and not known_columns(exhibit.policy):
            return super().read(exhibit, claim)
        block, form = exhibit.once(blocks_of), exhibit.of(BasketBlocks)
        sizes = np.bincount(block).astype(np.int64)
        spread = {name: _spread(exhibit, name, block, sizes, claim) for name in claim.hide}
        note = f"blocks of {int(sizes.min())} to {int(sizes.max())} rows" + (
            f", {form.insiders} known" if form.insiders else ""
        )
        return Linkage(sizes, np.maximum(sizes - form.insiders, 0), spread, note)


def _for_independent(claim: PrivacyRequirement, told: str) -> Finding:
    """A requirement that the data holder knows to be exact for independent labels only: a figure, and no promise."""
    grade = f"{MEASURED}, {_INDEPENDENT}"
    required = claim.model.required()
    return Finding(claim.model.name, True, required, {}, claim.given, claim.hide, grade, f"{_INDEPENDENT}{told}")


def _graded(finding: Finding, grade: str, reason: str = "") -> Finding:
    return replace(finding, grade=grade, reason=reason or finding.reason)


def joint_guess_of(exhibit: ReleaseView, name: str, behind: IntArray) -> JointGuess:
    """What is guessed of a label column, on whole blocks of at most `PEOPLE` people; `behind` names people of each
    row's block."""
    block, published = exhibit.once(blocks_of), exhibit.once(published_baskets)
    blocks = int(block.max()) + 1
    chosen = np.unique(np.linspace(0, blocks - 1, max(1, PEOPLE * blocks // len(block))).astype(np.int64))
    rows = np.flatnonzero(np.isin(block, chosen))
    codes, values = exhibit.original.label_codes(name)
    place = {value: index for index, value in enumerate(values)} | {WITHHELD: -1}
    shown = np.array([place[label] for label in published.labels[name][rows].tolist()], dtype=np.int64)
    people = np.asarray(behind)[rows]
    known = items_with_known_columns(exhibit.policy, exhibit.original)
    return joint_guess(known.take(people), codes[people], block[rows], shown)


def _hides(exhibit: ReleaseView, claim: PrivacyRequirement) -> bool:
    published = exhibit.once(published_baskets)
    return any(bool((published.labels[name] == WITHHELD).any()) for name in claim.hide if name in published.labels)


def _spread(
    exhibit: ReleaseView, name: str, block: IntArray, sizes: IntArray, claim: PrivacyRequirement
) -> ValueDistribution:
    """How labels spread over the rows of every block, as an adversary believes it who knows the law and the rule."""
    codes, values = label_codes(exhibit.once(published_baskets), name)
    shown = codes >= 0
    hidden = np.bincount(block[~shown], minlength=len(sizes))
    counted = ValueDistribution.count(block[shown], codes[shown], len(sizes), values)
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
    return ValueDistribution(start, np.concatenate(labels).astype(np.int64), np.concatenate(weights), named)


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

    def __init__(self, exhibit: ReleaseView, name: str, values: tuple[str, ...], claim: PrivacyRequirement) -> None:
        self.by_share = _by_share(claim)
        self.values = len(values)
        self.possible = len(exhibit.original.label_codes(name)[1]) if exhibit.private else self.values
        form = exhibit.of(BasketBlocks)
        self.insiders, trace = form.insiders, exhibit.traced(BlockProvenance)
        self.chances = trace.chances.get(name, {})
        self.l = trace.limits.get(name, claim.model.demand().diversity)
        self.sparing = trace.sparing.get(name, frozenset()) if form.hides == "sparing" else frozenset()
        self.law: NDArray[np.float64] | None = None
        if exhibit.private and exhibit.behind is not None:
            self.law, self.place = _law_of(exhibit.original.label_codes(name), values)
        self.whole: dict[int, float] = {}

    def of(self, value: IntArray, weight: IntArray, hidden: int, size: int) -> Entries:
        """Weights and labels of one block with hidden labels; beyond the labels shown, numbers stand for labels not
        named."""
        if not self.by_share:  # a hidden block may hold any label; copies of one are of a label that is not shown
            return (
                ([1.0] * self.possible, list(range(self.possible)))
                if not len(value)
                else self._beside(value, weight, [1.0])
            )
        if self.law is None:
            return self._beside(value, weight, [1.0] * hidden)
        if len(value):
            belief = belief_when_labels_hidden(self._for(size), self.place[value], hidden) * hidden
            return self._beside(value, weight, _pieces(belief, hidden))
        if size not in self.whole:
            self.whole[size] = self._whole(size)
        return self._beside(value, weight, _pieces(self.whole[size], 1.0))

    def _beside(self, value: IntArray, weight: IntArray, more: list[float]) -> Entries:
        named = list(range(self.values, self.values + len(more)))
        return [*weight.astype(float).tolist(), *more], [*value.tolist(), *named]

    def _for(self, size: int) -> LabelDistribution:
        assert self.law is not None
        return LabelDistribution(
            self.law, size, int(np.floor((size - self.insiders) / self.l + 1e-9)), self.l, size in self.sparing
        )

    def _whole(self, size: int) -> float:
        """The largest belief in a label where all are hidden, beside the insiders whose labels help most."""
        law, chance = self._for(size), float(self.chances.get(size, 0.0))
        if self.insiders > 1:  # a block that surely breaks is believed at max share / chance
            return min(1.0, float(law.shares.max()) / chance) if chance > 0 else 1.0
        if not self.insiders:
            return belief_when_block_hidden(law, chance).belief
        return max(
            belief_when_block_hidden(law, chance, (known,)).belief
            for known in {*law.suspects, int(np.argmin(law.shares))}
        )


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


# Hidden labels
# -------------


TOP = 8
_Weights = NDArray[np.float64]


class HiddenBelief(NamedTuple):
    """The chance that a block is hidden whole, and the largest belief in a label of a person there."""

    chance: float
    belief: float


@dataclass(frozen=True, slots=True, eq=False)
class LabelDistribution:
    """Shares of labels, and the rule for blocks of one size."""

    shares: _Weights
    size: int
    most: int
    l: float
    sparing: bool = False

    @property
    def top(self) -> list[int]:
        """The labels that the rule *sparing* weighs."""
        return [int(place) for place in np.argsort(-self.shares, kind="stable")[: TOP if self.sparing else 0]]

    @property
    def suspects(self) -> list[int]:
        """The labels that may be believed most: the most frequent ones."""
        return [int(place) for place in np.argsort(-self.shares, kind="stable")[: TOP + 1]]

    @property
    def unspared(self) -> dict[int, list[int]]:
        """For every number of copies of a label that stands too often, beside which labels of the top they are not
        hidden alone."""
        top = self.top
        counts, shown = range(self.most + 1, self.size + 1), range(1 << len(top))
        return {count: [labels for labels in shown if not self._spared(top, labels, count)] for count in counts}

    def _spared(self, top: list[int], shown: int, count: int) -> bool:
        """Whether `count` copies of one label may be hidden where the labels of the top in the bits of `shown` are
        shown."""
        open_ = [self.shares[place] ** count for bit, place in enumerate(top) if not shown >> bit & 1]
        if not open_ or sum(open_) <= 0 or count >= self.size:
            return False
        return bool(self.l * count * max(open_) <= self.size * sum(open_) * (1 - 1e-9))


def belief_when_block_hidden(law: LabelDistribution, chance: float, known: tuple[int, ...] = ()) -> HiddenBelief:
    """For blocks hidden whole; `chance` is that of hiding a block that fits, `known` the labels of insiders."""
    unspared = law.unspared
    total = _mass(law, unspared, chance, known, None)
    if total <= 0:
        return HiddenBelief(0.0, 0.0)
    each = [_mass(law, unspared, chance, known, suspect) for suspect in law.suspects]
    return HiddenBelief(total, max(each) / total)


def belief_when_labels_hidden(law: LabelDistribution, shown: NDArray[np.int64], count: int) -> float:
    """The belief that the hidden label of a block is the likeliest one, beside the labels shown."""
    open_ = np.ones(len(law.shares), dtype=bool)
    open_[shown] = False
    weights = law.shares[open_] ** count
    return float(weights.max() / weights.sum()) if len(weights) and weights.sum() > 0 else 1.0


def _mass(
    law: LabelDistribution, unspared: dict[int, list[int]], chance: float, known: tuple[int, ...], target: int | None
) -> float:
    """P(the block is hidden whole, and a person there has the target label), or P(hidden whole) without a target."""
    places = law.size - len(known)
    fitting = np.zeros(
        (1, law.size + 1, places + 1)
    )  # labels of the top shown x copies of the one too frequent x places filled
    fitting[0, 0, 0] = 1.0
    crowded = np.zeros(places + 1)  # two labels stand too often
    top = law.top
    for label in [*(place for place in range(len(law.shares)) if place not in top), *top]:
        bit = top.index(label) if label in top else None
        fitting, crowded = _with_label(law, fitting, crowded, label, bit, known.count(label), target == label)
    scale = math.factorial(places) / (1 if target is None else places)
    whole = crowded[places] + chance * fitting[:, 0, places].sum()
    for count, beside in unspared.items():
        whole += sum(fitting[shown, count, places] for shown in beside)
    return float(whole * scale)


def _with_label(
    law: LabelDistribution, fitting: _Weights, crowded: _Weights, label: int, bit: int | None, held: int, counted: bool
) -> tuple[_Weights, _Weights]:
    """The blocks with one more label looked at: `held` copies are the insiders', `counted` weighs by the others."""
    grown = np.zeros((len(fitting) * (1 if bit is None else 2), *fitting.shape[1:]))
    crowd, places, term = np.zeros_like(crowded), len(crowded) - 1, 1.0
    for more in range(places + 1):
        weight = term * (more if counted else 1)
        term *= float(law.shares[label]) / (more + 1)
        moved = fitting[:, :, : places + 1 - more] * weight
        crowd[more:] += crowded[: places + 1 - more] * weight
        if more + held > law.most:
            grown[: len(fitting), more + held, more:] += moved[:, 0]
            crowd[more:] += moved[:, 1:].sum(axis=(0, 1))
        else:
            first = 0 if bit is None or more + held == 0 else 1 << bit
            grown[first : first + len(fitting), :, more:] += moved
    return grown, crowd


# Joint guess
# -----------


PEOPLE = 20_000
_SMOOTH, _SCALINGS = 0.5, 60


@dataclass(frozen=True, slots=True)
class JointGuess:
    """Shares of people whose label is guessed: from items alone, and with the release; and of how many people."""

    alone: float
    with_release: float
    people: int

    def exceeds(self, promised: float) -> bool:
        """Whether it is above the promise by more than chance: four standard errors of so many guesses."""
        return bool(self.with_release > promised + 4 * np.sqrt(promised * (1 - promised) / max(self.people, 1)))


def joint_guess(sets: Sets, labels: IntArray, block: IntArray, shown: IntArray) -> JointGuess:
    """Row i is the person i of `sets`, with the true label ``labels[i]`` and the published one ``shown[i]`` of a row of
    the same block.

    Which row of a block is whose is not used: within a block the order of `shown` does not matter. −1 is a hidden
    label."""
    kinds = int(labels.max()) + 1
    likelihood, prior = _learned(sets, labels, kinds)
    alone = float(((likelihood + np.log(prior)).argmax(axis=1) == labels).mean())
    right, counted = 0, 0
    sizes = np.bincount(block)
    order = np.argsort(block, kind="stable")
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]).tolist():
        members = order[starts[np.flatnonzero(sizes == size)][:, None] + np.arange(size)[None, :]]
        for some in np.array_split(members, max(1, members.size * size // 2_000_000)):
            guess = _in_blocks(likelihood[some], shown[some], prior)
            right += int((guess == labels[some]).sum())
            counted += some.size
    return JointGuess(alone, right / max(counted, 1), counted)


def _learned(sets: Sets, labels: IntArray, kinds: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln P(items | label) for every person and label, learned on the other half of the people; and the shares of
    labels."""
    matrix, half = sets.matrix().astype(np.float64), np.arange(len(sets)) % 2
    likelihood = np.zeros((len(sets), kinds))
    for fold in (0, 1):
        train, test = np.flatnonzero(half != fold), np.flatnonzero(half == fold)
        of = np.zeros((len(train), kinds))
        of[np.arange(len(train)), labels[train]] = 1.0
        people = of.sum(axis=0)
        have = (matrix[train].T @ of + _SMOOTH) / (people + 2 * _SMOOTH)
        likelihood[test] = matrix[test] @ np.log(have / (1 - have)) + np.log1p(-have).sum(axis=0)
    prior = (np.bincount(labels, minlength=kinds) + _SMOOTH) / (len(labels) + kinds * _SMOOTH)
    return likelihood, np.asarray(prior, dtype=np.float64)


def _in_blocks(likelihood: NDArray[np.float64], shown: IntArray, prior: NDArray[np.float64]) -> IntArray:
    """blocks x people: the likeliest label of each, given the labels that their block shows."""
    blocks, size, kinds = likelihood.shape
    scaled = likelihood - likelihood.max(axis=2, keepdims=True)
    hidden = np.log((np.exp(scaled) * prior).sum(axis=2))[:, :, None]
    at = np.maximum(shown, 0)[:, None, :].repeat(size, axis=1)
    weight = np.where(shown[:, None, :] >= 0, np.take_along_axis(scaled, at, axis=2), hidden)
    belief = np.exp(weight - weight.max(axis=2, keepdims=True)) + 1e-12
    for _ in range(_SCALINGS):
        belief /= belief.sum(axis=1, keepdims=True)
        belief /= belief.sum(axis=2, keepdims=True)
    guess = np.zeros((blocks, size, kinds))
    posterior = np.exp(scaled) * prior
    posterior /= posterior.sum(axis=2, keepdims=True)
    where = (
        np.broadcast_to(np.arange(blocks)[:, None, None], belief.shape),
        np.broadcast_to(np.arange(size)[None, :, None], belief.shape),
    )
    open_ = np.broadcast_to(shown[:, None, :] >= 0, belief.shape)
    np.add.at(guess, (where[0][open_], where[1][open_], at[open_]), belief[open_])
    guess += posterior * np.where(open_, 0.0, belief).sum(axis=2)[:, :, None]
    return np.asarray(guess.argmax(axis=2), dtype=np.int64)


# Home claims
# -----------


Judge = Callable[[ReleaseView, PrivacyRequirement], Finding]


def judge_basket_history(exhibit: ReleaseView, claim: PrivacyRequirement, judge: Judge) -> Finding:
    """The finding over all releases; `judge` is the one about a release by itself."""
    history = exhibit.history
    assert history is not None
    wrong = list(
        dict.fromkeys(
            sentence for r in range(1, len(history)) for sentence in describe_block_violations(_until(history, r))
        )
    )
    asked = claim.model.required()
    if wrong:
        return Finding(claim.model.name, False, asked, {}, claim.given, claim.hide, reason="; ".join(wrong))
    if not claim.hide:  # how many rows a block has is counted on the newest release alone
        alone = judge(replace(exhibit, history=None), claim)
        return replace(
            alone, reason=alone.reason if not alone.holds else f"{alone.reason}, over {len(history)} releases"
        )
    found = list(_of_homes(exhibit, claim, judge))
    broken = next((one for one in found if one.open or not one.holds), None)
    if broken is not None:
        return broken
    levels = [
        one for one in found if one.achieved.keys() >= claim.model.levels.keys()
    ]  # what is only measured has no level
    worst = min(levels or found[:1], key=lambda one: claim.model.strength(one.achieved) if levels else ())
    told = f"in the blocks in which people were first published, over {len(history)} releases"
    return Finding(claim.model.name, True, asked, worst.achieved, claim.given, claim.hide, _weakest(found), told)


def _until(history: History, r: int) -> History:
    return History(history.releases[: r + 1])


def _of_homes(exhibit: ReleaseView, claim: PrivacyRequirement, judge: Judge) -> Iterator[Finding]:
    """The requirement on the homes of every release: as promised then, or judged again."""
    history = exhibit.history
    assert history is not None
    for past in history.releases[:-1]:
        if set(claim.hide) & set(past.published):
            yield _promised(past, claim) or judge(past.exhibit, claim)
    fresh = new_blocks(history)
    if fresh.any():
        yield judge(_rows_of(exhibit, fresh), claim)


def _promised(past: PastRelease, claim: PrivacyRequirement) -> Finding | None:
    """What an earlier release promised of the same columns, when it is at least as much: it was judged when it was
    entered."""
    for mine in past.exhibit.policy.claims:
        same = mine.model.name == claim.model.name and mine.hide == claim.hide
        if same and mine.model.reaches(mine.model.required(), claim.model.required()):
            return Finding(
                claim.model.name, True, claim.model.required(), mine.model.required(), claim.given, claim.hide
            )
    return None


def _weakest(found: list[Finding]) -> str:
    return next((one.grade for one in found if one.grade != "exact"), "exact")


def _rows_of(exhibit: ReleaseView, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> ReleaseView:
    """The release as if only some of its rows had been published, with the records behind them."""
    table = exhibit.parts["data"].table.filter(pa.array(kept))
    part = replace(exhibit, parts={"data": Part(table)}, history=None, folder=None)
    if exhibit.behind is None:
        return part
    people, rows = np.unique(np.asarray(exhibit.behind["data"])[kept], return_inverse=True)
    trace = replace(exhibit.traced(BlockProvenance), rows={"data": rows.reshape(-1).astype(np.int64)})
    return replace(part, original=exhibit.original.take(people), trace=trace)
