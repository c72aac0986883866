"""A table before anything is made: its columns are there, and which rules of the policy hold in it already.

Columns that would undo the release become warnings (see `audit.suspects`), which the policy may accept by name.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sfumato.audit.rules import Judge
from sfumato.audit.source import SourceAudit, SourceReport, accepting, require
from sfumato.audit.suspects import by_name, by_values
from sfumato.data.people import STAYS, people_of, staying
from sfumato.data.table import Table
from sfumato.errors import DataError
from sfumato.forms.recoded import Recoded
from sfumato.policy.keep import integrity_rules, replacements_of
from sfumato.policy.policy import Policy
from sfumato.policy.replacements import Like
from sfumato.policy.rules import IntegrityRule, columns_of
from sfumato.policy.rules.tree import Localities, References
from sfumato.registry import nearest
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.form import Form


class TableAudit(SourceAudit):
    """Columns and rules of one table."""

    name: ClassVar[str] = "table"

    def require_sound(self, policy: Policy, dataset: Any, *, rules_stay: bool) -> None:
        require_columns(policy, dataset)
        require_said(policy, dataset)
        if policy.keep and rules_stay:
            hint = "clean the data, drop the rule, or replace its columns with a method that keeps rules"
            require(rules_in_original(policy, dataset), policy.document.where("keep"), hint)
        elif policy.keep:
            hint = "clean the data, drop the rule, or replace one of its columns: new values elsewhere do not mend it"
            require(rules_in_original(policy, dataset, mendable=False), policy.document.where("keep"), hint)

    def reads_rows(self, policy: Policy) -> bool:
        return policy.data.size() is not None

    def glance(self, policy: Policy) -> SourceReport:
        return SourceReport(warnings=tuple(warning for warning in by_name(policy) if warning.identifier not in policy.accept))

    def examine(self, policy: Policy, dataset: Any, since: str | None = None, form: type[Form] | None = None) -> SourceReport:
        require_columns(policy, dataset)
        recoded = form is None or issubclass(form, Recoded)
        warnings = [*by_name(policy), *by_values(policy, dataset, recoded=recoded)]
        findings = rules_in_original(policy, dataset) if policy.keep else ()
        return accepting(policy.accept, warnings, findings, tuple(_outside(policy, dataset)))


def require_columns(policy: Policy, table: Table) -> None:
    """Every column of the policy must be in the data."""
    for name in (*policy.columns, *policy.key, *(policy.person.private if policy.person else ())):
        if name not in table.names:
            where = policy.document.where("columns", name)
            raise DataError(f"the data has no column '{name}'", where=where, hint=nearest(name, table.names))


def require_said(policy: Policy, table: Table) -> None:
    """A hidden value that hardly ever changes with a person may be told by several rows together: the policy must say so."""
    if policy.person is None or policy.person.linked:
        return
    person = people_of(table, policy.person.unit)
    for name in dict.fromkeys(name for claim in policy.claims for name in claim.hide):
        stays = staying(person, table.text(name).codes)
        if policy.columns[name].persistent is None and stays >= STAYS:
            what = f"'{name}' stays the same for {stays:.0%} of the people with several rows, which may give it away together"
            hint = "write 'rows: linked' under person; 'persistent: false' says that it does not stay with a person"
            raise DataError(what, where=policy.document.where("columns", name), hint=hint)


def rules_in_original(policy: Policy, table: Table, *, mendable: bool = True) -> tuple[Finding, ...]:
    """One finding per rule that can be judged before anything is made; without `mendable` of those about kept columns alone."""
    columns = {name: table.text(name) for name in table.names}
    judge = Judge({None: columns}, {None: columns})
    kept = [rule for rule in integrity_rules(policy) if not isinstance(rule.body, (Localities, References))]
    new = replacements_of(policy)
    fixed = [rule for rule in kept if all(column.original or column.name not in new for column in columns_of(rule))]
    return tuple(_judged(judge, rule) for rule in (kept if mendable else fixed))


def _judged(judge: Judge, rule: IntegrityRule) -> Finding:
    name = f'rule "{rule}"'
    try:
        broken = judge.broken(rule)
    except DataError as error:
        return Finding(name, True, grade=NOT_JUDGED, reason=f"{name} cannot be judged in the original: {error.what}")
    said = f"{name} " + (f"is broken {broken} time(s) in the original" if broken else "holds in the original")
    return Finding(name, not broken, {"broken": 0}, {"broken": broken}, reason=said)


def _outside(policy: Policy, table: Table) -> list[str]:
    found = []
    for name, domain in replacements_of(policy).items():
        if not isinstance(domain, Like):
            outside = int(table.text(name).counts()[~domain.contains(table.text(name).labels)].sum())
            if outside:
                found.append(f"column '{name}' has {outside} original value(s) outside its domain")
    return found
