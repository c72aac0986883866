"""Patterns kept, how well the walk mixed, and, for the data holder, what neighbours give away."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.audit.checks.neighbours import Measured, measure, numeric_columns
from sfumato.report.charts import columns, paired_bars
from sfumato.report.section import Section, bullets, paragraph
from sfumato.report.view import View

_BINS = 10
_SHOWN = 15


class PatternSection(Section):
    """The kept properties, the mixing of the walk, and the distributions before and after."""

    name: ClassVar[str] = "patterns"
    title: ClassVar[str] = "Patterns that survived"
    order: ClassVar[int] = 25

    def applies(self, view: View) -> bool:
        return view.form == "replaced table" and "walk" in view.public

    def render(self, view: View) -> Markup:
        walk: dict[str, Any] = dict(view.public["walk"])
        words = (
            "Values moved at random inside the space of all tables that keep the properties below. It falls into "
            f"{walk['parts']:,} independent parts; in {walk['mixed']:,} of them several walks agreed that the start was forgotten."
        )
        unsaid = "Privacy of this kind of release is measured afterwards; nothing is guaranteed."
        shown = [paragraph(words), bullets(view.policy.keep), paragraph(unsaid)]
        if view.private and numeric_columns(view.original, view.data, view.policy):
            shown += [*_histograms(view), *_neighbours(view)]
        return Markup("").join(shown)


def _histograms(view: View) -> list[Markup]:
    found = [Markup("<h3>Original and release</h3>")]
    for name in numeric_columns(view.original, view.data, view.policy):
        before, after = view.original.numbers(name), view.data.numbers(name)
        edges = np.histogram_bin_edges(np.concatenate([before, after]), bins=_BINS)
        shares = [np.histogram(values, edges)[0] / max(1, values.size) for values in (before, after)]
        labels = [f"{low:,.4g} … {high:,.4g}" for low, high in pairwise(edges)]
        rows = [(label, float(old), float(new)) for label, old, new in zip(labels, *shares, strict=True)]
        found += [Markup("<h4>{}</h4>").format(name), paired_bars(rows, title=name, names=("original", "release"))]
    return found


def _neighbours(view: View) -> list[Markup]:
    found = []
    for name, measured in measure(view.original, view.data, view.policy).items():
        found += [Markup("<h3>What neighbours say about {}</h3>").format(name), paragraph(_words(measured))]
        found += [columns(_rows(measured.first), title="rank of the first neighbour with the person's own value")]
        found += [columns(_rows(measured.equal), title="share of people whose k-th neighbour has their value")]
    return found


def _words(measured: Measured) -> str:
    return (
        "An outsider who knows somebody's original numbers looks up the published rows nearest to them. First picture: the share "
        "of people for whom the k-th nearest row is the first with their own value. Second: the share for whom the k-th has it at "
        f"all. The best guess of the outsiders we tried is right for {measured.best_guess:.1%} of people; always naming the most "
        f"frequent value is right for {measured.blind:.1%}."
    )


def _rows(shares: Any) -> list[tuple[str, float, str]]:
    return [(str(k + 1), float(share), f"{share:.1%}") for k, share in enumerate(shares[:_SHOWN])]
