"""Texts come to the driver as codes: what is read from codes is what would be read from the texts, in every respect."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.table import Table, as_text, encode_compactly
from sfumato.engines.spark.rows import packed, sort_rows, unpacked
from sfumato.engines.spark.workflow.draft import match_to_provenance
from sfumato.release.release import Part

TOWNS = ["Ulm", "", "Köln, am Rhein", "Bonn", "Aachen"]


@pytest.mark.parametrize("seed", range(8))
def test_codes_say_what_texts_say(seed: int) -> None:
    """Chunks with dictionaries of their own, values that nobody has, values that stand twice, and missing ones."""
    draw = np.random.default_rng(seed)
    chunks = []
    for _ in range(3):
        dictionary = [
            *draw.permutation(TOWNS).tolist(),
            *(["Ulm"] if seed % 3 == 0 else []),
            *([None] if seed % 4 == 1 else []),
        ]
        codes = draw.integers(0, len(dictionary) - (seed % 2), 7)
        missing = draw.random(7) < (0.3 if seed % 5 == 0 else 0)
        chunks.append(
            pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=missing), pa.array(dictionary, pa.string()))
        )
    coded = pa.chunked_array(chunks)
    plain = as_text(pa.chunked_array([pa.array(coded.to_pylist(), pa.string())]), "town")
    found = as_text(coded, "town")
    assert found.labels == plain.labels
    assert found.codes.tolist() == plain.codes.tolist()
    assert found.codes.dtype == plain.codes.dtype


def test_partitions_are_put_together(seed: int = 3) -> None:
    draw = np.random.default_rng(seed)
    tables = [
        pa.table({"town": draw.choice(TOWNS, 9), "ward": draw.choice(["a", "b"], 9), "n": draw.integers(1, 5, 9)})
        for _ in range(3)
    ]
    found = unpacked([packed(table.to_batches(max_chunksize=4), ["town", "ward"]) for table in tables])
    assert found.to_pylist() == [row for table in tables for row in table.to_pylist()]
    laid = sort_rows(found, ["n"], ["ward", "town"]).to_pylist()
    assert laid == sorted(found.to_pylist(), key=lambda row: (-row["n"], row["ward"], row["town"]))


@pytest.mark.parametrize("texts", [1, 128, 129, 32_768, 32_769])
def test_few_bytes_say_what_texts_say(texts: int) -> None:
    """As few bytes as hold all codes, and codes to calculate with for whoever asks; labels in the order in which they
    come."""
    draw = np.random.default_rng(texts)
    towns = [f"town {place}" for place in [*draw.permutation(texts), *draw.integers(0, texts, 50)]]
    plain, held = (
        Table(pa.table({"town": towns})),
        encode_compactly(pa.table({"town": pa.array(towns).dictionary_encode()})),
    )
    assert held.column("town").type.index_type.bit_width == (8 if texts <= 128 else 16 if texts <= 32_768 else 32)
    found, wanted = Table(held).text("town"), plain.text("town")
    assert found.labels == wanted.labels
    assert found.codes.tolist() == wanted.codes.tolist()
    assert found.codes.dtype == wanted.codes.dtype
    assert found.counts().tolist() == wanted.counts().tolist()
    assert held.column("town").to_pylist() == towns


def test_what_is_taken_of_few_bytes_is_put_in_order_again() -> None:
    held = encode_compactly(pa.table({"town": ["Ulm", "Bonn", "Ulm", "Köln"]}))
    again = Table(encode_compactly(held.take(pa.array([3, 1, 1])))).text("town")
    assert again.labels == ("Köln", "Bonn")
    assert again.codes.tolist() == [0, 1, 1]


def test_what_was_found_is_laid_beside_who_stands_behind_it() -> None:
    """Texts that stand for other rows than before are numbered as these rows name them; a row too many has nobody
    behind it."""
    found = Part(
        encode_compactly(pa.table({"town": ["Aachen", "Bonn", "Ulm"], "ward": ["a", "a", "b"]})), np.array([2, 1, 4])
    )
    made = Part(
        encode_compactly(pa.table({"town": ["Ulm", "Ulm", "Aachen"], "ward": ["b", "b", "a"]})), np.array([3, 1, 2])
    )
    seen, behind = match_to_provenance(found, made, np.array([7, 8, 9]))
    assert seen.counts is not None
    rows = sorted(zip(behind.tolist(), seen.counts.tolist(), seen.table.column("town").to_pylist(), strict=True))
    assert rows == [(-1, 1, "Bonn"), (7, 3, "Ulm"), (8, 1, "Ulm"), (9, 2, "Aachen")]
    for name in ("town", "ward"):
        plain = as_text(pa.chunked_array([pa.array(seen.table.column(name).to_pylist())]), name)
        assert seen.text.text(name).labels == plain.labels
        assert seen.text.text(name).codes.tolist() == plain.codes.tolist()
