"""Judging all releases together: what an outsider learns who joins everything that was ever published about a table.

Guarantee
    With the history at hand a claim holds only if it holds on proven links (see `exact`). The grade is *exact* when the level is
    decided, *bound (from below)* when more than the proven links may exist and the claim holds without them, and *bound (at best
    this)* with the number of undecided links when it could not be proven; then the claim does not hold.
    Without a history and an original nobody knows which tuples occur; then nothing is judged.

The outsider
    knows everybody's quasi-identifiers and joins all releases. With ``cohorts: known`` the outsider also knows when people joined;
    ``growth: separative`` adds a second one, who can tell which rows of a release are new. A claim holds for both.

Invariants
    I1  Whoever fits no row of a single release was left out of it, and nothing can be linked to them: suppressed people are no
        people with few links. That as many were left out as is said, and truly, other checks judge.

Paper: [sequential Def. 3.3, 4.1, 4.2, §6]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.audit.accounting import require_accounted
from sfumato.audit.full_match_join import decide, everything
from sfumato.audit.joins import kernel_join, match_join
from sfumato.audit.levels import linkage_of, short_of
from sfumato.data.boxes import meeting
from sfumato.data.generalization import MISSING, Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.numbers import number, span
from sfumato.data.sequence import Attribute, Boxes, ReleaseSequence
from sfumato.errors import SfumatoError
from sfumato.history.promises import cohorts_told
from sfumato.history.sequence import sequence_of
from sfumato.io.hierarchies import is_standing
from sfumato.policy.claims import Claim
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.certificate import AT_BEST, NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.honesty import NOTHING_PUBLISHED
from sfumato.release.past import History, PastRelease

BUDGET = 60.0
"""CPU seconds for one exact decision."""
_COMPARED, _FEWEST = 4_000_000, 20


@dataclass(frozen=True)
class Judged:
    """Everybody's links, how sure they are, and how many cliques stayed undecided."""

    linkage: Linkage
    grade: str
    undecided: int = 0


def judge_together(exhibit: Exhibit, claim: Claim) -> Finding:
    """The finding for a claim about all releases."""
    if exhibit.history is not None:
        return _of_history(exhibit.history, claim, exhibit)
    findings = [_alone(exhibit, claim, column) for column in claim.hide if column in exhibit.data.names]
    if not findings:
        return _nothing(claim)
    return _worst(claim, findings, "on this release alone") if exhibit.private else _guessed(claim, findings)


def _guessed(claim: Claim, findings: list[Judged]) -> Finding:
    """Without the original nobody knows which people there are: who falls below may not exist, and who is missed may."""
    below = not all(claim.model.satisfied(judged.linkage).all() for judged in findings)
    seen = "some combination that may occur falls below" if below else "no combination that was looked at falls below"
    why = f"{seen}; give the original, or the ledger, to judge the people there are"
    return Finding(claim.model.name, True, claim.model.required(), {}, claim.given, claim.hide, NOT_JUDGED, why)


def _of_history(history: History, claim: Claim, exhibit: Exhibit) -> Finding:
    for past in history.releases:
        require_accounted(past)
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


def _outsiders(history: History, claim: Claim) -> list[History]:
    """What the outsiders of separate growth join: who can tell old rows from new ones joins each cohort, who cannot joins all rows.

    Rows of other cohorts only add values to a person's links, but they may add the same value again and again: a count of values
    that holds in every cohort holds for all rows, a limit on shares does not.
    """
    cohorts = cohorts_of(history)
    return cohorts if claim.model.demand().counts_values and cohorts else [*cohorts, history]


def growth_of(exhibit: Exhibit) -> tuple[bool, bool]:
    """(outsiders know when people joined, some can tell old rows from new ones) as the policy's method says."""
    method = exhibit.policy.method
    parameters = method.parameters if method is not None else {}
    return cohorts_told(exhibit.policy, exhibit.history), parameters.get("growth", "unifying") == "separative"


def judge_sequence(sequence: ReleaseSequence, claim: Claim, labels: tuple[str, ...], budget: float = BUDGET) -> Judged:
    """Links on proven cliques alone; for linkability it is enough to prove as many as the claim needs."""
    cliques = kernel_join(sequence)
    demand = claim.model.demand()
    linkability = demand.counts_values
    wanted = short_of(sequence, cliques, demand.distinct) if linkability else everything
    verdict = decide(sequence, cliques, wanted=wanted, budget=budget)
    proven = linkage_of(sequence, cliques[verdict.admitted], labels)
    if not verdict.undecided:
        return Judged(proven, "exact")
    possible = linkage_of(sequence, cliques[~verdict.excluded], labels)
    if linkability and claim.model.satisfied(proven).all():
        same = claim.model.achieved(proven) == claim.model.achieved(possible)
        return Judged(proven, "exact" if same else "bound (from below)")
    return Judged(possible, AT_BEST, verdict.undecided)


def _worst(claim: Claim, findings: list[Judged], what: str) -> Finding:
    """The finding of the worst-placed column or cohort."""
    entries = []
    for judged in findings:
        verdict = claim.model.satisfied(judged.linkage)
        below = int(judged.linkage.people[~verdict].sum())
        unsure = judged.undecided > 0
        words = f"{below} people fall below, " if below else ""
        words += f"{judged.undecided} links undecided, so nothing is proven, " if unsure else ""
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


def _nothing(claim: Claim) -> Finding:
    reason = "no release publishes the hidden column, so nothing can be linked"
    return Finding(claim.model.name, True, claim.model.required(), NOTHING_PUBLISHED, claim.given, claim.hide, reason=reason)


def _labels(history: History, column: str) -> tuple[str, ...]:
    """The values of a hidden column over all releases; the last one stands for a value nobody published."""
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


# -- one release by itself ----------------------------------------------------------------------------------------------------


def _alone(exhibit: Exhibit, claim: Claim, column: str) -> Judged:
    """This release without a history; with the original the tuples that occur are known, without it they are guessed at."""
    sequence, labels = _single(exhibit, column)
    if exhibit.original is not None:
        return Judged(linkage_of(sequence, match_join(sequence), labels, suppressed=True), "exact")  # I1
    boxes, m = sequence.releases[0], sequence.sensitive
    quasi = sequence.quasi
    people = _some(boxes.restricted(quasi)[0], len(boxes))
    i, j = meeting(people.lo[:, quasi], people.hi[:, quasi], boxes.lo[:, quasi], boxes.hi[:, quasi])
    spread = Spread.count(i, boxes.lo[j, m], len(people), labels, boxes.count[j])
    return Judged(Linkage(people.count, spread.total(), {column: spread}), AT_BEST)


def _some(people: Boxes, rows: int) -> Boxes:
    """As many kinds of people as can be compared with every row in bounded time; a level of some is a bound from above, too."""
    looked_at = max(_FEWEST, _COMPARED // max(rows, 1))
    if len(people) <= looked_at:
        return people
    some = np.unique(np.linspace(0, len(people) - 1, looked_at).astype(np.int64))
    return Boxes(people.lo[some], people.hi[some], people.count[some])


def _single(exhibit: Exhibit, column: str) -> tuple[ReleaseSequence, tuple[str, ...]]:
    policy, table = exhibit.policy, exhibit.data
    names = [name for name in policy.quasi_identifiers if name in table.names]
    values = table.text(column)
    sizes, lo, hi, known = [], [values.codes.astype(np.int64)], [values.codes.astype(np.int64) + 1], []
    for name in names:
        text = table.text(name)
        source = text if exhibit.original is None else exhibit.original.text(name)
        leaves = list(source.labels) if exhibit.original is not None else _leaves(policy, name, source.labels)
        domain = generalization_of(policy, name, leaves) if leaves else Hierarchy.flat(["*"])  # no value is shown: all are one
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
    """Published labels that are values by themselves, where a rule grows the hierarchy from the data; groups and stars are none.

    A group without any published value in it cannot be placed; it is then taken to stand for everything, which only raises a bound
    that is from above anyway.
    """
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
    ends = [(found[0], found[1], label) for label in labels if (found := span(label)) is not None]
    ends += [(value, value, label) for label in labels if (value := number(label)) is not None]
    ends.sort(key=lambda one: (one[0], -one[1]))
    met: set[str] = set()
    widest: tuple[Any, Any, str] | None = None
    for one in ends:
        if widest is not None and one[0] <= widest[1]:
            met |= {one[2], widest[2]}
        widest = one if widest is None or one[1] > widest[1] else widest
    return {label for label in met if number(label) is None}


@dataclass(frozen=True)
class Step:
    """Where things stand after a release: links by each join, and what of the full join could not be decided."""

    release: int
    joins: dict[str, Linkage]
    undecided: int


def timeline(
    history: History, column: str, *, only: int = 0, level: float = 0.0, budget: float = 5.0, cohorts: bool = True
) -> list[Step]:
    """After each release (or one of them) the links by the match, the kernel and the full join.

    The full join is decided as far as anybody's number of values depends on it, up to `level` or the kernel's own level.
    """
    found = []
    for r in [only] if only else range(1, len(history) + 1):
        part = History(history.releases[:r])
        sequence = sequence_of(part, column, cohorts=cohorts)
        if sequence is None:
            continue
        labels = _labels(part, column)
        kernel = kernel_join(sequence)
        seen = linkage_of(sequence, kernel, labels)
        wanted = short_of(sequence, kernel, max(level, float(next(iter(seen.spread.values())).distinct().min())))
        verdict = decide(sequence, kernel, wanted=wanted, budget=budget)
        full = seen if not verdict.excluded.any() else linkage_of(sequence, kernel[~verdict.excluded], labels)
        open_links = int(wanted(verdict.admitted, verdict.excluded).sum())
        found.append(
            Step(r, {"match": linkage_of(sequence, match_join(sequence), labels), "kernel": seen, "full": full}, open_links)
        )
    return found
