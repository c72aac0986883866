"""A visit to a page: the project, the desk, and the policy or release that the address names.

A page is one file in `pages`: a *model* that JSON can say (its twin under ``.json``), a template that shows it, and
what its forms change. A form says which text of the policy it was filled in for; when the file changed since, nothing
is written."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from sfumato.core.errors import PolicyError
from sfumato.policy.yaml_document import LARGEST, Document, parse_yaml
from sfumato.ui.studio import policy_editing
from sfumato.ui.studio.background_jobs import Desk, Job, Work
from sfumato.ui.studio.project import Project

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
        try:
            return parse_yaml(self.text, name=self.subject, base=self.project.folder)
        except PolicyError:
            return None

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

    def save(self, text: str, seen: str) -> None:
        """Write the policy, unless somebody else has in the meantime."""
        if seen != self.digest:
            hint = "load the page again to see what changed"
            raise Changed("the policy was changed elsewhere since this page was loaded", where=self.subject, hint=hint)
        parse_yaml(text, name=self.subject)
        self.project.write(self.subject, text.encode())

    def edit(self, seen: str, *edits: tuple[Sequence[str | int], Any]) -> None:
        """Set entries of the policy, comments kept."""
        text = self.text
        for path, value in edits:
            text = policy_editing.edited(text, path, value)
        self.save(text, seen)


class Page(ABC):
    """One page of the studio."""

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[Literal["project", "policy", "release"]] = "policy"
    order: ClassVar[int] = 50

    @abstractmethod
    def model(self, visit: Visit) -> dict[str, Any]:
        """What the page shows, as JSON says it."""

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Do what a form asks for; returns the address to go to, or nothing to come back to the page."""
        raise PolicyError("nothing can be changed here", where=self.name, hint="go back to the page")


def _just_now(job: Job) -> bool:
    """Whether it failed a moment ago; what failed earlier (a database that was down) is tried again."""
    return job.state == "failed" and time.monotonic() - job.ended < _AGAIN


def question(job: Job) -> dict[str, Any]:
    """A job as a page waits for it."""
    return job.to_json()
