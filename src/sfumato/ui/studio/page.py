"""A visit to a page: the project, the desk, and the policy or release that the address names.

A page is one file in `pages`: a *model* that JSON can say (its twin under ``.json``), a template that shows it, and
what its forms change. A form says which text of the policy it was filled in for; when the file changed since, nothing
is written."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from sfumato.core.errors import PolicyError
from sfumato.policy.yaml_document import LARGEST, Document, parse_yaml
from sfumato.ui.studio import policy_editing
from sfumato.ui.studio.background_jobs import Desk, Job, Work
from sfumato.ui.studio.project import Project
from sfumato.ui.studio.work.estimating import estimate

_AGAIN = 5.0
"""Seconds after which a question that failed is asked again."""


class Changed(PolicyError):
    """The policy is not the one that the form was filled in for."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request, as pages see it."""

    project: Project
    desk: Desk
    subject: str = ""
    """The name of a policy file or of a release folder, as the kind of page wants it."""
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        return self.project.existing(self.subject)

    @property
    def text(self) -> str:
        """Return the text of the policy file."""
        with self.file.open(encoding="utf-8-sig") as file:
            return file.read(LARGEST + 1)

    @property
    def digest(self) -> str:
        return policy_editing.digest(self.text)

    @property
    def document(self) -> Document | None:
        """The policy as a tree, or nothing while it is no YAML."""
        return _parsed(self.text, self.subject, self.project.folder)

    @property
    def tree(self) -> Mapping[str, Any]:
        """The keys of the policy; none while it is no YAML."""
        return {} if self.document is None else self.document.tree

    @property
    def data(self) -> dict[str, Any]:
        """How the policy says that its source is read."""
        data = self.tree.get("data")
        return dict(data) if isinstance(data, Mapping) else {"source": data or ""}

    def stamp(self, *more: str) -> str:
        """Changes with the policy and with the file that it reads."""
        return self.data_stamp(self.digest, *more)

    def data_stamp(self, *more: str) -> str:
        """Changes with how the source is read and with the file itself, whatever else the policy says."""
        return policy_editing.digest(
            "\n".join([repr(sorted(self.data.items())), self.seen(str(self.data.get("source", ""))), *more])
        )

    def seen(self, name: str) -> str:
        """Which version of a file lies in the project."""
        place = self.project.folder / name
        return f"{place.stat().st_mtime_ns}-{place.stat().st_size}" if name and place.is_file() else ""

    def work(self, work: Work, asked: str, stamp: str, **given: Any) -> Job:
        """The job that answers this question: the one that did or does already, or a new one."""
        known = self.desk.latest(self.subject, f"{asked} {stamp}")
        if known is not None and (known.state in ("running", "done") or _just_now(known)):
            return known
        return self.desk.ask(work, asked, stamp, self.subject, **given)

    def save(self, text: str, seen: str, said: str = "the last change") -> None:
        """Write the policy, unless somebody else has in the meantime; the text before is kept for *Undo*."""
        before = self.text
        if seen != self.digest:
            hint = "load the page again to see what changed"
            raise Changed("the policy was changed elsewhere since this page was loaded", where=self.subject, hint=hint)
        parse_yaml(text, name=self.subject)
        if text != before:
            self.project.remember(self.subject, before, said)
        self.project.write(self.subject, text.encode())

    def edit(self, seen: str, *edits: tuple[Sequence[str | int], Any], said: str = "") -> None:
        """Set entries of the policy, comments kept."""
        text = self.text
        for path, value in edits:
            text = policy_editing.edited(text, path, value)
        self.save(text, seen, said or policy_editing.described(edits))

    def undo(self, seen: str) -> None:
        """Put the text before the last change back; refused when the file was changed elsewhere since."""
        earlier = self.project.last_version(self.subject)
        if earlier is None:
            raise PolicyError("there is nothing to undo", where=self.subject, hint="the first version is in place")
        changed = earlier["text"] != self.text
        self.save(earlier["text"], seen)
        for _ in range(1 + changed):  # saving kept the text that is undone
            self.project.forget_version(self.subject)

    def mend(self, form: Mapping[str, str]) -> None:
        """Make the change that a button beside a problem stands for; what it is the job remembers, not the form."""
        job = self.estimate()
        found = job.result["problems"] if job is not None and isinstance(job.result, dict) else []
        try:
            problem, number = (int(part) for part in form.get("mend", "").split("."))
            mend = found[problem]["mends"][number]
        except (ValueError, IndexError):
            raise Changed("the problem is no longer there", where=self.subject, hint="load the page again") from None
        reason = form.get("reason", "").strip()
        if mend["asks"] and not reason:
            raise PolicyError("say who decides and why", where="reason", hint="for example: data office: no harm known")
        edits = [
            (
                tuple(path),
                {value["accept"]: reason} if mend["asks"] else policy_editing.REMOVE if value is None else value,
            )
            for path, value in mend["edits"]
        ]
        self.edit(form.get("seen", ""), *edits, said=mend["label"])

    def estimate(self) -> Job | None:
        """The question what would be published now, about a table."""
        if str(self.data.get("kind", "table")) != "table" or self.document is None:
            return None
        known = policy_editing.digest("".join(sorted(self.desk.secrets)))
        cache = self.project.cached(f"{self.data_stamp(known)}.arrow")
        return self.work(estimate, "estimate", self.stamp(known), policy=str(self.file), cache=str(cache))


class Page(ABC):
    """One page of the studio."""

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[Literal["project", "policy", "release"]] = "policy"
    order: ClassVar[int] = 50
    step: ClassVar[int] = 0
    """Which of the six steps it is; 0 for pages beside them."""
    listed: ClassVar[bool] = True
    """Whether it stands among the links of every page."""

    @abstractmethod
    def model(self, visit: Visit) -> dict[str, Any]:
        """What the page shows, as JSON says it."""

    def onward(self, visit: Visit, model: Mapping[str, Any]) -> str:
        """The address that somebody who waits on this page is led to; none while there is something to wait for."""
        return ""

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Do what a form asks for; returns the address to go to, or nothing to come back to the page."""
        raise PolicyError("nothing can be changed here", where=self.name, hint="go back to the page")


@lru_cache(maxsize=8)
def _parsed(text: str, name: str, base: Path) -> Document | None:
    """A policy as a tree, or nothing while it is no YAML; every page asks for it several times."""
    try:
        return parse_yaml(text, name=name, base=base)
    except PolicyError:
        return None


def _just_now(job: Job) -> bool:
    """Whether it failed a moment ago; what failed earlier (a database that was down) is tried again."""
    return job.state == "failed" and time.monotonic() - job.ended < _AGAIN


def question(job: Job) -> dict[str, Any]:
    """A job as a page waits for it."""
    return job.to_json()
