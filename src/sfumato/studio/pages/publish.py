"""Publish: make a release, watch it, cancel it; and the ledger's timeline with what held after each release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfumato.errors import PolicyError
from sfumato.studio.visit import Page, Visit, question
from sfumato.studio.work.releasing import before_and_after, release, timeline

PUBLISHING, PREVIEW = "publishing", "preview"


class PublishPage(Page):
    """The release, from a button to its certificate."""

    name: ClassVar[str] = "publish"
    title: ClassVar[str] = "Publish"
    order: ClassVar[int] = 50

    def model(self, visit: Visit) -> dict[str, Any]:
        job, preview = visit.desk.latest(visit.subject, PUBLISHING), visit.desk.latest(visit.subject, PREVIEW)
        ledgers = [file.name for file in visit.project.ledgers()]
        chosen = visit.query.get("ledger", "")
        shown = (
            visit.work(timeline, "timeline", _stamp(visit.project.path(chosen)), ledger=str(visit.project.path(chosen)))
            if chosen in ledgers
            else None
        )
        return {
            "suggested": _free(visit),
            "ledgers": ledgers,
            "ledger": chosen,
            "keys": [file.name for file in visit.project.signing_keys()],
            "releases": visit.project.releases(),
            "job": None if job is None else question(job),
            "preview": None if preview is None else question(preview),
            "timeline": None if shown is None else question(shown),
        }

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Begin a preview or a release."""
        running = visit.desk.latest(visit.subject, PUBLISHING)
        if form.get("act") == "preview":
            visit.desk.start(before_and_after, PREVIEW, visit.subject, policy=str(visit.file))
            return ""
        if running is not None and running.state == "running":
            raise PolicyError("this policy is being published already", where="publish", hint="wait for it, or cancel it")
        out = visit.project.path(form.get("out", "").strip())
        if out.exists():
            raise PolicyError(
                f"'{out.name}' is there already", where="publish", hint="choose another name; releases are never replaced"
            )
        ledger, key = form.get("ledger", "").strip(), form.get("key", "").strip()
        book = visit.project.path(ledger) if ledger else None
        given = {
            "policy": str(visit.file),
            "out": str(out),
            "ledger": str(book or ""),
            "new_ledger": bool(book and not book.exists()),
        }
        visit.desk.start(release, PUBLISHING, visit.subject, **given, key=str(visit.project.existing(key)) if key else "")
        return ""


def _free(visit: Visit) -> str:
    """A name for the next release."""
    stem = Path(visit.subject).stem
    return next(
        name for name in (f"{stem}-release-{number}" for number in range(1, 10_000)) if not visit.project.path(name).exists()
    )


def _stamp(path: Path) -> str:
    seen = path.stat()
    return f"{path.name} {seen.st_mtime_ns} {seen.st_size}"
