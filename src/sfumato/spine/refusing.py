"""Refusing: why nothing is published, with the reason and a way out.

Earlier releases may have said too much; what was asked may not be had; or the method made what the audit does not let pass, which
is a defect of ours and said as one.
"""

from __future__ import annotations

from typing import Any

from sfumato.audit.base import Check, reading_of
from sfumato.audit.outlook import told_already
from sfumato.audit.people import PEOPLE
from sfumato.audit.sources.table import rules_in_original
from sfumato.errors import AuditRefused, Infeasible, SfumatoError
from sfumato.policy.keep import integrity_rules
from sfumato.policy.policy import Policy
from sfumato.policy.rules.tree import SameMultiset
from sfumato.registry import catalogue
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.past import History
from sfumato.spine.plan import Plan

_OF_RULES = {"rules", "rules of the policy", "constraints"}
"""Checks that find a rule broken."""


def refusal(failed: list[Finding], policy: Policy, chosen: Plan, exhibit: Exhibit) -> SfumatoError:
    """The error that says why these findings forbid the release."""
    return _told_before(failed, policy, exhibit) or _refused(failed, policy, chosen, exhibit)


def _told_before(failed: list[Finding], policy: Policy, exhibit: Exhibit) -> Infeasible | None:
    """Why nothing is published where earlier releases have said too much for what is asked now; nothing when they have not."""
    history = exhibit.history
    if history is None or len(history) < 2 or reading_of(exhibit.form).joins_itself:
        return None
    if not {finding.model for finding in failed} <= {*(claim.model.name for claim in policy.claims), "earlier promises", PEOPLE}:
        return None
    why = "; ".join(dict.fromkeys(told_already(History(history.releases[:-1]), policy)))
    hint = "ask for no more than they leave, and give columns the roles that they had; 'check --ledger' says how claims stand"
    return Infeasible(f"{why}; nothing was published", where=policy.document.where("protect"), hint=hint) if why else None


def _refused(failed: list[Finding], policy: Policy, chosen: Plan, exhibit: Exhibit) -> SfumatoError:
    """Why nothing is published: what cannot be had, with the reason, or else a defect of the method."""
    dataset = exhibit.original
    wrong = "; ".join(f"{finding.model}: {finding.reason or 'violated'}" for finding in failed)
    names, claims = {finding.model for finding in failed}, {claim.model.name for claim in policy.claims}
    claims |= {name for name, check in catalogue("audit.checks", Check).items() if check.asked}
    if chosen.method.finds_out() and names <= {*claims, "earlier promises"}:
        hint = (
            "lower the level, widen the domains, leave out rules that tell too much, or use another method; nothing was published"
        )
        return Infeasible(f"what was made does not keep what is asked: {wrong}", where=policy.document.where("protect"), hint=hint)
    stuck = _stuck(policy, dataset) if chosen.method.keeps_rules and names <= {"rules", *claims} else ""
    if stuck:
        hint = "drop one of these rules, or correct the data; nothing was published"
        return Infeasible(f"rules contradict each other on this data: {stuck}", where=policy.document.where("keep"), hint=hint)
    doubts = chosen.method.doubts(policy, dataset) if names <= _OF_RULES else []
    if doubts:
        hint = "put a key into the equation, widen the domains it is made of, or publish again; nothing was published"
        return Infeasible(f"{wrong}; {'; '.join(doubts)}", where=policy.document.where("keep"), hint=hint)
    hint = "nothing was published; this is a defect of the method, please report it"
    if len(exhibit.history or ()) > 1 and names <= {*claims, "earlier promises", PEOPLE}:
        hint = (
            "nothing was published; this method found no way beside what earlier releases said: try another one, say the promise "
            "anew at a lower level, or keep who left in the table; if nothing helps, please report it"
        )
    return AuditRefused(f"the audit refused the release: {wrong}", hint=hint)


def _stuck(policy: Policy, dataset: Any) -> str:
    """Rules that the original breaks while another keeps its values as they are: only their order could change."""
    same = [str(rule) for rule in integrity_rules(policy) if isinstance(rule.body, SameMultiset)]
    broken = [finding.reason for finding in rules_in_original(policy, dataset) if not finding.holds] if same else []
    return "; ".join([*broken, *(f'"{rule}" leaves its values as they are' for rule in same)]) if broken else ""
