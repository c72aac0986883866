"""Compare four methods for numbers at the same risk: pattern walk, noise, swapping and microaggregation.

Every method has one setting; the weakest value is used at which an adversary who knows all original numbers finds at
most `risk` of the rows, by value or by rank, whichever is better (`testdata.pattern_checks`). So all stand at equal
risk, and the figures beside them can be compared. Every trial is a release that `publish` makes and the audit
certifies; none is kept.

    relation   mean difference of the correlations between columns
    spread     standard deviations, release over original; 1 is right
    queries    mean relative error of counts over random ranges of two columns (of one when there is only one)
    moved      mean distance of a value from its own, in standard deviations of the column

The walk keeps no localities here: records near each other in all columns move inside the box that they span. If
particular properties must hold exactly, take the walk: no other method here keeps any."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.arrays import FloatArray
from sfumato.core.errors import PolicyError, SfumatoError
from sfumato.data.table import Table
from sfumato.data.text_values import is_whole, parse_number, parse_numbers
from sfumato.kinds.testdata.pattern_checks import mid_ranks, reidentified_share, scale_to_unit_range
from sfumato.policy.policy import Policy
from sfumato.release.evidence import source_audit
from sfumato.release.method import Progress, no_progress
from sfumato.workflow.arguments import PolicyLike, as_policy
from sfumato.workflow.explore.explore import BUDGETS
from sfumato.workflow.publish import publish

SETTINGS: dict[str, tuple[float, ...]] = {
    "pattern-walk": (5, 8, 12, 16, 22, 30, 45, 70),
    "noise": (0.01, 0.04, 0.1, 0.2, 0.4, 0.7, 1.0, 1.7, 3.0, 5.0),
    "swapping": (0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7),
    "microaggregation": (2, 3, 5, 8, 12, 16, 22, 30, 45, 70),
}
_QUERIES, _SEED = 300, 20_261
_ROLES = ("replaced", "quasi-identifier")


@dataclass(frozen=True, slots=True)
class NumberTrial:
    """One method at the weakest setting that is safe enough; `status` says why there is none."""

    method: str
    setting: float | None = None
    risk: float | None = None
    figures: Mapping[str, float] | None = None
    status: str = "done"

    def to_json(self) -> dict[str, Any]:
        figures = {name: round(value, 4) for name, value in (self.figures or {}).items()}
        return {"method": self.method, "setting": self.setting, "risk": self.risk, "status": self.status} | figures

    def __str__(self) -> str:
        if self.figures is None:
            return f"{self.method:18} {self.status}"
        told = "  ".join(f"{name} {value:.3f}" for name, value in self.figures.items())
        return f"{self.method:18} {self.setting:<6g} risk {self.risk:.3f}  {told}"


def explore_numbers(
    policy: PolicyLike,
    data: Any = None,
    *,
    risk: float = 0.05,
    budget: float | None = None,
    progress: Progress = no_progress,
) -> list[NumberTrial]:
    """The four methods on the numeric columns of a table that are replaced or quasi-identifiers, at most at this
    risk."""
    asked, data = as_policy(policy, data)
    if asked.data.name != "table":
        raise PolicyError("numbers are compared in a table", where=asked.document.where("data"))
    table: Table = source_audit(asked).read(asked, data)
    names = numeric(asked, table)
    if not names or table.rows < 2 * SETTINGS["microaggregation"][0]:
        hint = "give them the role 'replaced' or 'quasi-identifier'; no value may be missing"
        raise PolicyError("no column of numbers is to be changed", where=asked.document.where("columns"), hint=hint)
    only = Table(table.frame.select(list(names)))
    before = np.column_stack([only.numbers(name) for name in names])
    end, trials = time.monotonic() + (BUDGETS[asked.effort] if budget is None else budget), []
    for place, method in enumerate(SETTINGS):
        progress(place / len(SETTINGS), method)
        trials.append(_weakest(method, names, only, before, risk, end))
    return trials


def numeric(policy: Policy, table: Table) -> tuple[str, ...]:
    """Published columns with a role that lets them change, all of whose values are numbers, not all alike."""
    names = [name for name in policy.published if policy.columns[name].role in _ROLES and name in table.names]
    return tuple(
        name for name in names if len(labels := table.text(name).labels) > 1 and None not in map(parse_number, labels)
    )


def _weakest(
    method: str, names: Sequence[str], table: Table, before: FloatArray, risk: float, end: float
) -> NumberTrial:
    """The first setting at which no more rows are found than allowed."""
    for setting in SETTINGS[method]:
        if time.monotonic() > end:
            return NumberTrial(method, status="not run: the budget is spent")
        if method in ("pattern-walk", "microaggregation") and 2 * setting > table.rows:
            break
        try:
            after = published(method, setting, names, table)
        except SfumatoError as wrong:
            return NumberTrial(method, status=f"not possible: {wrong.what}")
        share = found(before, after)
        if share <= risk:
            return NumberTrial(method, setting, round(share, 4), figures(before, after))
    return NumberTrial(method, status=f"no setting leaves at most {risk:.1%} of the rows to be found")


def published(method: str, setting: float, names: Sequence[str], table: Table) -> FloatArray:
    """The numbers of a certified release, in the order of the records."""
    tree: dict[str, Any] = {
        "version": 1,
        "columns": {name: {"role": "quasi-identifier", "hierarchy": "ranges"} for name in names},
    }
    if method == "pattern-walk":
        tree["columns"] = {name: {"role": "replaced", "domain": _domain(table, name)} for name in names}
        tree["keep"] = [f"localities({', '.join(names)}) sample 0 partition near {int(setting)}"]
        tree["method"] = {method: {"range": "partition", "steps": 10_000}}
    elif method == "microaggregation":
        tree |= {"protect": [{"k-anonymity": {"k": int(setting)}}], "method": {method: {}}}
    else:
        tree["method"] = {method: {"amount" if method == "noise" else "window": setting}}
    release = publish(Policy.parse(tree), data=table.frame).release
    shown, after = Table(release.parts["data"].table), np.empty((table.rows, len(names)))
    after[np.asarray(release.trace.rows["data"])] = np.column_stack([shown.numbers(name) for name in names])
    return after


def _domain(table: Table, name: str) -> dict[str, Any]:
    """The least and the largest value, in as many places as the column has."""
    values = parse_numbers(table.text(name).labels, name)
    low, high = min(values), max(values)
    if all(map(is_whole, values)):
        return {"integers": [int(low), int(high)]}
    return {"decimals": [float(low), float(high)], "places": max(-int(value.as_tuple().exponent) for value in values)}


def found(before: FloatArray, after: FloatArray) -> float:
    """Return the share of rows found by an adversary who knows all original numbers, by value or by rank."""
    by_rank = reidentified_share(mid_ranks(before, before), mid_ranks(after, after))
    return max(reidentified_share(*scale_to_unit_range(before, after)), by_rank)


def figures(before: FloatArray, after: FloatArray) -> dict[str, float]:
    """Return the utility figures of the numbers."""
    told = {"spread": float((after.std(axis=0) / before.std(axis=0)).mean())}
    if before.shape[1] > 1:
        old, new = (np.nan_to_num(np.corrcoef(values.T)) for values in (before, after))
        told["relation"] = float(np.abs(old - new)[np.triu_indices(before.shape[1], 1)].mean())
    told["queries"] = _query_error(before, after)
    told["moved"] = float((np.abs(after - before) / before.std(axis=0)).mean())
    return told


def _query_error(before: FloatArray, after: FloatArray) -> float:
    chance, errors = np.random.default_rng(_SEED), []
    for _ in range(20 * _QUERIES):
        columns = chance.choice(before.shape[1], min(2, before.shape[1]), replace=False)
        ends = np.sort(before[chance.integers(0, len(before), 2)][:, columns], axis=0)
        true, told = (_inside(values[:, columns], ends) for values in (before, after))
        if true >= 5:
            errors.append(abs(told - true) / true)
        if len(errors) == _QUERIES:
            break
    return float(np.mean(errors)) if errors else float("nan")


def _inside(values: FloatArray, ends: FloatArray) -> int:
    return int(((values >= ends[0]) & (values <= ends[1])).all(axis=1).sum())
