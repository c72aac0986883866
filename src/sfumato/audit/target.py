"""The test database itself, after the load: what stands there is what was certified, and the server agrees.

Guarantee: everything is judged on rows read back from the target, by the checks that judged the release, without the original.
With the source at hand, no old value of a replaced column is found in a column of the target that was not replaced, computed ones
included.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.audit.base import Check
from sfumato.audit.checks.database import Constraints, PolicyRules, TablesPresent
from sfumato.audit.checks.database_survivors import finding_of
from sfumato.audit.checks.database_values import DatabaseDomains
from sfumato.audit.databases import DatabaseExhibit, differing
from sfumato.audit.survivors import Originals, survivors
from sfumato.data.database import ColumnFacts, Database
from sfumato.data.moments import moment
from sfumato.errors import SfumatoError
from sfumato.policy.rules.tree import ColumnValue
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.release import Part

_CHECKS: tuple[type[Check], ...] = (TablesPresent, Constraints, PolicyRules, DatabaseDomains)


def judge_target(
    exhibit: Exhibit,
    there: Database,
    server: Sequence[str],
    originals: Originals | None = None,
    told: Callable[[float, str], None] = lambda *_: None,
) -> tuple[Finding, ...]:
    """`there` was read back from the target; `server` are its own complaints; `originals` are old values, if at hand."""
    seen = exhibit.once(DatabaseExhibit)
    parts = {part: Part(_written(seen, table, there)) for part, table in seen.names.items() if table in there.tables}
    target = replace(exhibit.as_published(), parts=parts, damage=None)
    told(0.0, "comparing rows")
    findings = [_rows(seen, there), _server(server)]
    for place, check in enumerate(cls() for cls in _CHECKS):
        told((place + 1) / (len(_CHECKS) + 2), check.name)
        if check.applies(target):
            findings.append(_judged(check, target))
    if originals is not None:
        told((len(_CHECKS) + 1) / (len(_CHECKS) + 2), "looking for old values")
        findings.append(_survivors(seen, there, originals))
    return tuple(findings)


def _survivors(seen: DatabaseExhibit, there: Database, originals: Originals) -> Finding:
    """Old values in columns that nobody replaced, those included that the target computes by itself."""
    new = set(seen.bound.changed)
    kept = {
        column: (table.frame.column(facts.name), facts.kind)
        for name, table in there.tables.items()
        for facts in there.schema.table(name).columns
        if (column := ColumnValue(facts.name, name)) not in new
    }
    fresh = {column: seen.column(column) for column in originals if column.table in seen.tables}
    gone = {
        column: values.filter(pc.invert(pc.is_in(values, value_set=_distinct(fresh[column]))))
        for column, values in originals.items()
    }
    computed = {column: cells for column, cells in kept.items() if _is_computed(there, column)}
    plain = {column: cells for column, cells in kept.items() if column not in computed}
    found = [*survivors(originals, plain), *survivors(gone, computed)]  # what was computed from new values may hold these
    return finding_of("target: surviving values", found, seen.form.accepted)


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    return pc.drop_null(pc.unique(column))


def _is_computed(there: Database, column: ColumnValue) -> bool:
    return bool(there.schema.table(str(column.table)).column(column.name).computed)


def _written(seen: DatabaseExhibit, table: str, there: Database) -> pa.Table:
    """The columns that somebody wrote; in the spelling of the release where the target spells the same value differently."""
    names = [name for name in seen.schema.table(table).written if name in there.tables[table].names]
    return there.tables[table].frame.select(names)


def _judged(check: Check, target: Exhibit) -> Finding:
    try:
        found = check.examine(target)
    except (SfumatoError, KeyError) as error:
        found = Finding(check.name, False, reason=error.what if isinstance(error, SfumatoError) else f"{error} is missing")
    return replace(found, model=f"target: {found.model}")


def _server(complaints: Sequence[str]) -> Finding:
    reason = "; ".join(complaints[:5])
    return Finding("target: server", not complaints, {"complaints": 0}, {"complaints": len(complaints)}, reason=reason)


def _rows(seen: DatabaseExhibit, there: Database) -> Finding:
    """The rows of the target are the rows of the release, in whatever order and spelling."""
    wrong = []
    for name, table in seen.tables.items():
        if name not in there.tables:
            wrong.append(f"table '{name}' is missing")
            continue
        lacking = [column for column in table.names if column not in there.tables[name].names]
        if lacking:
            wrong.append(f"table '{name}' has no column '{lacking[0]}'")
            continue
        extra, lost = differing(there.tables[name].frame.select(table.names).columns, table.frame.columns)
        if extra or lost:
            facts = [seen.schema.table(name).column(column) for column in table.names]
            here, other = _pair(table.frame, there.tables[name].frame, facts)
            extra, lost = differing(other, here)
        if extra or lost:
            wrong.append(f"table '{name}' has {extra} other rows and lacks {lost}")
    achieved = {"tables": len(seen.tables), "different": len(wrong)}
    return Finding("target: rows", not wrong, {"different": 0}, achieved, reason="; ".join(wrong))


def _pair(one: pa.Table, other: pa.Table, facts: list[ColumnFacts]) -> tuple[list[pa.ChunkedArray], list[pa.ChunkedArray]]:
    left, right = [], []
    for column in facts:
        here, there = one.column(column.name), other.column(column.name)
        if differing([here], [there]) != (0, 0):
            here, there = canonical(here, column.kind), canonical(there, column.kind)
        left.append(here)
        right.append(there)
    return left, right


def canonical(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """One spelling for equal values: 1.50 and 1.5, a moment with and without its zone, true and 1.

    >>> canonical(pa.chunked_array([["1.50", "2"]]), "decimal").to_pylist()
    ['1.5', '2']
    """
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    spelt = pa.array([_spelt(text, kind) for text in coded.dictionary.to_pylist()], pa.string())
    return pa.chunked_array([spelt.take(coded.indices)])


def _spelt(text: str, kind: str) -> str:
    days = moment(text) if len(text) >= 10 else None
    if days is not None:
        return f"moment {days}"
    if kind == "boolean":
        return {"t": "true", "1": "true", "f": "false", "0": "false"}.get(text, text)
    if kind == "json":
        try:
            return json.dumps(json.loads(text), sort_keys=True)
        except ValueError:
            return text
    try:
        number = Decimal(repr(float(text))) if kind == "float" else Decimal(text)
        return format(number.normalize(), "f") if number.is_finite() else text
    except (InvalidOperation, ValueError):
        return text
