"""Rules of a policy that one `#` switches on and off: those that hold in the list, and those that wait in comments beside it.

Discovery writes every rule it found on a line of its own below ``keep:``, the doubtful ones as comments. Switching one changes its
line and nothing else; where the list is written otherwise, the entry is taken out or added.

>>> text = 'version: 1\\nkeep:\\n  - "a < b"  # 400 rows\\n#  - "unique(a)"  # 9 rows\\ndata: x.csv\\n'
>>> [(each.rule, each.on, each.remark, each.line) for each in switches(text)]
[('a < b', True, '400 rows', 3), ('unique(a)', False, '9 rows', 4)]
>>> print(switched(switched(text, "unique(a)", True), "a < b", False), end="")
version: 1
keep:
#  - "a < b"  # 400 rows
  - "unique(a)"  # 9 rows
data: x.csv
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.errors import PolicyError
from sfumato.policy.read import Document, parse_yaml
from sfumato.studio.drafting import REMOVE, edited

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
    places = [at for at in (found.start() for found in re.finditer(r"\s#\s?", written)) if _scalar(written[:at]) == rule]
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
