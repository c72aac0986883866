"""How many people look alike, and what that means for a person who tries to find one.

If a person may have several rows, the size of a class is no number of people, so no re-identification risk is shown: a
class of six may be one man. What holds for people then stands among the findings.


Distributions
-------------
Original against published distributions: for the data holder only.


Published
---------
What the release shows: the most frequent published values of every quasi-identifier.


Analysts
--------
What analysts get from the release beside the original: means and totals with their errors, correlations, distances of
distributions and of pairs of columns, and models trained on the release. For the data holder only.

Means, correlations and distances of single columns are always told; pairs of columns and models where they were asked
for (``sfumato report --analysis --predict COLUMN``) or where values are no longer true."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.html.charts import categories, histogram, share_bars
from sfumato.core.wording import percent_text
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.hierarchy import ROOT
from sfumato.data.personal_columns import detect
from sfumato.kinds.tables.form import Recoded
from sfumato.kinds.tables.statistical_utility import (
    READABLE,
    CorrelationError,
    DistributionDistance,
    Means,
    several_numbers,
)
from sfumato.release.form import Form
from sfumato.release.metric import figures
from sfumato.release.report_section import Section, paragraph, table
from sfumato.release.view import ReleaseView

_BINS = 14
_ROWS = (
    "These are rows: a person may have several of them. The guarantees for people were counted per person, see above."
)


class ClassSizes(Section):
    """The distribution of class sizes and the prosecutor's risk."""

    name: ClassVar[str] = "classes"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "Equivalence classes"
    order: ClassVar[int] = 20
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.data.records > 0 and bool(exhibit.policy.quasi_identifiers)

    def render(self, exhibit: ReleaseView) -> Markup:
        sizes = exhibit.classes.counts
        rows = [(label, None, records) for label, records in _binned(sizes)]
        axes = ("records in the equivalence class", "records")
        people = histogram(rows, title="Records by the size of their equivalence class", axes=axes, shares=False)
        words = (
            f"The {exhibit.data.records:,} published records form {len(sizes):,} equivalence classes. "
            f"The smallest has {int(sizes.min()):,}, half of all records are in classes of {_median(sizes):,} or more."
        )
        if exhibit.policy.person is not None:
            return paragraph(f"{words} {_ROWS}") + people
        risk = (
            "An adversary who knows a person's quasi-identifiers and picks a record is right with probability "
            f"{percent_text(1 / int(sizes.min()))} at worst and {percent_text(len(sizes) / exhibit.data.records)} on"
            " average."
        )
        heading = Markup("<h3>Risk of re-identification</h3>")
        return Markup("").join([paragraph(words), people, heading, paragraph(risk), _before(exhibit)])


def _before(exhibit: ReleaseView) -> Markup:
    """How many records were unique in the original, for the data holder only; their risk is in the summary."""
    if not exhibit.private:
        return Markup("")
    table = exhibit.original
    original = equivalence_classes_of(
        [table.text(name).codes for name in exhibit.policy.quasi_identifiers], rows=table.rows, weights=table.counts
    ).counts
    unique = int((original == 1).sum())
    return paragraph(f"In the original, {unique:,} of {table.records:,} people are unique in their quasi-identifiers.")


def _binned(sizes: IntArray) -> list[tuple[str, float]]:
    """Records per size of class: every size by itself when they are few, else bins that grow by half."""
    low, high = int(sizes.min()), int(sizes.max())
    edges = [low]
    while edges[-1] <= high:
        edges.append(edges[-1] + (1 if high - low < _BINS else max(1, edges[-1] // 2)))
    rows = []
    for lo, hi in pairwise(edges):
        people = int(sizes[(sizes >= lo) & (sizes < hi)].sum())
        rows.append((str(lo) if hi == lo + 1 else f"{lo}–{hi - 1}", float(people)))
    return rows


def _median(sizes: IntArray) -> int:
    """The size such that half of all people are in classes at least that large."""
    order = np.sort(sizes)[::-1]
    return int(order[np.searchsorted(np.cumsum(order), order.sum() / 2)])


# Distributions
# -------------


_MOST_BINS = 24
_NAMES = ("original", "release")


class Distributions(Section):
    """Each quasi-identifier before and after, a generalized cell spread evenly over what it stands for."""

    name: ClassVar[str] = "distributions"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "Original and release side by side"
    order: ClassVar[int] = 40
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private

    def render(self, exhibit: ReleaseView) -> Markup:
        parts = [
            paragraph("A generalized cell is spread evenly over the values it stands for, as an analyst would read it.")
        ]
        for name in exhibit.policy.quasi_identifiers:
            parts += [Markup("<h3>{}</h3>").format(name), _compared(exhibit, name)]
        return Markup("").join(parts)


def _compared(exhibit: ReleaseView, name: str) -> Markup:
    """Numbers and days as a histogram in their order, everything else as categories."""
    domain = exhibit.generalization(name)
    assert domain is not None
    original = exhibit.original.text(name)
    before = np.zeros(domain.size)
    np.add.at(
        before, [domain.code_of[label] for label in original.labels], original.counts() / exhibit.original.records
    )
    after = _spread(exhibit, name)
    places = None if any(_is_code(label) for label in exhibit.data.text(name).labels) else _places(domain.leaves)
    if places is None:
        rows = [
            (label or "(missing)", float(old), float(new))
            for label, old, new in zip(domain.leaves, before, after, strict=True)
        ]
        return categories(rows, title=name, axis="share of the records", names=_NAMES)
    return histogram(_in_bins(domain.leaves, places, before, after), title=name, axes=(name, "share of the records"))


def _is_code(label: str) -> bool:
    """Whether a label is a code with its last signs masked: its numbers count nothing."""
    return label.endswith("*") and bool(label.strip("*"))


def _places(labels: Sequence[str]) -> FloatArray | None:
    """Where values are on an axis: numbers, or days; none where one is neither.

    >>> _places(["30", "41.5"]), _places(["2020-01-02", "2020-01-01"]), _places(["a", "1"])
    (array([30. , 41.5]), array([737426., 737425.]), None)
    """
    for read in (float, lambda label: float(date.fromisoformat(label).toordinal())):
        try:
            found = np.array([read(label) for label in labels if label])
        except ValueError:
            continue
        return found if len(found) == len(labels) and np.isfinite(found).all() else None
    return None


def _in_bins(
    labels: Sequence[str], places: FloatArray, before: FloatArray, after: FloatArray
) -> list[tuple[str, float | None, float]]:
    """At most 24 bins of equal width, each named by where it begins; few values stand alone."""
    order = np.argsort(places, kind="stable")
    if len(labels) <= _MOST_BINS:
        return [(labels[i], float(before[i]), float(after[i])) for i in order]
    edges = _edges(places)
    bins = len(edges) - 1
    inside = np.clip(np.searchsorted(edges, places, side="right") - 1, 0, bins - 1)
    sums = [np.bincount(inside, weights=shares, minlength=bins) for shares in (before, after)]
    days = len(labels[0]) == _ISO and labels[0].count("-") == 2
    starts = [date.fromordinal(math.ceil(edge)).isoformat() if days else f"{edge:,.4g}" for edge in edges[:-1].tolist()]
    return [(start, float(old), float(new)) for start, old, new in zip(starts, *sums, strict=True)]


_ISO = len("2020-01-01")


def _edges(places: FloatArray) -> FloatArray:
    """The ends of the bins; whole numbers get bins of a whole width.

    >>> _edges(np.arange(0.0, 100.0))[:3].tolist(), len(_edges(np.arange(0.0, 100.0)))
    ([0.0, 5.0, 10.0], 21)
    """
    low, high = float(places.min()), float(places.max())
    if not (places == np.floor(places)).all():
        return np.linspace(low, high, _MOST_BINS + 1)
    step = math.ceil((high - low + 1) / _MOST_BINS)
    return np.arange(low, high + step, step, dtype=np.float64)


def _spread(exhibit: ReleaseView, name: str) -> FloatArray:
    domain = exhibit.generalization(name)
    assert domain is not None
    text = exhibit.data.text(name)
    edges = np.zeros(domain.size + 1)
    for label, count in zip(text.labels, text.counts(), strict=True):
        lo, hi = domain.interval(label) or (0, domain.size)
        edges[lo] += count / (hi - lo)
        edges[hi] -= count / (hi - lo)
    shares: FloatArray = np.cumsum(edges)[:-1] / max(exhibit.data.records, 1)
    return shares


# Published
# ---------


class PublishedValues(Section):
    """The published values of each quasi-identifier, straight from the published table."""

    name: ClassVar[str] = "published"
    on_classes: ClassVar[bool] = True
    title: ClassVar[str] = "What the release shows"
    order: ClassVar[int] = 35
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return not exhibit.private and exhibit.data.records > 0

    def render(self, exhibit: ReleaseView) -> Markup:
        parts = [paragraph("The most frequent published values of every quasi-identifier, as the table shows them.")]
        for name in exhibit.policy.quasi_identifiers:
            heading = Markup("<h3>{} · {} different values</h3>").format(name, len(exhibit.data.text(name).labels))
            hidden = _reason_to_hide(exhibit, name)
            shown = (
                paragraph(f"Not shown: {hidden}.")
                if hidden
                else categories(_published_rows(exhibit, name), title=name, axis="share of the records", names=_NAMES)
            )
            parts += [heading, shown]
        return Markup("").join(parts)


def _reason_to_hide(exhibit: ReleaseView, name: str) -> str:
    """Return why the report prints no value of a column: no requirement covers it, or its values look like those of
    people."""
    covered = [claim for claim in exhibit.policy.claims if name in claim.given and claim.model.demand().candidates > 1]
    if not covered:
        return "no privacy requirement covers the column"
    text = exhibit.data.text(name)
    found = detect(name, [label for label in text.labels if label and label != ROOT], rows=len(text.codes))
    return "its values look personal" if found is not None and found.role in ("identifier", "drop") else ""


def _published_rows(exhibit: ReleaseView, name: str) -> list[tuple[str, float | None, float]]:
    text = exhibit.data.text(name)
    shares = text.counts() / exhibit.data.records
    return [(label or "(missing)", None, float(share)) for label, share in zip(text.labels, shares, strict=True)]


# Analysts
# --------


class Analysts(Section):
    """Means, totals, correlations, distributions and models, of the release beside the original."""

    name: ClassVar[str] = "analysts"
    title: ClassVar[str] = "What analysts get"
    order: ClassVar[int] = 42
    forms: ClassVar[tuple[type[Form], ...]] = READABLE

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.private and exhibit.data.counts is None and exhibit.data.rows > 0

    def render(self, exhibit: ReleaseView) -> Markup:
        asked = exhibit.once(figures)
        parts = [
            paragraph(
                "A generalized cell stands for each of its values alike, a range of numbers for the mean of what it"
                " covers."
            )
        ]
        parts += _means({name: told for name, told in Means().measure(exhibit).items() if not _is_coded(exhibit, name)})
        if several_numbers(exhibit):
            apart = CorrelationError().measure(exhibit)
            parts.append(paragraph(f"Correlations of columns of numbers differ by {apart:.3g} on average."))
        parts += _distances(DistributionDistance().measure(exhibit))
        if "pair_distance" in asked:
            said = f"Pairs of values of two columns: total variation distance {asked['pair_distance']:.3g} on average."
            parts.append(paragraph(said))
        return Markup("").join([*parts, *_models(asked.get("prediction"))])


def _is_coded(exhibit: ReleaseView, name: str) -> bool:
    """Whether a column holds codes, such as postcodes: their mean says nothing."""
    hierarchy = exhibit.policy.columns[name].hierarchy if name in exhibit.policy.columns else None
    return isinstance(hierarchy, Mapping) and "prefix" in hierarchy


def _means(found: Mapping[str, Mapping[str, float]]) -> list[Markup]:
    rows = [
        (
            name,
            f"{each['original']:,.5g}",
            f"{each['release']:,.5g}",
            f"{each['mean_error']:.2%}",
            f"{each['total_error']:.2%}",
        )
        for name, each in found.items()
    ]
    return [table(("column", "mean, original", "mean, release", "error", "error of the total"), rows)] if rows else []


def _distances(found: Mapping[str, float]) -> list[Markup]:
    rows = [(name, share, f"{name}: {percent_text(share)} of the records") for name, share in found.items()]
    said = (
        "Total variation distance of each column's values: the share of records that would have to have another value."
    )
    return (
        [
            paragraph(said),
            share_bars(rows, title="Distance of distributions", axis="share of the records that would have to change"),
        ]
        if rows
        else []
    )


def _models(found: Any) -> list[Markup]:
    if not found:
        return []
    rows = [
        (trained, model, ", ".join(f"{name} {value:.3f}" for name, value in figure.items()))
        for trained, models in found.items()
        if isinstance(models, Mapping)
        for model, figure in models.items()
    ]
    said = f"Models that predict {found['predicts']}, judged on original rows:"
    return [paragraph(said), table(("trained on", "model", "figures"), rows)]
