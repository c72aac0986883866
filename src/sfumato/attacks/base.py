"""An attack: a named adversary that plays against a release or a dataset and reports what it gets.

A new attack is one file in this folder with one class. Its declared fields are the options of ``sfumato attack NAME``; the field
called `target`, when there is one, is the positional argument.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from sfumato.errors import PolicyError
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import open_release
from sfumato.release.form import Form


class Attack(BaseModel):
    """An adversary with its parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ClassVar[str]
    paper: ClassVar[str] = ""

    @abstractmethod
    def run(self) -> dict[str, Any]:
        """What the adversary got, in counts and rates, never in people's values."""


class ReleaseAttack(Attack):
    """An adversary that plays against a release folder, with the original as outside knowledge and to score the guesses."""

    forms: ClassVar[tuple[type[Form], ...]] = (Form,)
    """The forms it can read."""

    target: str = Field(description="the release folder")
    original: str = Field(description="the original data, which plays the outsider's knowledge and scores the guesses")

    def run(self) -> dict[str, Any]:
        return self.play(self.opened())

    def opened(self) -> Exhibit:
        """The release with its original, when this adversary can read its form."""
        exhibit = open_release(self.target, original=self.original)
        if not isinstance(exhibit.form, self.forms):
            readable = " or ".join(form.name for form in self.forms)
            raise PolicyError(f"this adversary reads a {readable}, not a {exhibit.form}", where=self.target)
        return exhibit

    @abstractmethod
    def play(self, exhibit: Exhibit) -> dict[str, Any]:
        """What the adversary gets from this exhibit."""
