"""Columns of documents, divided into the values that a policy replaces by path and what is kept of every document."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.errors import DataError
from sfumato.data.document_paths import values_in_document, without_values
from sfumato.policy.value_domains import Paths


def inner_values(cells: pa.ChunkedArray, domain: Paths, where: str) -> pa.Array:
    """The different values at the paths of a column of documents."""
    texts = [text for text in pc.unique(cells).to_pylist() if text]
    values = (value for path, _ in domain.paths for text in texts for value in values_in_document(text, path))
    try:
        return pa.array(list(dict.fromkeys(values)), pa.string())
    except DataError as error:
        raise DataError(error.what, where=where, hint=error.hint) from None


def remainders(cells: pa.ChunkedArray, domain: Paths) -> pa.ChunkedArray:
    """The documents without the values that are replaced."""
    paths = tuple(path for path, _ in domain.paths)
    return pa.chunked_array(
        [pa.array([text and without_values(text, paths) for text in cells.to_pylist()], pa.string())]
    )
