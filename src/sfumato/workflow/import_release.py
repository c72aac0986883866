"""Adopt: a release that was made elsewhere becomes an entry of a ledger, judged like others and marked as imported.

What is needed: the published table, its policy (columns, hierarchies, requirements, key), and the original, because the
next release cannot be joined with a table whose rows have no known persons.

Invariants
    I1  Every published row gets exactly one record of the original. A key in the published table says which; without
        one, rows and records are matched by what cells cover and by equal values elsewhere; an answer that is not the
        only one is refused.
    I2  It is entered whether its requirements hold or not: it is published already. What does not hold, the next
        release inherits.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import __version__
from sfumato.audit.certify import certify
from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError, PolicyError
from sfumato.data.equivalence_classes import EquivalenceClasses, equivalence_classes_of
from sfumato.data.table import Table
from sfumato.history.ledger import Entry
from sfumato.history.record_identity import require_overlap_with_history
from sfumato.io.table_files import read_file
from sfumato.kinds.tables.form import Recoded, RecodedProvenance
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.certificate import LIMITS_PAGE, Certificate, Finding, Records
from sfumato.release.evidence import source_audit
from sfumato.release.past_releases import PastRelease, keys_of
from sfumato.release.release import Part, Release
from sfumato.workflow.arguments import ledger_of
from sfumato.workflow.publication import public_findings
from sfumato.workflow.write import DraftFolder

IMPORTED = "imported"
_PAIRS = 50_000_000


def import_release(
    policy: Policy | str | Path,
    published: str | Path,
    *,
    original: Any = None,
    ledger: str | Path,
    new_ledger: bool = False,
) -> tuple[Entry, tuple[Finding, ...]]:
    """Enter a recoded table that was published elsewhere; the entry, and what was found over everything published so
    far.

    Parameters
    ----------
    policy
        What the table is about: columns, hierarchies, requirements and the key.
    published
        The table as it was published; it may have the key beside the published columns.
    original
        What it was made from, with the key; the policy's own source when absent.
    ledger
        The ledger that it is entered in.
    new_ledger
        Begin this ledger.
    """
    policy = policy if isinstance(policy, Policy) else Policy.read(policy)
    if policy.person is not None and policy.person.linked:
        what = "a table whose rows a pseudonym ties cannot be imported: nobody checks whose pseudonyms are whose"
        raise PolicyError(
            what, where=policy.document.where("person"), hint="begin the ledger with a release that was made here"
        )
    book = ledger_of(policy, ledger, new=new_ledger)
    assert book is not None
    dataset = source_audit(policy).read(policy, original)
    release = _release(policy, Table(read_file(Path(published))), dataset)
    earlier, place = book.place()
    require_overlap_with_history(policy, earlier, keys_of(policy, dataset), dataset)
    draft = DraftFolder.of(release, policy, {IMPORTED: {}}, "csv")
    exhibit = replace(draft.read(), original=dataset, trace=release.trace)
    shown = len(release.parts["data"])
    exhibit = replace(
        exhibit, certificate=Certificate((), Records(shown + release.suppressed, shown, release.suppressed))
    )
    memory = release.form.memory(policy, release.parts, release.trace, dataset)
    past = PastRelease(exhibit.as_published(), memory, place.number)
    exhibit = replace(exhibit, history=earlier.then(past))
    found = certify(exhibit)
    assert exhibit.records is not None
    certificate = Certificate(
        public_findings(exhibit, found),
        exhibit.records,
        assumptions=("this release was made elsewhere and entered afterwards", *release.notes),
        limits=(LIMITS_PAGE,),
        method=IMPORTED,
        version=__version__,
        ledger=place.certified(draft.folder),
    )
    draft.seal(certificate)
    with book.writing() as base:
        entry = book.append(base, draft.folder, memory.to_arrow(), None, place, imported=True)  # I2
    return entry, found


def _release(policy: Policy, shown: Table, original: Table) -> Release:
    missing = [name for name in policy.published if name not in shown.names]
    if missing:
        raise DataError(
            f"the published table lacks the column '{missing[0]}'", hint="leave it out with 'publish: false'"
        )
    keyed = bool(policy.key) and set(policy.key) <= set(shown.names)
    behind = _by_key(policy, shown, original) if keyed else _by_cover(policy, shown, original)
    table = pa.table({name: shown.column(name) for name in policy.published})
    return Release(Recoded(), {"data": Part(table)}, original.rows - len(behind), RecodedProvenance({"data": behind}))


def _by_key(policy: Policy, shown: Table, original: Table) -> IntArray:
    place = {key: record for record, key in enumerate(keys_of(policy, original))}
    found = [place.get(key, -1) for key in keys_of(policy, shown)]
    if min(found, default=0) < 0:
        raise DataError(f"{sum(one < 0 for one in found)} row(s) have a key that the original does not have")
    return np.array(found, dtype=np.int64)


def _by_cover(policy: Policy, shown: Table, original: Table) -> IntArray:
    """The record behind every row, when cells and equal values leave one answer (I1)."""
    if not policy.key:
        raise PolicyError("a ledger needs 'key:'", where=policy.document.where("key"))
    spans, codes, same = [], [], []
    for name in policy.published:
        text, values = shown.text(name), original.text(name)
        if policy.columns[name].role == "quasi-identifier":
            domain = generalization_of(policy, name, list(values.labels))
            pairs = [domain.interval(label) or (0, 0) for label in text.labels]
            spans.append(np.array(pairs, dtype=np.int64).reshape(-1, 2)[text.codes])
            codes.append(np.array([domain.code_of[label] for label in values.labels], dtype=np.int64)[values.codes])
        else:
            number = {label: code for code, label in enumerate(dict.fromkeys([*text.labels, *values.labels]))}
            same.append(
                (
                    np.array([number[label] for label in text.labels], dtype=np.int64)[text.codes],
                    np.array([number[label] for label in values.labels], dtype=np.int64)[values.codes],
                )
            )
    rows = equivalence_classes_of(
        [side for span in spans for side in (span[:, 0], span[:, 1])] + [mine for mine, _ in same], rows=shown.rows
    )
    records = equivalence_classes_of([*codes, *(theirs for _, theirs in same)], rows=original.rows)
    fits = np.ones((len(rows), len(records)), dtype=np.bool_) if len(rows) * len(records) <= _PAIRS else None
    if fits is None:
        raise DataError(
            "the table is too large to be matched by its cells", hint="give the key beside the published columns"
        )
    for span, code in zip(spans, codes, strict=True):
        at, value = span[rows.first], code[records.first]
        fits &= (at[:, :1] <= value) & (value < at[:, 1:])
    for mine, theirs in same:
        fits &= mine[rows.first][:, None] == theirs[records.first]
    return _assigned(fits, rows, records)


def _assigned(fits: np.ndarray, rows: EquivalenceClasses, records: EquivalenceClasses) -> IntArray:
    """Rows of every kind to records of the kinds that only they cover."""
    covered = fits.sum(axis=0)
    mine = np.where(covered == 1, fits.argmax(axis=0), -1)[records.of]
    here = np.bincount(mine[mine >= 0], minlength=len(rows))
    if (covered > 1).any() or (here != rows.counts).any():
        raise DataError(
            "cells and values do not tell who is behind which row",
            hint="give the key beside the published columns; it is not kept with what was published",
        )
    behind = np.empty(len(rows.of), dtype=np.int64)
    known = np.flatnonzero(mine >= 0)
    behind[np.argsort(rows.of, kind="stable")] = known[np.argsort(mine[known], kind="stable")]
    return behind
