"""Whose rows they are, as a form shows and writes it: `person:` of a policy, and the table of people beside the rows.

Nothing of a policy is lost by it: a table of people stays where it is, and what is marked is written in the shortest form.

>>> person_entry({"rows": "unlinked"}, {"columns": ["patient"]}), person_entry({"rows": "linked"}, {"columns": ["a", "b"]})
('patient', {'columns': ['a', 'b'], 'rows': 'linked'})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import PolicyError
from sfumato.studio.drafting import REMOVE

UNLINKED, LINKED = "unlinked", "linked"


def person_shown(tree: Mapping[str, Any], data: Mapping[str, Any], roles: Mapping[str, str], line: int) -> dict[str, Any]:
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
        raise PolicyError(f"{why}, and no column names a person", where="person", hint="mark the columns that name a person")
    if not columns:
        return REMOVE
    said = {"columns": _short(columns)}
    said |= {"rows": rows} if rows != UNLINKED else {}
    said |= {"together": _short(together)} if together else {}
    return said["columns"] if len(said) == 1 else said


def _short(names: list[str]) -> Any:
    return names[0] if len(names) == 1 else names


def names_in(entry: Any) -> list[str]:
    """Columns that stand in a policy as one name or as a list."""
    return [str(name) for name in entry] if isinstance(entry, list) else [str(entry)] if entry else []
