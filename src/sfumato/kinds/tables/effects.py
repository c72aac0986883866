"""What publishing did to a table: cells unchanged, generalized and suppressed, risks before and after, and what can be
guessed.

Notation
    width    share of its domain that a published label covers: 0 is an exact value, 1 the whole domain
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from sfumato.core.arrays import FloatArray
from sfumato.core.wording import join_names, number_text, percent_text
from sfumato.data.equivalence_classes import equivalence_classes_of
from sfumato.data.hierarchy import ROOT, Hierarchy
from sfumato.data.text_values import is_whole, parse_interval
from sfumato.kinds.tables.form import Microaggregated, PerturbedTable, Recoded
from sfumato.kinds.tables.information_loss import AGAINST_ORIGINAL, WITHIN_RELEASE, declared_domains, per_column
from sfumato.release.attack import largest_allowed_share
from sfumato.release.form import Form
from sfumato.release.metric import figures
from sfumato.release.summary import (
    ColumnChange,
    Effects,
    OpenPoint,
    Remedy,
    RiskChange,
    open_point,
    records_sentence,
)
from sfumato.release.view import ReleaseView

_MOST_LEVELS = 2
_NO_WIDTH = 1e-9
_SURE, _GAIN = 0.9, 0.1
_SHAPES = (
    (re.compile(r"\d{4}-\d{2}-\d{2}"), "day"),
    (re.compile(r"\d{4}-\d{2}"), "month"),
    (re.compile(r"\d{4}-?Q\d"), "quarter"),
    (re.compile(r"\d{3}0s"), "decade"),
    (re.compile(r"\d{4}"), "year"),
)


class RecodedEffects(Effects):
    """Generalized tables: per column what its cells still say."""

    name: ClassVar[str] = "recoded"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.data.records > 0

    def lost(self, exhibit: ReleaseView) -> Iterator[str]:
        yield records_sentence(exhibit)
        columns = exhibit.once(column_changes)
        if columns:
            cells = [
                sum(getattr(each, kind) for each in columns) / len(columns) for kind in ("generalized", "suppressed")
            ]
            told = (
                f"Of the quasi-identifier cells {percent_text(cells[0])} are generalized and {percent_text(cells[1])}"
                " suppressed."
            )
            worst = max(columns, key=lambda each: each.loss or 0.0)
            yield told + (f" {worst.name} lost most." if worst.loss else "")
            yield loss_sentence(exhibit)
        yield from query_sentence(exhibit)

    def columns(self, exhibit: ReleaseView) -> Iterable[ColumnChange]:
        return exhibit.once(column_changes)

    def risks(self, exhibit: ReleaseView) -> Iterator[RiskChange]:
        if not exhibit.policy.quasi_identifiers or exhibit.policy.person is not None:
            return
        after = exhibit.classes.counts
        before = _original_sizes(exhibit) if exhibit.private else None
        asked = max((claim.model.demand().candidates for claim in exhibit.policy.claims), default=1)
        limit = 1 / asked if asked > 1 else None
        highest = None if before is None else 1 / int(before.min())
        average = None if before is None else len(before) / int(before.sum())
        yield RiskChange("person most at risk", 1 / int(after.min()), highest, limit)
        yield RiskChange("a person on average", len(after) / int(after.sum()), average)

    def exposed(self, exhibit: ReleaseView) -> Iterator[OpenPoint]:
        """How well sensitive values can be guessed within an equivalence class, beside the guess without one."""
        if not exhibit.policy.quasi_identifiers:
            return
        for name in exhibit.policy.sensitive:
            mean, worst, blind = _guesses(exhibit, name)
            if worst <= largest_allowed_share(exhibit, name) < 1:  # what is promised is no open point
                continue
            if mean > blind + _GAIN or (worst >= _SURE and blind < _SURE):
                known = join_names(exhibit.policy.quasi_identifiers)
                text = f"An adversary who knows {known} guesses {name} for {percent_text(mean)} of the records"
                text += (
                    f" (most frequent value alone: {percent_text(blind)}), and for some with {percent_text(worst)}"
                    " certainty."
                )
                require = "ask for frequency l-diversity or t-closeness, which limit how certain a guess can be"
                leave = Remedy("leave out", f"leave {name} out", "publish: false")
                yield open_point("guess", text, [name], Remedy("require", require), leave, weight=mean)


class PerturbedEffects(Effects):
    """Perturbed and microaggregated tables: which columns show other values."""

    name: ClassVar[str] = "perturbed"
    forms: ClassVar[tuple[type[Form], ...]] = (PerturbedTable, Microaggregated)

    def lost(self, exhibit: ReleaseView) -> Iterator[str]:
        yield records_sentence(exhibit)
        changed = getattr(exhibit.form, "columns", ()) or exhibit.policy.quasi_identifiers
        yield f"{join_names(tuple(changed))} show changed values; single values are not those of the original."
        yield from query_sentence(exhibit)


def loss_sentence(exhibit: ReleaseView) -> str:
    """The information loss with the name of its measure."""
    losses = exhibit.once(per_column)
    which = AGAINST_ORIGINAL if exhibit.private else WITHIN_RELEASE
    return (
        f"Information loss {which}: "
        f"{number_text(sum(losses.values()) / max(len(losses), 1))} (0 is exact, 1 is "
        "full suppression)."
    )


def query_sentence(exhibit: ReleaseView) -> Iterator[str]:
    """How far counts are off, where the original is at hand."""
    error: Any = exhibit.once(figures).get("query_error") if exhibit.private else None
    if isinstance(error, float):
        yield f"The median count query is off by {percent_text(error)}."


def column_changes(exhibit: ReleaseView) -> tuple[ColumnChange, ...]:
    """What happened to the cells of every quasi-identifier; ask with ``exhibit.once(column_changes)``."""
    losses = exhibit.once(per_column)
    return tuple(
        _change(exhibit, name, losses[name]) for name in exhibit.policy.quasi_identifiers if name in exhibit.data.names
    )


def _change(exhibit: ReleaseView, name: str, loss: float) -> ColumnChange:
    text = exhibit.data.text(name)
    weights = (
        np.ones(len(text.codes)) if exhibit.data.counts is None else np.asarray(exhibit.data.counts, dtype=np.float64)
    )
    shares = np.bincount(text.codes, weights=weights, minlength=len(text.labels)) / max(float(weights.sum()), 1.0)
    widths = _widths(exhibit, name)
    gone = np.array([not label.strip(ROOT) or label == _root(exhibit, name) for label in text.labels], dtype=bool)
    exact = (widths <= _NO_WIDTH) & ~gone
    between = ~gone & ~exact
    levels: dict[str, float] = {}
    for place in np.flatnonzero(between & (shares > 0)):
        level = level_name(text.labels[place])
        levels[level] = levels.get(level, 0.0) + float(shares[place])
    most = sorted(levels.items(), key=lambda pair: -pair[1])[:_MOST_LEVELS]
    unchanged, generalized, suppressed = (float(shares[which].sum()) for which in (exact, between, gone))
    return ColumnChange(name, unchanged, generalized, suppressed, tuple(most), loss)


def _root(exhibit: ReleaseView, name: str) -> str:
    """The label that stands for every value of a column."""
    domain = exhibit.recoded.get(name) if exhibit.private else exhibit.generalization(name)
    return domain.names[domain.root] if isinstance(domain, Hierarchy) else ROOT


def _widths(exhibit: ReleaseView, name: str) -> FloatArray:
    labels = exhibit.data.text(name).labels
    if not labels:
        return np.zeros(0)
    if exhibit.private:
        return exhibit.recoded[name].width(*exhibit.intervals(name))
    return np.asarray(exhibit.once(declared_domains)[name].widths(labels), dtype=np.float64)


def level_name(label: str) -> str:
    """What kind of label a generalized cell shows.

    >>> [level_name(label) for label in ("2025-03", "2025", "7100*", "30-39", "[0.5, 1)", "Europe")]
    ['month', 'year', '4 characters', '10 wide', '0.5 wide', 'groups']
    """
    for shape, name in _SHAPES:
        if shape.fullmatch(label):
            return name
    if label.rstrip("*") and label.endswith("*"):
        return f"{len(label.rstrip('*'))} characters"
    ends = parse_interval(label)
    if ends is None:
        return "groups"
    low, high, closed = ends
    whole = closed and is_whole(low) and is_whole(high)
    return f"{number_text(float(high - low + (1 if whole else 0)))} wide"


def _original_sizes(exhibit: ReleaseView) -> Any:
    table = exhibit.original
    codes = [table.text(name).codes for name in exhibit.policy.quasi_identifiers]
    return equivalence_classes_of(codes, rows=table.rows, weights=table.counts).counts


def _guesses(exhibit: ReleaseView, name: str) -> tuple[float, float, float]:
    """Average and best certainty of the most frequent value in an equivalence class, and its share in the whole
    release."""
    text, of = exhibit.data.text(name), exhibit.classes.of
    weights = np.ones(len(of)) if exhibit.data.counts is None else np.asarray(exhibit.data.counts, dtype=np.float64)
    pairs, place = np.unique(of.astype(np.int64) * len(text.labels) + text.codes, return_inverse=True)
    counts = np.bincount(place, weights=weights)
    best, sizes = np.zeros(len(exhibit.classes)), np.bincount(of, weights=weights, minlength=len(exhibit.classes))
    np.maximum.at(best, pairs // len(text.labels), counts)
    blind = float(np.bincount(text.codes, weights=weights).max() / weights.sum())
    return float(best.sum() / sizes.sum()), float((best / np.maximum(sizes, 1e-12)).max()), blind
