"""Candidates side by side, column by column: the original against what each policy would publish, class sizes and risk.

Every candidate is made and certified like any release and kept nowhere. Everything told is a count over classes: how many records
look alike, how the values of a column spread, how many records stand behind the commonest cells; never a row.

Notation
    spread    records over at most twelve runs of neighbouring leaves of a column; a generalized cell counts in equal shares for
              all of its leaves
    risk      of the prosecutor (`risks.attackers`): one over the class size

>>> people = Table(pa.table({"age": ["30", "31", "40", "41"], "sex": ["f", "f", "m", "m"]}))
>>> rough = Policy.parse({"version": 1, "columns": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}},
...     "sex": "quasi-identifier"}, "protect": [{"k-anonymity": {"k": 2}}], "method": {"mondrian": {}}})
>>> found = compare({"rough": rough}, people)
>>> found.before.k, found.after["rough"].k, found.after["rough"].columns["age"].top
(1, 2, (('30-39', 2), ('40-49', 2)))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa  # noqa: F401 - the doctest speaks of it

from sfumato.audit.source import source_audit
from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.classes import Classes, group
from sfumato.data.generalization import Generalization
from sfumato.data.table import Table
from sfumato.errors import PolicyError
from sfumato.methods.base import Progress, silent
from sfumato.metrics.loss import per_column
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit
from sfumato.risks.attackers import Attacker, prosecutor
from sfumato.risks.report import THRESHOLDS, SizeBin, size_bins
from sfumato.spine.publish import publish

_RUNS, _TOP = 12, 5


@dataclass(frozen=True, slots=True)
class ColumnSide:
    """One column on one side of a comparison."""

    values: int
    """Different values that are shown."""
    loss: float
    top: tuple[tuple[str, int], ...]
    spread: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TableSide:
    """The original, or what one candidate publishes of it."""

    records: int
    suppressed: int
    k: int
    classes: int
    sizes: tuple[SizeBin, ...]
    risk: Attacker
    columns: Mapping[str, ColumnSide]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Before and after, for every candidate."""

    before: TableSide
    after: Mapping[str, TableSide]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(policies: Mapping[str, Policy], data: Any = None, *, progress: Progress = silent) -> Comparison:
    """The original against what each policy would publish.

    Parameters
    ----------
    policies
        Candidates by name; all speak of the same data and the same quasi-identifiers.
    data
        Takes the place of the source of the first policy.
    progress
        Told how far the work is, as a share and a word.

    Returns
    -------
    Comparison
        Class sizes, risk and columns before and after.
    """
    first = next(iter(policies.values()))
    table = source_audit(first).read(first, data)
    exhibits = {}
    for done, (name, policy) in enumerate(policies.items()):
        progress(done / len(policies), f"making {name}")
        exhibits[name] = made(policy, table).exhibit
    return Comparison(_original(first, table), {name: _published(exhibit) for name, exhibit in exhibits.items()})


def made(policy: Policy, table: Table) -> Any:
    """A certified release of a recoded table, kept nowhere."""
    publication = publish(policy, table)
    if not publication.exhibit.recoded:
        hint = "choose a method that generalizes values, such as mondrian or refined"
        raise PolicyError("only tables with generalized values are compared column by column", where="method", hint=hint)
    return publication


def _original(policy: Policy, table: Table) -> TableSide:
    names = policy.quasi_identifiers
    classes = group([table.text(name).codes for name in names], rows=table.rows)
    columns = {}
    for name in names:
        text, domain = table.text(name), generalization_of(policy, name, table.text(name).labels)
        codes = [domain.code_of[label] for label in text.labels]
        leaves = np.bincount(codes, weights=text.counts(), minlength=domain.size)
        columns[name] = ColumnSide(len(text.labels), 0.0, _top(text.labels, text.counts()), _runs(leaves.astype(np.float64)))
    return _side(table.rows, 0, classes, columns)


def _published(exhibit: Exhibit) -> TableSide:
    losses = per_column(exhibit)
    columns = {}
    for name, domain in exhibit.recoded.items():
        text = exhibit.data.text(name)
        spread = _runs(_leaves(domain, *exhibit.intervals(name), text.counts()))
        columns[name] = ColumnSide(len(text.labels), losses[name], _top(text.labels, text.counts()), spread)
    return _side(exhibit.data.rows, exhibit.suppressed, exhibit.classes, columns)


def _side(records: int, suppressed: int, classes: Classes, columns: Mapping[str, ColumnSide]) -> TableSide:
    counts = classes.counts if len(classes) else np.ones(1, dtype=np.int64)
    risk = prosecutor(counts, THRESHOLDS)
    return TableSide(records, suppressed, int(counts.min()), len(classes), size_bins(classes.counts), risk, columns)


def _leaves(domain: Generalization, lo: IntArray, hi: IntArray, counts: IntArray) -> FloatArray:
    """Records per leaf, a cell in equal shares for all of its leaves."""
    share = counts / (hi - lo)
    steps = np.bincount(lo, weights=share, minlength=domain.size + 1) - np.bincount(hi, weights=share, minlength=domain.size + 1)
    return np.maximum(np.cumsum(steps)[: domain.size], 0.0)


def _runs(leaves: FloatArray) -> tuple[float, ...]:
    """Neighbouring leaves together, as many runs as a small picture can show."""
    return tuple(float(f"{part.sum():.6g}") for part in np.array_split(leaves, min(_RUNS, max(len(leaves), 1))))


def _top(labels: Any, counts: IntArray) -> tuple[tuple[str, int], ...]:
    """The most frequent labels; of equally frequent ones the first by name, since rows come in an order of chance."""
    order = sorted(range(len(labels)), key=lambda at: (-int(counts[at]), str(labels[at])))[:_TOP]
    return tuple((str(labels[at]), int(counts[at])) for at in order)
