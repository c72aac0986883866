"""Patterns kept, how well the walk mixed, and, for the data holder, what neighbours give away."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.audit.checks.neighbours import Measured, measure, numeric_columns
from sfumato.forms.replaced import Replaced, WalkTrace
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form
from sfumato.report.charts import columns, paired_bars
from sfumato.report.section import Section, bullets, paragraph

_BINS = 10
_SHOWN = 15


class PatternSection(Section):
    """The kept properties, the mixing of the walk, and the distributions before and after."""

    name: ClassVar[str] = "patterns"
    title: ClassVar[str] = "Patterns that survived"
    order: ClassVar[int] = 25
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.of(Replaced).walked or exhibit.of(Replaced).walk is not None

    def render(self, exhibit: Exhibit) -> Markup:
        walk = exhibit.traced(WalkTrace).walk or exhibit.of(Replaced).walk
        words = "Values moved at random inside the space of all tables that keep the properties below."
        if walk is not None:
            words += (
                f" It falls into {walk.parts:,} independent parts; in {walk.mixed:,} of them several walks agreed that the start "
                f"was forgotten. The properties leave {walk.implied_equalities:,} values no room to move."
            )
        unsaid = "Privacy of this kind of release is measured afterwards; nothing is guaranteed."
        shown = [paragraph(words), bullets(exhibit.policy.keep), paragraph(unsaid)]
        if exhibit.private and numeric_columns(exhibit.original, exhibit.data, exhibit.policy):
            shown += [*_histograms(exhibit), *_neighbours(exhibit)]
        return Markup("").join(shown)


def _histograms(exhibit: Exhibit) -> list[Markup]:
    found = [Markup("<h3>Original and release</h3>")]
    for name in numeric_columns(exhibit.original, exhibit.data, exhibit.policy):
        before, after = exhibit.original.numbers(name), exhibit.data.numbers(name)
        edges = np.histogram_bin_edges(np.concatenate([before, after]), bins=_BINS)
        shares = [np.histogram(values, edges)[0] / max(1, values.size) for values in (before, after)]
        labels = [f"{low:,.4g} … {high:,.4g}" for low, high in pairwise(edges)]
        rows = [(label, float(old), float(new)) for label, old, new in zip(labels, *shares, strict=True)]
        found += [Markup("<h4>{}</h4>").format(name), paired_bars(rows, title=name, names=("original", "release"))]
    return found


def _neighbours(exhibit: Exhibit) -> list[Markup]:
    found = []
    for name, measured in measure(exhibit.original, exhibit.data, exhibit.policy).items():
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
