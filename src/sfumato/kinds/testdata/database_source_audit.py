"""The source of a database policy before anything is made: which constraints and rules hold there, and what deserves a
warning.

A warning has an identifier that stays the same as long as policy and schema do, so that a policy can accept it by name.
Of what is broken only that can be accepted which new values will mend; publishing refuses the rest, and so does `check
--strict`.

    plain-column:T.C       published as it is although it looks personal
    undecided-column:T.C   published unchanged in a table about people, and the policy does not decide about it
    broken-constraint:ID   a constraint of the schema that the source itself violates
    broken-rule:N          rule N under `keep` does not hold in the source
    unread-check:ID        a check over replaced columns that cannot be turned into a rule
    bound-column:T.C       constraints link new values to original or unchanged ones, so some may stay the same
    surviving:T.C->U.D     values of the replaced column T.C also occur in U.D, which is published unchanged
    target-table:T         a table of that name exists in the target (or has rows, where it is to be filled)
    left-out:N             something of the source that the target will not have
    new-table:T, new-column:T.C, gone-table:T, gone-column:T.C, changed-type:T.C    since an earlier release
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from sfumato.core.errors import AuditRefused, DataError
from sfumato.data.database import Database, Schema, schema_from_json
from sfumato.data.memory_map import map_row_numbers
from sfumato.data.personal_columns.databases import column_decisions
from sfumato.io.database_source import DatabaseSource, given_url
from sfumato.kinds.testdata.database_checks import columns_with_original_constraints, count_violations
from sfumato.kinds.testdata.database_view import DatabaseView
from sfumato.kinds.testdata.form import DatabaseForm, PublishedTable
from sfumato.kinds.testdata.leaked_values import find_leaked_values
from sfumato.policy.constraint_language import IntegrityRule, columns_of
from sfumato.policy.constraint_language.syntax_tree import ColumnValue, Localities
from sfumato.policy.database_policy import BoundPolicy
from sfumato.policy.declared_constraints import Constraint
from sfumato.policy.policy import Policy
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.evidence import SourceAudit, SourceReport, Warning, without_accepted_warnings
from sfumato.release.folder import read_folder
from sfumato.release.form import Form
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView

_SHOWN, _LOOKED_AT = 8, 2_000
_REFUSED = "; new values would not mend it, and publishing refuses it"
_STANDS = "'{}' exists in the target already; publishing needs an empty target, or --replace"


class DatabaseAudit(SourceAudit):
    """Schema, constraints and rules of a database, and warnings that a policy may accept by name."""

    name: ClassVar[str] = "database"
    standing: tuple[str, ...] = ()
    """Tables of the target that a load would replace."""

    def rehearse(self, policy: Policy) -> None:
        source = policy.data
        assert isinstance(source, DatabaseSource)
        if source.loads:
            self.standing = source.standing(source.read_schema())

    def read(self, policy: Policy, data: Any = None) -> Any:
        """The policy must fit the schema, and the target be another database that can be reached, before a row is
        read."""
        source = policy.data
        assert isinstance(source, DatabaseSource)
        if data is not None and not isinstance(data, str | Path):
            return source.read(data)  # a person has read it already
        url = given_url(str(data)) if data is not None else source.source_url()
        schema = source.read_schema(url)
        BoundPolicy.of(policy, schema).require_fit()
        source.target_url()
        source.loading()
        return source.read_tables(url, schema)

    def require_sound(self, policy: Policy, dataset: Any, *, rules_stay: bool) -> None:
        assert isinstance(policy.data, DatabaseSource)
        if not policy.data.subset:
            require_sound(policy, dataset)
        require_replaced(policy, dataset)

    def reads_rows(self, policy: Policy) -> bool:
        return True

    def examine(
        self, policy: Policy, dataset: Any, since: str | None = None, form: type[Form] | None = None
    ) -> SourceReport:
        seen = source_seen(policy, dataset)
        found = [*_constraints(seen), *_rules(seen)]
        warnings = [warning for _, warning in found if warning is not None]
        warnings += [
            *_plain_columns(seen.bound, dataset),
            *_unread(seen.bound),
            *_tied(seen.bound),
            *_left_out(dataset.schema),
        ]
        warnings += [Warning(str(one), one.sentence) for one in find_leaked_values(seen.bound, dataset)]
        warnings += [Warning(f"target-table:{name}", _STANDS.format(name)) for name in self.standing]
        warnings += list(_drift(dataset.schema, _schema_of(since))) if since is not None else []
        findings = tuple(finding for finding, _ in found)
        report = without_accepted_warnings(seen.bound.source.accept, warnings, findings)
        return replace(report, summary=tuple(_summary(seen.bound, findings)))


def _summary(bound: BoundPolicy, findings: Sequence[Finding]) -> Iterator[str]:
    """One sentence for every table, and one for all rules; what is broken has a warning of its own."""
    broken = {finding.model for finding in findings if not finding.holds}
    for table in bound.schema.tables:
        own = [one for one in bound.constraints if one.table == table.name and one.identifier not in broken]
        told = [
            part for kind in _KINDS for part in _told(kind, [one for one in own if one.kind == kind and one.judged])
        ]
        left = sum(one.kind == "check" and not one.judged for one in own)
        told += [f"{left} check(s) left to the server"] if left else []
        if told:
            yield f"table '{table.name}': {', '.join(told)}"
    holds = [finding for finding in findings if finding.model.startswith("rule ") and finding.holds]
    if len(holds) > _SHOWN:
        yield f"{len(holds)} rules under 'keep' hold in the original"
    else:
        yield from (finding.reason for finding in holds)


_KINDS = {
    "primary key": "primary keys", "unique": "unique keys", "foreign key": "foreign keys",
    "not null": "column(s) never null",
    "value list": "value lists", "check": "checks",
}  # fmt: skip


def _told(kind: str, constraints: Sequence[Constraint]) -> Iterator[str]:
    """Some constraints of one kind: each by its columns, or how many there are."""
    if len(constraints) > 3 or (constraints and kind == "not null"):
        yield f"{len(constraints)} {_KINDS[kind]}"
    else:
        yield from (f"{kind} ({one.text if kind == 'check' else ', '.join(one.columns)})" for one in constraints)


def _schema_of(folder: str) -> Schema:
    """The schema that an earlier release was made for."""
    return schema_from_json(read_folder(Path(folder)).of(DatabaseForm).declared)


def source_seen(policy: Policy, database: Database) -> DatabaseView:
    """The source as if it had been published unchanged: then rules that mention the original can be judged, too."""
    parts = {name: Part(table.frame) for name, table in database.tables.items()}
    behind = {name: map_row_numbers(table.rows) for name, table in database.tables.items()}
    tables = {name: PublishedTable(table=name, rows=table.rows) for name, table in database.tables.items()}
    exhibit = ReleaseView(DatabaseForm(tables=tables), parts, policy, original=database, trace=Provenance(behind))
    return exhibit.once(DatabaseView)


def require_sound(policy: Policy, database: Database) -> None:
    """What is broken in the source and will not be made anew would be broken in the target; refused before the work."""
    seen = source_seen(policy, database)
    for constraint in seen.bound.constraints:
        count = count_violations(seen, constraint) if _stays(seen.bound, constraint) else 0
        if count:
            hint = "clean the source, or leave the table out with 'tables:'"
            raise DataError(f"the source breaks {constraint.identifier} {count} time(s)", hint=hint)
    for rule in seen.bound.keep:
        count = seen.judge(rule) if _rule_stays(seen.bound, rule) else 0
        if count:
            hint = "clean the source, drop the rule, or replace one of its columns"
            raise DataError(
                f'the source breaks the rule "{rule}" {count} time(s), and new values would not mend it', hint=hint
            )


def _stays(bound: BoundPolicy, constraint: Constraint) -> bool:
    """Whether what breaks a constraint in the source breaks it in the target: none of its columns gets new values by
    itself."""
    free = any(ColumnValue(name, constraint.table) in bound.free for name in constraint.columns)
    return constraint.judged and constraint.rule is not None and not free


def _rule_stays(bound: BoundPolicy, rule: IntegrityRule) -> bool:
    return not any(column in bound.free and not column.original for column in columns_of(rule))


def require_replaced(policy: Policy, database: Database) -> None:
    """Refuse, before the work, a policy under which a replaced value would be published in another column."""
    bound = BoundPolicy.of(policy, database.schema)
    found = [one for one in find_leaked_values(bound, database) if str(one) not in bound.source.accept]
    if found:
        told = "; ".join(f"{one.sentence} [{one}]" for one in sorted(found, key=lambda one: -one.cells)[:_SHOWN])
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        hint = (
            "replace or empty those columns, name them under 'consistent', or accept each pair by its identifier under"
            " data.accept"
        )
        raise AuditRefused(f"replaced values would survive elsewhere: {told}{more}", hint=hint)


def _constraints(seen: DatabaseView) -> Iterator[tuple[Finding, Warning | None]]:
    required: dict[str, int] = {}
    for constraint in seen.bound.constraints:
        if constraint.kind == "check" and constraint.rule is None:
            said = f"{constraint.identifier}: left to the server: {constraint.text}"
            yield Finding(constraint.identifier, True, grade=NOT_JUDGED, reason=said), None
            continue
        count = count_violations(seen, constraint) if constraint.judged else 0
        if count:
            text = f"the source breaks {constraint.text} {count} time(s)"
            final = not seen.bound.source.subset and _stays(seen.bound, constraint)
            text += _REFUSED if final else ""
            yield (
                _broken(constraint.identifier, count),
                Warning(f"broken-constraint:{constraint.identifier}", text, final),
            )
        elif constraint.kind == "not null":
            required[constraint.table] = required.get(constraint.table, 0) + 1
        else:
            yield _sound(constraint.identifier, f"{constraint.identifier}: {constraint.text}"), None
    for table, count in required.items():
        yield _sound(f"not-null:{table}", f"not-null:{table}: {count} column(s) are never null"), None


def _sound(name: str, said: str) -> Finding:
    return Finding(name, True, {"broken": 0}, {"broken": 0}, reason=said)


def _broken(name: str, count: int) -> Finding:
    """What is broken is said by its warning, which the policy may accept."""
    return Finding(name, False, {"broken": 0}, {"broken": count})


def _rules(seen: DatabaseView) -> Iterator[tuple[Finding, Warning | None]]:
    made = {str(one.rule) for one in seen.bound.definitions}  # they say what new values will be, not what old ones are
    for place, rule in enumerate(seen.bound.keep, start=1):
        if isinstance(rule.body, Localities) or str(rule) in made:
            continue
        count = seen.judge(rule)
        if count:
            final = not seen.bound.source.subset and _rule_stays(seen.bound, rule)
            text = f'rule "{rule}" is broken {count} time(s) in the original' + (_REFUSED if final else "")
            yield _broken(f'rule "{rule}"', count), Warning(f"broken-rule:{place}", text, final)
        else:
            yield _sound(f'rule "{rule}"', f'rule "{rule}" holds in the original'), None


def _plain_columns(bound: BoundPolicy, database: Database) -> Iterator[Warning]:
    """Columns that are published as they are although they look personal, or although nobody decided about them."""
    spoken = {str(column) for column in (*bound.declared, *bound.changed)} | set(bound.policy.undecided)
    child = [
        (str(column.table), column.name, str(body.parent[0].table))
        for body in bound.references
        for column in body.child
    ]
    for (table, name), decision in column_decisions(database, child, _LOOKED_AT).items():
        full = f"{table}.{name}"
        if full in spoken or full not in bound.columns or bound.facts(bound.columns[full]).computed:
            continue
        if decision.action == "replace":
            yield Warning(
                f"plain-column:{full}", f"'{full}' looks personal and is published as it is: {decision.reason}"
            )
        elif decision.action == "ask":
            hint = "replace it, or say 'other' to keep it"
            yield Warning(f"undecided-column:{full}", f"nobody decided about '{full}': {decision.reason}; {hint}")


def _unread(bound: BoundPolicy) -> Iterator[Warning]:
    new = set(bound.changed)
    for constraint in bound.constraints:
        unread = constraint.kind == "check" and constraint.rule is None
        if unread and any(ColumnValue(name, constraint.table) in new for name in constraint.columns):
            text = (
                f"{constraint.identifier} mentions replaced columns but cannot be read; the target may refuse the rows"
            )
            yield Warning(f"unread-check:{constraint.identifier.removeprefix('check:')}", text)


def _tied(bound: BoundPolicy) -> Iterator[Warning]:
    for column in sorted(columns_with_original_constraints(bound), key=str):
        yield Warning(
            f"bound-column:{column}", f"rules tie '{column}' to original or kept values; some may stay the same"
        )


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
                yield Warning(
                    f"changed-type:{name}.{column}", f"column '{name}.{column}' has another type since that release"
                )
