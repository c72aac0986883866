"""The source of a database policy before anything is made: which constraints and rules hold there, and what deserves a warning.

A warning has an identifier that stays the same as long as policy and schema do, so that a policy can accept it by name.

    plain-column:T.C       published as it is although its name looks personal
    broken-constraint:ID   a constraint of the schema that the source itself breaks
    broken-rule:N          rule N under `keep` does not hold in the source
    unread-check:ID        a check over replaced columns that cannot be turned into a rule
    bound-column:T.C       rules tie new values to original or kept ones, so some may stay the same
    left-out:N             something of the source that the target will not have
    new-table:T, new-column:T.C, gone-table:T, gone-column:T.C, changed-type:T.C    since an earlier release
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.audit.checks.database import breaks
from sfumato.audit.checks.database_values import bound_by_rules
from sfumato.audit.databases import Seen
from sfumato.audit.evidence import Evidence
from sfumato.data.database import Database, Schema
from sfumato.errors import DataError
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.policy import Policy
from sfumato.policy.rules import columns_of
from sfumato.policy.rules.tree import ColumnValue, Localities
from sfumato.release.release import Part

_PERSONAL = re.compile(
    r"(^|_|\b)(e?mail|phone|fax|mobile|(first|last|sur|middle|maiden|user|nick|full|contact|display)_?name|login|password|passwd|address\d?|"
    r"street|postal|zip|postcode|birth\w*|dob|ssn|iban|passport|licen[cs]e|salary|ip(_?address)?|latitude|longitude|photo|picture|"
    r"notes?|comments?)($|_|\b)",
    re.IGNORECASE,
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Warning:
    """Something a steward should look at."""

    identifier: str
    text: str

    def __str__(self) -> str:
        return f"{self.text} [{self.identifier}]"


@dataclass(frozen=True, slots=True)
class Checked:
    """What `check` says about a database: sentences, and warnings that the policy has not accepted."""

    sentences: tuple[str, ...]
    warnings: tuple[Warning, ...]


def check_source(policy: Policy, database: Database, since: Schema | None = None) -> Checked:
    """Constraints, rules and warnings, judged on the source."""
    seen = source_seen(policy, database)
    found = [*_constraints(seen), *_rules(seen)]
    warnings = [warning for _, warning in found if warning is not None]
    warnings += [*_plain_columns(seen.bound), *_unread(seen.bound), *_tied(seen.bound), *_left_out(database.schema)]
    warnings += list(_drift(database.schema, since)) if since is not None else []
    accepted = set(seen.bound.source.accept)
    sentences = [sentence for sentence, _ in found if sentence]
    sentences += [f"accepted: {warning}" for warning in warnings if warning.identifier in accepted]
    idle = accepted - {warning.identifier for warning in warnings}
    sentences += [f"accepted but no longer there: {identifier}" for identifier in sorted(idle)]
    return Checked(tuple(sentences), tuple(warning for warning in warnings if warning.identifier not in accepted))


def source_seen(policy: Policy, database: Database) -> Seen:
    """The source as if it had been published unchanged: then rules that mention the original can be judged, too."""
    parts = {name: Part(table.frame) for name, table in database.tables.items()}
    behind = {name: np.arange(table.rows, dtype=np.int64) for name, table in database.tables.items()}
    public = {"tables": {name: {"table": name, "rows": table.rows} for name, table in database.tables.items()}}
    return Seen(Evidence("database", parts, policy, public, original=database, behind=behind))


def require_sound(policy: Policy, database: Database) -> None:
    """What is broken in the source and will not be made anew would be broken in the target; refused before the work."""
    seen = source_seen(policy, database)
    free = set(seen.bound.free)
    for constraint in seen.bound.constraints:
        if constraint.rule is None or any(ColumnValue(name, constraint.table) in free for name in constraint.columns):
            continue
        count = breaks(seen, constraint)
        if count:
            hint = "clean the source, or leave the table out with 'tables:'"
            raise DataError(f"the source breaks {constraint.identifier} {count} time(s)", hint=hint)
    for rule in seen.bound.keep:
        if not any(column in free and not column.original for column in columns_of(rule)):
            count = seen.judge(rule)
            if count:
                hint = "clean the source, drop the rule, or replace one of its columns"
                raise DataError(f'the source breaks the rule "{rule}" {count} time(s), and new values would not mend it', hint=hint)


def _constraints(seen: Seen) -> Iterator[tuple[str, Warning | None]]:
    required: dict[str, int] = {}
    for constraint in seen.bound.constraints:
        if constraint.kind == "check" and constraint.rule is None:
            yield f"{constraint.identifier}: left to the server: {constraint.text}", None
            continue
        count = breaks(seen, constraint)
        if count:
            text = f"the source breaks {constraint.text} {count} time(s)"
            yield "", Warning(f"broken-constraint:{constraint.identifier}", text)
        elif constraint.kind == "not null":
            required[constraint.table] = required.get(constraint.table, 0) + 1
        else:
            yield f"{constraint.identifier}: {constraint.text}", None
    for table, count in required.items():
        yield f"not-null:{table}: {count} column(s) are never null", None


def _rules(seen: Seen) -> Iterator[tuple[str, Warning | None]]:
    for place, rule in enumerate(seen.bound.keep, start=1):
        if isinstance(rule.body, Localities):
            continue
        count = seen.judge(rule)
        if count:
            yield "", Warning(f"broken-rule:{place}", f'rule "{rule}" is broken {count} time(s) in the original')
        else:
            yield f'rule "{rule}" holds in the original', None


def looks_personal(name: str) -> bool:
    """By its name alone.

    >>> looks_personal("BillingAddress"), looks_personal("first_name"), looks_personal("quantity"), looks_personal("address_id")
    (True, True, False, False)
    """
    plain = _HUMP.sub("_", name)
    return bool(_PERSONAL.search(plain)) and not re.search(r"_?(id|count|type|flag)$", plain, re.IGNORECASE)


def _plain_columns(bound: BoundPolicy) -> Iterator[Warning]:
    spoken = {*bound.declared, *bound.changed}
    for name, column in bound.columns.items():
        if column not in spoken and looks_personal(column.name):
            yield Warning(f"plain-column:{name}", f"'{name}' looks personal and is published as it is")


def _unread(bound: BoundPolicy) -> Iterator[Warning]:
    new = set(bound.changed)
    for constraint in bound.constraints:
        unread = constraint.kind == "check" and constraint.rule is None
        if unread and any(ColumnValue(name, constraint.table) in new for name in constraint.columns):
            text = f"{constraint.identifier} mentions replaced columns but cannot be read; the target may refuse the rows"
            yield Warning(f"unread-check:{constraint.identifier.removeprefix('check:')}", text)


def _tied(bound: BoundPolicy) -> Iterator[Warning]:
    for column in sorted(bound_by_rules(bound), key=str):
        yield Warning(f"bound-column:{column}", f"rules tie '{column}' to original or kept values; some may stay the same")


def _left_out(schema: Schema) -> Iterator[Warning]:
    for sentence in schema.left_out:
        yield Warning(f"left-out:{hashlib.sha256(sentence.encode()).hexdigest()[:8]}", sentence)


def _drift(now: Schema, before: Schema) -> Iterator[Warning]:
    here, there = {table.name: table for table in now.tables}, {table.name: table for table in before.tables}
    for name in sorted(here.keys() ^ there.keys()):
        word = "new" if name in here else "gone"
        yield Warning(f"{word}-table:{name}", f"table '{name}' is {word} since that release")
    for name in sorted(here.keys() & there.keys()):
        new, old = {c.name: c for c in here[name].columns}, {c.name: c for c in there[name].columns}
        for column in sorted(new.keys() ^ old.keys()):
            word = "new" if column in new else "gone"
            yield Warning(f"{word}-column:{name}.{column}", f"column '{name}.{column}' is {word} since that release")
        for column in sorted(new.keys() & old.keys()):
            if (new[column].native, new[column].nullable) != (old[column].native, old[column].nullable):
                yield Warning(f"changed-type:{name}.{column}", f"column '{name}.{column}' has another type since that release")
