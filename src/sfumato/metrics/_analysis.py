"""Columns as an analyst reads them: numbers and shares of values, of the release and of the original, in the same units.

A cell that stands for several values stands for each of them alike; a range of numbers is read as the mean of what it covers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from sfumato.data.arrays import FloatArray
from sfumato.data.generalization import MISSING, Generalization
from sfumato.data.numbers import number
from sfumato.data.table import Table, TextColumn
from sfumato.forms.microaggregated import Microaggregated
from sfumato.forms.perturbed import PerturbedTable
from sfumato.forms.recoded import Recoded
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

READABLE: tuple[type[Form], ...] = (Recoded, Microaggregated, PerturbedTable)
MOST = 300
"""Values of a column whose shares are compared."""


def wanted(exhibit: Exhibit) -> bool:
    """Whether an analyst's figures are asked for: always where values are no longer true, else with ``analysis``."""
    return bool(exhibit.parameters.get("analysis")) or not isinstance(exhibit.form, Recoded)


def names_of(exhibit: Exhibit) -> list[str]:
    """The columns that both sides show."""
    return [name for name in exhibit.policy.published if name in exhibit.data.names and name in exhibit.original.names]


def numbers_of(exhibit: Exhibit, name: str) -> tuple[FloatArray, FloatArray] | None:
    """A column of numbers in the release and in the original; nothing when it is none."""
    read = exhibit.once(_read_so_far)
    if name not in read:
        read[name] = _labels_read(exhibit, name)
    by_label = read[name]
    if by_label is None:
        return None
    return by_label[0][exhibit.data.text(name).codes], by_label[1][exhibit.original.text(name).codes]


def _read_so_far(_: Exhibit) -> dict[str, tuple[FloatArray, FloatArray] | None]:
    """The columns whose labels were read already, by name."""
    return {}


def _labels_read(exhibit: Exhibit, name: str) -> tuple[FloatArray, FloatArray] | None:
    """Per label of the release and of the original its number; nothing where one of the original is none."""
    original = exhibit.original.text(name)
    known = [label for label in original.labels if label != MISSING]
    if not known or any(number(label) is None for label in known):
        return None
    return read_numbers(exhibit.data.text(name).labels, exhibit.recoded.get(name)), read_numbers(original.labels, None)


def survey_weights(exhibit: Exhibit) -> tuple[FloatArray, FloatArray]:
    """How many people each row of the release, and each record of the original, stands for.

    The original's are the column that ``population: {weight: …}`` names. The release has those that it shows, rounded or not; where
    it shows none, each of its rows stands for as many people as any other.
    """
    named = exhibit.policy.population.weight if exhibit.policy.population is not None else None
    if named is None or named not in exhibit.original.names:
        return np.ones(exhibit.data.rows), np.ones(exhibit.original.rows)
    text = exhibit.original.text(named)
    own = read_numbers(text.labels, None)[text.codes]
    if named not in exhibit.data.names:
        return np.full(exhibit.data.rows, float(np.nansum(own)) / max(exhibit.data.rows, 1)), own
    shown = exhibit.data.text(named)
    return read_numbers(shown.labels, exhibit.recoded.get(named))[shown.codes], own


def read_numbers(labels: tuple[str, ...], domain: Generalization | None) -> FloatArray:
    """Per label its number, or the mean of the numbers that it covers; NaN where there are none."""
    read = cache(_float)
    return np.array([_read(label, domain, read) for label in labels], dtype=np.float64)


def _read(label: str, domain: Generalization | None, read: Callable[[str], float]) -> float:
    value = read(label)
    span = domain.interval(label) if domain is not None and value != value else None
    if domain is None or span is None:
        return value
    below = [one for leaf in domain.values(*span) if (one := read(leaf)) == one]
    return float(np.mean(below)) if below else np.nan


def _float(label: str) -> float:
    """The number that a label writes, NaN when it is none."""
    value = number(label)
    return np.nan if value is None else float(value)


def values_under(exhibit: Exhibit, name: str, table: Table) -> FloatArray | None:
    """Labels of a column × values of the original: how much of each value a label stands for; nothing when there are too many."""
    leaves = exhibit.original.text(name).labels
    text: TextColumn = table.text(name)
    if len(leaves) > MOST or len(text.labels) > 20 * MOST:
        return None
    place = {leaf: at for at, leaf in enumerate(leaves)}
    domain, found = exhibit.recoded.get(name), np.zeros((len(text.labels), len(leaves)))
    for at, label in enumerate(text.labels):
        span = domain.interval(label) if domain is not None and label not in place else None
        under = [place[leaf] for leaf in domain.values(*span) if leaf in place] if domain and span else []
        if label in place:
            found[at, place[label]] = 1.0
        elif under:
            found[at, under] = 1.0 / len(under)
    return found
