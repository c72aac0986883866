"""An attack: a named adversary that plays against a release or a dataset and reports what it gets.

A new attack is one file in this folder with one class. Its declared fields are the options of ``sfumato attack NAME``;
the field called `target`, when there is one, is the positional argument. A weakness that needs no playing
(`known_limits`) is a `Threat`.

What a certificate names
    `concerns` says by itself, in one sentence, why a release falls to it. It looks at the form, the public policy and
    the method that the policy names, never at the original: everybody who holds the folder gets the same list.


Attacks
-------
Named adversaries: what an adversary gets out of a release. One per file.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from sfumato.core.errors import PolicyError, SfumatoError
from sfumato.core.registry import catalogue, entry
from sfumato.io.plain_files import files_of, read_tree
from sfumato.policy.policy import Policy
from sfumato.release.certificate import KnownAttack
from sfumato.release.folder import MANIFEST, POLICY, open_release
from sfumato.release.form import Form
from sfumato.release.method import Method, Progress, no_progress
from sfumato.release.view import ReleaseView


class Threat:
    """Something that a certificate does not protect against."""

    name: ClassVar[str]
    paper: ClassVar[str] = ""

    @classmethod
    def concerns(cls, exhibit: ReleaseView) -> str:
        """Why it applies to this release, in one sentence about the published side; empty when it does not."""
        return ""


class Attack(BaseModel, Threat):
    """An adversary with its parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    _progress: Progress = PrivateAttr(default_factory=lambda: no_progress)

    def watched(self, progress: Progress) -> Self:
        """The same adversary, which tells how far it is."""
        seen = self.model_copy()
        seen._progress = progress
        return seen

    @abstractmethod
    def run(self) -> dict[str, Any]:
        """What the adversary got, in counts and rates, never in people's values."""


class ReleaseAttack(Attack):
    """An adversary that plays against a release folder, with the original as outside knowledge and to score the
    guesses."""

    forms: ClassVar[tuple[type[Form], ...]] = (Form,)
    """The forms it can read."""
    headline: ClassVar[str] = ""
    """The figure that a report shows first, and compares with the figure ``promised`` when there is one."""

    quick: ClassVar[bool] = True
    """Whether a few tens of thousands of records take seconds, so that a report may play it."""

    target: str = Field(description="the release folder")
    original: str = Field(
        description="the original data: the adversary's knowledge, and the truth that guesses are scored by"
    )

    def run(self) -> dict[str, Any]:
        return self.play(self.opened())

    def opened(self) -> ReleaseView:
        """The release with its original, when this adversary can read its form."""
        if not self.original and type(self).model_fields["original"].is_required():
            raise PolicyError("this adversary needs the original", where=self.target, hint="add --original FILE")
        exhibit = open_release(self.target, original=self.original or None)
        if not isinstance(exhibit.form, self.forms):
            readable = " or ".join(form.name for form in self.forms)
            raise PolicyError(f"this adversary reads a {readable}, not a {exhibit.form}", where=self.target)
        return exhibit

    @abstractmethod
    def play(self, exhibit: ReleaseView) -> dict[str, Any]:
        """Run the attack on this release view and return what the adversary learns."""


def known_attacks(exhibit: ReleaseView) -> tuple[KnownAttack, ...]:
    """Every threat of the catalogue that says it concerns this release, as a certificate lists it."""
    seen = exhibit.as_published()
    told = {name: threat.concerns(seen) for name, threat in catalogue("attacks", Threat).items()}
    return tuple(KnownAttack(name, sentence) for name, sentence in told.items() if sentence)


def attacks_on_folder(folder: Path) -> tuple[KnownAttack, ...]:
    """The attacks that concern a release folder, from its manifest and policy; never from the certificate, which may be
    edited."""
    try:
        files_of(folder)  # nothing in it is read before it is known to hold plain files only
        manifest = read_tree(folder / MANIFEST)
        form = Form.read(str(manifest["form"]), dict(manifest["public"]))
        return known_attacks(ReleaseView(form, {}, Policy.read(folder / POLICY)))
    except (
        SfumatoError,
        OSError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ):  # a damaged folder is the audit's business
        return ()


def method_of(exhibit: ReleaseView) -> Method | None:
    """The method that the public policy names, bound to its parameters; None when there is no such method."""
    choice = exhibit.policy.method
    cls = None if choice is None else entry("methods", Method, choice.name)
    try:
        return None if choice is None or cls is None else cls(**choice.parameters)
    except ValidationError:
        return None


def largest_allowed_share(exhibit: ReleaseView, column: str) -> float:
    """The largest share of one value of a sensitive column that the claims allow; 1 when they do not bound it."""
    return min(
        (claim.model.demand().largest_share for claim in exhibit.policy.claims if column in claim.hide), default=1.0
    )
