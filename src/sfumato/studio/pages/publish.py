"""Publish: make a release, watch it, cancel it; and the ledger's timeline with what held after each release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfumato.errors import PolicyError
from sfumato.release.signature import new_key_pair
from sfumato.studio.desk import Job
from sfumato.studio.visit import Page, Visit, question
from sfumato.studio.work.releasing import ahead, before_and_after, release, timeline

PUBLISHING, PREVIEW = "publishing", "preview"


class PublishPage(Page):
    """The release, from a button to its certificate."""

    name: ClassVar[str] = "publish"
    title: ClassVar[str] = "Publish"
    order: ClassVar[int] = 50

    def model(self, visit: Visit) -> dict[str, Any]:
        job, preview = visit.desk.latest(visit.subject, PUBLISHING), visit.desk.latest(visit.subject, PREVIEW)
        ledgers = [file.name for file in visit.project.ledgers()]
        chosen = visit.query.get("ledger", self._own_ledger(visit))
        shown = next_ = None
        if chosen in ledgers:
            book = visit.project.path(chosen)
            shown = visit.work(timeline, "timeline", _stamp(book), ledger=str(book))
            next_ = visit.work(ahead, "ahead", visit.stamp(_stamp(book)), policy=str(visit.file), ledger=str(book))
        data = visit.data
        return {
            "suggested": _free(visit),
            "kind": str(data.get("kind", "table")),
            "target": bool(data.get("target")),
            "ledgers": ledgers,
            "ledger": chosen,
            "keys": [file.name for file in visit.project.signing_keys()],
            "releases": visit.project.releases(),
            "job": None if job is None else question(job),
            "too_late": _too_late(visit, job),
            "preview": None if preview is None else question(preview),
            "timeline": None if shown is None else question(shown),
            "ahead": None if next_ is None else question(next_),
        }

    @staticmethod
    def _own_ledger(visit: Visit) -> str:
        """The ledger that the policy itself names."""
        entry = visit.tree.get("ledger")
        return str(entry.get("file", "")) if isinstance(entry, Mapping) else str(entry or "")

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Begin a preview or a release."""
        running = visit.desk.latest(visit.subject, PUBLISHING)
        if form.get("act") == "preview":
            visit.desk.start(before_and_after, PREVIEW, visit.subject, policy=str(visit.file))
            return ""
        if form.get("act") == "key":
            return self._new_key(visit, form.get("name", "").strip())
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
            "replace": bool(form.get("replace")),
        }
        job = visit.desk.start(release, PUBLISHING, visit.subject, **given, key=str(visit.project.existing(key)) if key else "")
        job.note = out.name
        return ""

    @staticmethod
    def _new_key(visit: Visit, name: str) -> str:
        """A pair of keys; the private one is readable by its owner alone, as every file that the studio writes."""
        places = [visit.project.path(f"{name or 'signing'}.{ending}") for ending in ("pem", "pub")]
        for place in places:
            if place.exists():
                raise PolicyError(
                    f"'{place.name}' is there already", where="key", hint="choose another name; keys are never replaced"
                )
        for place, content in zip(places, new_key_pair(), strict=True):
            visit.project.write(place.name, content)
        return ""


def _too_late(visit: Visit, job: Job | None) -> str:
    """The release that stood before its cancelling came; what was published is told from the disk, not from what was meant."""
    return job.note if job is not None and job.state == "cancelled" and visit.project.path(job.note).exists() else ""


def _free(visit: Visit) -> str:
    """A name for the next release."""
    stem = Path(visit.subject).stem
    return next(
        name for name in (f"{stem}-release-{number}" for number in range(1, 10_000)) if not visit.project.path(name).exists()
    )


def _stamp(path: Path) -> str:
    seen = path.stat()
    return f"{path.name} {seen.st_mtime_ns} {seen.st_size}"
