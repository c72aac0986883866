"""Data: where the data comes from and how it is read, what is odd about it, what its columns look like, and the role of
each.


Project
-------
Project: what lies in the folder, and a first policy for some data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from sfumato.core.errors import DataError, PolicyError
from sfumato.io.sql import is_url
from sfumato.ui.studio.page import Page, Visit, question
from sfumato.ui.studio.policy_editing import REMOVE
from sfumato.ui.studio.work.planning import draft
from sfumato.ui.studio.work.profiles import profile, reading

ROLES = ("identifier", "quasi-identifier", "sensitive", "other", "replaced", "drop")
OF_DATABASES = ("other", "replaced")
TRIED = "reading"
_WORDS = ("separator", "encoding", "quote", "sheet", "line_breaks", "escape")
_LISTS = ("missing", "decimal_comma", "thousands")
_PAIRS = ("date_format",)
SETTINGS = (*_WORDS, *_LISTS, *_PAIRS)
_TAB = "\\t"


class DataPage(Page):
    """Column profiles, settings of reading with a preview, and roles by one click."""

    name: ClassVar[str] = "data"
    title: ClassVar[str] = "Data"
    order: ClassVar[int] = 10

    def model(self, visit: Visit) -> dict[str, Any]:
        data, listed = visit.data, visit.tree.get("columns")
        kind, source = str(data.get("kind", "table")), str(data.get("source", ""))
        known = repr(sorted(visit.desk.secrets))
        job = visit.work(profile, "profile", visit.data_stamp(known), policy=str(visit.file))
        tried = visit.desk.latest(visit.subject, TRIED)
        return {
            "kind": kind,
            "source": shown(source),
            "files": [file.name for file in visit.project.data_files()],
            "roles": {name: _role(entry) for name, entry in listed.items()} if isinstance(listed, Mapping) else {},
            "choices": list(OF_DATABASES if kind == "database" else ROLES),
            "reading": {key: _written(data[key]) for key in SETTINGS if key in data},
            "variable": variable_of(source),
            "excel": source.lower().endswith((".xlsx", ".xlsm")),
            "seen": visit.digest,
            "job": question(job),
            "tried": None if tried is None else question(tried),
        }

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Set a role, the source, or how it is read; or try how it would be read."""
        if "role" in form:
            return self._set_role(visit, form)
        if "address" in form:
            return self._keep_address(visit, form["address"].strip())
        if "source" in form:
            visit.project.existing(form["source"])
            visit.edit(form["seen"], (("data", "source"), form["source"]))
        elif form.get("act") == "odd":
            visit.edit(form["seen"], *(((("data", *path)), value) for path, value in _mended(form, visit.data)))
        else:
            settings = settings_of(form)
            if form.get("act") == "try":
                visit.desk.start(reading, TRIED, visit.subject, policy=str(visit.file), settings=settings)
                return ""
            visit.edit(form["seen"], *((("data", key), value or REMOVE) for key, value in settings.items()))
        return ""

    @staticmethod
    def _keep_address(visit: Visit, address: str) -> str:
        """The address behind a variable, for as long as the studio runs."""
        named = variable_of(visit.data.get("source"))
        if not named or not is_url(address):
            raise PolicyError(
                "not the address of a database", where="data", hint="write it like postgresql://user@host/name"
            )
        visit.desk.secrets[named] = address
        return ""

    @staticmethod
    def _set_role(visit: Visit, form: Mapping[str, str]) -> str:
        name, role = form.get("column", ""), form["role"]
        if role not in ROLES:
            raise PolicyError("not a role", where="columns", hint=f"one of {', '.join(ROLES)}")
        entry = (visit.tree.get("columns") or {}).get(name)
        path = ("columns", name, "role") if isinstance(entry, dict) else ("columns", name)
        visit.edit(form["seen"], (path, role))
        return ""


def settings_of(form: Mapping[str, str]) -> dict[str, Any]:
    """The settings of reading that a form gives, as they stand under ``data:``; what was left empty is nothing.

    >>> settings_of({"separator": ";", "missing": "NA, ?", "date_format": "born = %d.%m.%Y", "quote": '"',
    ...     "act": "try"})
    {'separator': ';', 'quote': '', 'missing': ['NA', '?'], 'date_format': {'born': '%d.%m.%Y'}}
    """
    found: dict[str, Any] = {}
    for key in (key for key in SETTINGS if key in form):
        value = form[key] if key == "separator" else form[key].strip()
        parts = [part.strip() for part in value.split(",") if part.strip()]
        if key in _LISTS:
            found[key] = parts
        elif key in _PAIRS:
            found[key] = {name.strip(): written.strip() for name, _, written in (part.partition("=") for part in parts)}
        else:
            usual = {"quote": '"', "line_breaks": "refused", "escape": "none"}.get(key)
            found[key] = "\t" if value == _TAB else "" if value == usual else value
    return found


def _mended(form: Mapping[str, str], data: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    """What an oddity asks to be set, added to what stands there."""
    key, value = form.get("key", ""), form.get("value", "").strip()
    if key in _LISTS and value:
        there = data.get(key)
        listed = there if isinstance(there, list) else [] if there is None else [str(there)]
        return [((key,), [*listed, *(part for part in value.split("\n") if part not in listed)])]
    if key in _PAIRS and form.get("column"):
        return [((key, form["column"]), value)]
    if key == "escape":
        return [((key,), value)]
    raise PolicyError("not a setting of reading", where="data", hint=f"one of {', '.join(SETTINGS)}")


def _written(value: Any) -> str:
    """A setting as its field shows it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {written}" for name, written in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else _TAB if value == "\t" else str(value)


def _role(entry: Any) -> str:
    return str(entry.get("role", "")) if isinstance(entry, dict) else str(entry)


def variable_of(source: Any) -> str:
    """The variable that stands for a source.

    >>> variable_of("${SHOP}"), variable_of("shop.csv")
    ('SHOP', '')
    """
    found = re.fullmatch(r"\$\{(\w+)\}", str(source))
    return found[1] if found else ""


def shown(source: Any) -> str:
    """The source without a login."""
    text = str(source)
    before, at, after = text.rpartition("@")
    return f"{before.split(':')[0]}://…@{after}" if at and "://" in before else text


# Project
# -------


DRAFTING = "drafting a policy"
_DATABASES = (".sqlite", ".sqlite3", ".db")


class ProjectPage(Page):
    """Files, policies, releases and ledgers; drop a file, draft a policy."""

    name: ClassVar[str] = "project"
    title: ClassVar[str] = "Project"
    about: ClassVar[Literal["project", "policy", "release"]] = "project"
    order: ClassVar[int] = 1

    def model(self, visit: Visit) -> dict[str, Any]:
        job = visit.desk.latest("", DRAFTING)
        return visit.project.overview() | {"job": None if job is None else question(job)}

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Draft a policy for a file or a database; one that is there already is opened."""
        source, url = form.get("file", ""), form.get("url", "").strip()
        if url and not is_url(url):
            raise DataError(
                "not the address of a database", where="database", hint="write it like postgresql://user@host/name"
            )
        place = url or str(visit.project.existing(source))
        if place.lower().endswith(_DATABASES) and not url:
            place = f"sqlite:///{place}"
        out = visit.project.path(f"{Path(source).stem or form.get('name', '').strip() or 'database'}.yaml")
        if out.exists():
            return f"/p/{out.name}/data"
        written = withheld(visit, url, out.stem) if url else ""
        visit.desk.start(draft, DRAFTING, "", source=place, out=str(out), written=written)
        return ""


def withheld(visit: Visit, url: str, name: str) -> str:
    """How the policy names a database: an address that holds a login is kept in memory, and the policy names a
    variable."""
    if "@" not in url:
        return url
    variable = "SFUMATO_" + "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in name.upper())
    visit.desk.secrets[variable] = url
    return f"${{{variable}}}"
