"""Hierarchies: how each quasi-identifier may be generalized, built by rule, by hand or from a file, and how far at
most.

Words of coding (top, bottom, round, recode) say what values always become. They stand beside a rule that makes them
coarser: choosing a rule keeps the words, and choosing words keeps the rule. A file, and ranges, have no place beside
them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from sfumato.core.errors import PolicyError
from sfumato.io.hierarchy_files import cuts_of_amnesia, is_amnesia, is_range
from sfumato.io.known_hierarchies import LISTS
from sfumato.io.value_coding import WORDS, is_coded, without_coding
from sfumato.policy.yaml_document import write_flow
from sfumato.ui.studio.page import Page, Visit, question
from sfumato.ui.studio.policy_editing import REMOVE
from sfumato.ui.studio.work.planning import tree

RULES = ("intervals", "cuts", "prefix", "dates", "order", "list", "flat", "ranges", "file", "tree", "coding")
_DEEPEST, _MOST_VALUES, _LARGEST_FILE = 12, 20_000, 8 << 20
_FILES = (".csv", ".txt", ".tsv", ".dat")


class HierarchiesPage(Page):
    """A builder for every quasi-identifier."""

    name: ClassVar[str] = "hierarchies"
    title: ClassVar[str] = "How may values be made coarser?"
    order: ClassVar[int] = 40
    step: ClassVar[int] = 4

    def model(self, visit: Visit) -> dict[str, Any]:
        columns = visit.tree.get("columns")
        listed = columns.items() if isinstance(columns, Mapping) else ()
        known = {name: entry if isinstance(entry, dict) else {"role": entry} for name, entry in listed}
        names = [name for name, entry in known.items() if entry.get("role") == "quasi-identifier"]
        chosen = visit.query.get("column", names[0] if names else "")
        files = [file.name for file in visit.project.data_files() if file.name.lower().endswith(_FILES)]
        shown: dict[str, Any] = {
            "columns": names,
            "files": files,
            "lists": list(LISTS),
            "seen": visit.digest,
            "job": None,
        }
        if chosen not in names:
            return shown | {"column": "", "spec": None, "said": "", "boundary": None, "coded": coding_of(None)}
        entry = known[chosen]
        spec = entry.get("hierarchy")
        stamp = visit.data_stamp(chosen, repr(entry), visit.seen(spec) if isinstance(spec, str) else "")
        job = visit.work(tree, f"tree of {chosen}", stamp, policy=str(visit.file), column=chosen)
        return shown | {
            "column": chosen,
            "spec": spec,
            "said": write_flow(spec) if spec is not None else "",
            "coded": coding_of(spec),
            "boundary": entry.get("boundary"),
            "job": question(job),
        }

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Set the rule of a column, its boundary, or both."""
        name = form.get("column", "")
        if form.get("rule") == "proposed":
            self._take_proposal(visit, form, name)
        elif "boundary" in form:
            nodes = [label for label in several.get("node", []) if label]
            visit.edit(form["seen"], (("columns", name, "boundary"), nodes or REMOVE))
        else:
            entry = (visit.tree.get("columns") or {}).get(name)
            rule = asked_rule(visit, form, several, entry.get("hierarchy") if isinstance(entry, dict) else None)
            visit.edit(form["seen"], (("columns", name, "hierarchy"), rule), (("columns", name, "boundary"), REMOVE))
        return ""

    @staticmethod
    def _take_proposal(visit: Visit, form: Mapping[str, str], name: str) -> None:
        """Take the hierarchy that fits the values best."""
        known = visit.desk.latest_asked(visit.subject, f"tree of {name}")
        found = known.result.get("proposal") if known is not None and isinstance(known.result, dict) else None
        if not found:
            raise PolicyError("nothing is proposed for this column", where="hierarchy", hint="choose another way below")
        visit.edit(form["seen"], (("columns", name, "hierarchy"), found["hierarchy"]), said=f"{name}: proposed levels")


def asked_rule(visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]], now: Any) -> Any:
    """The entry that a form asks for, beside what stays of the one that is there."""
    if form.get("rule") == "coding":
        return coded_rule(form, now)
    rule = read_file(visit, form) if form.get("rule") == "file" else chosen_rule(form, several)
    words = {word: now[word] for word in WORDS if word in now} if is_coded(now) else {}
    return {**words, **rule} if isinstance(rule, dict) else words if words and rule == "flat" else rule


def coding_of(spec: Any) -> dict[str, str]:
    """What the form of coding shows of an entry: each word, and the table as lines.

    >>> coding_of({"top": 90, "recode": {"NY": "East"}, "intervals": [5]})
    {'top': '90', 'bottom': '', 'round': '', 'recode': 'NY = East'}
    """
    words = {word: spec.get(word, "") if is_coded(spec) else "" for word in WORDS}
    table = words["recode"]
    lines = (
        [f"{old} = {'' if new is None else new}" for old, new in table.items()]
        if isinstance(table, Mapping)
        else [str(table)]
    )
    return {word: str(value) for word, value in words.items()} | {"recode": "\n".join(lines)}


def coded_rule(form: Mapping[str, str], now: Any) -> Any:
    """Words of coding beside the rule that is there; without any word, that rule alone.

    >>> coded_rule({"top": "90", "recode": "NY = East"}, {"intervals": ["5"], "bottom": "18"})
    {'top': '90', 'recode': {'NY': 'East'}, 'intervals': ['5']}
    """
    words: dict[str, Any] = {word: form[word].strip() for word in WORDS[:3] if form.get(word, "").strip()}
    lines = [line for line in form.get("recode", "").splitlines() if line.strip()]
    if len(lines) == 1 and "=" not in lines[0]:
        words["recode"] = lines[0].strip()  # a file with rows old;new
    elif lines:
        words["recode"] = dict(_pair(line) for line in lines)
    rule = (without_coding(now) if is_coded(now) else now) if isinstance(now, Mapping) else {}
    if isinstance(now, str) and words and now != "flat":
        what = f"coded values cannot stand in '{now}'"
        raise PolicyError(
            what, where="hierarchy", hint="choose intervals, a prefix or a tree first, or kept or suppressed"
        )
    return {**words, **rule} or (now if isinstance(now, str) else REMOVE)


def _pair(line: str) -> tuple[str, str]:
    old, sign, new = (part.strip() for part in line.partition("="))
    if not sign or not old:
        raise PolicyError(
            "a line of the table says what becomes of a value", where="hierarchy", hint="for example: NY = East"
        )
    return old, new


def read_file(visit: Visit, form: Mapping[str, str]) -> Any:
    """The entry for a file of the project: its name, or the rule that a file of ranges stands for."""
    place = visit.project.existing(form.get("file", ""))
    with place.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LARGEST_FILE)
    return {"cuts": cuts_of_amnesia(text, place.name)} if is_amnesia(text) and is_range(text) else place.name


def chosen_rule(form: Mapping[str, str], several: Mapping[str, list[str]]) -> Any:
    """The entry of a policy that a form describes."""
    rule, value = form.get("rule", ""), form.get("value", "").strip()
    listed = [part.strip() for part in value.split(",") if part.strip()]
    if rule in ("flat", "ranges"):
        return rule
    if rule == "cuts" and listed:
        return {rule: joined_cuts(listed, form.get("joined", "0"))}
    if rule in ("intervals", "dates") and listed:
        return {rule: listed}
    if rule in ("prefix", "list") and value:
        return {rule: value}
    if rule == "order" and several.get("entry"):
        return {rule: several["entry"]}
    if rule == "tree":
        return drawn_tree(form.get("tree", ""))
    raise PolicyError(
        "the rule needs a value", where=f"hierarchy {rule}", hint="for example widths 5, 10, 20, or units month, year"
    )


def joined_cuts(points: list[str], times: str) -> Any:
    """Cut points, and coarser levels in which two neighbouring bins are joined, so many times.

    >>> joined_cuts(["0", "18", "30", "65", "120"], "1"), joined_cuts(["0", "9"], "2")
    ([['0', '18', '30', '65', '120'], ['0', '30', '120']], ['0', '9'])
    """
    levels = [points]
    for _ in range(min(int(times), 4) if times.isdigit() else 0):
        if len(levels[-1]) > 3:
            inner = levels[-1][1:-1]
            levels.append([levels[-1][0], *inner[1::2], levels[-1][-1]])
    return levels if len(levels) > 1 else points


def drawn_tree(text: str) -> dict[str, Any]:
    """A tree as the page draws it, ``{root: {group: [value, …]}}``, with bounded depth and size."""
    try:
        drawn = json.loads(text)
    except (ValueError, RecursionError):
        raise PolicyError("the tree could not be read", where="hierarchy", hint="draw it again") from None
    if not isinstance(drawn, dict) or len(drawn) != 1 or _size(drawn, 0) > _MOST_VALUES:
        raise PolicyError(
            "a tree has one root and not too many values", where="hierarchy", hint="keep large trees in a file"
        )
    return drawn


def _size(node: Any, depth: int) -> int:
    if depth > 2 * _DEEPEST:
        return _MOST_VALUES + 1
    if isinstance(node, dict):
        return sum(1 + _size(entry, depth + 1) for entry in node.values())
    return sum(_size(entry, depth + 1) for entry in node) if isinstance(node, list) else 1
