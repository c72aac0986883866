"""Data: how the source is read, what its columns look like, and the role of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sfumato.errors import PolicyError
from sfumato.studio.drafting import REMOVE
from sfumato.studio.visit import Page, Visit, question
from sfumato.studio.work.profiles import profile

ROLES = ("identifier", "quasi-identifier", "sensitive", "other", "replaced")
READING = ("separator", "encoding", "decimal", "thousands", "missing", "decimal_comma", "line_breaks", "escape")


class DataPage(Page):
    """Column profiles and roles by one click."""

    name: ClassVar[str] = "data"
    title: ClassVar[str] = "Data"
    order: ClassVar[int] = 10

    def model(self, visit: Visit) -> dict[str, Any]:
        document = visit.document
        tree = {} if document is None else document.tree
        data = tree.get("data") if isinstance(tree.get("data"), dict) else {"source": tree.get("data", "")}
        reading = {key: value for key, value in (data or {}).items() if key not in ("kind", "source", "target")}
        job = visit.work(profile, "profile", visit.stamp("data" if document is None else str(data)), policy=str(visit.file))
        roles = {name: _role(entry) for name, entry in (tree.get("columns") or {}).items()}
        shown = {"roles": roles, "choices": list(ROLES), "reading": reading, "source": _shown((data or {}).get("source", ""))}
        return shown | {"seen": visit.digest, "job": question(job)}

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Set a role, or how the source is read."""
        if "role" in form:
            return self._set_role(visit, form)
        value: Any = form.get("value", "").strip()
        if form.get("setting") not in READING:
            raise PolicyError("not a setting of reading", where="data", hint=f"one of {', '.join(READING)}")
        words = [word.strip() for word in value.split(",") if word.strip()] if form["setting"] == "missing" else value
        visit.edit(form["seen"], (("data", form["setting"]), words or REMOVE))
        return ""

    @staticmethod
    def _set_role(visit: Visit, form: Mapping[str, str]) -> str:
        name, role = form.get("column", ""), form["role"]
        if role not in ROLES:
            raise PolicyError("not a role", where="columns", hint=f"one of {', '.join(ROLES)}")
        document = visit.document
        entry = {} if document is None else (document.tree.get("columns") or {}).get(name)
        path = ("columns", name, "role") if isinstance(entry, dict) else ("columns", name)
        visit.edit(form["seen"], (path, role))
        return ""


def _role(entry: Any) -> str:
    return str(entry.get("role", "")) if isinstance(entry, dict) else str(entry)


def _shown(source: Any) -> str:
    """The source without a password."""
    text = str(source)
    before, at, after = text.rpartition("@")
    return f"{before.split(':')[0]}://…@{after}" if at and "://" in before else text
