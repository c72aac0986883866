"""Plan: what will run, why it can, and why anything else cannot; refuses the impossible before data moves.

`plan` touches no rows. It knows the policy, what every method says about itself, and at most the number of records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.core.errors import PolicyError, PolicyErrors
from sfumato.core.registry import catalogue, find
from sfumato.io.value_coding import is_coded
from sfumato.kinds.tables.form import is_plain_recoding
from sfumato.policy.kept_constraints import first_disturbed_rule
from sfumato.policy.policy import Policy
from sfumato.policy.rule_reduction import revealing_dependency
from sfumato.policy.yaml_document import instantiate
from sfumato.release.evidence import Evidence
from sfumato.release.form import Form
from sfumato.release.method import Method


@dataclass(frozen=True, slots=True)
class Plan:
    """The method that will run, bound to its parameters, and the reasons."""

    policy: Policy
    method: Method
    reasons: tuple[str, ...]

    @property
    def form(self) -> type[Form]:
        return self.method.form

    @property
    def declaration(self) -> dict[str, Any]:
        """The method as a policy would name it."""
        return {self.method.name: self.method.model_dump(exclude_defaults=True)}


def plan(policy: Policy, *, records: int | None = None, remembering: bool = False) -> Plan:
    """Choose and bind the method; `records` is the size of the data when it is known, `remembering` says that there is
    a ledger.

    A policy with columns under review is refused: a person decides first.
    """
    policy.require_decided()
    _require_different_requirements(policy)
    require_effect(policy)
    if policy.method is not None:
        method, reason = _declared(policy, remembering), "the policy names it"
    else:
        method, reason = _chosen(policy, records, remembering)
    _require_reading(method)
    return Plan(policy, method, (f"method: {method.name}, because {reason}",))


def _require_different_requirements(policy: Policy) -> None:
    """Refuse a requirement that is written twice: one of the two was meant to be another one."""
    for place, claim in enumerate(policy.claims):
        if any(claim.same_as(earlier) for earlier in policy.claims[:place]):
            hint = "remove one of them, or change its level or its columns"
            raise PolicyError(f"the requirement {claim} is written twice", where=claim.where, hint=hint)


def written_keys(policy: Policy) -> Iterator[tuple[str, str]]:
    """Every key that a policy writes, as `Source.reads` names it, with where it stands."""
    document = policy.document
    for key, entry in document.tree.items():
        if key == "utility" and isinstance(entry, Mapping):
            yield from ((f"utility.{name}", document.where("utility", name)) for name in entry)
        elif key == "columns" and isinstance(entry, Mapping):
            for name, column in entry.items():
                yield "columns", document.where("columns", name)
                inside = [inner for inner in column if inner != "role"] if isinstance(column, Mapping) else []
                yield from ((f"columns.{inner}", document.where("columns", name, inner)) for inner in inside)
        elif key == "protect" and isinstance(entry, list):
            yield "protect", document.where("protect")
            explicit = [(place, claim) for place, claim in enumerate(entry) if isinstance(claim, Mapping)]
            named = [(place, name) for place, claim in explicit for name in ("given", "hide") if claim.get(name)]
            yield from ((f"protect.{name}", document.where("protect", place, name)) for place, name in named)
        elif key != "version" and entry:
            yield key, document.where(key)


def require_effect(policy: Policy) -> None:
    """Refuse a key that has no effect on this kind of data, with its line: its author expects an effect."""
    errors = PolicyErrors()
    for key, where in written_keys(policy):
        if key not in policy.data.reads:
            with errors:
                what = f"'{key}' has no effect: it is not about {policy.data.name} data"
                raise PolicyError(
                    what, where=where, hint="remove it; what each kind of data reads is in the reference of policies"
                )
    errors.settle()


def _unread(method: Method, policy: Policy) -> str:
    """A key that some methods for this kind of data read, and this one does not; empty when it reads all that is
    written."""
    kin = [other for other in catalogue("methods", Method).values() if policy.data.name in other.kinds]
    some = frozenset().union(*(other.reads for other in kin)) - method.read_keys()
    found = next(((key, where) for key, where in written_keys(policy) if key in some), None)
    return f"'{found[0]}' ({found[1]}) has no effect on what it makes; remove it" if found else ""


def _require_reading(method: Method) -> None:
    """A form that nobody can read cannot be judged, so it is not made."""
    if not any(issubclass(method.form, reading.form) for reading in catalogue("evidence", Evidence).values()):
        raise PolicyError(f"nobody can judge a {method.form.name}", hint="a form needs a reading in audit/readings")


def _declared(policy: Policy, remembering: bool) -> Method:
    assert policy.method is not None
    where = policy.document.where("method", policy.method.name)
    cls = find("methods", Method, policy.method.name, where=policy.document.where("method"))
    method = instantiate(cls, policy.method.parameters, policy.document, "method", policy.method.name)
    reason = _unfit(method, policy, remembering)
    if reason:
        hint = _alternatives(policy, method.name, remembering)
        raise PolicyError(f"{method.name} cannot do this: {reason}", where=where, hint=hint)
    return method


def _unfit(method: Method, policy: Policy, remembering: bool) -> str:
    if policy.data.name not in method.kinds:
        return f"it works on {' and '.join(method.kinds)} data, not on {policy.data.name}"
    if policy.data.name == "table" and bool(policy.with_role("replaced")) != method.form.replaces:
        replaced = policy.with_role("replaced")
        return (
            f"it gives '{replaced[0]}' no new values"
            if replaced
            else "the policy has no column with the role 'replaced'"
        )
    disturbed = "" if method.keeps_rules else first_disturbed_rule(policy)
    if disturbed:
        return f'the rule "{disturbed}" speaks about more than single records of columns that it publishes as they are'
    if remembering and policy.person is not None and (reason := _forgets_people(method, policy)):
        return reason
    if remembering and (reason := method.unremembered(policy)):
        return reason
    if remembering and policy.knows and not is_plain_recoding(method.form):
        return (
            "what outsiders know ('knows:') is judged over several releases of recoded tables, not of"
            f" {method.form.name}"
        )
    if not method.form.reads_knowledge and (
        told := [why for claim in policy.claims if (why := revealing_dependency(policy, claim))]
    ):
        return told[0]
    if remembering and (name := _betrays_stand_ins(policy)):
        return (
            f"values of '{name}' change and those of counterfeits never do, so they could be told apart; say 'leaving:"
            " withhold'"
        )
    if reason := _unjoined(method, policy, remembering):
        return reason
    if policy.of_population and (remembering or policy.person is not None):
        return "claims about a population are judged for one release, with one row per person"
    if policy.calibrated is not None and (
        remembering or policy.person is not None or not is_plain_recoding(method.form)
    ):
        return (
            "calibrated weights ('population: {calibrate: …}') go with one recoded table, one row per person, and no"
            " ledger"
        )
    refused = _uncoded(method, policy, remembering) or _unlike_people(method, policy) or method.refusal(policy)
    return refused or _unread(method, policy)


def _unjoined(method: Method, policy: Policy, remembering: bool) -> str:
    """Why a requirement on the joint distribution of several sensitive columns cannot be kept; empty when there is
    none, or it can."""
    claim = next((claim for claim in policy.claims if claim.needs_joint), None)
    if claim is None:
        return ""
    about = f"{claim} is about the combination of {', '.join(claim.hide)}"
    if claim.model.orders_values:
        return f"{about}, whose values have no order: say 'distance: equal', or write one rule for each column"
    if not method.hides_combinations:
        return f"{about}, and it looks at each column by itself: write one rule for each column"
    if remembering or policy.person is not None:
        return f"{about}, which is judged in one release with one row per person: write one rule for each column"
    return ""


def _forgets_people(method: Method, policy: Policy) -> str:
    """Why what is promised to people in several rows cannot be judged over several releases."""
    assert policy.person is not None
    if policy.series.cohorts != "known":
        return (
            "a row that comes later weakens what was promised to who does not know that it is new: say 'cohorts: known'"
        )
    if policy.series.leaving == "counterfeits":
        return "counterfeit rows belong to no person, and people are counted ('person:'): set 'leaving: withhold'"
    if policy.series.waiting:
        return (
            "rows of people ('person:') do not wait for company: a person would be there without some of them"
            " ('waiting')"
        )
    if policy.series.changes or policy.series.by != "class":
        return (
            "rows of people ('person:') are known again by values that stay ('series.changes'), in joint classes ('by:"
            " class')"
        )
    if not (is_plain_recoding(method.form) or method.form.links_rows):
        return (
            "people in several rows ('person:') are judged over several releases of recoded tables, not of"
            f" {method.form.name}"
        )
    return ""


def _betrays_stand_ins(policy: Policy) -> str:
    """Return a protected column whose values change while there are counterfeits: a changed row would be no
    counterfeit."""
    hidden = {name for claim in policy.claims for name in claim.hide} | set(policy.sensitive)
    changing = [name for name in policy.series.changes if name in hidden]
    own = policy.method.parameters.get("counterfeits") if policy.method is not None else None
    stands_in = own == "allow" if own is not None else policy.series.leaving == "counterfeits"
    return changing[0] if changing and stands_in else ""


def _uncoded(method: Method, policy: Policy, remembering: bool) -> str:
    """Why values would be published, or remembered, as they are although their column is coded."""
    coded = next((name for name in policy.quasi_identifiers if is_coded(policy.columns[name].hierarchy)), None)
    if coded is None or (method.codes and not remembering):
        return ""
    why = "a ledger remembers values as they are" if method.codes else "it publishes values as they are"
    return f"{why}, and '{coded}' is coded (top, bottom, round, recode)"


def _unlike_people(method: Method, policy: Policy) -> str:
    """Return why a method cannot protect people with several rows."""
    if policy.person is None:
        return "" if not method.links_rows else "the policy does not say whose rows they are: 'person:'"
    if not method.counts_people:
        return "it counts rows, and by the policy a person may have several"
    if policy.person.linked != method.links_rows:
        said = "linked" if policy.person.linked else "unlinked"
        return (
            f"it publishes rows {'that are tied' if method.links_rows else 'that nothing ties'}, and the policy says"
            f" 'rows: {said}'"
        )
    return ""


def able_methods(policy: Policy, remembering: bool = False) -> list[Method]:
    """Methods that need no parameters and accept the policy."""
    able = []
    for cls in catalogue("methods", Method).values():
        if not any(field.is_required() for field in cls.model_fields.values()):
            method = cls()
            if not _unfit(method, policy, remembering):
                able.append(method)
    return able


def _alternatives(policy: Policy, besides: str, remembering: bool) -> str:
    names = [method.name for method in able_methods(policy, remembering) if method.name != besides]
    return "methods that can: " + ", ".join(names) if names else "no method can; look at 'protect' and the column roles"


def _chosen(policy: Policy, records: int | None, remembering: bool) -> tuple[Method, str]:
    """The able method with the highest rank at this size; ranks are what methods say about themselves."""
    able = able_methods(policy, remembering)
    if not able:
        kinds = [cls() for cls in catalogue("methods", Method).values() if policy.data.name in cls.kinds]
        reasons = {_unfit(method, policy, remembering) for method in kinds}
        hint = next(
            (reason for reason in sorted(reasons) if reason),
            "see docs/reference/catalogue.md for what each method can do",
        )
        raise PolicyError("no method can serve this policy", where=policy.document.where("protect"), hint=hint)
    several = remembering or any(claim.model.joint for claim in policy.claims)
    best = max(able, key=lambda method: (several and method.for_series, method.preference(records)[0]))
    return best, best.preference(records)[1]
