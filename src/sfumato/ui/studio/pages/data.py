"""Data: where the data comes from and how it is read, what is odd about it, what its columns look like, and the role of
each.


Project
-------
Project: what lies in the folder, and a first policy for some data.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from sfumato.core.errors import DataError, PolicyError, SfumatoError
from sfumato.io.sql import is_url
from sfumato.policy.privacy_rules import parse_dependency
from sfumato.ui.studio.page import Page, Visit, question
from sfumato.ui.studio.policy_editing import REMOVE, digest
from sfumato.ui.studio.steps import ROLE_WORDS, entries, to_decide
from sfumato.ui.studio.work.planning import draft
from sfumato.ui.studio.work.profiles import exposure, profile, reading, reading_of_file

ROLES = ("identifier", "quasi-identifier", "sensitive", "other", "replaced", "drop")
OF_DATABASES = ("other", "replaced")
TRIED = "reading"
_WORDS = ("separator", "encoding", "quote", "sheet", "line_breaks", "escape")
_LISTS = ("missing", "decimal_comma", "thousands")
_PAIRS = ("date_format",)
SETTINGS = (*_WORDS, *_LISTS, *_PAIRS)
_TAB = "\\t"


class DataPage(Page):
    """Columns: what each may be, one choice per row in plain words, the doubtful ones first."""

    name: ClassVar[str] = "data"
    title: ClassVar[str] = "What may others know, what must stay secret?"
    order: ClassVar[int] = 10
    step: ClassVar[int] = 2

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
            "doubtful": to_decide(visit),
            "proposed": {name: str(entry.get("proposed") or "") for name, entry in entries(visit).items()},
            "again": publishing_again(visit),
            "job": question(job),
            "tried": None if tried is None else question(tried),
        }

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Set a role, the source, or how it is read; or try how it would be read."""
        if form.get("act") == "several":
            return self._set_roles(visit, form["role"], several.get("several", []), form["seen"])
        if "role" in form:
            return self._set_roles(visit, form["role"], [form.get("column", "")], form["seen"])
        if form.get("act") == "proposals":
            return self._take_proposals(visit, form["seen"])
        if form.get("act") == "again":
            return self._publish_again(visit, form)
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
    def _set_roles(visit: Visit, role: str, names: list[str], seen: str) -> str:
        """Give columns a role; what was proposed for them is no longer asked."""
        if role not in ROLES:
            raise PolicyError("not a role", where="columns", hint=f"one of {', '.join(ROLES)}")
        if not names:
            raise PolicyError("no column is marked", where="columns", hint="mark columns on the left first")
        edits: list[Any] = []
        for name in names:
            entry = (visit.tree.get("columns") or {}).get(name)
            edits.append((("columns", name, "role") if isinstance(entry, dict) else ("columns", name), role))
            edits += (
                [(("columns", name, "proposed"), REMOVE)] if isinstance(entry, dict) and "proposed" in entry else []
            )
        if role == "drop":  # what is left out says nothing, so nothing is known by it
            edits += [(("knows", place), REMOVE) for place in reversed(known_by(visit.tree, names))]
        which = names[0] if len(names) == 1 else f"{len(names)} columns"
        visit.edit(seen, *edits, said=f"{which} → {ROLE_WORDS.get(role, role)}")
        return ""

    def _take_proposals(self, visit: Visit, seen: str) -> str:
        """Give every column under review the role that is proposed."""
        edits: list[Any] = []
        for name, entry in entries(visit).items():
            if entry.get("role") == "review":
                edits.append((("columns", name), without_review(entry)))
        visit.edit(seen, *edits, said="take the proposed roles")
        return ""

    @staticmethod
    def _publish_again(visit: Visit, form: Mapping[str, str]) -> str:
        """Begin a ledger for the same people, or go without one."""
        if form.get("again") == "no":
            visit.edit(form["seen"], (("ledger",), REMOVE), (("key",), REMOVE), said="publish once")
            return ""
        name = form.get("key", "")
        if name not in entries(visit):
            raise PolicyError(
                "say what names a person", where="key", hint="choose the column that stays the same in every release"
            )
        edits: list[Any] = [(("key",), name), (("ledger",), f"{Path(visit.subject).stem}.ledger")]
        entry = entries(visit)[name]
        if entry.get("role") != "identifier":
            edits.append((("columns", name), "identifier"))
        visit.edit(form["seen"], *edits, said=f"publish again, people named by {name}")
        return ""


def known_by(tree: Mapping[str, Any], names: list[str]) -> list[int]:
    """The places of the dependencies under ``knows:`` that name one of these columns."""
    lines = tree.get("knows")
    found = []
    for place, line in enumerate(lines if isinstance(lines, list) else []):
        with contextlib.suppress(SfumatoError):
            if parse_dependency(str(line)).columns & set(names):
                found.append(place)
    return found


def without_review(entry: Mapping[str, Any]) -> Any:
    """The entry of a column under review as if its proposal were taken; without one it is left out.

    >>> without_review({"role": "review", "proposed": "quasi-identifier", "hierarchy": {"prefix": 3}})
    {'role': 'quasi-identifier', 'hierarchy': {'prefix': 3}}
    >>> without_review({"role": "review"})
    'drop'
    """
    role = str(entry.get("proposed") or "drop")
    kept = {key: value for key, value in entry.items() if key not in ("proposed", "role")}
    return {"role": role, **kept} if kept and role == "quasi-identifier" else role


def publishing_again(visit: Visit) -> dict[str, Any]:
    """Whether the same people are published again, and which column names them."""
    tree = visit.tree
    names = [name for name, entry in entries(visit).items() if entry.get("role") == "identifier"]
    looks = visit.desk.latest_asked(visit.subject, "profile")
    found = (
        looks.result["columns"]
        if looks is not None and isinstance(looks.result, dict) and "columns" in looks.result
        else []
    )
    numbers = {each["name"] for each in found if each.get("kind") == "person number"}
    names.sort(key=lambda name: name not in numbers)  # a number of people names them better than their name
    return {"key": str(tree.get("key") or ""), "ledger": bool(tree.get("ledger")), "offered": names}


class ReadPage(DataPage):
    """How the file is read, with a preview; and a newer file for the next release."""

    name: ClassVar[str] = "read"
    title: ClassVar[str] = "Is the file read as it is meant?"
    order: ClassVar[int] = 5
    step: ClassVar[int] = 1


class RiskPage(Page):
    """How exposed the table is as it stands: before anything is promised."""

    name: ClassVar[str] = "risk"
    title: ClassVar[str] = "How exposed is this table now?"
    order: ClassVar[int] = 7

    def model(self, visit: Visit) -> dict[str, Any]:
        known = repr(sorted(visit.desk.secrets))
        roles = {name: _role(entry) for name, entry in (visit.tree.get("columns") or {}).items()}
        job = visit.work(exposure, "exposure", visit.stamp(known), policy=str(visit.file))
        return {"job": question(job), "roles": roles, "doubtful": to_decide(visit)}


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

    def onward(self, visit: Visit, model: Mapping[str, Any]) -> str:
        job = model["job"]
        ready = job is not None and visit.query.get("job") == job["name"] and job["result"]
        return f"/p/{job['result']['policy']}/risk" if ready else ""

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Draft a policy for a file or a database; one that is there already is opened."""
        if form.get("act") == "remove":
            visit.project.remove(form.get("file", ""))
            return ""
        return begin_draft(visit, form, {})


def begin_draft(visit: Visit, form: Mapping[str, str], settings: Mapping[str, Any]) -> str:
    """Draft a policy for a file, read with these settings, or for a database; returns where to wait for it."""
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
    read = {key: value for key, value in settings.items() if value}
    visit.desk.start(draft, DRAFTING, "", source=place, out=str(out), written=written, read=read)
    return "/project"


class StartPage(Page):
    """A new file: how it would be read, before anything is drafted."""

    name: ClassVar[str] = "start"
    title: ClassVar[str] = "Is the file read as it is meant?"
    about: ClassVar[Literal["project", "policy", "release"]] = "project"
    order: ClassVar[int] = 2
    listed: ClassVar[bool] = False

    def model(self, visit: Visit) -> dict[str, Any]:
        name = visit.query.get("file", "")
        place = visit.project.existing(name)
        settings = {key: value for key, value in settings_of(visit.query).items() if value}
        stamp = digest(f"{visit.seen(name)} {settings!r}")
        job = visit.work(reading_of_file, f"reading {name}", stamp, file=str(place), settings=settings)
        drafting = visit.desk.latest("", DRAFTING)
        return {
            "file": name,
            "reading": {key: _written(value) for key, value in settings.items()},
            "given": {key: visit.query[key] for key in SETTINGS if key in visit.query},
            "excel": name.lower().endswith((".xlsx", ".xlsm")),
            "kind": "table",
            "drafted": (visit.project.folder / f"{Path(name).stem}.yaml").exists(),
            "job": question(job),
            "drafting": None if drafting is None else question(drafting),
        }

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Draft a policy that reads the file so."""
        return begin_draft(visit, form, settings_of(form))


def withheld(visit: Visit, url: str, name: str) -> str:
    """How the policy names a database: an address that holds a login is kept in memory, and the policy names a
    variable."""
    if "@" not in url:
        return url
    variable = "SFUMATO_" + "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in name.upper())
    visit.desk.secrets[variable] = url
    return f"${{{variable}}}"
