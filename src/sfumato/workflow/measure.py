"""Measure: how useful a release is, by every metric that applies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.core.errors import DataError
from sfumato.engines.local import HERE
from sfumato.engines.spark.workflow.publish import as_engine
from sfumato.kinds.tables.information_loss import AGAINST_ORIGINAL
from sfumato.release.folder import open_release, read_folder
from sfumato.release.metric import figures, meanings
from sfumato.workflow.publication import Publication
from sfumato.workflow.verify import beside


def measure(
    folder: str | Path | Publication,
    *,
    original: Any = None,
    parameters: Mapping[str, Any] | None = None,
    engine: Any = None,
) -> dict[str, Any]:
    """Return the utility figures of a release.

    Parameters
    ----------
    folder
        The release folder, or a `Publication`.
    original
        The original data: a path, or a polars, pandas or pyarrow frame. A publication knows it.
    parameters
        Settings of metrics that leave a choice, such as the number of queries.
    engine
        A Spark session, or a `SparkEngine`: release and original are counted on its cluster.

    Returns
    -------
    dict
        The figures by name.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"age": ["30", "30", "40", "40"], "illness": ["flu", "gout", "flu", "cold"]}
    >>> draft = sf.Policy.table(people).quasi("age").sensitive("illness").protect(sf.k_anonymity(2))
    >>> sf.measure(sf.publish(draft))["loss"]
    0.0
    """
    if isinstance(folder, Publication):
        return figures(replace(folder.exhibit, parameters=dict(parameters or {}))) if parameters else folder.utility
    if original is None:
        raise DataError("a release folder is compared with the original", where=str(folder), hint="give it: original=…")
    if engine is not None:
        exhibit = read_folder(Path(folder), engine=as_engine(engine))
        return figures(replace(beside(exhibit, original, None, engine), parameters=dict(parameters or {})))
    return figures(open_release(folder, original=original, engine=HERE, **(parameters or {})))


def words_of(folder: str | Path) -> dict[str, tuple[str, str]]:
    """The title and the meaning of every figure that `measure` finds for a folder."""
    told = meanings(read_folder(Path(folder), engine=HERE).form)
    if "loss" in told:
        title, meaning = told["loss"]
        told["loss"] = (f"{title} {AGAINST_ORIGINAL}", meaning)
    return told
