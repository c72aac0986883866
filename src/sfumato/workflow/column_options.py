"""What would bring a column back that a release suppresses in most rows: options, each tried, with its figures.

Every option changes one thing of the policy: another column is left out, more records may be suppressed, a level is
lowered, the column weighs more, or it gets a hierarchy or a limit. Each is published quickly on the same random sample
as the policy itself, audited as always, and kept nowhere.

>>> import pyarrow as pa
>>> ages, towns = [str(20 + i * 7 % 60) for i in range(60)], [f"town {i}" for i in range(60)]
>>> people = Table(pa.table({"age": ages, "town": towns}))
>>> tree = {"version": 1, "columns": {"age": {"role": "quasi-identifier", "hierarchy": "flat"},
...     "town": "quasi-identifier"}, "protect": [{"k-anonymity": {"k": 5}}]}
>>> found = options_for(Policy.parse(tree), "age", people)
>>> found.options[0].change, found.options[0].suppressed < found.now.suppressed
("give 'age' the hierarchy {'intervals': [5, 10, 20]}", True)
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.errors import SfumatoError
from sfumato.core.wording import number_text, percent_text
from sfumato.data.table import Table
from sfumato.policy.policy import Policy
from sfumato.policy.yaml_document import Document
from sfumato.workflow.discover.column_roles import fit_hierarchy
from sfumato.workflow.publish import publish

_CELLS, _OTHERS, _MORE, _WEIGHT = 20_000, 2, 0.1, 3
"""Cells of a sample, other columns that are left out, share of records that may be suppressed, importance."""
_NOTHING = 0.01
"""A share of cells below which an option brings nothing back."""


@dataclass(frozen=True, slots=True)
class Option:
    """One change of the policy, and what it leads to."""

    change: str
    suppressed: float
    """Share of the cells of the column that are suppressed."""
    column_loss: float
    loss: float
    """Of the whole release."""
    records: int
    """Records that are suppressed."""

    def sentence(self, column: str) -> str:
        shares = f"{column} suppressed in {percent_text(self.suppressed)} of the rows"
        return f"{self.change}: {shares}, loss of the release {number_text(self.loss)}"


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """A column, what becomes of it, and the options that were tried, the best first."""

    column: str
    now: Option
    options: tuple[Option, ...]
    tried: int
    records: int
    """Records of the sample."""

    def sentences(self) -> Iterator[str]:
        """The options that bring something back, in words."""
        helpful = [one for one in self.options if one.suppressed < self.now.suppressed - _NOTHING]
        if not helpful:
            yield f"none of {self.tried} options that were tried brings {self.column} back"
        yield from (one.sentence(self.column) for one in helpful)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def options_for(policy: Policy, column: str, table: Table) -> ColumnOptions:
    """Try what would bring a column back, on a sample of the table."""
    most = _CELLS // max(len(policy.quasi_identifiers), 1)
    if table.rows > most:
        drawn = np.sort(np.random.default_rng(most).choice(table.rows, most, replace=False))
        table = Table(table.frame.take(pa.array(drawn)))
    now, found, tried = _publish(policy, column, table, "as it is"), [], 0
    for change, edit in _changes(policy, column, table):
        tree = copy.deepcopy(policy.document.tree)
        try:
            edit(tree)
            document = Document(tree, policy.document.name, policy.base)
            found.append(_publish(Policy.from_document(document), column, table, change))
        except SfumatoError:  # such a policy cannot be had
            pass
        tried += 1
    found.sort(key=lambda one: (one.suppressed, one.loss))
    return ColumnOptions(column, now, tuple(found), tried, table.rows)


def _publish(policy: Policy, column: str, table: Table, change: str) -> Option:
    made = publish(policy.with_effort("quick"), table)
    own = next(one for one in made.summary().columns if one.name == column)
    loss = made.utility.get("loss")
    return Option(
        change,
        own.suppressed,
        own.loss or 0.0,
        float(loss) if isinstance(loss, float) else 0.0,
        made.certificate.records.suppressed,
    )


def _changes(policy: Policy, column: str, table: Table) -> Iterator[tuple[str, Callable[[dict[str, Any]], None]]]:
    """Changes of the tree of a policy, in words."""
    text = table.text(column)
    fit = fit_hierarchy(column, text.labels, text.counts().tolist())
    if fit is not None and policy.columns[column].hierarchy in (None, "flat"):
        yield f"give '{column}' the hierarchy {fit.hierarchy}", lambda tree: _set(tree, column, hierarchy=fit.hierarchy)
    others = [name for name in policy.quasi_identifiers if name != column]
    for other in sorted(others, key=lambda name: -len(table.text(name).labels))[:_OTHERS]:
        yield f"leave '{other}' out", lambda tree, other=other: tree["columns"].update({other: "drop"})  # type: ignore[misc]
    yield (
        f"'importance: {{{column}: {_WEIGHT}}}' under utility",
        lambda tree: tree.update(
            utility={
                **(tree.get("utility") or {}),
                "importance": {**((tree.get("utility") or {}).get("importance") or {}), column: _WEIGHT},
            }
        ),
    )
    share = max(_MORE, 2 * (policy.utility.suppress_at_most or 0.0))
    if share < 1:
        yield (
            f"'suppress_at_most: {share:.0%}' under utility",
            lambda tree: tree.update(utility={**(tree.get("utility") or {}), "suppress_at_most": share}),
        )
    for place, claim in enumerate(policy.document.tree.get("protect") or []):
        k = _k_of(claim)
        if k > 2:
            lower = (k + 1) // 2
            yield f"k = {lower} instead of {k}", lambda tree, place=place, lower=lower: _lower(tree, place, lower)  # type: ignore[misc]
    if policy.columns[column].hierarchy not in (None, "flat", "ranges") and policy.columns[column].boundary is None:
        yield (
            f"'at_most: 1' for '{column}', so that other columns are generalized instead",
            lambda tree: _set(tree, column, at_most=1),
        )


def _set(tree: dict[str, Any], column: str, **entries: Any) -> None:
    own = tree["columns"][column]
    tree["columns"][column] = {**(own if isinstance(own, Mapping) else {"role": own}), **entries}


def _k_of(claim: Any) -> int:
    levels = claim.get("k-anonymity") if isinstance(claim, Mapping) else None
    k = str((levels or {}).get("k", 0)) if isinstance(levels, Mapping) else "0"
    return int(k) if k.isdigit() else 0


def _lower(tree: dict[str, Any], place: int, k: int) -> None:
    claim = dict(tree["protect"][place])
    tree["protect"][place] = {**claim, "k-anonymity": {**claim["k-anonymity"], "k": k}}
