"""A policy file edited piece by piece: comments, order and quoting stay where they are.

The file is the only state: every page reads it, every edit writes it. Who edits says which text they saw (`digest`);
when the file has changed since, in another tab or in an editor, the edit is refused instead of undoing what somebody
else wrote.

>>> text = "version: 1  # first\\ncolumns:\\n  age: other  # years\\n"
>>> print(edited(text, ("columns", "age"), {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}), end="")
version: 1  # first
columns:
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10]}} # years


Switches
--------
Rules of a policy that one `#` switches on and off: those that hold in the list, and those that wait in comments beside
it.

Discovery writes every rule it found on a line of its own below ``keep:``, the doubtful ones as comments. Switching one
changes its line and nothing else; where the list is written otherwise, the entry is taken out or added.

>>> text = 'version: 1\\nkeep:\\n  - "a < b"  # 400 rows\\n#  - "unique(a)"  # 9 rows\\ndata: x.csv\\n'
>>> [(each.rule, each.on, each.remark, each.line) for each in switches(text)]
[('a < b', True, '400 rows', 3), ('unique(a)', False, '9 rows', 4)]
>>> print(switched(switched(text, "unique(a)", True), "a < b", False), end="")
version: 1
keep:
#  - "a < b"  # 400 rows
  - "unique(a)"  # 9 rows
data: x.csv


Whose rows
----------
Whose rows they are, as a form shows and writes it: `person:` of a policy, and the table of people beside the rows.

Nothing of a policy is lost by it: a table of people stays where it is, and what is marked is written in the shortest
form.

>>> person_entry({"rows": "unlinked"}, {"columns": ["patient"]}), person_entry({"rows": "linked"}, {"columns": ["a",
...     "b"]})
('patient', {'columns': ['a', 'b'], 'rows': 'linked'})
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import SingleQuotedScalarString

from sfumato.core.errors import PolicyError
from sfumato.policy.yaml_document import Document, parse_yaml

Path = Sequence[str | int]
_ONE_LINE = 90
_NOTHING = ("null", "~", "")
"""Words that YAML takes for nothing unless they are quoted."""
REMOVE = object()
"""Given as a value: take the entry out."""


def digest(text: str) -> str:
    """A short name of a text: which version of a policy somebody saw."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def edited(text: str, path: Path, value: Any) -> str:
    """The text with one entry set (or removed); everything else as it was written."""
    parse_yaml(text, name="policy")  # the strict reader bounds depth and size before anything else looks at it
    tree = _load(text)
    node = tree
    for at, part in enumerate(path[:-1]):
        node = _child(node, part, [] if isinstance(path[at + 1], int) else {})
    last = path[-1]
    if value is REMOVE:
        if isinstance(node, CommentedMap):
            node.pop(last, None)
        elif isinstance(last, int) and last < len(node):
            del node[last]
    elif isinstance(node, CommentedSeq) and isinstance(last, int) and last >= len(node):
        node.append(_plain(value))
    else:
        _set(node, last, _plain(value))
    return _dump(tree)


def _child(node: Any, part: str | int, empty: Any) -> Any:
    """The entry below, made when it is not there; a scalar (``age: other``, ``data: people.csv``) opens into a
    mapping."""
    if isinstance(node, CommentedMap) and (part not in node or node[part] is None):
        _set(node, part, _plain(empty))
    if isinstance(node, CommentedMap) and isinstance(node[part], str) and isinstance(empty, dict):
        _set(node, part, _plain({"source" if part == "data" else "role": node[part]}))
    return node[part]


def _set(node: Any, key: Any, value: Any) -> None:
    """Set an entry and keep the comment that stands beside it."""
    comment = node.ca.items.get(key)
    node[key] = value
    if comment is not None:
        node.ca.items[key] = comment


def _plain(value: Any) -> Any:
    """Values as the writer wants them: scalars as text (the strict reader knows nothing else), what is short on one
    line."""
    if not isinstance(value, dict | list | tuple):
        return SingleQuotedScalarString(value) if str(value).lower() in _NOTHING else str(value)
    node: CommentedMap | CommentedSeq
    if isinstance(value, dict):
        node = CommentedMap({str(key): _plain(entry) for key, entry in value.items()})
    else:
        node = CommentedSeq([_plain(entry) for entry in value])
    if len(json.dumps(value)) <= _ONE_LINE:
        node.fa.set_flow_style()
    return node


def described(edits: Sequence[tuple[Sequence[str | int], Any]]) -> str:
    """A change in words, for the button that takes it back.

    >>> described([(("columns", "PLZ", "role"), "sensitive"), (("protect", 3), REMOVE)])
    'PLZ: role sensitive; protect removed'
    """
    return "; ".join(_described(path, value) for path, value in edits) or "the last change"


def _described(path: Sequence[str | int], value: Any) -> str:
    names = [str(part) for part in path if isinstance(part, str) and part != "columns"]
    what = f"{names[0]}: {' '.join(names[1:])}" if len(names) > 1 else names[0] if names else "policy"
    shown = "removed" if value is REMOVE else str(value) if isinstance(value, str | int) else "changed"
    return f"{what} {shown if len(shown) <= 30 else 'changed'}"


class _AllText(VersionedResolver):
    """Takes no scalar for a number, a date or a truth value."""

    @property
    def versioned_resolver(self) -> Any:
        return {}


def _writer() -> YAML:
    writer = YAML(typ="rt")
    writer.Resolver = _AllText  # 01234 and NO are texts and stay as they are written
    writer.preserve_quotes = True
    writer.width = 120
    writer.indent(mapping=2, sequence=4, offset=2)
    return writer


def _load(text: str) -> Any:
    try:
        return _writer().load(text)
    except YAMLError:
        raise PolicyError("not valid YAML", where="policy", hint="check indentation and quotes") from None


def _dump(tree: Any) -> str:
    out = io.StringIO()
    _writer().dump(tree, out)
    return out.getvalue()


# Switches
# --------


KEY = "keep"
_OFF = re.compile(r"#\s*- (\S.*)")
_ON = re.compile(r"\s*- (\S.*)")
_END = 1 << 30


@dataclass(frozen=True, slots=True)
class Switch:
    """One rule, whether it is on, what is remarked beside it, and its line."""

    rule: str
    on: bool
    remark: str
    line: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def switches(text: str) -> list[Switch]:
    """Every rule of the list and every one that waits in a comment below it, in the order of the lines."""
    document = parse_yaml(text, name="policy")
    lines = text.splitlines()
    kept = document.tree.get(KEY)
    on = (
        []
        if not isinstance(kept, list)
        else [Switch(str(rule), True, *_beside(document, lines, at)) for at, rule in enumerate(kept)]
    )
    off = [
        Switch(rule, False, remark, number)
        for number, line in _below(document, lines)
        if (found := _OFF.fullmatch(line)) and (rule := _scalar(found[1]))
        for remark in [_remark(found[1], rule)]
    ]
    return sorted([*on, *off], key=lambda each: each.line)


def _beside(document: Document, lines: list[str], at: int) -> tuple[str, int]:
    number = document.lines.get((KEY, at), 0)
    found = _ON.fullmatch(lines[number - 1]) if 0 < number <= len(lines) else None
    rule = _scalar(found[1]) if found else ""
    return (_remark(found[1], rule) if found and rule else ""), number


def _below(document: Document, lines: list[str]) -> list[tuple[int, str]]:
    """Lines of the list and its comments: from the key to the next one."""
    begin = document.lines.get((KEY,), 0)
    later = [line for path, line in document.lines.items() if len(path) == 1 and line > begin]
    end = min(later, default=len(lines) + 1)
    return [(number, lines[number - 1]) for number in range(begin + 1, end)] if begin else []


def _scalar(written: str) -> str:
    """The text of an entry as YAML reads it, without what is remarked behind it; nothing when it is no text."""
    try:
        found = parse_yaml(f"x: {written}\n", name="rule").tree.get("x")
    except PolicyError:
        return ""
    return found if isinstance(found, str) else ""


def _remark(written: str, rule: str) -> str:
    """What stands behind the entry as a comment."""
    places = [
        at for at in (found.start() for found in re.finditer(r"\s#\s?", written)) if _scalar(written[:at]) == rule
    ]
    return written[places[0] :].strip().removeprefix("#").strip() if places else ""


def switched(text: str, rule: str, on: bool) -> str:
    """The text with a rule on or off; one that is nowhere yet is added."""
    known = [each for each in switches(text) if each.rule == rule]
    if any(each.on == on for each in known) and on:
        return text
    if known:
        lines = text.splitlines(keepends=True)
        line = lines[known[0].line - 1]
        flipped = re.sub(r"^#", "", line, count=1) if on else f"#{line}"
        changed = "".join([*lines[: known[0].line - 1], flipped, *lines[known[0].line :]])
        if _rules(changed) == _wanted(text, rule, on):
            return changed
    if on:
        return edited(text, (KEY, _END), rule)
    return edited(text, (KEY, _rules(text).index(rule)), REMOVE) if rule in _rules(text) else text


def _rules(text: str) -> list[str]:
    try:
        kept = parse_yaml(text, name="policy").tree.get(KEY)
    except PolicyError:
        return ["\0"]
    return [str(rule) for rule in kept] if isinstance(kept, list) else []


def _wanted(text: str, rule: str, on: bool) -> list[str]:
    """What the list should be, in the order of the lines."""
    return [each.rule for each in switches(text) if (on if each.rule == rule else each.on)]


# Whose rows
# ----------


UNLINKED, LINKED = "unlinked", "linked"


def person_shown(
    tree: Mapping[str, Any], data: Mapping[str, Any], roles: Mapping[str, str], line: int
) -> dict[str, Any]:
    """What the policy says, and which columns could name people: identifiers, and those that are named already."""
    entry = tree.get("person")
    said = entry if isinstance(entry, Mapping) else {"columns": entry}
    named, together = names_in(said.get("columns")), names_in(said.get("together"))
    offered = [name for name, role in roles.items() if role == "identifier"]
    return {
        "columns": named,
        "together": together,
        "rows": str(said.get("rows") or UNLINKED),
        "offered": list(dict.fromkeys([*offered, *named, *together])),
        "table": str(data.get("people") or ""),
        "line": line,
    }


def person_entry(form: Mapping[str, str], several: Mapping[str, list[str]], table: str = "") -> Any:
    """What stands under `person:`; nothing marked takes it out, where no table of people needs it."""
    columns, together, rows = several.get("columns", []), several.get("together", []), form.get("rows", UNLINKED)
    if rows not in (UNLINKED, LINKED):
        raise PolicyError(f"rows are '{UNLINKED}' or '{LINKED}'", where="person", hint="load the page again")
    if not columns and (together or table):
        why = "a household has members" if together else "a table of people is read beside the rows"
        raise PolicyError(
            f"{why}, and no column names a person", where="person", hint="mark the columns that name a person"
        )
    if not columns:
        return REMOVE
    said = {"columns": _short(columns)}
    said |= {"rows": rows} if rows != UNLINKED else {}
    said |= {"together": _short(together)} if together else {}
    return said["columns"] if len(said) == 1 else said


def _short(names: list[str]) -> Any:
    return names[0] if len(names) == 1 else names


def names_in(entry: Any) -> list[str]:
    """Return columns that a policy gives as one name or as a list."""
    return [str(name) for name in entry] if isinstance(entry, list) else [str(entry)] if entry else []
