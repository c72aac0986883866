"""Hierarchies: how each quasi-identifier may be generalized, built by rule, by hand or from a file, and how far at most."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from sfumato.errors import PolicyError
from sfumato.studio.drafting import REMOVE
from sfumato.studio.visit import Page, Visit, question
from sfumato.studio.work.planning import tree

RULES = ("intervals", "prefix", "dates", "flat", "ranges", "file", "tree")
_DEEPEST, _MOST_VALUES = 12, 20_000


class HierarchiesPage(Page):
    """A builder for every quasi-identifier."""

    name: ClassVar[str] = "hierarchies"
    title: ClassVar[str] = "Hierarchies"
    order: ClassVar[int] = 20

    def model(self, visit: Visit) -> dict[str, Any]:
        columns = {} if visit.document is None else visit.document.tree.get("columns") or {}
        known = {name: entry if isinstance(entry, dict) else {"role": entry} for name, entry in columns.items()}
        listed = [name for name, entry in known.items() if entry.get("role") == "quasi-identifier"]
        chosen = visit.query.get("column", listed[0] if listed else "")
        shown: dict[str, Any] = {"columns": listed, "column": chosen, "rules": list(RULES), "seen": visit.digest, "job": None}
        files = [file.name for file in visit.project.data_files() if file.name.endswith(".csv")]
        if chosen not in listed:
            return shown | {"column": "", "spec": None, "boundary": None, "files": files}
        job = visit.work(tree, f"tree of {chosen}", visit.stamp(chosen), policy=str(visit.file), column=chosen)
        entry = known[chosen]
        return shown | {"spec": entry.get("hierarchy"), "boundary": entry.get("boundary"), "files": files, "job": question(job)}

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Set the rule of a column, its boundary, or both."""
        name = form.get("column", "")
        if "boundary" in form:
            nodes = [label for label in several.get("node", []) if label]
            visit.edit(form["seen"], (("columns", name, "boundary"), nodes or REMOVE))
        else:
            visit.edit(form["seen"], (("columns", name, "hierarchy"), chosen_rule(form)), (("columns", name, "boundary"), REMOVE))
        return ""


def chosen_rule(form: Mapping[str, str]) -> Any:
    """The entry of a policy that a form describes."""
    rule, value = form.get("rule", ""), form.get("value", "").strip()
    listed = [part.strip() for part in value.split(",") if part.strip()]
    if rule in ("flat", "ranges"):
        return rule
    if rule in ("intervals", "dates") and listed:
        return {rule: listed}
    if rule == "prefix" and value:
        return {rule: value}
    if rule == "file" and form.get("file"):
        return form["file"]
    if rule == "tree":
        return drawn_tree(form.get("tree", ""))
    raise PolicyError(
        "the rule needs a value", where=f"hierarchy {rule}", hint="for example widths 5, 10, 20, or units month, year"
    )


def drawn_tree(text: str) -> dict[str, Any]:
    """A tree as the page draws it, ``{root: {group: [value, …]}}``, with bounded depth and size."""
    try:
        drawn = json.loads(text)
    except (ValueError, RecursionError):
        raise PolicyError("the tree could not be read", where="hierarchy", hint="draw it again") from None
    if not isinstance(drawn, dict) or len(drawn) != 1 or _size(drawn, 0) > _MOST_VALUES:
        raise PolicyError("a tree has one root and not too many values", where="hierarchy", hint="keep large trees in a file")
    return drawn


def _size(node: Any, depth: int) -> int:
    if depth > _DEEPEST:
        return _MOST_VALUES + 1
    if isinstance(node, dict):
        return sum(1 + _size(entry, depth + 1) for entry in node.values())
    return sum(_size(entry, depth + 1) for entry in node) if isinstance(node, list) else 1
