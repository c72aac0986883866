"""Planning: a first policy for some data, what would happen under a policy, and what a hierarchy looks like."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.confinement import declared_path
from sfumato.core.errors import PolicyError, SfumatoError
from sfumato.data.database import Database
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.personal_columns.looks import value_shape
from sfumato.data.table import Table, TextColumn
from sfumato.data.text_values import format_number, is_whole, parse_number
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.method import Progress
from sfumato.ui.studio.policy_editing import edited
from sfumato.ui.studio.work.profiles import COUNTED, histogram, policy_of
from sfumato.workflow.discover.column_profiles import DataView
from sfumato.workflow.discover.column_roles import fit_hierarchy
from sfumato.workflow.discover.constraints import proposals, rules_of_database
from sfumato.workflow.discover.discover import discover, policy_text
from sfumato.workflow.discover.proposal import rank_proposals
from sfumato.workflow.forecast import forecast_publish

_MOST_LISTED, _MOST_LINES, _LONGEST_LINE = 400, 12, 160
_MOST_RULES = 400
_MOST_NODES = 600
"""Nodes of a tree that a page shows; more are counted."""


def draft(
    progress: Progress, source: str, out: str, written: str = "", read: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Write a first policy for a file or a database, and say what to look at in it; an existing policy stays as it is.

    `written` is how the policy names the source, where that is not its own name; `read` holds settings of reading.
    """
    found = discover(source, progress=progress, read=read)
    text = policy_text(found)
    place = Path(out)
    inside = Path(source).parent == place.parent
    text = edited(text, ("data", "source"), written or (Path(source).name if inside else source))
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return {"policy": place.name, "warnings": list(found.warnings)}


def check(progress: Progress, policy: str, ledger: str = "") -> dict[str, Any]:
    """What would happen, with the place of everything that is wrong."""
    progress(0.1, "looking ahead")
    return forecast_publish(policy, ledger=ledger or None).to_json()


def rules(progress: Progress, policy: str) -> dict[str, Any]:
    """Rules that hold in the source of a policy, with what speaks for each; whether one is kept the policy decides."""
    progress(0.1, "reading")
    data = policy_of(policy).data.read(None)
    progress(0.3, "looking for rules")
    if isinstance(data, Database):
        found = rules_of_database(data, progress=progress)
    elif isinstance(data, Table):
        found = rank_proposals(proposals(DataView.of({None: data}), progress))
    else:
        raise PolicyError("rules are about tables and databases", where="data", hint="the source is of another kind")
    return {"rules": [each.as_json() | {"remark": str(each)} for each in found[:_MOST_RULES]], "found": len(found)}


def tree(progress: Progress, policy: str, column: str) -> dict[str, Any]:
    """One hierarchy as it fits the data: its levels, its nodes with how many records each covers, and its boundary.

    An invalid tree is reported with the lines at fault, an incomplete one with the missing values.
    """
    read = policy_of(policy, column)
    if column not in read.columns:
        raise PolicyError(
            f"no column '{column}'", where=read.document.where("columns"), hint="choose one from the list"
        )
    progress(0.2, "reading")
    text = read.data.read(None).text(column)
    values = [label for label in text.labels if label]
    records = dict(zip(text.labels, map(int, text.counts()), strict=True))
    told: dict[str, Any] = {"column": column, "values": len(values), "records": int(sum(records.values()))}
    told["numbers"] = _numbers(text) if value_shape(values) in COUNTED else None
    fit = fit_hierarchy(column, values, [records[value] for value in values])
    told["proposal"] = None if fit is None else {"hierarchy": _texts(fit.hierarchy), "reason": fit.reason}
    told["ladders"] = []
    told["listed"] = sorted(values)[:_MOST_LISTED] if len(values) <= _MOST_LISTED else []
    try:
        domain = generalization_of(read, column, values)
    except SfumatoError as error:
        return (
            told
            | {"kind": "broken", "error": {"what": error.what, "where": error.where, "hint": error.hint}}
            | _broken(error, read)
        )
    if not isinstance(domain, Hierarchy):
        return told | _endpoints(domain.leaves)
    lacking = [value for value in values if value not in domain.code_of]
    listed = [[value, records[value]] for value in lacking[:_MOST_LISTED]]
    told["ladders"] = _ladders(domain, text)
    return told | {"lacking": len(lacking), "missing": listed} | _nodes(domain, records)


def _texts(value: Any) -> Any:
    """A hierarchy as a policy file has it: every scalar is text."""
    if isinstance(value, dict):
        return {str(key): _texts(entry) for key, entry in value.items()}
    return [_texts(entry) for entry in value] if isinstance(value, list | tuple) else str(value)


_LADDERS = 6


def _ladders(tree: Hierarchy, text: TextColumn) -> list[list[str]]:
    """Some values of the column, each with what it becomes level by level."""
    known = [label for label in sorted(text.labels) if label in tree.code_of]
    chosen = known[:: max(1, len(known) // _LADDERS)][:_LADDERS]
    return [[value, *(tree.names[node] for node in tree.path(tree.code_of[value])[1:])] for value in chosen]


def _numbers(text: TextColumn) -> dict[str, Any]:
    """What a page needs to cut a column of numbers: a fine histogram, and round ends around everything."""
    bins = histogram(text.labels, text.counts(), 48)
    read = [value for value in map(parse_number, text.labels) if value is not None]
    if not bins or not read:
        return {"bins": [], "low": "0", "high": "1", "whole": True}
    low, high = min(read), max(read)
    unit = Decimal(10) ** (max((high - low).adjusted(), 0 if all(map(is_whole, read)) else -6))
    ends = (low // unit) * unit - (unit if low < 0 and low % unit else 0), (high // unit + 1) * unit
    return {
        "bins": bins,
        "low": format_number(ends[0]),
        "high": format_number(ends[1]),
        "whole": all(map(is_whole, read)),
    }


def _broken(error: SfumatoError, read: Policy) -> dict[str, Any]:
    """The lines of the hierarchy file that hold what the error names, or the lines of the policy."""
    spec = next(iter(read.columns.values())).hierarchy
    file = declared_path(read.base, spec) if isinstance(spec, str) else None
    named = re.findall(r"'([^']+)'", error.what)
    if file is None or not file.is_file():
        return {"lines": []}
    with file.open(encoding="utf-8", errors="replace") as lines:
        found = [
            [at, line.rstrip()[:_LONGEST_LINE]]
            for at, line in enumerate(islice(lines, 200_000), 1)
            if any(n in line for n in named)
        ]
    return {"lines": found[:_MOST_LINES]}


def _nodes(tree: Hierarchy, records: dict[str, int]) -> dict[str, Any]:
    """The nodes in the order of a table of contents; of large trees the upper ones."""
    held = np.zeros(len(tree.leaves), dtype=np.int64)
    for value, count in records.items():
        if value in tree.code_of:  # of a coded value the leaf that it becomes
            held[tree.code_of[value]] += count
    sums = np.concatenate([[0], np.cumsum(held)])
    depths = [len(tree.path(node)) - 1 for node in range(len(tree.names))]
    upper = sorted(range(len(tree.names)), key=lambda node: (depths[node], node))[:_MOST_NODES]
    upper.sort(key=lambda node: (int(tree.lo[node]), depths[node]))
    leaves = len(tree.leaves)
    nodes: list[dict[str, Any]] = [
        {
            "label": tree.names[node],
            "level": depths[node],
            "values": int(tree.hi[node] - tree.lo[node]),
            "records": int(sums[tree.hi[node]] - sums[tree.lo[node]]),
            "leaf": node < leaves,
            "boundary": node in tree.ceilings,
            "parent": "" if node == tree.root else tree.names[int(tree.parent[node])],
        }
        for node in upper
    ]
    below = [node["records"] for node in nodes if node["level"] == 1]
    hidden = len(tree.names) - len(nodes)
    return {
        "kind": "tree",
        "levels": 1 + max(depths),
        "nodes": nodes,
        "hidden": hidden,
        "largest": max(below, default=0),
    }


def _endpoints(leaves: Sequence[str]) -> dict[str, Any]:
    """Ranges have no nodes: any two values are the ends of one."""
    return {"kind": "ranges", "levels": 0, "nodes": [], "hidden": 0, "largest": 0, "from": leaves[0], "to": leaves[-1]}
