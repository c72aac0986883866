"""Judging a claim over everything that was ever published: with a history no release is judged alone.

Guarantee
    A claim holds over a history only when its model holds in every joint class (`history.joint`): people whose published cells are
    equal wherever the hidden columns stand. Whoever joins all releases can permute the members of such a class as a whole, so
    what is counted in a class is what that outsider is left with, at least. This is stronger than [sequential Def. 4.2], which
    counts every row that covers somebody, and which a few suppressed rows satisfy for everybody (*alibi rows*).
    Claims under the paper's own names (`k-linkability`, `k-diversity`) that joint classes do not show, and every claim of counted
    values under ``by: join``, are decided by the full match join of all releases (`sequence_claims`). Where that takes too long,
    values that joint classes and junction trees (`history.trees`) prove possible are united for everybody.

Fail closed
    What the memory of a release does not account for, what cannot be joined, and what outsiders know by ``knows:`` of columns that
    people keep and columns that they trade (`history.joint`) does not hold.

Invariants
    I1  A claim whose outsider knows all quasi-identifiers of its policy is judged for one who knows those of every release.
    I2  Every table that tells a hidden column is judged, the ones of earlier releases too: what was promised then must still hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audit.accounting import require_accounted
from sfumato.audit.base import reading_of
from sfumato.audit.linked_over_releases import judged_for_people
from sfumato.audit.sequence_claims import judge_together
from sfumato.data.arrays import IntArray
from sfumato.data.linkage import Linkage, Spread
from sfumato.decomposition.dependencies import half_known
from sfumato.errors import DataError
from sfumato.history.bundles import Bundles
from sfumato.history.joint import Joint, bundle_of, joint_classes, kept_columns
from sfumato.history.known_again import may_vary, other_name, other_rows, said_again
from sfumato.history.linked_people import ties_rows
from sfumato.history.people_sheet import PeopleSheet
from sfumato.history.promises import cohorts_told, spoken_of, widened
from sfumato.history.trees import HiddenValues, Masks, by_class, by_tree
from sfumato.history.united import united_classes
from sfumato.policy.claims import Claim
from sfumato.policy.privacy import dependencies_of, names_of_people
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.honesty import NOTHING_PUBLISHED
from sfumato.release.past import WHOSE, History

AT_LEAST = "bound (at least this much)"


@dataclass(frozen=True)
class ClassVerdict:
    """What the joint classes say about a claim."""

    achieved: dict[str, object]
    below: int
    """People in classes that break the model, in the table where they are most."""
    people: int
    """Everybody who stands in a joint class, in whichever of the tables."""


def is_series(exhibit: Exhibit) -> bool:
    """Whether a claim about this release is one about several."""
    return exhibit.history is not None and len(exhibit.history) > 1


def judge_series(exhibit: Exhibit, claim: Claim, alone: Finding | None) -> Finding:
    """The finding over all releases; what already fails on this release alone fails."""
    history = exhibit.history
    assert history is not None
    if alone is not None and not alone.holds:
        return alone
    reading = reading_of(exhibit.form)
    if reading.joins_itself:
        for past in history.releases:
            require_accounted(past)
        return reading.judge_all(exhibit, claim)
    bundles = exhibit.once(bundles_of)
    wide = widened(claim, exhibit.policy, bundles.policies)
    _require_untold(bundles, wide)
    _require_one_name(bundles, wide)
    _require_rows_known_again(exhibit, bundles)
    joined = claim.model.joint or exhibit.policy.series.by == "join"
    _require_nothing_invented(bundles, wide, covering=not (joined or cohorts_known(exhibit)))
    verdict = by_classes(bundles, wide, cohorts_known(exhibit))  # I1
    what = f"over {len(history)} releases"
    if verdict is None and alone is not None and exhibit.form.replaces:
        return replace(alone, reason=f"{alone.reason}; nothing more {what}".removeprefix("; "))
    if verdict is None:
        reason = f"no release shows the hidden columns, {what}"
        return Finding(claim.model.name, True, claim.model.required(), NOTHING_PUBLISHED, claim.given, claim.hide, reason=reason)
    if verdict.below and _by_join(exhibit, claim):
        return _joined(exhibit, claim, bundles)
    word = exhibit.policy.candidate_word
    reason = f"{verdict.people} {word} in joint classes {what}"
    if verdict.below:
        reason = f"{verdict.below} {word} stand in joint classes that fall below, {what}"
    level = claim.model.required(), verdict.achieved
    return Finding(claim.model.name, not verdict.below, *level, claim.given, claim.hide, AT_LEAST, reason)


def _require_untold(bundles: Bundles, claim: Claim) -> None:
    """Refuse what outsiders know, by the word of any release, when it ties columns that people keep to columns that they trade."""
    knows = [each for policy in bundles.policies for each in dependencies_of(policy)]
    bundles, among = (bundles, []) if claim.hide else _apart(bundles, claim)
    shown = {name for sheet in bundles.sheets for name in sheet.columns}
    named = frozenset().union(*(names_of_people(policy) for policy in bundles.policies))
    tie = half_known(named | kept_columns(bundles, claim.given, claim.hide, among), shown, knows)
    if tie is not None:
        raise DataError(f"outsiders know {tie}, which may tell who of a joint class traded places in all releases")


def _require_one_name(bundles: Bundles, claim: Claim) -> None:
    """Refuse a hidden column whose values were published under another name, where nothing published ties the two."""
    tied = {name for sheet in bundle_of(bundles, claim.hide) for name in sheet.columns} if claim.hide else set()
    found = other_name(bundles.values, claim.hide, {*tied, *bundles.known}, bundles.weights)
    if found is not None:
        raise DataError(f"'{found[0]}' says of everybody what '{found[1]}' said: one column under two names is not judged together")


def _require_rows_known_again(exhibit: Exhibit, bundles: Bundles) -> None:
    """Refuse rows of people that are those of an earlier release under other keys."""
    if exhibit.policy.person is None or WHOSE not in bundles.values.newest:
        return
    here = pc.index_in(bundles.history.releases[-1].memory.key_column, value_set=bundles.keys).to_numpy(zero_copy_only=False)
    new, gone = np.arange(bundles.earlier, bundles.people), np.setdiff1d(np.arange(bundles.earlier), here)
    names = [name for name in may_vary(exhibit.policy, exhibit.data.own) if name in bundles.values.newest]
    found = other_rows(bundles.values, names, new, gone)
    if found is not None:
        raise DataError(f"{said_again(found)}: the same rows under other keys are not judged together")


def _require_nothing_invented(bundles: Bundles, claim: Claim, *, covering: bool) -> None:
    """Refuse rows that stand in for people and show what no earlier release told of them: that would tell which rows these are.

    Where cells must be `covering` who is absent, not even what people are known by may be invented: a later cell would be taken to
    cover somebody by it.
    """
    for r, past in enumerate(bundles.history.releases[bundles.kept :], start=bundles.kept):
        if not past.memory.counterfeit.any():
            continue
        gone = pc.index_in(past.memory.key_column.filter(pa.array(past.memory.counterfeit)), value_set=bundles.keys)
        people = gone.to_numpy(zero_copy_only=False)
        shown = {name for sheet in bundles.sheets if r in sheet.releases for name in sheet.columns}
        for name in sorted(name for name in shown if covering or name in claim.hide or not bundles.is_known(name)):
            if not np.any([sheet.stood(people, r) for sheet in bundles.sheets if name in sheet.columns], axis=0).all():
                raise DataError(f"rows of release {past.number} that stand in for people show '{name}', which was not told of them")


def _by_join(exhibit: Exhibit, claim: Claim) -> bool:
    """Whether the full match join may have the last word: the paper's own claims, and counted values where the policy says so."""
    history = exhibit.history or History()
    if history.counted:
        return False  # rows are paired with people one by one
    if any(
        past.cover.policy.knows for past in history.releases
    ):  # which ways to pair rows with people a dependency leaves, the join does not ask
        return False
    return claim.model.joint or (exhibit.policy.series.by == "join" and claim.model.demand().counts_values)


def _joined(exhibit: Exhibit, claim: Claim, bundles: Bundles) -> Finding:
    """The full match join; where it could not be decided in time, what joint classes and junction trees prove without it."""
    finding, demand = judge_together(exhibit, claim), claim.model.demand()
    if finding.holds or finding.grade == "exact" or not (demand.counts_values and demand.sufficient):
        return finding
    proved = by_proofs(bundles, widened(claim, exhibit.policy, bundles.policies))
    return proved if proved.holds else finding


def by_proofs(bundles: Bundles, claim: Claim) -> Finding:
    """The claim on the values that joint classes and junction trees prove possible, united for everybody; says who by which."""
    model, found, told = claim.model, [], []
    for column in claim.hide:
        joint = joint_classes(bundles, claim.given, (column,))
        values = HiddenValues.told(bundles.tables(), column, bundles.people)
        classes = by_class(joint, values)
        both = classes | by_tree(bundles, column, values)
        classes[values.changed] = both[values.changed] = 0
        people = np.flatnonzero((joint.of >= 0) & ((values.of >= 0) | values.changed))
        seen = Linkage(*_counts(both[people]), {column: _spread(both[people], values.labels)})
        fine = np.asarray(model.satisfied(seen))
        alone = np.asarray(model.satisfied(Linkage(*_counts(classes[people]), {column: _spread(classes[people], values.labels)})))
        fine &= np.bitwise_count(both[people]).sum(axis=1) > 0
        found.append((int((~fine).sum()), model.achieved(seen)))
        told.append(f"{int(alone.sum())} people by joint classes, {int((fine & ~alone).sum())} more by junction trees")
    below, achieved = max(found, key=lambda one: (one[0], *(-level for level in model.strength(one[1]))))
    reason = "; ".join(told) + (f"; {below} by neither" if below else "") + f", over {len(bundles.history)} releases"
    return Finding(model.name, not below, model.required(), achieved, claim.given, claim.hide, AT_LEAST, reason)


def _counts(masks: Masks) -> tuple[IntArray, IntArray]:
    """Everybody once, and a candidate for every value."""
    ones = np.ones(len(masks), dtype=np.int64)
    return ones, np.bitwise_count(masks).sum(axis=1).astype(np.int64)


def _spread(masks: Masks, labels: tuple[str, ...]) -> Spread:
    bits = np.array([(masks[:, v // 64] >> np.uint64(v % 64)) & np.uint64(1) for v in range(len(labels))], dtype=np.bool_).T
    bits = np.where(bits.any(axis=1, keepdims=True), bits, np.arange(len(labels)) == 0)  # whoever has nothing proved has one value
    start = np.concatenate([[0], np.cumsum(bits.sum(axis=1))]).astype(np.int64)
    value = np.nonzero(bits)[1].astype(np.int64)
    return Spread(start, value, np.ones(len(value), dtype=np.int64), labels)


def cohorts_known(exhibit: Exhibit) -> bool:
    """Whether outsiders may know who is in which release, by the word of this policy or of one before it."""
    return cohorts_told(exhibit.policy, exhibit.history)


def bundles_of(exhibit: Exhibit) -> Bundles:
    """Everything published, with this release; ask for it with ``exhibit.once(bundles_of)``."""
    history = exhibit.history
    assert history is not None
    bundles = Bundles(history)
    for past in history.releases[bundles.kept :]:  # what was kept was accounted for when it was entered
        require_accounted(past)
    return bundles


def by_classes(bundles: Bundles, claim: Claim, cohorts: bool) -> ClassVerdict | None:
    """The claim on joint classes, at its worst table (I2); nothing when no table tells what it hides."""
    joint = joint_of(bundles, claim, cohorts)
    if ties_rows(bundles.history):
        if not cohorts:
            raise DataError("people in several rows are judged for outsiders who know who is in which release")
        found = judged_for_people(bundles, joint, claim)
        return None if found is None else ClassVerdict(*found)
    people = bundles.many(joint.of >= 0)
    verdicts = [_verdict(claim, linkage, people) for linkage in joint.linkages(claim.hide, each=claim.model.compares)]
    if not verdicts:
        return None
    return max(verdicts, key=lambda one: (one.below, *(-level for level in claim.model.strength(one.achieved))))


def levels_after(bundles: Bundles, claim: Claim, cohorts: bool) -> list[tuple[int, ClassVerdict]]:
    """(release, verdict on joint classes) after each release that an outsider could join; all of one numbering of people."""
    found = []
    for r in range(len(bundles.history)):
        verdict = by_classes(bundles.until(r), claim, cohorts)
        if verdict is not None:
            found.append((bundles.history.releases[r].number, verdict))
    return found


def joint_of(bundles: Bundles, claim: Claim, cohorts: bool) -> Joint:
    """The joint classes of a claim, for outsiders who know who is in which release or who do not."""
    bundles, among = (bundles, []) if claim.hide else _apart(bundles, claim)
    joint = joint_classes(bundles, claim.given, claim.hide, among=among)
    if not cohorts and bundles.weights is not None:
        raise DataError("where outsiders do not know who is in which release, people are judged one by one")
    return joint if cohorts else united_classes(bundles, joint)


def _apart(bundles: Bundles, claim: Claim) -> tuple[Bundles, list[PeopleSheet]]:
    """Everything published, and the tables of the release that a claim is about which hides nothing."""
    policies = [past.cover.policy for past in reversed(bundles.history.releases[: bundles.newest + 1])]
    return bundles.apart(bundles.newest - spoken_of(claim, policies))


def _verdict(claim: Claim, linkage: Linkage, people: int) -> ClassVerdict:
    holds = claim.model.satisfied(linkage)
    return ClassVerdict(claim.model.achieved(linkage), int(linkage.people[~holds].sum()), people)
