"""Distance-based record linkage: whoever knows a person's values takes the nearest published row for theirs.

The share of people for whom that is right is measured on some of them, with the error of the sample; it is an estimate, never a
bound: another outsider may know more, or guess better.

Paper: Pagliuca, Seri (1999).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.data.arrays import FloatArray, IntArray
from sfumato.data.table import TextColumn
from sfumato.errors import DataError
from sfumato.forms.perturbed import PerturbedTable
from sfumato.release.exhibit import Exhibit

_PEOPLE = 2000
_Z = 1.959964


def nearest_rows(exhibit: Exhibit) -> dict[str, Any]:
    """How often the nearest row is the person's own, where the private trace says whose rows they are."""
    if exhibit.behind is None:
        raise DataError("the private trace is not at hand, so nobody knows whose rows they are", hint="keep it beside the release")
    behind, form = exhibit.behind["data"], exhibit.of(PerturbedTable)
    names = exhibit.policy.quasi_identifiers or form.columns
    rows = len(behind)
    picked = np.random.default_rng(0).permutation(rows)[:_PEOPLE]
    own, apart, ties = np.zeros(len(picked)), np.full(len(picked), np.inf), np.zeros(len(picked))
    mine = [_coordinates(exhibit.original.text(name), exhibit.data.text(name)) for name in names]
    for place, row in enumerate(picked.tolist()):
        distance = np.zeros(rows)
        for known, shown, numeric in mine:
            step = shown - known[behind[row]]
            distance += step * step if numeric else (step != 0)
        least = distance.min()
        near = distance <= least + 1e-12
        apart[place], ties[place], own[place] = least, near.sum(), near[row] / near.sum()
    share = float(own.mean()) if len(own) else 0.0
    error = _Z * float(np.sqrt(share * (1 - share) / max(len(picked), 1)))
    return {
        "people": len(picked),
        "linked_to_their_row": share,
        "by_chance": 1 / max(rows, 1),
        "error": error,
        "grade": f"estimate (± {error:.3g} at 95 %), of this outsider alone",
    }


def _coordinates(original: TextColumn, published: TextColumn) -> tuple[FloatArray, FloatArray, bool]:
    """The column of people and of rows in the same units."""
    from sfumato.methods.aggregating.ground import is_numeric, values_of

    if is_numeric(original) and is_numeric(published):
        known, shown = values_of(original), values_of(published)
        spread = float(np.nanstd(known)) or 1.0
        return np.nan_to_num(known / spread), np.nan_to_num(shown / spread), True
    number = {label: code for code, label in enumerate(published.labels)}
    codes: IntArray = np.array([number.setdefault(label, len(number)) for label in original.labels], dtype=np.int64)
    return codes[original.codes].astype(np.float64), published.codes.astype(np.float64), False
