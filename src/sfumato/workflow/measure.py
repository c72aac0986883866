"""Measure: how useful a release is, by every metric that applies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.core.errors import DataError
from sfumato.core.html.pages import card_html, table_html
from sfumato.core.wording import number_text
from sfumato.engines.local import HERE
from sfumato.engines.spark.workflow.publish import as_engine
from sfumato.kinds.tables.information_loss import AGAINST_ORIGINAL
from sfumato.release.folder import open_release, read_folder
from sfumato.release.form import Form
from sfumato.release.metric import figures, meanings
from sfumato.workflow.publication import Publication
from sfumato.workflow.verify import beside


class UtilityFigures(dict[str, Any]):
    """The figures by name; a notebook shows them with their titles and meanings."""

    words: Mapping[str, tuple[str, str]]

    def __init__(self, figures: Mapping[str, Any], words: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(figures)
        self.words = words

    def _repr_html_(self) -> str:
        rows = []
        for name, value in self.items():
            title, meaning = self.words.get(name, (name.replace("_", " "), ""))
            nested = isinstance(value, Mapping)
            told = (
                ", ".join(f"{key} {number_text(one)}" for key, one in value.items()) if nested else number_text(value)
            )
            rows.append((title, told, f"{meaning} ({name})"))
        lead = "Every metric that applies to this kind of release."
        return card_html("Utility against the original", lead, (), table_html(("figure", "value", "meaning"), rows))


def measure(
    folder: str | Path | Publication,
    *,
    original: Any = None,
    parameters: Mapping[str, Any] | None = None,
    engine: Any = None,
) -> UtilityFigures:
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
    UtilityFigures
        A dictionary of the figures by name.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"age": ["30", "30", "40", "40"], "illness": ["flu", "gout", "flu", "cold"]}
    >>> draft = sf.Policy.table(people).quasi("age").sensitive("illness").protect(sf.k_anonymity(2))
    >>> sf.measure(sf.publish(draft))["loss"]
    0.0
    """
    if isinstance(folder, Publication):
        chosen = replace(folder.exhibit, parameters=dict(parameters or {}))
        return _told(figures(chosen) if parameters else folder.utility, folder.exhibit.form)
    if original is None:
        raise DataError("a release folder is compared with the original", where=str(folder), hint="give it: original=…")
    if engine is not None:
        exhibit = read_folder(Path(folder), engine=as_engine(engine))
        exhibit = replace(beside(exhibit, original, None, engine), parameters=dict(parameters or {}))
    else:
        exhibit = open_release(folder, original=original, engine=HERE, **(parameters or {}))
    return _told(figures(exhibit), exhibit.form)


def _told(found: Mapping[str, Any], form: Form) -> UtilityFigures:
    """The figures with their words; the loss is the one against the original."""
    words = meanings(form)
    if "loss" in words:
        title, meaning = words["loss"]
        words["loss"] = (f"{title} {AGAINST_ORIGINAL}", meaning)
    return UtilityFigures(found, words)
