"""Publish: make a release, watch it, cancel it; and the ledger's timeline with what held after each release.


Release
-------
Release: one release folder of the project, its certificate in words, the attacks played, its signature, files and
reports.


Verify
------
Verify: the audit's findings about a release folder, ours or somebody's, in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from sfumato.core.errors import DataError, PolicyError
from sfumato.io.plain_files import files_of, read_tree
from sfumato.release.folder import CERTIFICATE, MANIFEST, REPORT, STATEMENT, form_of
from sfumato.release.signature import new_key_pair
from sfumato.ui.studio.background_jobs import Job
from sfumato.ui.studio.page import Page, Visit, question
from sfumato.ui.studio.pages.data import DataPage, publishing_again, without_review
from sfumato.ui.studio.steps import ROLE_WORDS, entries, releases_of, to_decide
from sfumato.ui.studio.work.releasing import (
    ahead,
    audit,
    before_and_after,
    five,
    play,
    recovered,
    release,
    sign,
    timeline,
)

PUBLISHING, PREVIEW, EXPLORING = "publishing", "preview", "exploring"


class PublishPage(Page):
    """The release, from a button to its certificate."""

    name: ClassVar[str] = "publish"
    title: ClassVar[str] = "Publish"
    order: ClassVar[int] = 50
    step: ClassVar[int] = 6

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
            "seen": visit.digest,
            "again": publishing_again(visit),
            "dangerous": dangerous(visit) if visit.query.get("proposals") else [],
            "doubtful": to_decide(visit),
            "asked": visit.query.get("proposals") == "1",
            "step": _stage(job),
            "mends": _refused(visit, job),
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
            "made": releases_of(visit),
        }

    @staticmethod
    def _own_ledger(visit: Visit) -> str:
        """The ledger that the policy itself names."""
        entry = visit.tree.get("ledger")
        return str(entry.get("file", "")) if isinstance(entry, Mapping) else str(entry or "")

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Begin a preview or a release."""
        running = visit.desk.latest(visit.subject, PUBLISHING)
        if form.get("act") in ("again", "several"):
            DataPage().act(visit, form, several)
            return ""
        if form.get("act") == "proposals":
            return self._with_proposals(visit, form)
        if form.get("act") == "changes":
            edits = [(("series", "changes", name), "free") for name in several.get("changes", [])]
            visit.edit(form.get("seen", ""), *edits, said="values that change between releases")
            return ""
        if form.get("act") == "preview":
            visit.desk.start(before_and_after, PREVIEW, visit.subject, policy=str(visit.file))
            return ""
        if form.get("act") == "key":
            return self._new_key(visit, form.get("name", "").strip())
        if running is not None and running.state == "running":
            raise PolicyError(
                "this policy is being published already", where="publish", hint="wait for it, or cancel it"
            )
        out = visit.project.path(form.get("out", "").strip())
        if out.exists():
            raise PolicyError(
                f"'{out.name}' is there already",
                where="publish",
                hint="choose another name; releases are never replaced",
            )
        ledger, key = form.get("ledger", "").strip(), form.get("key", "").strip()
        self._publish(visit, out, ledger, key, bool(form.get("replace")), seconds_of(form))
        return ""

    @staticmethod
    def _publish(visit: Visit, out: Path, ledger: str, key: str, replace: bool, limit: float | None) -> None:
        book = visit.project.path(ledger) if ledger else None
        given = {
            "policy": str(visit.file),
            "out": str(out),
            "ledger": str(book or ""),
            "new_ledger": bool(book and not book.exists()),
            "replace": replace,
            "origin": str(visit.project.origin_place(out.name)),
            "key": str(visit.project.existing(key)) if key else "",
        }
        job = visit.desk.start(release, PUBLISHING, visit.subject, limit=limit, **given)
        job.note = out.name

    def _with_proposals(self, visit: Visit, form: Mapping[str, str]) -> str:
        """Publish with what is proposed; first ask about columns whose values would be published as they are though
        nobody decided it."""
        answered = {key.removeprefix("role."): role for key, role in form.items() if key.startswith("role.")}
        known = set(ROLE_WORDS)
        if not answered and dangerous(visit):
            return f"/p/{visit.subject}/publish?proposals=1"
        edits: list[Any] = []
        for name, entry in entries(visit).items():
            if answered.get(name) in known:
                edits.append((("columns", name), answered[name]))
            elif entry.get("role") == "review":
                edits.append((("columns", name), without_review(entry)))
        if edits:
            visit.edit(visit.digest, *edits, said="take the proposed roles")
        running = visit.desk.latest(visit.subject, PUBLISHING)
        if running is None or running.state != "running":
            self._publish(visit, visit.project.path(_free(visit)), self._own_ledger(visit), "", False, QUICK)
        return f"/p/{visit.subject}/publish"

    def onward(self, visit: Visit, model: Mapping[str, Any]) -> str:
        job = model["job"]
        ready = job is not None and visit.query.get("job") == job["name"] and job["state"] == "done" and job["result"]
        return f"/r/{job['result']['release']}/certificate" if ready else ""

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


QUICK = 4.0
"""Seconds of search when somebody wants a first result."""
SECONDS = 60.0


def seconds_of(form: Mapping[str, str]) -> float | None:
    """The time budget of a release; none lets the method end by its own rule."""
    value = form.get("budget", "").strip()
    if value == "none":
        return None
    try:
        return min(3600.0, max(1.0, float(value or SECONDS)))
    except ValueError:
        raise PolicyError("a budget is a number of seconds", where="budget", hint="60") from None


def dangerous(visit: Visit) -> list[dict[str, str]]:
    """Columns under review whose values would be published as they are, or that nothing is proposed for."""
    return [
        {"name": name, "proposed": str(entry.get("proposed") or "drop")}
        for name, entry in entries(visit).items()
        if entry.get("role") == "review" and entry.get("proposed") != "quasi-identifier"
    ]


_STAGES = ("reading", "looking for the best release", "checking it again from the files", "writing")


def _stage(job: Job | None) -> str:
    """Which part of the work a release is at."""
    if job is None or job.state != "running":
        return ""
    at = 0 if job.share <= 0 else 1 if job.share < 0.5 else 2 if job.share < 1 else 3
    return f"stage {at + 1} of {len(_STAGES)}, {_STAGES[at]}"


def _refused(visit: Visit, job: Job | None) -> list[str]:
    """Columns whose values differ from those of earlier releases, when that is why nothing was published."""
    told = "" if job is None or job.error is None else str(job.error["what"])
    hint = "" if job is None or job.error is None else str(job.error["hint"])
    return [name for name in entries(visit) if f"'{name}'" in told] if "series:" in hint and "changes" in hint else []


def _too_late(visit: Visit, job: Job | None) -> str:
    """Return the release that was finished before it was cancelled; it is read from the disk."""
    return job.note if job is not None and job.state == "cancelled" and visit.project.path(job.note).exists() else ""


def _free(visit: Visit) -> str:
    """A name for the next release."""
    stem = Path(visit.subject).stem
    return next(
        name
        for name in (f"{stem}-release-{number}" for number in range(1, 10_000))
        if not visit.project.path(name).exists()
    )


def _stamp(path: Path) -> str:
    seen = path.stat()
    return f"{path.name} {seen.st_mtime_ns} {seen.st_size}"


# Release
# -------


PLAYING, SIGNING = "playing attacks", "signing"


class ReleasePage(Page):
    """What a release says of itself; whether that is so, the page *verify* says."""

    name: ClassVar[str] = "certificate"
    title: ClassVar[str] = "Release"
    about: ClassVar[Literal["project", "policy", "release"]] = "release"
    order: ClassVar[int] = 10

    def model(self, visit: Visit) -> dict[str, Any]:
        if visit.subject not in visit.project.releases():
            raise DataError(
                f"no release '{visit.subject}'", where="the project folder", hint="look at the list of releases"
            )
        folder = visit.project.existing(visit.subject)
        sizes = {name: path.stat().st_size for name, path in sorted(files_of(folder).items())}
        private = folder.with_name(f"{folder.name}.private.html")
        told: dict[str, Any] = {"release": folder.name, "certificate": read_tree(folder / CERTIFICATE), "files": sizes}
        form = form_of(folder)
        job, signing = visit.desk.latest(visit.subject, PLAYING), visit.desk.latest(visit.subject, SIGNING)
        undone = None
        if form.recoverable:
            undone = visit.work(recovered, "recovered", visit.seen(f"{visit.subject}/{MANIFEST}"), folder=str(folder))
        told["five"] = question(visit.work(five, "five", visit.seen(f"{visit.subject}/{MANIFEST}"), folder=str(folder)))
        origin = visit.project.origin(visit.subject) or {}
        told["origin"] = origin
        told["others"] = [
            {"name": name} | (visit.project.origin(name) or {})
            for name in visit.project.releases()
            if origin and name != visit.subject and (visit.project.origin(name) or {}).get("policy") == origin["policy"]
        ][-3:]
        told["tried"] = _tried(visit, origin)
        told["policy"] = (
            origin.get("policy", "") if (visit.project.folder / str(origin.get("policy"))).is_file() else ""
        )
        originals = [file.name for file in (*visit.project.policies(), *visit.project.data_files())]
        return told | {
            "form": form.name,
            "report": REPORT in sizes,
            "private": private.is_file() and not private.is_symlink(),
            "signed": STATEMENT in sizes,
            "keys": [file.name for file in visit.project.signing_keys()],
            "originals": originals,
            "job": None if job is None else question(job),
            "signing": None if signing is None else question(signing),
            "recovered": None if undone is None else question(undone),
        }

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Play the attacks with the original, or sign the release."""
        folder = str(visit.project.existing(visit.subject))
        if form.get("act") == "withdraw":
            visit.project.withdraw(visit.subject)
            return "/project"
        if form.get("act") == "play":
            visit.desk.start(
                play,
                PLAYING,
                visit.subject,
                folder=folder,
                original=str(visit.project.existing(form.get("original", ""))),
            )
        elif form.get("act") == "sign":
            if STATEMENT in files_of(visit.project.existing(visit.subject)):
                raise PolicyError("the release is signed already", where="sign", hint="verify it with the signer's key")
            visit.desk.start(
                sign, SIGNING, visit.subject, folder=folder, key=str(visit.project.existing(form.get("key", "")))
            )
        else:
            raise PolicyError("nothing is known of this change", where=self.name, hint="load the page again")
        return ""


def _tried(visit: Visit, origin: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Settings that were tried for the same policy: kept ones with their estimates, and the best points explored."""
    policy = str(origin.get("policy", ""))
    if not policy:
        return []
    kept = visit.project.settings(policy)
    found = [
        {"name": f"{name} (estimate)"} | told.get("figures", {}) for name, told in kept.items() if told.get("figures")
    ]
    job = visit.desk.latest(policy, EXPLORING)
    points = job.result["points"] if job is not None and isinstance(job.result, dict) else []
    tried = [point for point in points if point["status"] == "published" and not point["dominated"]]
    for point in tried[:2]:
        levels = ", ".join(f"{key} = {value:g}" for key, value in point["levels"].items())
        found.append({"name": f"{levels}, {point['method']} (tried)", "loss": point["loss"], "unique_after": 0})
    return found[:3]


# Verify
# ------


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
        archives = sorted(
            path.name for path in project.folder.glob("*.zip") if path.is_file() and not path.is_symlink()
        )
        listed = {
            "releases": project.releases(),
            "archives": archives,
            "ledgers": [file.name for file in project.ledgers()],
        }
        originals = [file.name for file in (*project.data_files(), *project.policies())]
        keys = sorted(path.name for path in project.folder.glob("*.pub") if path.is_file() and not path.is_symlink())
        return listed | {"originals": originals, "keys": keys, "job": None if job is None else question(job)}

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Begin an audit."""
        project = visit.project
        given: dict[str, Any] = {}
        for key in ("folder", "archive", "original", "ledger", "signer"):
            if form.get(key):
                given[key] = str(project.existing(form[key]))
        if not (given.get("folder") or given.get("archive")):
            raise PolicyError(
                "there is nothing to verify", where="verify", hint="choose a release, or drop one as a zip file"
            )
        visit.desk.start(audit, VERIFYING, "", **given)
        return ""
