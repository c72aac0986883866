"""An attack: a named adversary that plays against a release or a dataset and reports what it gets.

A new attack is one file in this folder with one class. Its declared fields are the options of ``sfumato attack NAME``; the field
called `target`, when there is one, is the positional argument.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class Attack(BaseModel):
    """An adversary with its parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ClassVar[str]
    paper: ClassVar[str] = ""

    @abstractmethod
    def run(self) -> dict[str, Any]:
        """What the adversary got, in counts and rates, never in people's values."""
