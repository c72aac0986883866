"""What was promised with all releases so far: the requirements of a policy, and those of earlier releases that it does
not make anew.

Invariants
    I1  A claim whose adversary knows all quasi-identifiers of its policy is about an adversary who knows those of every
        release.
    I2  A promise is replaced only by one of the same model and kind about the same sensitive columns, to an adversary
        who knows as much; everything else still stands. A promise about noise, which every further publication wears
        down, is replaced only by one that is as strict.
    I3  An adversary who was once taken to know who is in which release knows it from then on.
    I4  A promise that hides no column is about the rows of its own release: whose they are, later ones may tell by
        columns that nobody is known by and that tie them to it, through others if need be. Where nothing does, they
        leave it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sfumato.data.linkage import Linkage
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.past_releases import History


def standing_requirements(policy: Policy, history: History) -> list[PrivacyRequirement]:
    """All requirements that a release under `policy` must keep together with what came before."""
    policies = [policy, *(past.cover.policy for past in reversed(history.releases))]
    return [
        *(widen_requirement(claim, policy, policies) for claim in policy.claims),
        *earlier_requirements(policy, history),
    ]


def earlier_requirements(policy: Policy, history: History) -> list[PrivacyRequirement]:
    """Claims of earlier releases that the policy does not replace (I2), the newest first."""
    policies = [policy, *(past.cover.policy for past in reversed(history.releases))]
    said = [widen_requirement(claim, policy, policies) for claim in policy.claims]
    found: list[PrivacyRequirement] = []
    for past, tied in zip(policies[1:], tied_to_first(policies)[1:], strict=True):
        stated = [widen_requirement(claim, past, policies) for claim in past.claims if tied or _stands(claim)]
        found += [claim for claim in stated if not any(_replaces(other, claim) for other in [*said, *found])]
    return found


def is_membership_known(policy: Policy, history: History | None = None) -> bool:
    """Whether adversaries are taken to know who is in which release, by this policy or one before it: they do not
    forget (I3)."""
    every = [policy, *(past.cover.policy for past in (history.releases if history is not None else ()))]
    said = [
        (one.method.parameters.get("cohorts") if one.method is not None else None) or one.series.cohorts
        for one in every
    ]
    return "known" in said


def tied_to_first(policies: Sequence[Policy]) -> list[bool]:
    """Whether columns that nobody is known by tie the release of each policy to that of the first (I4)."""
    known = known_columns(policies)
    shown = [set(policy.published) - known for policy in policies]
    reach = shown[0]
    while (more := reach.union(*(names for names in shown if names & reach))) > reach:
        reach = more
    return [True, *(bool(names & reach) for names in shown[1:])]


def known_columns(policies: Iterable[Policy]) -> frozenset[str]:
    """Columns that an adversary may know people by: quasi-identifiers, and what some claim gives, by the word of any of
    them."""
    different = list({id(policy): policy for policy in policies}.values())
    roles = {
        name for policy in different for name, column in policy.columns.items() if column.role == "quasi-identifier"
    }
    return frozenset(roles | {name for policy in different for claim in policy.claims for name in claim.given})


def release_of_requirement(claim: PrivacyRequirement, policies: Sequence[Policy]) -> int:
    """Which release a requirement that hides nothing is about, by its place among policies, the newest first (I4): the
    newest that makes it and hangs together with the first; the first itself where none does."""
    tied = tied_to_first(policies)
    for place, policy in enumerate(policies):
        if tied[place] and any(
            _about(one) == _about(claim) and set(one.given) <= set(claim.given) for one in policy.claims
        ):
            return place
    return 0


def _replaces(new: PrivacyRequirement, old: PrivacyRequirement) -> bool:
    """Whether a requirement makes an earlier one anew: nobody who was counted on then knows more than who is counted on
    now (I2)."""
    return _about(new) == _about(old) and set(new.given) >= set(old.given)


def _stands(claim: PrivacyRequirement) -> bool:
    """Whether later releases could take back what was promised, whichever they are."""
    return bool(claim.hide) or claim.model.judges is not Linkage


def _about(claim: PrivacyRequirement) -> tuple[str, object]:
    level = sorted(claim.model.required().items())
    if claim.model.judges is not Linkage:
        return claim.model.name, repr(level)
    return claim.model.name, (frozenset(claim.hide), *(value for _, value in level if isinstance(value, str)))


def widen_requirement(claim: PrivacyRequirement, own: Policy, policies: Sequence[Policy]) -> PrivacyRequirement:
    """The requirement for an adversary who knows the quasi-identifiers of every release, when it is about all of its
    own (I1)."""
    if not claim.model.joint and not set(claim.given) >= set(own.quasi_identifiers):
        return claim
    known = {
        name for policy in policies for name, column in policy.columns.items() if column.role == "quasi-identifier"
    }
    return replace(claim, given=(*claim.given, *sorted(known - set(claim.given) - set(claim.hide))))
