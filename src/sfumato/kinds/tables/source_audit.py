"""A table before anything is made: its columns are there, and which rules of the policy hold in it already.

Columns that would undo the release become warnings (see `tables.source_audit`), which the policy may accept by name.


Suspects
--------
Columns that undo a release: what is published as it is although it names people, or says what a generalized cell no
longer does.

A warning has an identifier that stays the same as long as the policy does, so that a policy can accept it by name.

    unprotected:C          sensitive and published, and no privacy requirement names it; accepted only with a reason
    personal-column:C      published unchanged although its name is that of personal or sensitive data
    personal-values:C      published unchanged although its values look like addresses, numbers of people, or free text
    unique-column:C        most rows have a value in it that no other row has
    determines:C->Q        its value nearly always tells the value of the quasi-identifier Q, which is generalized in
                           vain
    formula-cells:C        cells that a spreadsheet would run

Notation
    certain(C, Q)   share of rows whose value in Q is the most frequent one among the rows with the same value in C;
    rows whose
                    value in C is their own say nothing about a rule and are left out


Sources
-------
What is known about an original before anything is made, one file for each kind of data that has something to say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from sfumato.core.errors import DataError, PolicyError, PolicyErrors
from sfumato.core.registry import nearest
from sfumato.data.linkage import Linkage
from sfumato.data.personal_columns.looks import kind_by_look
from sfumato.data.personal_columns.names import kind_by_name
from sfumato.data.personal_columns.vocabulary import KINDS
from sfumato.data.persons import STAYS, persons_of_rows, share_with_constant_value
from sfumato.data.table import Table, TextColumn
from sfumato.data.text_values import is_formula
from sfumato.kinds.tables.form import Recoded
from sfumato.models.base import Demand
from sfumato.policy.constraint_language import IntegrityRule, columns_of
from sfumato.policy.constraint_language.evaluation import ConstraintEvaluator
from sfumato.policy.constraint_language.syntax_tree import Localities, References
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.kept_constraints import integrity_rules, replacements_of
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.policy.sections import values_of
from sfumato.policy.value_domains import Like
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.evidence import (
    SourceAudit,
    SourceReport,
    Warning,
    require_findings_hold,
    unprotected_columns,
    without_accepted_warnings,
)
from sfumato.release.form import Form


class TableAudit(SourceAudit):
    """Columns and rules of one table."""

    name: ClassVar[str] = "table"

    def require_sound(self, policy: Policy, dataset: Any, *, rules_stay: bool) -> None:
        require_columns(policy, dataset)
        require_boundaries(policy, dataset)
        require_said(policy, dataset)
        if policy.keep and rules_stay:
            hint = "clean the data, drop the rule, or replace its columns with a method that keeps rules"
            require_findings_hold(rules_in_original(policy, dataset), policy.document.where("keep"), hint)
        elif policy.keep:
            hint = "clean the data, drop the rule, or replace one of its columns: new values elsewhere do not mend it"
            require_findings_hold(
                rules_in_original(policy, dataset, mendable=False), policy.document.where("keep"), hint
            )

    def reads_rows(self, policy: Policy) -> bool:
        return policy.data.size() is not None

    def glance(self, policy: Policy) -> SourceReport:
        warnings = [*unprotected_columns(policy), *risky_columns_by_name(policy)]
        return SourceReport(warnings=tuple(warning for warning in warnings if warning.identifier not in policy.accept))

    def examine(
        self, policy: Policy, dataset: Any, since: str | None = None, form: type[Form] | None = None
    ) -> SourceReport:
        require_columns(policy, dataset)
        require_boundaries(policy, dataset)
        require_possible(policy, dataset)
        recoded = form is None or issubclass(form, Recoded)
        named = [*unprotected_columns(policy), *risky_columns_by_name(policy)]
        warnings = [*named, *risky_columns_by_values(policy, dataset, recoded=recoded)]
        findings = rules_in_original(policy, dataset) if policy.keep else ()
        return without_accepted_warnings(policy.accept, warnings, findings, tuple(_outside(policy, dataset)))


def require_columns(policy: Policy, table: Table) -> None:
    """Every column of the policy must be in the data; all that are not are named."""
    named = dict.fromkeys((*policy.columns, *policy.key, *(policy.person.private if policy.person else ())))
    missing = [name for name in named if name not in table.names]
    if missing:
        where, what = policy.document.where("columns", missing[0]), " and ".join(f"'{name}'" for name in missing)
        raise DataError(f"the data has no column {what}", where=where, hint=nearest(missing[0], table.names))


def require_possible(policy: Policy, table: Table) -> None:
    """Refuse what no release of these rows can have: more candidates than there are, more values than a column has.

    A requirement that asks for at most a share of any value is impossible when a value is more frequent and the policy
    does not allow to suppress enough of its rows. All that is impossible is said at once."""
    errors, rows = PolicyErrors(), table.records
    people = rows if policy.person is None else int(persons_of_rows(table, policy.person.unit).max()) + 1
    allowed = rows if policy.utility.suppress_at_most is None else math.floor(policy.utility.suppress_at_most * rows)
    for claim in (claim for claim in policy.claims if not claim.model.joint and not claim.model.of_population):
        demand = claim.model.demand() if issubclass(claim.model.judges, Linkage) else None
        if demand is None:
            continue
        with errors:
            if demand.candidates > people:
                what = (
                    f"{claim} asks for {demand.candidates:,} candidates, and the table has {people:,}"
                    f" {policy.record_word}"
                )
                raise PolicyError(what, where=claim.where, hint=f"ask for at most {people:,}")
        for name in () if claim.composite else claim.hide:
            with errors:
                _require_values(claim, demand, table.text(name), name, allowed)
    errors.settle()


def _require_values(claim: PrivacyRequirement, demand: Demand, text: TextColumn, name: str, allowed: int) -> None:
    """Refuse a requirement for which a column has too few values, or one that is too frequent."""
    counts = text.counts()
    distinct, most, rows = int((counts > 0).sum()), int(counts.max()), int(counts.sum())
    fewest = max(demand.distinct, math.ceil(1 / demand.largest_share - 1e-9))
    if fewest > distinct:
        what = f"{claim} asks for {fewest} different values of '{name}', which has {distinct}"
        raise PolicyError(
            what, where=claim.where, hint=f"ask for at most {distinct}, or leave '{name}' out of the claim"
        )
    least = (
        math.ceil((most - demand.largest_share * rows) / (1 - demand.largest_share) - 1e-9)
        if demand.largest_share < 1
        else 0
    )
    if least > allowed:
        what = (
            f"{claim} needs at least {least:,} of {rows:,} records suppressed, because one value of '{name}' has"
            f" {most:,}"
        )
        hint = f"allow more with 'suppress_at_most' (now {allowed:,} records), or ask for less"
        raise PolicyError(what, where=claim.where, hint=hint)


def require_boundaries(policy: Policy, table: Table) -> None:
    """Every boundary must be a node or a level of its hierarchy, whether the method generalizes or not: `PolicyError`
    otherwise."""
    for name, column in policy.columns.items():
        if column.boundary is not None:
            generalization_of(policy, name, values_of(policy.everybody(), table, name))


def require_said(policy: Policy, table: Table) -> None:
    """A sensitive value that hardly ever changes with a person may be told by several rows together: the policy must
    say so."""
    if policy.person is None or policy.person.linked:
        return
    person = persons_of_rows(table, policy.person.unit)
    for name in dict.fromkeys(name for claim in policy.claims for name in claim.hide):
        stays = share_with_constant_value(person, table.text(name).codes)
        if policy.columns[name].persistent is None and stays >= STAYS:
            what = (
                f"'{name}' stays the same for {stays:.0%} of the people with several rows, which may give it away"
                " together"
            )
            hint = "write 'rows: linked' under person; 'persistent: false' says that it does not stay with a person"
            raise DataError(what, where=policy.document.where("columns", name), hint=hint)


def rules_in_original(policy: Policy, table: Table, *, mendable: bool = True) -> tuple[Finding, ...]:
    """One finding per rule that can be judged before anything is made; without `mendable` of those about kept columns
    alone."""
    columns = {name: table.text(name) for name in table.names}
    judge = ConstraintEvaluator({None: columns}, {None: columns})
    kept = [rule for rule in integrity_rules(policy) if not isinstance(rule.body, (Localities, References))]
    new = replacements_of(policy)
    fixed = [rule for rule in kept if all(column.original or column.name not in new for column in columns_of(rule))]
    return tuple(_judged(judge, rule) for rule in (kept if mendable else fixed))


def _judged(judge: ConstraintEvaluator, rule: IntegrityRule) -> Finding:
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


# Suspects
# --------


_SHARE_THAT_LOOKS = 0.2
_FEWEST_ROWS = 10
_MOSTLY_ALONE = 0.5
_CERTAIN = 0.9


def personal_by_name(name: str) -> str:
    """Return what a column holds that should not be published as it is, by its name alone; empty when nothing is
    recognized.

    >>> [bool(personal_by_name(name)) for name in ("BillingAddress", "phonenumber", "Bemerkung", "quantity",
    ...     "address_id")]
    [True, True, True, False, False]
    """
    found = kind_by_name(name)
    return "" if found is None or not _is_personal(found.kind) else found.reason


def _is_personal(kind: str) -> bool:
    known = KINDS[kind]
    return (known.role in ("identifier", "drop", "sensitive") and kind != "outcome") or known.treatment == "replace"


def risky_columns_by_name(policy: Policy) -> Iterator[Warning]:
    """What can be said without a row."""
    for name in policy.with_role("other"):
        if reason := personal_by_name(name):
            yield Warning(f"personal-column:{name}", f"'{name}' looks personal and is published unchanged: {reason}")


def risky_columns_by_values(policy: Policy, table: Table, *, recoded: bool) -> Iterator[Warning]:
    """What the rows say; `recoded`: quasi-identifiers are generalized, so that telling one undoes something."""
    for name in (*policy.with_role("other"), *policy.sensitive):
        look = looks_like(table.text(name))
        if look:
            yield Warning(
                f"personal-values:{name}", f"'{name}' holds what looks like {look} and is published unchanged"
            )
    alone = [name for name in policy.with_role("other") if _mostly_alone(table.text(name))]
    for name in alone:
        yield Warning(f"unique-column:{name}", f"'{name}' is nearly unique per row and is published unchanged")
    if recoded:
        yield from _told(policy, table, alone)
    if getattr(policy.data, "escape", "none") == "none":
        yield from _formulas(policy, table)


def looks_like(text: TextColumn) -> str:
    """Return what the values of a column look like, when enough of them do; empty when nothing identifying.

    >>> import pyarrow as pa
    >>> [looks_like(Table(pa.table({"a": values})).text("a")) for values in (["ann@home.test", "bob@home.test"], ["red",
    ...     "blue"])]
    ['e-mail addresses', '']
    """
    values = [label for label in text.labels if label]
    found = kind_by_look(values, len(text.codes), _SHARE_THAT_LOOKS)
    return "" if found is None or KINDS[found.kind].role not in ("identifier", "drop") else found.of


def _mostly_alone(text: TextColumn) -> bool:
    counts, rows = text.counts(), len(text.codes)
    return rows >= _FEWEST_ROWS and int((counts == 1).sum()) >= _MOSTLY_ALONE * rows


def _told(policy: Policy, table: Table, alone: list[str]) -> Iterator[Warning]:
    """Columns that tell a quasi-identifier, which is generalized in vain."""
    for name in (*policy.with_role("other"), *policy.sensitive):
        for quasi in policy.quasi_identifiers:
            if name not in alone and _determines(table.text(name), table.text(quasi)):
                words = "nearly always tells the value of"
                yield Warning(
                    f"determines:{name}->{quasi}", f"'{name}' {words} '{quasi}', which is generalized in vain"
                )


def _determines(known: TextColumn, told: TextColumn) -> bool:
    """certain(known, told) is nine in ten, and knowing the column takes away nine in ten of the errors of a blind
    guess."""
    shared = known.counts()[known.codes] > 1
    rows = int(shared.sum())
    if rows < max(_FEWEST_ROWS, len(known.codes) / 2) or len(told.labels) < 2:
        return False
    pairs, counts = np.unique(
        known.codes[shared].astype(np.int64) * len(told.labels) + told.codes[shared], return_counts=True
    )
    best = np.zeros(len(known.labels), dtype=np.int64)
    np.maximum.at(best, pairs // len(told.labels), counts)
    certain = int(best.sum()) / rows
    blind = int(np.bincount(told.codes[shared]).max()) / rows
    return certain >= _CERTAIN and 1 - certain <= (1 - _CERTAIN) * (1 - blind)


def _formulas(policy: Policy, table: Table) -> Iterator[Warning]:
    for name in policy.published:
        if policy.columns[name].role != "replaced" and any(map(is_formula, table.text(name).labels)):
            words = "has cells that begin like a formula (=, +, -, @), which a spreadsheet would run"
            yield Warning(
                f"formula-cells:{name}", f"'{name}' {words}; 'escape: formulas' under data marks them as text"
            )
