"""Texts come to the driver as codes: what is read from codes is what would be read from the texts, in every respect."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.table import as_text
from sfumato.engines.spark_packing import ordered, packed, unpacked

TOWNS = ["Ulm", "", "Köln, am Rhein", "Bonn", "Aachen"]


@pytest.mark.parametrize("seed", range(8))
def test_codes_say_what_texts_say(seed: int) -> None:
    """Chunks with dictionaries of their own, values that nobody has, values that stand twice, and missing ones."""
    draw = np.random.default_rng(seed)
    chunks = []
    for _ in range(3):
        dictionary = [*draw.permutation(TOWNS).tolist(), *(["Ulm"] if seed % 3 == 0 else []), *([None] if seed % 4 == 1 else [])]
        codes = draw.integers(0, len(dictionary) - (seed % 2), 7)
        missing = draw.random(7) < (0.3 if seed % 5 == 0 else 0)
        chunks.append(pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=missing), pa.array(dictionary, pa.string())))
    coded = pa.chunked_array(chunks)
    plain = as_text(pa.chunked_array([pa.array(coded.to_pylist(), pa.string())]), "town")
    found = as_text(coded, "town")
    assert found.labels == plain.labels
    assert found.codes.tolist() == plain.codes.tolist()
    assert found.codes.dtype == plain.codes.dtype


def test_partitions_are_put_together(seed: int = 3) -> None:
    draw = np.random.default_rng(seed)
    tables = [
        pa.table({"town": draw.choice(TOWNS, 9), "ward": draw.choice(["a", "b"], 9), "n": draw.integers(1, 5, 9)}) for _ in range(3)
    ]
    found = unpacked([packed(table.to_batches(max_chunksize=4), ["town", "ward"]) for table in tables])
    assert found.to_pylist() == [row for table in tables for row in table.to_pylist()]
    laid = ordered(found, ["n"], ["ward", "town"]).to_pylist()
    assert laid == sorted(found.to_pylist(), key=lambda row: (-row["n"], row["ward"], row["town"]))
