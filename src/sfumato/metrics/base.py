"""A metric: what a release is still good for, measured on what was published.

A new metric is one file in this folder with one class.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

from sfumato.forms.recoded import Recoded
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.release.onlooker import Onlooker


class Metric(Onlooker):
    """One measure of utility, on an exhibit with its original."""

    figure: ClassVar[str] = ""
    """The key of the figure in certificates, when several metrics measure the same thing on different forms; else the name."""
    goal: ClassVar[Literal["lower", "higher"]] = "lower"
    range: ClassVar[str]
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)
    paper: ClassVar[str] = ""

    @abstractmethod
    def measure(self, exhibit: Exhibit) -> Any:
        """The figure (a number, or a mapping of figures)."""
