"""Verify: the audit's findings about a release folder, ours or somebody's, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from sfumato.errors import PolicyError
from sfumato.studio.visit import Page, Visit, question
from sfumato.studio.work.releasing import audit

VERIFYING = "verifying"


class VerifyPage(Page):
    """Choose or drop a release; nothing of it is run or followed."""

    name: ClassVar[str] = "verify"
    title: ClassVar[str] = "Verify"
    about: ClassVar[Literal["project", "policy", "release"]] = "project"
    order: ClassVar[int] = 60

    def model(self, visit: Visit) -> dict[str, Any]:
        job = visit.desk.latest("", VERIFYING)
        project = visit.project
        archives = sorted(path.name for path in project.folder.glob("*.zip") if path.is_file() and not path.is_symlink())
        listed = {"releases": project.releases(), "archives": archives, "ledgers": [file.name for file in project.ledgers()]}
        originals = [file.name for file in (*project.data_files(), *project.policies())]
        keys = sorted(path.name for path in project.folder.glob("*.pub") if path.is_file() and not path.is_symlink())
        return listed | {"originals": originals, "keys": keys, "job": None if job is None else question(job)}

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Begin an audit."""
        project, given = visit.project, {}
        for key in ("folder", "archive", "original", "ledger", "signer"):
            if form.get(key):
                given[key] = str(project.existing(form[key]))
        if not (given.get("folder") or given.get("archive")):
            raise PolicyError("there is nothing to verify", where="verify", hint="choose a release, or drop one as a zip file")
        visit.desk.start(audit, VERIFYING, "", **given)
        return ""
