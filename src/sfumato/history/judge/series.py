"""Judging a requirement over everything that was ever published: with a history no release is judged alone.

Guarantee
    A requirement holds over a history only when its model holds in every joint class (`history.persistent_classes`):
    people whose published cells are equal wherever the sensitive columns stand. For an adversary who joins all releases
    every permutation of the members of such a class is possible. So the count in a class is a lower bound on what that
    adversary cannot distinguish. This is stronger than [sequential Def. 4.2], which counts every row that covers a
    person, so that a few suppressed rows satisfy it for all people (*covering rows*). Claims under the paper's own
    names (`k-linkability`, `k-diversity`) that joint classes do not show, and every requirement of counted values under
    ``by: join``, are decided by the full match join of all releases (`sequence_claims`). Where that takes too long,
    values that joint classes and junction trees (`history.persistent_classes`) prove possible are united for all
    people.

Fail closed
    What the memory of a release does not account for, what cannot be joined, and what adversaries know by ``knows:`` of
    columns that people keep and columns that they trade (`history.persistent_classes`) does not hold.

Invariants
    I1  A claim whose adversary knows all quasi-identifiers of its policy is judged for one who knows those of every
        release.
    I2  Every table that tells a sensitive column is judged, the ones of earlier releases too: what was promised then
        must still hold.


Linked over releases
--------------------
Linked rows over everything that was ever published: people are counted, and values slot by slot and as what people ever
have.

`history.persons` explains why people with equal multisets of rows protect each other. Here they are counted for one
requirement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.linkage import Linkage, ValueDistribution
from sfumato.data.persons import persons_per_value
from sfumato.history.judge.sequence import judge_all_releases
from sfumato.history.persistent_classes import (
    HiddenValues,
    Masks,
    PersistentClasses,
    bundle_of,
    columns_kept_together,
    find_persistent_classes,
    merge_classes,
    values_by_class,
    values_by_tree,
)
from sfumato.history.persons import LinkedPersons, links_rows, require_same_persons
from sfumato.history.published_cells import CellTable, PublishedCells
from sfumato.history.record_identity import (
    may_vary,
    other_name,
    other_rows,
    repeated_rows_message,
    require_one_record_per_row,
)
from sfumato.history.reference_distribution import require_reference_of_series
from sfumato.history.standing_requirements import is_membership_known, release_of_requirement, widen_requirement
from sfumato.policy.privacy_rules import partly_known_dependency
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.rule_reduction import dependencies_of, identifying_columns
from sfumato.release.certificate import NOTHING_PUBLISHED, Finding
from sfumato.release.evidence import below_text, evidence_for
from sfumato.release.past_releases import WHOSE, History
from sfumato.release.view import ReleaseView

AT_LEAST = "bound (at least this much)"


@dataclass(frozen=True)
class ClassVerdict:
    """What the joint classes say about a requirement."""

    achieved: dict[str, object]
    below: int
    """People in classes that break the model, in the table where they are most."""
    people: int
    """All members of a joint class, in any of the tables."""


def is_series(exhibit: ReleaseView) -> bool:
    """Whether a requirement about this release is one about several."""
    return exhibit.history is not None and len(exhibit.history) > 1


def judge_series(exhibit: ReleaseView, claim: PrivacyRequirement, alone: Finding | None) -> Finding:
    """The finding over all releases; what already fails on this release alone fails."""
    history = exhibit.history
    assert history is not None
    if alone is not None and not alone.holds:
        return alone
    reading = evidence_for(exhibit.form)
    if reading.joins_itself:
        for past in history.releases:
            require_one_record_per_row(past)
        return reading.judge_all(exhibit, claim)
    bundles = exhibit.once(published_cells_of)
    wide = widen_requirement(claim, exhibit.policy, bundles.policies)
    require_reference_of_series(wide, bundles)
    _require_untold(bundles, wide)
    _require_one_name(bundles, wide)
    _require_rows_known_again(exhibit, bundles)
    joined = claim.model.joint or exhibit.policy.series.by == "join"
    _require_nothing_invented(bundles, wide, covering=not (joined or is_membership_known_for_view(exhibit)))
    verdict = judge_by_classes(bundles, wide, is_membership_known_for_view(exhibit))  # I1
    what = f"over {len(history)} releases"
    if verdict is None and alone is not None and exhibit.form.replaces:
        return replace(alone, reason=f"{alone.reason}; nothing more {what}".removeprefix("; "))
    if verdict is None:
        reason = f"no release shows the hidden columns, {what}"
        return Finding(
            claim.model.name, True, claim.model.required(), NOTHING_PUBLISHED, claim.given, claim.hide, reason=reason
        )
    if verdict.below and _by_join(exhibit, claim):
        return _joined(exhibit, claim, bundles)
    word = exhibit.policy.candidate_word
    reason = f"{verdict.people} {word} in joint classes {what}"
    if verdict.below:
        reason = f"{below_text(verdict.below, word)} in their joint equivalence classes, {what}"
    level = claim.model.required(), verdict.achieved
    return Finding(claim.model.name, not verdict.below, *level, claim.given, claim.hide, AT_LEAST, reason)


def _require_untold(bundles: PublishedCells, claim: PrivacyRequirement) -> None:
    """Refuse what adversaries know, by the word of any release, when it ties columns that people keep to columns that
    they trade."""
    knows = [each for policy in bundles.policies for each in dependencies_of(policy)]
    bundles, among = (bundles, []) if claim.hide else _apart(bundles, claim)
    shown = {name for sheet in bundles.sheets for name in sheet.columns}
    named = frozenset().union(*(identifying_columns(policy) for policy in bundles.policies))
    tie = partly_known_dependency(named | columns_kept_together(bundles, claim.given, claim.hide, among), shown, knows)
    if tie is not None:
        raise DataError(f"outsiders know {tie}, which may tell who of a joint class traded places in all releases")


def _require_one_name(bundles: PublishedCells, claim: PrivacyRequirement) -> None:
    """Refuse a sensitive column whose values were published under another name, where nothing published ties the
    two."""
    tied = {name for sheet in bundle_of(bundles, claim.hide) for name in sheet.columns} if claim.hide else set()
    found = other_name(bundles.values, claim.hide, {*tied, *bundles.known}, bundles.weights)
    if found is not None:
        raise DataError(
            f"'{found[0]}' says of everybody what '{found[1]}' said: one column under two names is not judged together"
        )


def _require_rows_known_again(exhibit: ReleaseView, bundles: PublishedCells) -> None:
    """Refuse rows of people that are those of an earlier release under other keys."""
    if exhibit.policy.person is None or WHOSE not in bundles.values.newest:
        return
    here = pc.index_in(bundles.history.releases[-1].memory.key_column, value_set=bundles.keys).to_numpy(
        zero_copy_only=False
    )
    new, gone = np.arange(bundles.earlier, bundles.people), np.setdiff1d(np.arange(bundles.earlier), here)
    names = [name for name in may_vary(exhibit.policy, exhibit.data.own) if name in bundles.values.newest]
    found = other_rows(bundles.values, names, new, gone)
    if found is not None:
        raise DataError(f"{repeated_rows_message(found)}: the same rows under other keys are not judged together")


def _require_nothing_invented(bundles: PublishedCells, claim: PrivacyRequirement, *, covering: bool) -> None:
    """Refuse counterfeits that show a value that no earlier release published of the person: it would reveal the
    counterfeit.

    Where cells must be `covering` who is absent, not even what people are known by may be invented: a later cell would
    be taken to cover a person by it."""
    for r, past in enumerate(bundles.history.releases[bundles.kept :], start=bundles.kept):
        if not past.memory.counterfeit.any():
            continue
        gone = pc.index_in(past.memory.key_column.filter(pa.array(past.memory.counterfeit)), value_set=bundles.keys)
        people = gone.to_numpy(zero_copy_only=False)
        shown = {name for sheet in bundles.sheets if r in sheet.releases for name in sheet.columns}
        for name in sorted(name for name in shown if covering or name in claim.hide or not bundles.is_known(name)):
            if not np.any([sheet.stood(people, r) for sheet in bundles.sheets if name in sheet.columns], axis=0).all():
                raise DataError(
                    f"counterfeit rows of release {past.number} show '{name}', which was never "
                    "published for the people they represent"
                )


def _by_join(exhibit: ReleaseView, claim: PrivacyRequirement) -> bool:
    """Whether the full match join may have the last word: the paper's own requirements, and counted values where the
    policy says so."""
    history = exhibit.history or History()
    if history.counted:
        return False  # rows are paired with people one by one
    if any(
        past.cover.policy.knows for past in history.releases
    ):  # which ways to pair rows with people a dependency leaves, the join does not ask
        return False
    return claim.model.joint or (exhibit.policy.series.by == "join" and claim.model.demand().counts_values)


def _joined(exhibit: ReleaseView, claim: PrivacyRequirement, bundles: PublishedCells) -> Finding:
    """The full match join; where it could not be decided in time, what joint classes and junction trees prove without
    it."""
    finding, demand = judge_all_releases(exhibit, claim), claim.model.demand()
    if finding.holds or finding.grade == "exact" or not (demand.counts_values and demand.sufficient):
        return finding
    proved = by_proofs(bundles, widen_requirement(claim, exhibit.policy, bundles.policies))
    return proved if proved.holds else finding


def by_proofs(bundles: PublishedCells, claim: PrivacyRequirement) -> Finding:
    """The requirement on the values that joint classes and junction trees prove possible, united for all people; says
    who by which."""
    model, found, told = claim.model, [], []
    for column in claim.hide:
        joint = find_persistent_classes(bundles, claim.given, (column,))
        values = HiddenValues.told(bundles.tables(), column, bundles.people)
        classes = values_by_class(joint, values)
        both = classes | values_by_tree(bundles, column, values)
        classes[values.changed] = both[values.changed] = 0
        people = np.flatnonzero((joint.of >= 0) & ((values.of >= 0) | values.changed))
        seen = Linkage(*_counts(both[people]), {column: _spread(both[people], values.labels)})
        fine = np.asarray(model.satisfied(seen))
        alone = np.asarray(
            model.satisfied(Linkage(*_counts(classes[people]), {column: _spread(classes[people], values.labels)}))
        )
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


def _spread(masks: Masks, labels: tuple[str, ...]) -> ValueDistribution:
    bits = np.array(
        [(masks[:, v // 64] >> np.uint64(v % 64)) & np.uint64(1) for v in range(len(labels))], dtype=np.bool_
    ).T
    bits = np.where(
        bits.any(axis=1, keepdims=True), bits, np.arange(len(labels)) == 0
    )  # without a proof a person counts as having one value
    start = np.concatenate([[0], np.cumsum(bits.sum(axis=1))]).astype(np.int64)
    value = np.nonzero(bits)[1].astype(np.int64)
    return ValueDistribution(start, value, np.ones(len(value), dtype=np.int64), labels)


def is_membership_known_for_view(exhibit: ReleaseView) -> bool:
    """Whether adversaries may know who is in which release, by the word of this policy or of one before it."""
    return is_membership_known(exhibit.policy, exhibit.history)


def published_cells_of(exhibit: ReleaseView) -> PublishedCells:
    """Everything published, with this release; ask for it with ``exhibit.once(bundles_of)``."""
    history = exhibit.history
    assert history is not None
    bundles = PublishedCells(history)
    for past in history.releases[bundles.kept :]:  # what was kept was accounted for when it was entered
        require_one_record_per_row(past)
    return bundles


def judge_by_classes(bundles: PublishedCells, claim: PrivacyRequirement, cohorts: bool) -> ClassVerdict | None:
    """The requirement on joint classes, at its worst table (I2); nothing when no table tells what it hides."""
    found = _judge_by_classes(bundles, claim, cohorts)
    if cohorts or found is None or not found.below or (bundles.lineage < 0).all():
        return found
    unnumbered = copy(bundles)  # a number is a hint who may trade places; without any, others may be found
    unnumbered.lineage = np.full_like(bundles.lineage, -1)
    return min(found, _judge_by_classes(unnumbered, claim, cohorts) or found, key=lambda one: one.below)


def _judge_by_classes(bundles: PublishedCells, claim: PrivacyRequirement, cohorts: bool) -> ClassVerdict | None:
    joint = persistent_classes_of(bundles, claim, cohorts)
    if links_rows(bundles.history):
        if not cohorts:
            raise DataError("people in several rows are judged for outsiders who know who is in which release")
        found = judge_linked_persons(bundles, joint, claim)
        return None if found is None else ClassVerdict(*found)
    people = bundles.many(joint.of >= 0)
    verdicts = [
        _verdict(claim, linkage, people) for linkage in joint.linkages(claim.hide, each=claim.model.compares_release)
    ]
    if not verdicts:
        return None
    return max(verdicts, key=lambda one: (one.below, *(-level for level in claim.model.strength(one.achieved))))


def records_below(exhibit: ReleaseView, claims: Iterable[PrivacyRequirement]) -> frozenset[str]:
    """Return the keys of the newest release whose absence may mend requirements that fail over all releases.

    These are the members of failing joint classes, and all who shared a class with a member before this release. If a
    departed member stands out, only remaining members can be suppressed."""
    bundles = exhibit.once(published_cells_of)
    if links_rows(bundles.history) or bundles.weights is not None:
        return frozenset()
    before, cohorts = bundles.until(bundles.newest - 1), is_membership_known_for_view(exhibit)
    chosen = np.zeros(bundles.people, dtype=np.bool_)
    for claim in (widen_requirement(claim, exhibit.policy, bundles.policies) for claim in claims):
        joint = persistent_classes_of(bundles, claim, cohorts)
        below = np.zeros(bundles.people, dtype=np.bool_)
        for linkage, classes in joint.linkages_with_classes(claim.hide, each=claim.model.compares_release):
            below |= np.isin(joint.of, classes[~np.asarray(claim.model.satisfied(linkage))])
        earlier = find_persistent_classes(before, claim.given, claim.hide, among=() if claim.hide else before.sheets)
        chosen |= below | np.isin(earlier.of, np.setdiff1d(earlier.of[below], [-1]))
    newest = bundles.history.releases[-1].memory
    here = pc.index_in(newest.key_column, value_set=bundles.keys).to_numpy(zero_copy_only=False).astype(np.int64)
    return frozenset(key for key, person in zip(newest.keys, here.tolist(), strict=True) if chosen[person])


def levels_after_each_release(
    bundles: PublishedCells, claim: PrivacyRequirement, cohorts: bool
) -> list[tuple[int, ClassVerdict]]:
    """(release, verdict on joint classes) after each release that an adversary could join; all of one numbering of
    people."""
    found = []
    for r in range(len(bundles.history)):
        verdict = judge_by_classes(bundles.until(r), claim, cohorts)
        if verdict is not None:
            found.append((bundles.history.releases[r].number, verdict))
    return found


def persistent_classes_of(bundles: PublishedCells, claim: PrivacyRequirement, cohorts: bool) -> PersistentClasses:
    """The joint classes of a requirement, for adversaries who know who is in which release or who do not."""
    bundles, among = (bundles, []) if claim.hide else _apart(bundles, claim)
    joint = find_persistent_classes(bundles, claim.given, claim.hide, among=among)
    if not cohorts and bundles.weights is not None:
        raise DataError("where outsiders do not know who is in which release, people are judged one by one")
    return joint if cohorts else merge_classes(bundles, joint)


def _apart(bundles: PublishedCells, claim: PrivacyRequirement) -> tuple[PublishedCells, list[CellTable]]:
    """Everything published, and the tables of the release that a requirement is about which hides nothing."""
    policies = [past.cover.policy for past in reversed(bundles.history.releases[: bundles.newest + 1])]
    return bundles.apart(bundles.newest - release_of_requirement(claim, policies))


def _verdict(claim: PrivacyRequirement, linkage: Linkage, people: int) -> ClassVerdict:
    holds = claim.model.satisfied(linkage)
    return ClassVerdict(claim.model.achieved(linkage), int(linkage.people[~holds].sum()), people)


# Linked over releases
# --------------------


def judge_linked_persons(
    bundles: PublishedCells, joint: PersistentClasses, claim: PrivacyRequirement
) -> tuple[dict[str, Any], int, int] | None:
    """Return the worst achieved level, the persons in violating classes, and all persons; None if no table publishes
    the protected columns."""
    model = claim.model
    require_same_persons(bundles.policies[0], bundles.history)
    if model.joint or not model.demand().sufficient:
        raise DataError("it is not defined for people in several rows")
    people = LinkedPersons(bundles)
    of = people.classes(joint)
    many = np.bincount(of[of >= 0])
    seen = (
        list(_of_values(people, joint, claim, of, many))
        if claim.hide
        else [(Linkage(many, many), np.arange(len(many)))]
    )
    if not seen or not len(many):
        return None
    broken = many < model.demand().candidates
    for linkage, classes in seen:
        broken[classes[~np.asarray(model.satisfied(linkage))]] = True
    worst = min((model.achieved(linkage) for linkage, _ in seen), key=model.strength)
    achieved = dict(worst)
    if "k" in achieved:  # people without a published sensitive value are candidates of each other, too
        achieved["k"] = min(achieved["k"], int(many.min()))
    return achieved, int(many[broken].sum()), int(many.sum())


def _of_values(
    people: LinkedPersons, joint: PersistentClasses, claim: PrivacyRequirement, of: IntArray, many: IntArray
) -> Iterator[tuple[Linkage, IntArray]]:
    """What classes of people leave an adversary of sensitive values, and the class that each is about."""
    for name in claim.hide:
        values, labels = people.values(joint, name)
        told = np.flatnonzero((values >= 0) & (joint.of >= 0))
        if not len(told):
            continue
        classes, kind = np.unique(of[people.whose[told]], return_inverse=True)
        kind = kind.astype(np.int64)
        slots = equivalence_classes_of([kind, joint.of[told]], rows=len(told))
        mine = classes[kind[slots.first]]
        yield (
            Linkage(
                many[mine], many[mine], {name: ValueDistribution.count(slots.of, values[told], len(slots), labels)}
            ),
            mine,
        )
        ever = persons_per_value(values[told], labels, kind, people.whose[told], many[classes])
        yield Linkage(many[classes], many[classes], {name: ever}), classes
