"""What the releases in a ledger mean for the next one, in sentences, before it is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from sfumato.audit.accounting import require_accounted
from sfumato.audit.base import reading_of
from sfumato.audit.series import by_classes
from sfumato.decomposition.dependencies import half_known
from sfumato.errors import LedgerError, SfumatoError
from sfumato.history.bundles import Bundles
from sfumato.history.promises import cohorts_told, promises, standing, widened
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.policy.privacy import dependencies_of, names_of_people
from sfumato.release.form import Form
from sfumato.release.past import History


def bound_by_history(history: History, policy: Policy, ledger: str) -> Iterator[str]:
    """What the releases in a ledger mean for the next one."""
    if not history:
        yield f"ledger: {ledger} is empty; this will be the first release"
        return
    yield f"ledger: {len(history)} earlier release(s) in {ledger}; every claim is judged over all of them and this one"
    reading = reading_of(history.releases[-1].cover.form)
    for past in history.releases if history.kept is None else ():
        require_accounted(past)
    if reading.joins_itself:
        yield from reading.so_far(history, policy)
        return
    bundles = Bundles(history)
    for claim in policy.claims:
        yield from _so_far(bundles, widened(claim, policy, [policy, *bundles.policies]), policy)
    for claim in standing(policy, history):
        yield f"promised before and still judged: {claim}{about_hidden(claim.hide)}"
    shared = sorted({name for past in history.releases for name in past.published} & set(policy.published))
    new = [name for name in policy.published if name not in shared]
    yield f"shared with earlier releases: {', '.join(shared) or 'nothing'}; new: {', '.join(new) or 'nothing'}"
    if cohorts_told(policy):
        yield "outsiders may know who is in which release: people who are new form groups of their own"


def require_company(history: History | None, form: type[Form]) -> None:
    """Refuse a release that cannot be judged together with what the ledger has."""
    strange = [past for past in (history or History()).releases if past.cover.form.company != form.company]
    if strange:
        raise LedgerError(
            f"release {strange[0].number} of this ledger is a {strange[0].cover.form}; a {form.name} cannot be judged with it",
            hint="what is of another kind has a ledger of its own",
        )


def require_untold(history: History | None, policy: Policy) -> None:
    """Refuse a release where what outsiders know, by the word of any policy, ties what a promise gives to the rest."""
    past = (history or History()).releases
    policies = [policy, *(one.cover.policy for one in reversed(past))]
    knows = [each for one in policies for each in dependencies_of(one)]
    if not past or not knows:
        return
    shown = {name for one in policies for name in one.published}
    named = {name for one in policies for name in names_of_people(one)}
    for claim in promises(policy, History(past)):
        tie = half_known({*named, *claim.given}, shown, knows)
        if tie is not None:
            what = f"outsiders know {tie}, which ties what {claim} gives to what it does not, over {len(past) + 1} releases"
            raise LedgerError(what, hint="take it out of 'knows:' if outsiders do not really know it")


def require_as_careful(history: History | None, policy: Policy) -> None:
    """Refuse a release whose outsiders know less of who is in which release than those of an earlier one."""
    careful = next((past for past in (history or History()).releases if cohorts_told(past.cover.policy)), None)
    if careful is not None and not cohorts_told(policy):
        raise LedgerError(
            f"release {careful.number} promised something to people whose coming and going outsiders may know ('cohorts: known')",
            hint="say 'series: {cohorts: known}': what was promised still stands, and 'unknown' would break it when people leave",
        )


def told_already(history: History, policy: Policy) -> Iterator[str]:
    """Why no release under a policy can keep its claims, whatever the method does: what earlier releases say stays said."""
    for past in history.releases:
        before = past.cover.policy
        for name in (name for name in policy.published if name in before.published):
            roles = [one.columns[name].role == "quasi-identifier" for one in (before, policy)]
            if roles[0] != roles[1]:
                now, then = ("known", "hidden") if roles[1] else ("hidden", "known")
                yield f"'{name}' is {now} to outsiders in this policy and was {then} to those of release {past.number}"
    bundles = Bundles(History(history.releases))
    for claim in policy.claims:
        wide = widened(claim, policy, [policy, *bundles.policies])
        with suppress(SfumatoError):  # what cannot be judged without the new release says nothing about it
            found = by_classes(bundles, wide, cohorts_told(policy, history))
            if found is not None and found.below:
                level = ", ".join(f"{key} {value}" for key, value in found.achieved.items())
                yield f"earlier releases leave {claim.model.name} at {level}, and no further release can raise it"


def about_hidden(hide: Sequence[str]) -> str:
    """What a promise is about, as words that follow its name."""
    return f" of {', '.join(hide)}" if hide else ""


def _so_far(bundles: Bundles, claim: Claim, policy: Policy) -> Iterator[str]:
    """How a claim stands after the releases so far."""
    about = about_hidden(claim.hide)
    if claim.hide and not any(name in sheet.columns for sheet in bundles.sheets for name in claim.hide):
        yield f"{', '.join(claim.hide)} was never published, so earlier releases do not bind this one there"
        return
    found = by_classes(bundles, claim, cohorts_told(policy))
    if found is not None:
        level = ", ".join(f"{key} {value}" for key, value in found.achieved.items())
        after = f"after release {len(bundles.history)}"
        yield f"{after} {claim.model.name}{about} stands at {level} in joint classes; no further release can raise it"
