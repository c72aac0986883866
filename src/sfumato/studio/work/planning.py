"""Planning: a first policy for some data, what would happen under a policy, and what a hierarchy looks like."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.data.hierarchy import Hierarchy, encode
from sfumato.discover.base import discover
from sfumato.discover.writing import policy_text
from sfumato.errors import PolicyError
from sfumato.methods.base import Progress
from sfumato.policy.generalizations import generalization_of
from sfumato.risks.roles import shape_of
from sfumato.spine.foresight import foresee
from sfumato.studio.drafting import edited
from sfumato.studio.work.profiles import COUNTED, histogram, policy_of

_MOST_NODES = 400
"""Nodes of a tree that a page shows; more are counted."""


def draft(progress: Progress, source: str, out: str) -> dict[str, Any]:
    """Write a first policy for a file or a database, and say what to look at in it; an existing policy stays as it is."""
    found = discover(source, progress=progress)
    text = policy_text(found)
    place = Path(out)
    inside = Path(source).parent == place.parent
    text = edited(text, ("data", "source"), Path(source).name if inside else source)
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return {"policy": place.name, "warnings": list(found.warnings)}


def check(progress: Progress, policy: str, ledger: str = "") -> dict[str, Any]:
    """What would happen, with the place of everything that is wrong."""
    progress(0.1, "looking ahead")
    return foresee(policy, ledger=ledger or None).to_json()


def tree(progress: Progress, policy: str, column: str) -> dict[str, Any]:
    """One hierarchy as it fits the data: its levels, its nodes with how many records each covers, and its boundary."""
    read = policy_of(policy, column)
    if column not in read.columns:
        raise PolicyError(f"no column '{column}'", where=read.document.where("columns"), hint="choose one from the list")
    progress(0.2, "reading")
    text = read.data.read(None).text(column)
    values = [label for label in text.labels if label]
    records = dict(zip(text.labels, map(int, text.counts()), strict=True))
    domain = generalization_of(read, column, values)
    encode(domain, values, column=column)  # a value that the tree lacks is named before the tree is shown
    told: dict[str, Any] = {"column": column, "values": len(values), "records": int(sum(records.values()))}
    told["histogram"] = histogram(text.labels, text.counts()) if shape_of(values) in COUNTED else []
    return told | (_nodes(domain, records) if isinstance(domain, Hierarchy) else _endpoints(domain.leaves))


def _nodes(tree: Hierarchy, records: dict[str, int]) -> dict[str, Any]:
    """The nodes in the order of a table of contents; of large trees the upper ones."""
    sums = np.concatenate([[0], np.cumsum([records.get(leaf, 0) for leaf in tree.leaves])])
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
    return {"kind": "tree", "levels": 1 + max(depths), "nodes": nodes, "hidden": hidden, "largest": max(below, default=0)}


def _endpoints(leaves: Sequence[str]) -> dict[str, Any]:
    """Ranges have no nodes: any two values are the ends of one."""
    return {"kind": "ranges", "levels": 0, "nodes": [], "hidden": 0, "largest": 0, "from": leaves[0], "to": leaves[-1]}
