"""A model of privacy: a predicate on `Linkage`, declared with its parameters.

A new model is one file in this folder with one class. The class docstring's first line is its entry in the catalogue; its
parameters are declared fields, from which the YAML vocabulary, the error messages, the help and the docs are made.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from sfumato.data.arrays import BoolArray
from sfumato.data.linkage import Linkage


class Model(BaseModel):
    """What must be true of everybody's candidates."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ClassVar[str]
    paper: ClassVar[str] = ""
    monotone: ClassVar[bool] = True
    """Whether joining two groups that satisfy the model gives a group that satisfies it."""
    needs_sensitive: ClassVar[bool] = True
    """Whether the model speaks about sensitive values (else only about the number of candidates)."""
    bounds_candidates: ClassVar[bool] = False
    """Whether the model asks for a number of candidates, which no form that publishes quasi-identifiers exactly can give."""
    joint: ClassVar[bool] = False
    """Whether the model speaks about all releases of a table together, when a ledger remembers earlier ones."""
    at_most: ClassVar[tuple[str, ...]] = ()
    """Parameters of which less protects more; of all other numbers more does."""
    kinds: ClassVar[tuple[str, ...]] = ("table", "baskets")
    """The kinds of data the model speaks about."""

    @abstractmethod
    def satisfied(self, linkage: Linkage) -> BoolArray:
        """For each kind of person: does the model hold?"""

    @abstractmethod
    def achieved(self, linkage: Linkage) -> dict[str, Any]:
        """The level that the worst-placed person enjoys, under the names of the parameters."""

    def required(self) -> dict[str, Any]:
        """The level asked for."""
        return self.model_dump(exclude_none=True)

    def covers(self, other: Any) -> bool:
        """Whether everything that satisfies this model also satisfies `other`; equality unless a model knows better."""
        return bool(self == other)

    def __str__(self) -> str:
        level = ", ".join(f"{key}: {value}" for key, value in self.required().items())
        return f"{self.name} {{{level}}}"

    def suggestion(self, linkage: Linkage) -> str:
        """What to try when the model cannot be reached; `linkage` is the best that can be offered."""
        reached = ", ".join(f"{key}: {value}" for key, value in self.achieved(linkage).items())
        return f"{self.name} {{{reached}}} is the most this data can offer"


def everywhere(linkage: Linkage, verdicts: list[BoolArray]) -> BoolArray:
    """All verdicts together; true for everybody when there is nothing to judge."""
    together = np.ones(len(linkage.candidates), dtype=np.bool_)
    for verdict in verdicts:
        together &= verdict
    return together


def rounded(value: float) -> float:
    """Six significant digits, so that certificates read well and compare exactly."""
    return float(f"{value:.6g}")
