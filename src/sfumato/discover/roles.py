"""Roles and claims: a draft that can be published with at once, and the reason beside every line.

What each column seems to be comes from `risks.roles`, how it may be generalized from `fitting_hierarchies`. A proposal errs on the
side of caution: only the data holder can say that a column is sensitive or harmless.

Whose rows they are is proposed where a column clearly names people in several rows (`people_in_rows`), with the reason.

Claims
    k-anonymity   k = 5, or 3 where there are fewer than 200 records
    l-diversity   l = 3 different values where every sensitive column has at least six and none that more than half of all
                  people share; else l = 2; not where a sensitive column says only one thing
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sfumato.data.table import Table
from sfumato.discover.base import Finder, Suggestion
from sfumato.discover.fitting_hierarchies import Fitting, fitting
from sfumato.discover.people_in_rows import named_people, proposed_person
from sfumato.policy.policy import Policy
from sfumato.risks.roles import ColumnLook, looks_of

_SMALL = 200
_MANY = 12
_VARIED = 50
"""Different texts without a hierarchy that are worth a word."""


class RoleFinder(Finder):
    """A role with its reason and, where one fits, a hierarchy for every column; claims and limits for the table."""

    name: ClassVar[str] = "roles"
    order: ClassVar[int] = 10

    def find(self, table: Table, policy: Policy | None) -> Suggestion:
        looks = looks_of(table)
        person = proposed_person(table, looks)
        looks = tuple(_named(look) if person is not None and look.name == person.column else look for look in looks)
        fits = {look.name: _fit(table, look) for look in looks if look.role == "quasi-identifier"}
        columns = {look.name: _entry(look, fits.get(look.name)) for look in looks}
        columns |= {name: {"role": "sensitive", "persistent": True} for name in (person.lasting if person else ())}
        remarks = {look.name: _remark(look, fits.get(look.name)) for look in looks}
        claims, reasons = _claims(table, looks)
        keys: dict[str, Any] = {"columns": columns}
        if person is not None:
            keys["person"] = person.entry
            reasons.append(person.reason)
        keys |= {"protect": claims, "utility": {"suppress_at_most": "5%"}}
        warnings = (*_of_people(table, looks, policy), *(_warnings(table, looks, fits) if policy is None else ()))
        said = "roles are guessed from names and looks: say which columns outsiders may know, and which are sensitive"
        return Suggestion(keys, (said, *reasons), warnings, remarks=remarks)


def _named(look: ColumnLook) -> ColumnLook:
    """A column that names people is an identifier, whatever it looked like."""
    return look if look.role == "identifier" else replace(look, role="identifier", reason="names people, who stand in several rows")


def _of_people(table: Table, looks: Sequence[ColumnLook], policy: Policy | None) -> Iterator[str]:
    """What is not proposed by itself: one of several columns, and a line that a policy lacks."""
    named = named_people(looks, table.records)
    if policy is not None and policy.person is None and named:
        yield f"'{named[0]}' seems to name people in several rows, and the policy counts rows: say 'person: {named[0]}'"
    elif policy is None and len(named) > 1:
        yield f"{' and '.join(map(repr, named))} name people in several rows: say 'person:' with the one that the rows are about"


def _fit(table: Table, look: ColumnLook) -> Fitting | None:
    text = table.text(look.name)
    return fitting(look.name, text.labels, text.counts().tolist())


def _entry(look: ColumnLook, fit: Fitting | None) -> Any:
    return look.role if fit is None else {"role": look.role, "hierarchy": fit.hierarchy}


def _remark(look: ColumnLook, fit: Fitting | None) -> str:
    letter = f" (HIPAA {look.hipaa})" if look.hipaa else ""
    return f"{look.reason}{letter}" + (f"; {fit.reason}" if fit else "")


def _claims(table: Table, looks: Sequence[ColumnLook]) -> tuple[list[dict[str, Any]], list[str]]:
    k = 3 if table.rows < _SMALL else 5
    claims: list[dict[str, Any]] = [{"k-anonymity": {"k": k}}]
    reasons = [f"k = {k}: nobody is found with a probability above 1 in {k}"]
    secret = [look for look in looks if look.role == "sensitive"]
    if secret:
        varied = all(look.distinct >= 6 and _largest_share(table, look) <= 0.5 for look in secret)
        l = 3 if varied else 2
        claims.append({"l-diversity": {"l": l}})
        reasons.append(f"l = {l}: whoever is known to be in a class still has one of {l} values in every sensitive column")
    return claims, reasons


def _largest_share(table: Table, look: ColumnLook) -> float:
    return float(table.text(look.name).counts().max() / table.rows)


def _warnings(table: Table, looks: Sequence[ColumnLook], fits: dict[str, Fitting | None]) -> Iterator[str]:
    known = [look for look in looks if look.role == "quasi-identifier"]
    if not known:
        yield "no column looks like something that an outsider knows: say which ones are quasi-identifiers"
    if len(known) > _MANY:
        yield f"{len(known)} quasi-identifiers are many: the more an outsider knows, the less can be said; leave some out"
    named = named_people(looks, table.records)
    for look in looks:
        if look.name not in named and look.role == "identifier" and look.distinct < table.rows - look.missing and look.kind == "":
            yield f"'{look.name}' repeats: if it numbers people, several rows are about one of them, and classes count rows"
        if look.kind == "free text":
            yield f"'{look.name}' holds sentences, which may say anything about anybody: it is left out"
    for look in known:
        if fits.get(look.name) is None and look.shape == "text" and look.distinct > _VARIED:
            yield f"'{look.name}' has {look.distinct:,} values and no hierarchy: without one they are kept or suppressed"
