"""What a recipient learns from a perturbed table on average: figures of the original with standard errors, no original
needed.

    noise      means as they are; covariances less the declared ones of the noise; correlations from these
    pram       shares of a column as they are (the matrix keeps them); tables of two columns by inverting the matrices
    others     shares and means of columns as they are, exactly, because columns keep their values

Guarantee: estimates are unbiased (covariances, pair tables) or exact (columns of `swapping` and `shuffling`); standard
errors are those of the perturbation, not of the sample that the table itself is."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.arrays import FloatArray
from sfumato.core.errors import ReleaseError
from sfumato.kinds.tables.form import PerturbedTable
from sfumato.release.folder import read_folder
from sfumato.release.view import ReleaseView

_MOST = 200
"""Cells of a pair table that is written out."""


def recover_table(release: Any, pair: tuple[str, str] | None = None) -> dict[str, Any]:
    """Estimate figures of the original behind a perturbed table.

    Parameters
    ----------
    release
        A release folder, or a `Publication`.
    pair
        Two columns whose joint table is wanted; without it all pairs.

    Returns
    -------
    dict
        How the table was perturbed, the figures, and notes.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"pay": [str(10 * i) for i in range(40)], "city": ["Bari", "Pisa"] * 20}
    >>> policy = {"version": 1, "columns": {"pay": "quasi-identifier", "city": "other"},
    ...     "method": {"noise": {"columns": ["pay"]}}}
    >>> sf.recover_table(sf.publish(sf.Policy.parse(policy), people))["how"]
    'noise'
    """
    seen = getattr(release, "exhibit", release)
    exhibit = seen if isinstance(seen, ReleaseView) else read_folder(Path(seen))
    if not isinstance(exhibit.form, PerturbedTable):
        raise ReleaseError(
            "there is nothing to recover: no values were perturbed at random", hint="see 'measure' and 'query'"
        )
    form = exhibit.of(PerturbedTable)
    found: dict[str, Any] = {"how": form.how, "figures": {}, "notes": []}
    if form.how == "noise":
        found["figures"] = _numbers(exhibit, form)
        found["notes"] = ["means and covariances of the original on average; single values cannot be had"]
    if form.how == "pram":
        pairs = [pair] if pair else list(combinations([*form.columns], 2))
        found["figures"] = {" × ".join(two): table_of(exhibit, *two) for two in pairs if _cells(exhibit, two) <= _MOST}
        found["notes"] = ["shares of single columns are right as they are; tables of two columns are corrected"]
    if form.keeps_values:
        found["notes"] = ["columns have the values of the original, so their shares, means and totals are exact"]
    return found


def _numbers(exhibit: ReleaseView, form: PerturbedTable) -> dict[str, Any]:
    names = form.columns
    values = np.stack([exhibit.data.numbers(name) for name in names], axis=1)
    noise = np.array([[form.covariance[a][b] for b in names] for a in names])
    covariance = np.atleast_2d(np.cov(values, rowvar=False, ddof=0)) - noise
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    rows = max(len(values), 1)
    figures: dict[str, Any] = {}
    for place, name in enumerate(names):
        error = float(np.sqrt(noise[place, place] / rows))
        figures[f"mean of {name}"] = {"estimate": float(values[:, place].mean()), "standard_error": error}
        figures[f"variance of {name}"] = {"estimate": float(covariance[place, place])}
    for one, other in combinations(range(len(names)), 2):
        estimate = float(covariance[one, other] / spread[one] / spread[other])
        figures[f"correlation of {names[one]} and {names[other]}"] = {"estimate": estimate}
    return figures


def _cells(exhibit: ReleaseView, pair: tuple[str, str]) -> int:
    return len(exhibit.data.text(pair[0]).labels) * len(exhibit.data.text(pair[1]).labels)


def table_of(exhibit: ReleaseView, one: str, other: str) -> dict[str, dict[str, float]]:
    """How many records of the original have each pair of values, estimated; also for one column that did not change."""
    left, right = exhibit.data.text(one), exhibit.data.text(other)
    seen = np.zeros((len(left.labels), len(right.labels)))
    np.add.at(seen, (left.codes, right.codes), 1.0)
    first, second = _matrix(exhibit, one), _matrix(exhibit, other)
    corrected = np.linalg.solve(first.T, seen) if first is not None else seen
    corrected = np.linalg.solve(second.T, corrected.T).T if second is not None else corrected
    return {
        label: {name: float(f"{corrected[i, j]:.6g}") for j, name in enumerate(right.labels)}
        for i, label in enumerate(left.labels)
    }


def _matrix(exhibit: ReleaseView, name: str) -> FloatArray | None:
    """Row i: what value i became, with which probability; values that are no longer seen are left out."""
    form = exhibit.of(PerturbedTable)
    if name not in form.keep:
        return None
    share = np.array([form.shares[name].get(label, 0.0) for label in exhibit.data.text(name).labels])
    keep = form.keep[name]
    return keep * np.eye(len(share)) + (1 - keep) * np.tile(share / max(share.sum(), 1e-300), (len(share), 1))
