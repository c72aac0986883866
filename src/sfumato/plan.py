"""Plan: what will run, why it can, and why anything else cannot; refuses the impossible before data moves.

`plan` touches no rows. It knows the policy, what every method says about itself, and at most the number of records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.audit.base import Reading
from sfumato.errors import PolicyError
from sfumato.methods.base import Method
from sfumato.policy.declared import declare
from sfumato.policy.keep import disturbed_rule
from sfumato.policy.policy import Policy
from sfumato.registry import catalogue, find


@dataclass(frozen=True, slots=True)
class Plan:
    """The method that will run, bound to its parameters, and the reasons."""

    policy: Policy
    method: Method
    reasons: tuple[str, ...]

    @property
    def form(self) -> str:
        return self.method.form

    def sentences(self) -> Iterator[str]:
        """What would happen, for people."""
        yield from self.reasons
        for claim in self.policy.claims:
            given = ", ".join(claim.given) or "everything published"
            hide = ", ".join(claim.hide)
            yield f"promise: {claim} given {given}" + (f", hiding {hide}" if hide else "")
        yield from self.method.describe(self.policy)


def plan(policy: Policy, *, records: int | None = None) -> Plan:
    """Choose and bind the method; `records` is the size of the data when it is known."""
    if policy.method is not None:
        method, reason = _declared(policy), "the policy names it"
    else:
        method, reason = _chosen(policy, records)
    find("audit.readings", Reading, method.form)
    return Plan(policy, method, (f"method: {method.name}, because {reason}",))


def _declared(policy: Policy) -> Method:
    assert policy.method is not None
    where = policy.document.where("method", policy.method.name)
    cls = find("methods", Method, policy.method.name, where=policy.document.where("method"))
    method = declare(cls, policy.method.parameters, policy.document, "method", policy.method.name)
    reason = _unfit(method, policy)
    if reason:
        raise PolicyError(f"{method.name} cannot do this: {reason}", where=where, hint=_alternatives(policy, method.name))
    return method


def _unfit(method: Method, policy: Policy) -> str:
    if policy.data.name not in method.kinds:
        return f"it works on {' and '.join(method.kinds)} data, not on {policy.data.name}"
    disturbed = "" if method.keeps_rules else disturbed_rule(policy)
    if disturbed:
        return f'the rule "{disturbed}" speaks about more than single records of columns that it publishes as they are'
    if policy.ledger and not method.remembers and any(claim.model.joint for claim in policy.claims):
        return "it does not look at earlier releases, and the claim is about all of them together"
    return method.refusal(policy)


def _able(policy: Policy) -> list[Method]:
    """Methods that need no parameters and accept the policy."""
    able = []
    for cls in catalogue("methods", Method).values():
        if not any(field.is_required() for field in cls.model_fields.values()):
            method = cls()
            if not _unfit(method, policy):
                able.append(method)
    return able


def _alternatives(policy: Policy, besides: str) -> str:
    names = [method.name for method in _able(policy) if method.name != besides]
    return "methods that can: " + ", ".join(names) if names else "no method can; look at 'protect' and the column roles"


def _chosen(policy: Policy, records: int | None) -> tuple[Method, str]:
    """The able method with the highest rank at this size; ranks are what methods say about themselves."""
    able = _able(policy)
    if not able:
        reasons = {_unfit(cls(), policy) for cls in catalogue("methods", Method).values() if policy.data.name in cls.kinds}
        hint = next((reason for reason in sorted(reasons) if reason), "see docs/catalogue.md for what each method can do")
        raise PolicyError("no method can serve this policy", where=policy.document.where("protect"), hint=hint)
    best = max(able, key=lambda method: method.preference(records)[0])
    return best, best.preference(records)[1]
