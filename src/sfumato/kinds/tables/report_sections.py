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

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.core.arrays import FloatArray, IntArray
from sfumato.core.html.charts import SOFT, TERRA, bars, columns, paired_bars
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
    title: ClassVar[str] = "How many look alike"
    order: ClassVar[int] = 20
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.data.records > 0 and bool(exhibit.policy.quasi_identifiers)

    def render(self, exhibit: ReleaseView) -> Markup:
        sizes = exhibit.classes.counts
        people = columns(_binned(sizes), title="Records by size of their class")
        words = (
            f"The {exhibit.data.records:,} published records form {len(sizes):,} classes of records that look alike. "
            f"The smallest has {int(sizes.min()):,}, half of all records are in classes of {_median(sizes):,} or more."
        )
        if exhibit.policy.person is not None:
            return paragraph(f"{words} {_ROWS}") + people
        risk = (
            "Somebody who knows a person's quasi-identifiers and looks for the record is right with probability "
            f"{1 / int(sizes.min()):.1%} at worst and {len(sizes) / exhibit.data.records:.2%} on average."
        )
        heading = Markup("<h3>Risk of being found</h3>")
        return Markup("").join([paragraph(words), people, heading, paragraph(risk), _before(exhibit, sizes)])


def _before(exhibit: ReleaseView, sizes: IntArray) -> Markup:
    """The risk in the original, for the data holder only."""
    if not exhibit.private:
        return Markup("")
    table = exhibit.original
    original = equivalence_classes_of(
        [table.text(name).codes for name in exhibit.policy.quasi_identifiers], rows=table.rows, weights=table.counts
    ).counts
    unique = int((original == 1).sum())
    rows = [
        ("highest, original", 1 / int(original.min()), f"{1 / int(original.min()):.1%}"),
        ("highest, release", 1 / int(sizes.min()), f"{1 / int(sizes.min()):.1%}"),
        ("average, original", len(original) / table.records, f"{len(original) / table.records:.1%}"),
        ("average, release", len(sizes) / exhibit.data.records, f"{len(sizes) / exhibit.data.records:.1%}"),
    ]
    words = f"In the original, {unique:,} of {table.records:,} people are unique in their quasi-identifiers."
    return paragraph(words) + bars(rows, title="Risk before and after", fill=TERRA)


def _binned(sizes: IntArray) -> list[tuple[str, float, str]]:
    """Records per size of class: every size by itself when they are few, else bins that grow by half."""
    low, high = int(sizes.min()), int(sizes.max())
    edges = [low]
    while edges[-1] <= high:
        edges.append(edges[-1] + (1 if high - low < _BINS else max(1, edges[-1] // 2)))
    rows = []
    for lo, hi in pairwise(edges):
        people = int(sizes[(sizes >= lo) & (sizes < hi)].sum())
        rows.append((str(lo) if hi == lo + 1 else f"{lo}–{hi - 1}", float(people), f"{people:,}"))
    return rows


def _median(sizes: IntArray) -> int:
    """The size such that half of all people are in classes at least that large."""
    order = np.sort(sizes)[::-1]
    return int(order[np.searchsorted(np.cumsum(order), order.sum() / 2)])


# Distributions
# -------------


_MOST = 12


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
            rows = _rows(exhibit, name)
            parts += [Markup("<h3>{}</h3>").format(name), paired_bars(rows, title=name, names=("original", "release"))]
        return Markup("").join(parts)


def _rows(exhibit: ReleaseView, name: str) -> list[tuple[str, float, float]]:
    domain = exhibit.generalization(name)
    assert domain is not None
    original = exhibit.original.text(name)
    before = np.zeros(domain.size)
    np.add.at(
        before, [domain.code_of[label] for label in original.labels], original.counts() / exhibit.original.records
    )
    after = _spread(exhibit, name)
    shown = np.argsort(-before, kind="stable")[:_MOST] if domain.size > _MOST else np.arange(domain.size)
    return [(domain.leaves[leaf] or "(missing)", float(before[leaf]), float(after[leaf])) for leaf in np.sort(shown)]


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


_PUBLISHED_MOST = 6


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
                else bars(_published_rows(exhibit, name), title=name, fill=SOFT)
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


def _published_rows(exhibit: ReleaseView, name: str) -> list[tuple[str, float, str]]:
    text = exhibit.data.text(name)
    counts = text.counts()
    order = np.argsort(-counts, kind="stable")[:_PUBLISHED_MOST]
    return [(text.labels[i] or "(missing)", float(counts[i]), f"{counts[i] / exhibit.data.records:.1%}") for i in order]


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
        parts += _means(Means().measure(exhibit))
        if several_numbers(exhibit):
            apart = CorrelationError().measure(exhibit)
            parts.append(paragraph(f"Correlations of columns of numbers differ by {apart:.3g} on average."))
        parts += _distances(DistributionDistance().measure(exhibit))
        if "pair_distance" in asked:
            said = f"Pairs of values of two columns: total variation distance {asked['pair_distance']:.3g} on average."
            parts.append(paragraph(said))
        return Markup("").join([*parts, *_models(asked.get("prediction"))])


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
    rows = [(name, share, f"{share:.1%}") for name, share in found.items()]
    said = (
        "Total variation distance of each column's values: the share of records that would have to have another value."
    )
    return [paragraph(said), bars(rows, title="Distance of distributions")] if rows else []


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
