"""Project: what lies in the folder, and a first policy for some data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from sfumato.errors import DataError
from sfumato.io.sql import is_url
from sfumato.studio.visit import Page, Visit, question
from sfumato.studio.work.planning import draft

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
            raise DataError("not the address of a database", where="database", hint="write it like postgresql://user@host/name")
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
    """How the policy names a database: an address that holds a login is kept in memory, and the policy names a variable."""
    if "@" not in url:
        return url
    variable = "SFUMATO_" + "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in name.upper())
    visit.desk.secrets[variable] = url
    return f"${{{variable}}}"
