"""A suggestion as the text of a policy: remarks first, then its keys, then every rule on a line of its own that one `#` switches.

>>> from sfumato.discover.proposal import Proposal
>>> rule = Proposal("a < b", "orders", support=400, chance=-80.0)
>>> print(policy_text(Suggestion({"version": 1, "data": {"kind": "database"}}, proposals=(rule,))))
# Read from private data: look at every line before anybody else does.
version: 1
data:
  kind: database
keep:  # rules that hold; a '#' switches one off
  - "a < b"  # found, 400 rows, chance 10^-80
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.discover.base import Suggestion
from sfumato.policy.read import write_flow, write_switches, write_yaml

PRIVATE = "Read from private data: look at every line before anybody else does."
_WIDE = 128
_RECODED = "rules that hold, for columns that get the role replaced; without a '#' they are on"
_REPLACED = "rules that hold; a '#' switches one off"


def policy_text(found: Suggestion) -> str:
    """YAML that reads back as the suggested policy with the rules that are switched on."""
    remarks = (f"# {line}\n" for line in (PRIVATE, *found.reasons))
    keys = [text for key, value in found.policy.items() for text in _key(found, key, value)]
    return "".join([*remarks, *keys, *_keep(found)])


def _key(found: Suggestion, key: str, value: Any) -> Iterator[str]:
    if key == "columns" and found.remarks:
        yield "columns:\n" + "".join(_column(name, entry, found.remarks.get(name, "")) for name, entry in value.items())
    else:
        yield write_yaml({key: value}, compact=key == "columns")
    if key == "data" and found.accepted:
        lines = write_switches("accept", ((name, True, remark) for name, remark in found.accepted.items())).splitlines()
        yield "".join(f"  {line}\n" for line in lines)
    if key == "columns":
        yield "".join(f"#  {name}: left out: {' '.join(reason.split())}\n" for name, reason in found.left.items())


def _column(name: str, entry: Any, remark: str) -> str:
    """One entry below ``columns:`` with the reason beside it; a long one has the reason above it."""
    note = f"# {' '.join(remark.split())}" if remark else ""
    line = f"{write_flow(name)}: {write_flow(entry)}"
    if len(line) + len(note) < _WIDE:
        return f"  {line}  {note}".rstrip() + "\n"
    lines = [line] if len(line) < _WIDE else write_yaml({name: entry}).splitlines()
    return "".join(f"  {line}\n" for line in ([note] if note else []) + lines)


def _keep(found: Suggestion) -> Iterator[str]:
    """In a table that is recoded no rule is on: generalized values keep none."""
    if not found.proposals:
        return
    recoded = is_recoded(found)
    text = write_switches("keep", ((each.rule, each.active and not recoded, str(each)) for each in found.proposals))
    yield text.replace("keep:", f"keep:  # {_RECODED if recoded else _REPLACED}", 1)


def is_recoded(found: Suggestion) -> bool:
    """Whether the policy publishes generalized values rather than new ones."""
    return dict(found.policy.get("data", {})).get("kind") == "table"
