"""Measure: what a release is still good for, by every metric that applies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.metrics.base import figures
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
