"""Long files that are read in pieces, with codes for what repeats: the same table as if they were read at once."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.core.errors import DataError
from sfumato.core.kernels.cell_codes import CellLabels, code_cells
from sfumato.data.table import IN_ORDER, Table
from sfumato.io import table_files
from sfumato.io.table_files import read_csv
from sfumato.io.table_source import TableSource
from sfumato.release.release import Part
from tests.secret import secret


@pytest.fixture(autouse=True, params=["at a look", "piece by piece"])
def short_pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "PIECE", 64)
    if request.param == "piece by piece":
        monkeypatch.setattr(table_files, "read_as_codes", lambda *_: None)


def some_file(path: Path, seed: int) -> Path:
    """Many rows of a few texts, a column of keys, blank lines and any line end; sometimes one column or a quoted
    header."""
    draw = random.Random(secret(seed))
    end, width = draw.choice(["\n", "\r\n", "\r"]), draw.choice([1, 2, 3])
    rows = [
        [draw.choice(["a", "bb", "ä", "x y"]), str(i), draw.choice(["", "7"])][:width]
        for i in range(draw.randrange(20, 200))
    ]
    lines = [",".join(row) for row in rows]
    blank = [""] * draw.choice([0, 0, 90]) if width > 1 else []
    header = ",".join(f'"{name}"' if draw.random() < 0.5 else name for name in "kno"[:width])
    text = end.join([header, *lines[:15], *blank, *lines[15:]]) + draw.choice(["", end])
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("seed", range(12))
def test_codes_are_those_of_the_whole_file(tmp_path: Path, seed: int) -> None:
    file = some_file(tmp_path / "people.csv", seed)
    plain, mine = Table(read_csv(file)), Table(read_csv(file, coded=True))
    assert mine.frame.equals(plain.frame)
    for name in plain.names:
        assert mine.text(name).labels == plain.text(name).labels
        assert mine.text(name).codes.tolist() == plain.text(name).codes.tolist()
        assert mine.column(name).equals(plain.column(name))


def test_what_repeats_is_held_once_and_keys_stay_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "MOST", 64)
    file = tmp_path / "people.csv"
    file.write_text("k,n\n" + "".join(f"{i % 3},{i}\n" for i in range(300)))
    held = TableSource().read(file).held
    assert held.schema.metadata == IN_ORDER
    assert pa.types.is_dictionary(held.column("k").type)
    assert pa.types.is_string(held.column("n").type)
    assert Part(held).table.schema.types == [pa.string(), pa.string()]


def test_settings_look_at_texts(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("k,n\n" + "NA,1\nb,2\n" * 100)
    assert TableSource(missing=("NA",)).read(file).column("k").null_count == 100


@pytest.mark.parametrize("row", ["a,b,c", "a"])
def test_a_ragged_row_is_named_by_its_line(tmp_path: Path, row: str) -> None:
    file = tmp_path / "people.csv"
    file.write_text("k,n\n" + "a,b\n" * 100 + f"{row}\n" + "a,b\n" * 100)
    with pytest.raises(DataError) as plain:
        read_csv(file)
    with pytest.raises(DataError) as mine:
        read_csv(file, coded=True)
    assert str(mine.value) == str(plain.value)
    assert ":102" in str(mine.value)


def plain_codes(text: str, start: int, separator: str, width: int, most: int) -> list[list[int]] | None:
    """One list of codes for each column, numbered as they appear; none when a line is not plain or texts are too
    many."""
    known: list[dict[str, int]] = [{} for _ in range(width)]
    codes: list[list[int]] = [[] for _ in range(width)]
    lines = text[start:].split("\n")
    for line in lines if lines[-1] else lines[:-1]:
        if not line and width > 1:
            continue
        cells = line.split(separator)
        if len(cells) != width:
            return None
        for place, cell in enumerate(cells):
            codes[place].append(known[place].setdefault(cell, len(known[place])))
    return None if any(len(texts) > most for texts in known) else codes


@pytest.mark.twin(of=[code_cells])
@pytest.mark.parametrize("seed", range(30))
def test_cells_are_numbered_as_by_hand(seed: int) -> None:
    draw, width, most = random.Random(secret(seed)), 1 + seed % 3, 8
    words = ["12345678", "1234567é", "1234567", "1234567\0", "12345678\0", "1" * 16, "1" * 17, ":"]
    texts = draw.sample(["", "a", "b", "ab", "ba", "aab", "abaabaabaaba", *words], draw.randrange(2, 8))
    lines = [";".join(draw.choices(texts, k=width)) for _ in range(draw.randrange(1, 40))]
    if seed % 5 == 4:
        lines[draw.randrange(len(lines))] += draw.choice([";x", ";;", ";" * width])
    if seed % 7 == 6:
        lines += [";".join([str(i)] * width) for i in range(most)]
    text = "head\n" + "\n".join(lines) + draw.choice(["", "\n", "\n\n"])
    room = text.count("\n") + 1
    slot, key = np.full((width, 2 * most), -1, dtype=np.int32), np.zeros((width, most), dtype=np.uint64)
    labels = CellLabels(slot, *np.zeros((2, width, most), dtype=np.int64), key, np.zeros(width, dtype=np.int64))
    codes = np.zeros((width, room), dtype=np.int32)
    content = np.frombuffer(text.encode(), dtype=np.uint8)
    rows = code_cells(content, content[: len(content) // 8 * 8].view("<u8"), 5, ord(";"), labels, codes)
    expected = plain_codes(text, 5, ";", width, most)
    assert (rows >= 0) == (expected is not None)
    assert expected is None or codes[:, :rows].tolist() == expected


def test_a_quoted_line_break_is_not_cut(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("k,n\n" + 'a,"b\nc"\n' * 100)
    assert read_csv(file, coded=True).column("n").to_pylist() == ["b\nc"] * 100
