"""What was promised with all releases so far: the claims of a policy, and those of earlier releases that it does not make anew.

Invariants
    I1  A claim whose outsider knows all quasi-identifiers of its policy is about an outsider who knows those of every release.
    I2  A promise is replaced only by one of the same model about the same hidden columns, to an outsider who knows as much;
        everything else still stands. A promise about noise, which every further publication wears down, is replaced only by one
        that is as strict.
    I3  An outsider who was once taken to know who is in which release knows it from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.data.linkage import Linkage
from sfumato.policy.claims import Claim
from sfumato.policy.policy import Policy
from sfumato.release.past import History


def promises(policy: Policy, history: History) -> list[Claim]:
    """All claims that a release under `policy` must keep together with what came before."""
    policies = [policy, *(past.cover.policy for past in reversed(history.releases))]
    return [*(widened(claim, policy, policies) for claim in policy.claims), *standing(policy, history)]


def standing(policy: Policy, history: History) -> list[Claim]:
    """Claims of earlier releases that the policy does not replace (I2), the newest first."""
    policies = [policy, *(past.cover.policy for past in reversed(history.releases))]
    said = [widened(claim, policy, policies) for claim in policy.claims]
    found: list[Claim] = []
    for past in reversed(history.releases):
        stated = [widened(claim, past.cover.policy, policies) for claim in past.cover.policy.claims if _stands(claim)]
        found += [claim for claim in stated if not any(_replaces(other, claim) for other in [*said, *found])]
    return found


def cohorts_told(policy: Policy, history: History | None = None) -> bool:
    """Whether outsiders are taken to know who is in which release, by this policy or one before it: they do not forget (I3)."""
    every = [policy, *(past.cover.policy for past in (history.releases if history is not None else ()))]
    said = [(one.method.parameters.get("cohorts") if one.method is not None else None) or one.series.cohorts for one in every]
    return "known" in said


def _replaces(new: Claim, old: Claim) -> bool:
    """Whether a claim makes an earlier one anew: nobody who was counted on then knows more than who is counted on now (I2)."""
    return _about(new) == _about(old) and set(new.given) >= set(old.given)


def _stands(claim: Claim) -> bool:
    """Whether later releases could take back what was promised."""
    return bool(claim.hide) or claim.model.judges is not Linkage


def _about(claim: Claim) -> tuple[str, object]:
    about: object = frozenset(claim.hide) if claim.model.judges is Linkage else repr(sorted(claim.model.required().items()))
    return claim.model.name, about


def widened(claim: Claim, own: Policy, policies: Sequence[Policy]) -> Claim:
    """The claim for an outsider who knows the quasi-identifiers of every release, when it is about all of its own (I1)."""
    if not claim.model.joint and not set(claim.given) >= set(own.quasi_identifiers):
        return claim
    known = {name for policy in policies for name, column in policy.columns.items() if column.role == "quasi-identifier"}
    return replace(claim, given=(*claim.given, *sorted(known - set(claim.given) - set(claim.hide))))
