"""Judging all releases together: what an adversary learns who joins everything that was ever published about a table.

Guarantee
    With the history at hand a requirement holds only if it holds on proven links (see `exact`). The grade is *exact*
    when the level is decided, *bound (from below)* when more than the proven links may exist and the requirement holds
    without them, and *bound (at best this)* with the number of undecided links when it could not be proven; then the
    requirement does not hold. Without a history and an original nobody knows which tuples occur; then nothing is
    judged.

The adversary knows each person's quasi-identifiers and joins all releases. With ``cohorts: known`` the adversary also
    knows when people joined; ``growth: separative`` adds a second one, who can tell which rows of a release are new. A
    requirement holds for both.

Invariants
    I1  A person who fits no row of a release was suppressed there, and nothing can be linked to them. Suppressed people
        do not count as people with few links. That as many were left out as is said, and truly, other checks judge.

Paper: [sequential Def. 3.3, 4.1, 4.2, §6]


Levels
------
The level of privacy of a sequence: to how many sensitive values, and how evenly, each known tuple can be linked.

Paper: [sequential Def. 4.1, 4.2]

Notation
    ⟨J|q⟩    the cliques of the join all of whose classes contain the quasi-identifier tuple q
    S(q)     the multiset of their sensitive values, a clique of classes counting as often as its multiplicities
             multiply to

Invariants
    I1  Only tuples that occur in the table are judged; each of them has at least its own true clique.
    I2  Weights are exact integers of any size: 500,000⁴ does not fit into 64 bits.

Departures
    S(q) counts cliques, not possible worlds: clique diversity is the paper's measure, not a probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.core.arrays import BoolArray, IntArray, positions_in_runs
from sfumato.core.errors import DataError, SfumatoError
from sfumato.data.generalization import MISSING, Generalization
from sfumato.data.generalized_tuples import containing_pairs, intersecting_pairs
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.text_values import parse_interval, parse_number
from sfumato.history.judge.full_match_join import decide_cliques, kernel_join, match_join, whole_join_wanted
from sfumato.history.record_identity import require_one_record_per_row
from sfumato.history.release_sequence import Attribute, Boxes, ReleaseSequence, sequence_of
from sfumato.history.standing_requirements import is_membership_known
from sfumato.io.hierarchy_files import is_standing
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.certificate import AT_BEST, NOT_JUDGED, NOTHING_PUBLISHED, Finding
from sfumato.release.evidence import below_text
from sfumato.release.past_releases import History, PastRelease
from sfumato.release.view import ReleaseView

BUDGET = 60.0
"""CPU seconds for one exact decision."""
_COMPARED, _FEWEST = 4_000_000, 20


@dataclass(frozen=True)
class SequenceLinks:
    """Everybody's links, how sure they are, and how many cliques stayed undecided."""

    linkage: Linkage
    grade: str
    undecided: int = 0


def judge_all_releases(exhibit: ReleaseView, claim: PrivacyRequirement) -> Finding:
    """The finding for a requirement about all releases."""
    if exhibit.history is not None:
        return _of_history(exhibit.history, claim, exhibit)
    findings = [_alone(exhibit, claim, column) for column in claim.hide if column in exhibit.data.names]
    if not findings:
        return _nothing(claim)
    return _worst(claim, findings, "on this release alone") if exhibit.private else _guessed(claim, findings)


def _guessed(claim: PrivacyRequirement, findings: list[SequenceLinks]) -> Finding:
    """Without the original nobody knows which people there are: who falls below may not exist, and who is missed
    may."""
    below = not all(claim.model.satisfied(judged.linkage).all() for judged in findings)
    seen = "some combination that may occur falls below" if below else "no combination that was looked at falls below"
    why = f"{seen}; give the original, or the ledger, to judge the people there are"
    return Finding(claim.model.name, True, claim.model.required(), {}, claim.given, claim.hide, NOT_JUDGED, why)


def _of_history(history: History, claim: PrivacyRequirement, exhibit: ReleaseView) -> Finding:
    for past in history.releases:
        require_one_record_per_row(past)
    cohorts, apart = growth_of(exhibit)
    parts = _outsiders(history, claim) if apart else [history]
    findings = []
    for column in claim.hide:
        for part in parts:
            sequence = sequence_of(part, column, cohorts=cohorts)
            if sequence is not None:
                findings.append(judge_sequence(sequence, claim, _labels(part, column)))
    what = f"over {len(history)} release(s)" + (", each cohort by itself and all together" if apart else "")
    return _worst(claim, findings, what) if findings else _nothing(claim)


def _outsiders(history: History, claim: PrivacyRequirement) -> list[History]:
    """What the adversaries of separate growth join: who can tell old rows from new ones joins each cohort, who cannot
    joins all rows.

    Rows of other cohorts only add values to a person's links, but they may add the same value again and again: a count
    of values that holds in every cohort holds for all rows, a limit on shares does not."""
    cohorts = cohorts_of(history)
    return cohorts if claim.model.demand().counts_values and cohorts else [*cohorts, history]


def growth_of(exhibit: ReleaseView) -> tuple[bool, bool]:
    """(adversaries know when people joined, some can tell old rows from new ones) as the policy's method says."""
    method = exhibit.policy.method
    parameters = method.parameters if method is not None else {}
    return is_membership_known(exhibit.policy, exhibit.history), parameters.get("growth", "unifying") == "separative"


def judge_sequence(
    sequence: ReleaseSequence, claim: PrivacyRequirement, labels: tuple[str, ...], budget: float = BUDGET
) -> SequenceLinks:
    """Links on proven cliques alone; for linkability it is enough to prove as many as the requirement needs."""
    cliques = kernel_join(sequence)
    demand = claim.model.demand()
    linkability = demand.counts_values
    wanted = cliques_below_level(sequence, cliques, demand.distinct) if linkability else whole_join_wanted
    verdict = decide_cliques(sequence, cliques, wanted=wanted, budget=budget)
    proven = linkage_of(sequence, cliques[verdict.admitted], labels)
    if not verdict.undecided:
        return SequenceLinks(proven, "exact")
    possible = linkage_of(sequence, cliques[~verdict.excluded], labels)
    if linkability and claim.model.satisfied(proven).all():
        same = claim.model.achieved(proven) == claim.model.achieved(possible)
        return SequenceLinks(proven, "exact" if same else "bound (from below)")
    return SequenceLinks(possible, AT_BEST, verdict.undecided)


def _worst(claim: PrivacyRequirement, findings: list[SequenceLinks], what: str) -> Finding:
    """The finding of the worst-placed column or cohort."""
    entries = []
    for judged in findings:
        verdict = claim.model.satisfied(judged.linkage)
        below = int(judged.linkage.people[~verdict].sum())
        unsure = judged.undecided > 0
        words = f"{below_text(below, 'people')}, " if below else ""
        words += (
            f"{judged.undecided} possible links could not be excluded within the time limit, so nothing is proven, "
            if unsure
            else ""
        )
        entries.append(
            Finding(
                claim.model.name,
                not below and not unsure,
                claim.model.required(),
                claim.model.achieved(judged.linkage),
                claim.given,
                claim.hide,
                judged.grade,
                words + what,
            )
        )
    return min(entries, key=lambda finding: (finding.holds, claim.model.strength(finding.achieved)))


def _nothing(claim: PrivacyRequirement) -> Finding:
    reason = "no release publishes the hidden column, so nothing can be linked"
    return Finding(
        claim.model.name, True, claim.model.required(), NOTHING_PUBLISHED, claim.given, claim.hide, reason=reason
    )


def _labels(history: History, column: str) -> tuple[str, ...]:
    """The values of a sensitive column over all releases; the last one stands for a value nobody published."""
    return (*sorted(history.column(column)), "")


def cohorts_of(history: History) -> list[History]:
    """One history per cohort: the records that joined with a release, from that release on."""
    last, seen, found = history.releases[-1], set[str](), []
    for r, past in enumerate(history.releases):
        mine = {key for key in past.memory.keys if key not in seen}
        seen |= mine
        if mine & set(last.memory.keys):
            found.append(History(tuple(_only(later, mine) for later in history.releases[r:])))
    return found


def _only(past: PastRelease, keys: set[str]) -> PastRelease:
    kept = np.array([i for i, key in enumerate(past.memory.keys) if key in keys], dtype=np.int64)
    return replace(past, memory=past.memory.taking(kept))


# -- one release by itself ---------------------------------------------------------------------------------------------


def _alone(exhibit: ReleaseView, claim: PrivacyRequirement, column: str) -> SequenceLinks:
    """This release without a history; with the original the tuples that occur are known, without it they are guessed
    at."""
    sequence, labels = _single(exhibit, column)
    if exhibit.original is not None:
        return SequenceLinks(linkage_of(sequence, match_join(sequence), labels, suppressed=True), "exact")  # I1
    boxes, m = sequence.releases[0], sequence.sensitive
    quasi = sequence.quasi
    people = _some(boxes.restricted(quasi)[0], len(boxes))
    i, j = intersecting_pairs(people.lo[:, quasi], people.hi[:, quasi], boxes.lo[:, quasi], boxes.hi[:, quasi])
    spread = ValueDistribution.count(i, boxes.lo[j, m], len(people), labels, boxes.count[j])
    return SequenceLinks(Linkage(people.count, spread.total(), {column: spread}), AT_BEST)


def _some(people: Boxes, rows: int) -> Boxes:
    """As many kinds of people as can be compared with every row in bounded time; a level of some is a bound from above,
    too."""
    looked_at = max(_FEWEST, _COMPARED // max(rows, 1))
    if len(people) <= looked_at:
        return people
    some = np.unique(np.linspace(0, len(people) - 1, looked_at).astype(np.int64))
    return Boxes(people.lo[some], people.hi[some], people.count[some])


def _single(exhibit: ReleaseView, column: str) -> tuple[ReleaseSequence, tuple[str, ...]]:
    policy, table = exhibit.policy, exhibit.data
    names = [name for name in policy.quasi_identifiers if name in table.names]
    values = table.text(column)
    sizes, lo, hi, known = [], [values.codes.astype(np.int64)], [values.codes.astype(np.int64) + 1], []
    for name in names:
        text = table.text(name)
        source = text if exhibit.original is None else exhibit.original.text(name)
        leaves = list(source.labels) if exhibit.original is not None else _leaves(policy, name, source.labels)
        domain = (
            generalization_of(policy, name, leaves) if leaves else Hierarchy.flat(["*"])
        )  # no value is shown: all are one
        spans = np.array([_span(domain, label) for label in text.labels], dtype=np.int64).reshape(-1, 2)
        sizes.append(domain.size)
        lo.append(spans[text.codes, 0])
        hi.append(spans[text.codes, 1])
        if exhibit.original is not None:
            known.append(np.array([domain.code_of[label] for label in source.labels], dtype=np.int64)[source.codes])
    attributes = [Attribute(column, len(values.labels) + 1, "sensitive")]
    attributes += [Attribute(name, size, "quasi-identifier") for name, size in zip(names, sizes, strict=True)]
    boxes = np.stack(lo, axis=1), np.stack(hi, axis=1)
    if exhibit.original is not None:
        tuples = np.stack([np.zeros(len(known[0]) if known else exhibit.original.rows, dtype=np.int64), *known], axis=1)
        return ReleaseSequence.of_records(attributes, [boxes], (tuples, tuples + 1)), values.labels
    return ReleaseSequence.of_records(attributes, [boxes], boxes), values.labels


def _span(domain: Generalization, label: str) -> tuple[int, int]:
    """The leaves behind a label; one that no known leaf lies under is taken to stand for all of them."""
    lo, hi = domain.interval(label) or (0, 0)
    return (lo, hi) if lo < hi else (0, domain.size)


def _leaves(policy: Policy, name: str, labels: tuple[str, ...]) -> list[str]:
    """Published labels that are values by themselves, where a rule grows the hierarchy from the data; groups and stars
    are none.

    A group without any published value in it cannot be placed; it is then taken to stand for everything, which only
    raises a bound that is from above anyway."""
    if is_standing(policy.columns[name].hierarchy):  # its leaves are written down, and every label is read from them
        missing = [label for label in labels if label == MISSING]
        return [*generalization_of(policy, name, missing).leaves]
    groups = _overlapping(labels) if policy.columns[name].hierarchy is None else set()
    found = []
    for label in labels:
        try:
            generalization_of(policy, name, [label])
        except SfumatoError:
            continue
        if "*" not in label and label not in groups:
            found.append(label)
    return found


def _overlapping(labels: tuple[str, ...]) -> set[str]:
    """Ranges of numbers that share a number with another label; ranges apart from everything are as good as values."""
    ends = [(found[0], found[1], label) for label in labels if (found := parse_interval(label)) is not None]
    ends += [(value, value, label) for label in labels if (value := parse_number(label)) is not None]
    ends.sort(key=lambda one: (one[0], -one[1]))
    met: set[str] = set()
    widest: tuple[Any, Any, str] | None = None
    for one in ends:
        if widest is not None and one[0] <= widest[1]:
            met |= {one[2], widest[2]}
        widest = one if widest is None or one[1] > widest[1] else widest
    return {label for label in met if parse_number(label) is None}


@dataclass(frozen=True)
class ReleaseLevels:
    """Where things stand after a release: links by each join, and what of the full join could not be decided."""

    release: int
    joins: dict[str, Linkage]
    undecided: int


def timeline(
    history: History, column: str, *, only: int = 0, level: float = 0.0, budget: float = 5.0, cohorts: bool = True
) -> list[ReleaseLevels]:
    """After each release (or one of them) the links by the match, the kernel and the full join.

    The full join is decided as far as any person's number of values depends on it, up to `level` or the kernel's own
    level."""
    found = []
    for r in [only] if only else range(1, len(history) + 1):
        part = History(history.releases[:r])
        sequence = sequence_of(part, column, cohorts=cohorts)
        if sequence is None:
            continue
        labels = _labels(part, column)
        kernel = kernel_join(sequence)
        seen = linkage_of(sequence, kernel, labels)
        wanted = cliques_below_level(
            sequence, kernel, max(level, float(next(iter(seen.spread.values())).distinct().min()))
        )
        verdict = decide_cliques(sequence, kernel, wanted=wanted, budget=budget)
        full = seen if not verdict.excluded.any() else linkage_of(sequence, kernel[~verdict.excluded], labels)
        open_links = int(wanted(verdict.admitted, verdict.excluded).sum())
        found.append(
            ReleaseLevels(
                r,
                {"match": linkage_of(sequence, match_join(sequence), labels), "kernel": seen, "full": full},
                open_links,
            )
        )
    return found


# Levels
# ------


_SLICE = 2_000_000
_SAFE = 1 << 62


def linkage_of(
    sequence: ReleaseSequence, cliques: IntArray, labels: tuple[str, ...], *, suppressed: bool = False
) -> Linkage:
    """Everybody's candidates when an adversary joins all releases by `cliques`; who fits no row must be
    `suppressed`."""
    people = sequence.people()  # I1
    entries = [_spread(sequence, part, cliques) for part in _parts(sequence, people, cliques)]
    kind = np.concatenate([first + part[0] for first, part in zip(_offsets(entries), entries, strict=True)])
    value = np.concatenate([part[1] for part in entries])
    weight = np.concatenate([part[2] for part in entries])
    met, number = np.unique(kind, return_inverse=True)
    if len(met) < len(people) and not suppressed:
        raise DataError("somebody whose record was published fits no row")
    start = np.searchsorted(number, np.arange(len(met) + 1)).astype(np.int64)
    spread = ValueDistribution(start, value, weight, labels)
    total = np.array([min(int(t), _SAFE) for t in spread.total()], dtype=np.int64)
    return Linkage(people.count[met], total, {sequence.attributes[sequence.sensitive].name: spread})


def _offsets(entries: list[tuple[IntArray, IntArray, np.ndarray, int]]) -> IntArray:
    sizes = np.array([entry[3] for entry in entries], dtype=np.int64)
    return np.cumsum(sizes) - sizes


def _parts(sequence: ReleaseSequence, people: Boxes, cliques: IntArray) -> Iterator[Boxes]:
    """People in slices whose (tuple, clique) pairs cannot outgrow memory."""
    step = max(1, 20 * _SLICE // max(len(cliques), 1))
    for first in range(0, len(people), step):
        rows = slice(first, first + step)
        yield Boxes(people.lo[rows], people.hi[rows], people.count[rows])


def _spread(sequence: ReleaseSequence, people: Boxes, cliques: IntArray) -> tuple[IntArray, IntArray, np.ndarray, int]:
    """(tuple, sensitive value, weight) triples of these people, sorted, and how many people they are."""
    holds = [_holders(sequence, r, people) for r in range(sequence.count)]
    lead = int(np.argmin([len(who) for who, _, _ in holds]))
    who, clique, weight = _meet(holds[lead], cliques[:, lead])
    exact = _needs_objects(sequence)
    weight = weight.astype(object) if exact else weight
    for r in range(sequence.count):
        if r != lead:
            factor = _look_up(holds[r], who, cliques[clique, r])
            keep = factor > 0
            who, clique, weight = who[keep], clique[keep], weight[keep] * factor[keep]
    value = _sensitive_of(sequence, cliques)[clique]
    return (*_summed(who, value, weight), len(people))


def _holders(sequence: ReleaseSequence, r: int, people: Boxes) -> tuple[IntArray, IntArray, IntArray]:
    """(tuple, node, records): how many rows of each node of release r contain the tuple."""
    columns = sequence.quasi
    classes, node_of = sequence.releases[r], sequence.nodes[r][1]
    inside = containing_pairs(
        people.lo[:, columns], people.hi[:, columns], classes.lo[:, columns], classes.hi[:, columns]
    )
    who, which = inside
    width = len(sequence.nodes[r][0])
    key, place = np.unique(who * width + node_of[which], return_inverse=True)
    records = np.bincount(place, weights=classes.count[which], minlength=len(key)).astype(np.int64)
    return key // width, key % width, records


def _meet(holds: tuple[IntArray, IntArray, IntArray], nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """All (tuple, clique, records) where the clique's node holds the tuple."""
    order = np.argsort(nodes, kind="stable")
    start = np.searchsorted(nodes[order], np.arange(int(nodes.max(initial=0)) + 2))
    who, node, records = (column[holds[1] < len(start) - 1] for column in holds)
    width = start[node + 1] - start[node]
    return (
        np.repeat(who, width),
        order[np.repeat(start[node], width) + positions_in_runs(width)],
        np.repeat(records, width),
    )


def _look_up(holds: tuple[IntArray, IntArray, IntArray], who: IntArray, node: IntArray) -> IntArray:
    """Records of `node` that contain `who`, 0 when there are none."""
    span = int(max(holds[1].max(initial=0), node.max(initial=0))) + 1
    key, wanted = holds[0] * span + holds[1], who * span + node
    place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    return np.where(key[place] == wanted, holds[2][place], 0)


def _needs_objects(sequence: ReleaseSequence) -> bool:
    largest = 1
    for boxes in sequence.releases:
        largest *= int(boxes.count.sum())
    return largest >= _SAFE  # I2


def _sensitive_of(sequence: ReleaseSequence, cliques: IntArray) -> IntArray:
    """s(C): the sensitive value of each clique, from any release that tells it."""
    m = sequence.sensitive
    teller = int(np.flatnonzero(sequence.present[:, m])[0])
    value: IntArray = sequence.nodes[teller][0].lo[cliques[:, teller], m]
    return value


def _summed(who: IntArray, value: IntArray, weight: np.ndarray) -> tuple[IntArray, IntArray, np.ndarray]:
    width = int(value.max(initial=0)) + 1
    key = who * width + value
    order = np.argsort(key, kind="stable")
    pairs, first = np.unique(key[order], return_index=True)
    totals = np.add.reduceat(weight[order], first) if len(first) else weight[:0]
    return pairs // width, pairs % width, totals


def cliques_below_level(
    sequence: ReleaseSequence, cliques: IntArray, k: float
) -> Callable[[BoolArray, BoolArray], BoolArray]:
    """For `decide`: cliques that would give a new sensitive value to a person who has fewer than k proven ones."""
    people = sequence.people()
    holds = [_holders(sequence, r, people) for r in range(sequence.count)]
    who, clique, _ = _meet(holds[0], cliques[:, 0])
    for r in range(1, sequence.count):
        keep = _look_up(holds[r], who, cliques[clique, r]) > 0
        who, clique = who[keep], clique[keep]
    width = int(sequence.sizes[sequence.sensitive])
    pair = who * width + _sensitive_of(sequence, cliques)[clique]

    def wanted(admitted: BoolArray, excluded: BoolArray) -> BoolArray:
        proven = np.zeros(len(people) * width, dtype=np.bool_)
        proven[pair[admitted[clique]]] = True
        short = proven.reshape(len(people), width).sum(axis=1) < k
        asked = short[who] & ~proven[pair] & ~admitted[clique] & ~excluded[clique]
        mask = np.zeros(len(cliques), dtype=np.bool_)
        mask[clique[asked]] = True
        return mask

    return wanted


def linkability(linkage: Linkage) -> int:
    """γ: the fewest distinct sensitive values that a person can be linked to."""
    (spread,) = linkage.spread.values()
    return int(spread.distinct().min())


def diversity(linkage: Linkage) -> float:
    """δ: the inverse of the largest share that one sensitive value has among a person's cliques."""
    (spread,) = linkage.spread.values()
    return min(int(t) / int(m) for t, m in zip(spread.total(), spread.largest(), strict=True))
