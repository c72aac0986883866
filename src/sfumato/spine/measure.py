"""Measure: what a release is still good for, by every metric that applies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.metrics.base import Metric
from sfumato.registry import catalogue
from sfumato.release.exhibit import Exhibit
from sfumato.release.folder import open_release


def measure(folder: str | Path, *, original: Any, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The utility of a release folder.

    Parameters
    ----------
    folder
        The release folder.
    original
        The data it was made from: a path, or a polars, pandas or pyarrow frame.
    parameters
        How metrics are to be measured, where they leave a choice (number of queries, their dimension, …).

    Returns
    -------
    dict
        The figures by their names.
    """
    return figures(open_release(folder, original=original, **(parameters or {})))


def figures(exhibit: Exhibit) -> dict[str, Any]:
    """Every metric that applies to an exhibit, under its name."""
    found = {}
    for metric in (cls() for cls in catalogue("metrics", Metric).values()):
        if metric.applies(exhibit):
            found[metric.figure or metric.name] = _rounded(metric.measure(exhibit))
    return found


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value
