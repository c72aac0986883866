"""What the releases in a ledger mean for the next one, in sentences, before it is made.


Earlier promises
----------------
What earlier releases promised still holds with this one beside them; a promise that the policy makes anew is judged
there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import ClassVar

from sfumato.core.errors import LedgerError, NotAssessed, SfumatoError
from sfumato.core.wording import Wording
from sfumato.history.judge.series import is_series, judge_by_classes, judge_series, published_cells_of, records_below
from sfumato.history.published_cells import PublishedCells
from sfumato.history.record_identity import require_one_record_per_row
from sfumato.history.reference_distribution import with_reference
from sfumato.history.standing_requirements import (
    earlier_requirements,
    is_membership_known,
    standing_requirements,
    widen_requirement,
)
from sfumato.policy.policy import Policy
from sfumato.policy.privacy_rules import partly_known_dependency
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.rule_reduction import dependencies_of, identifying_columns
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.evidence import Check, evidence_for
from sfumato.release.form import Form
from sfumato.release.past_releases import History
from sfumato.release.view import ReleaseView


def describe_history_constraints(history: History, policy: Policy, ledger: str) -> Iterator[str]:
    """What the releases in a ledger mean for the next one."""
    if not history:
        yield f"ledger: {ledger} is empty; this will be the first release"
        return
    yield f"ledger: {len(history)} earlier release(s) in {ledger}; every claim is judged over all of them and this one"
    reading = evidence_for(history.releases[-1].cover.form)
    for past in history.releases if history.kept is None else ():
        require_one_record_per_row(past)
    if reading.joins_itself:
        yield from reading.so_far(history, policy)
        return
    bundles = PublishedCells(history)
    for claim in policy.claims:
        yield from _so_far(bundles, widen_requirement(claim, policy, [policy, *bundles.policies]), policy)
    for claim in earlier_requirements(policy, history):
        yield f"promised before and still judged: {claim}{describe_sensitive_columns(claim.hide)}"
    shared = sorted({name for past in history.releases for name in past.published} & set(policy.published))
    new = [name for name in policy.published if name not in shared]
    yield f"shared with earlier releases: {', '.join(shared) or 'nothing'}; new: {', '.join(new) or 'nothing'}"
    if is_membership_known(policy):
        yield "outsiders may know who is in which release: people who are new form groups of their own"


def require_compatible_forms(history: History | None, form: type[Form]) -> None:
    """Refuse a release that cannot be judged together with what the ledger has."""
    strange = [past for past in (history or History()).releases if past.cover.form.company != form.company]
    if strange:
        raise LedgerError(
            f"release {strange[0].number} of this ledger is a {strange[0].cover.form}; a {form.name} cannot be judged"
            " with it",
            hint="what is of another kind has a ledger of its own",
        )


def require_no_background_link(history: History | None, policy: Policy) -> None:
    """Refuse a release where what adversaries know, by the word of any policy, ties what a promise gives to the
    rest."""
    past = (history or History()).releases
    policies = [policy, *(one.cover.policy for one in reversed(past))]
    knows = [each for one in policies for each in dependencies_of(one)]
    if not past or not knows:
        return
    shown = {name for one in policies for name in one.published}
    named = {name for one in policies for name in identifying_columns(one)}
    for claim in standing_requirements(policy, History(past)):
        tie = partly_known_dependency({*named, *claim.given}, shown, knows)
        if tie is not None:
            what = (
                f"outsiders know {tie}, which ties what {claim} gives to what it does not, over {len(past) + 1}"
                " releases"
            )
            raise LedgerError(what, hint="take it out of 'knows:' if outsiders do not really know it")


def require_no_weaker_adversary(history: History | None, policy: Policy) -> None:
    """Refuse a release whose adversaries know less of who is in which release than those of an earlier one."""
    careful = next((past for past in (history or History()).releases if is_membership_known(past.cover.policy)), None)
    if careful is not None and not is_membership_known(policy):
        raise LedgerError(
            f"release {careful.number} promised something to people whose coming and going outsiders may know"
            " ('cohorts: known')",
            hint=(
                "say 'series: {cohorts: known}': what was promised still stands, and 'unknown' would break it when"
                " people leave"
            ),
        )


def already_disclosed(history: History, policy: Policy) -> Iterator[str]:
    """Why no release under a policy can keep its requirements, whatever the method does: what earlier releases say
    stays said."""
    for past in history.releases:
        before = past.cover.policy
        for name in (name for name in policy.published if name in before.published):
            roles = [one.columns[name].role == "quasi-identifier" for one in (before, policy)]
            if roles[0] != roles[1]:
                now, then = ("known", "hidden") if roles[1] else ("hidden", "known")
                yield f"'{name}' is {now} to outsiders in this policy and was {then} to those of release {past.number}"
    bundles = PublishedCells(History(history.releases))
    for claim in policy.claims:
        wide = widen_requirement(claim, policy, [policy, *bundles.policies])
        with suppress(SfumatoError):  # a requirement that needs the new release does not restrict it
            found = judge_by_classes(bundles, wide, is_membership_known(policy, history))
            if found is not None and found.below:
                level = ", ".join(f"{key} {value}" for key, value in found.achieved.items())
                yield f"earlier releases leave {claim.model.name} at {level}, and no further release can raise it"


def describe_sensitive_columns(hide: Sequence[str]) -> str:
    """What a promise is about, as words that follow its name."""
    return f" of {', '.join(hide)}" if hide else ""


def _so_far(bundles: PublishedCells, claim: PrivacyRequirement, policy: Policy) -> Iterator[str]:
    """How a requirement stands after the releases so far."""
    about = describe_sensitive_columns(claim.hide)
    if claim.hide and not any(name in sheet.columns for sheet in bundles.sheets for name in claim.hide):
        yield f"{', '.join(claim.hide)} was never published, so earlier releases do not bind this one there"
        return
    found = judge_by_classes(bundles, claim, is_membership_known(policy))
    if found is not None:
        level = ", ".join(f"{key} {value}" for key, value in found.achieved.items())
        after = f"after release {len(bundles.history)}"
        yield f"{after} {claim.model.name}{about} stands at {level} in joint classes; no further release can raise it"


# Earlier promises
# ----------------


class EarlierPromises(Check):
    """Every requirement of an earlier release holds over everything published, this release included."""

    name: ClassVar[str] = "earlier promises"
    words: ClassVar[Wording] = Wording(
        title="Earlier guarantees",
        code="earlier-guarantees",
        group="privacy",
        holds="All guarantees of earlier releases still hold together with this one.",
        violated="{found.broken guarantee/guarantees} of earlier releases no longer hold with this release: {reason}",
    )
    steady: ClassVar[bool] = False
    on_classes: ClassVar[bool] = True

    def ready(self, exhibit: ReleaseView) -> bool:
        return is_series(exhibit) and bool(_standing(exhibit))

    def examine(self, exhibit: ReleaseView) -> Finding:
        if exhibit.counted and not (exhibit.history is not None and exhibit.history.counted):
            raise NotAssessed("nobody judges several releases where only different rows with their counts are at hand")
        found = [judge_series(exhibit, claim, None) for claim in _standing(exhibit)]
        broken = [finding for finding in found if not finding.holds]
        left = [finding for finding in found if finding.open]
        reason = "; ".join(
            f"{each.model}{describe_sensitive_columns(each.hide)}: {each.reason}" for each in broken or left
        )
        if left and not broken:
            return Finding(self.name, True, {"broken": 0}, {}, grade=NOT_JUDGED, reason=reason)
        return Finding(self.name, not broken, {"broken": 0}, {"broken": len(broken)}, reason=reason)


def records_to_leave_out(exhibit: ReleaseView) -> frozenset[str]:
    """Return the keys of records without which the requirements of all releases may hold; nothing where that is not
    known."""
    with suppress(SfumatoError):
        return records_below(exhibit, [*exhibit.policy.claims, *_standing(exhibit)])
    return frozenset()


def _standing(exhibit: ReleaseView) -> list[PrivacyRequirement]:
    history = exhibit.history or History()
    bundles = exhibit.once(published_cells_of)
    return [
        with_reference(claim, bundles) for claim in earlier_requirements(exhibit.policy, History(history.releases[:-1]))
    ]
