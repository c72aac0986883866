"""A metric: how useful a release is, measured on what was published.

A new metric is one file in this folder with one class. A figure that needs the original is private: only the private
report and `measure` show it. Into a release folder go only the figures that any person can compute from the folder.


Metrics
-------
How useful a release is: one measure per file.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from sfumato.core.registry import catalogue, find
from sfumato.core.wording import summary_of
from sfumato.release.form import Form
from sfumato.release.view import Applicable, ReleaseView


class Metric(Applicable):
    """One measure of utility."""

    title: ClassVar[str] = ""
    """What the figure is called for people; the name unless it says otherwise."""
    figure: ClassVar[str] = ""
    """The key of the figure in certificates, when several metrics measure the same thing on different forms; else the
    name."""
    goal: ClassVar[Literal["lower", "higher"]] = "lower"
    range: ClassVar[str]
    forms: ClassVar[tuple[type[Form], ...]] = ()
    """The forms it measures; recoded tables unless it says otherwise."""
    paper: ClassVar[str] = ""
    needs_original: ClassVar[bool] = True
    """Whether only the data holder can measure it; by default a metric never appears in a release folder."""

    def applies(self, exhibit: ReleaseView) -> bool:
        return (exhibit.private or not self.needs_original) and super().applies(exhibit)

    @classmethod
    def understands(cls, form: Form) -> bool:
        return isinstance(form, cls.forms or find("forms", Form, "recoded table"))

    @abstractmethod
    def measure(self, exhibit: ReleaseView) -> Any:
        """The figure (a number, or a mapping of figures)."""


def figures(exhibit: ReleaseView) -> dict[str, Any]:
    """Return the figures of all metrics that apply to a view, by name; of a public view only those of the folder."""
    found = {}
    for metric in (cls() for cls in catalogue("metrics", Metric).values()):
        if metric.applies(exhibit):
            found[metric.figure or metric.name] = _rounded(metric.measure(exhibit))
    return found


def meanings(form: Form) -> dict[str, tuple[str, str]]:
    """The title and the one-line meaning of every figure of a form, by the key of the figure."""
    able = [cls for cls in catalogue("metrics", Metric).values() if cls.understands(form)]
    return {cls.figure or cls.name: (cls.title or cls.name, summary_of(cls)) for cls in able}


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value
