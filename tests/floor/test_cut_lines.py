"""Counting by cutting lines comes to what Python's own reader of CSV comes to, and refuses what it refuses."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import pytest

from sfumato.audit.recount import files
from sfumato.audit.recount.equivalence_classes import looking_alike
from sfumato.audit.recount.files import Folder, RowMultiset, read_part
from sfumato.core.errors import ReleaseError

CELLS = ["", "a", "bb", "30-39", "*", "é", "\u2028", " "]
ODD = ['x,"y', "line\nfeed", "carriage\rreturn", '"', "a,b"]


def written(path: Path, rows: list[list[str]], *, odd: bool) -> Path:
    with path.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target, lineterminator="\n", quoting=csv.QUOTE_ALL if odd else csv.QUOTE_NONE).writerows(rows)
    return path


def by_the_reader(path: Path, given: list[int], value: int | None) -> Counter[int]:
    """How many rows look alike, as a bag of numbers: what keys look like does not matter."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, strict=True))[1:]
    alike = Counter((*(row[i] for i in given), *([] if value is None else [row[value]])) for row in rows)
    return Counter(alike.values())


@pytest.mark.parametrize("seed", range(40))
def test_cut_lines_are_the_rows_of_the_reader(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    monkeypatch.setattr(files, "_BLOCK", draw.choice([1, 7, 64, 1 << 18]))  # blocks end anywhere
    width, odd = draw.randint(2, 5), seed % 4 == 0
    names = [f"c{i}" for i in range(width)]
    cells = CELLS + ODD if odd else CELLS
    rows = [[draw.choice(cells) for _ in names] for _ in range(draw.randint(1, 40))]
    path = written(tmp_path / "data.csv", [names, *rows], odd=odd)
    if draw.random() < 0.3:  # the last line may end without a line feed
        path.write_bytes(path.read_bytes()[:-1])
    for _ in range(6):
        given = sorted(draw.sample(range(width), draw.randint(0, width)))
        value = draw.choice([None, *range(width)])
        part = read_part(path)
        found = part.alike([names[i] for i in given], None if value is None else names[value])
        assert Counter(found.values()) == by_the_reader(path, given, value)
        assert part.total == len(rows)
        if value is not None:
            assert Counter(text for _, text in found.elements()) == Counter(row[value] for row in rows)


@pytest.mark.parametrize("given", [["a"], ["a", "b"], ["b"], ["a", "c"], ["c"], ["a", "b", "c"], []])
@pytest.mark.parametrize(
    "rows", ["1,2,3\n1,2\n", "1,2,3\n\n1,2,3\n", "1,2,3\n1,2,3,4\n", "1,2,3\n1\n", "1,2\n1,2,3,4\n"]
)
def test_rows_of_different_lengths_are_refused(tmp_path: Path, rows: str, given: list[str]) -> None:
    (tmp_path / "data.csv").write_text("a,b,c\n" + rows)
    with pytest.raises(ReleaseError, match="different lengths"):
        read_part(tmp_path / "data.csv").alike(given)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(b"a,b\n1,\xff\n")
    with pytest.raises(ReleaseError, match="cannot be read"):
        read_part(tmp_path / "data.csv").alike(["a", "b"])


def test_one_column_may_have_empty_lines(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a\n1\n\n1\n\n")
    part = read_part(tmp_path / "data.csv")
    assert sorted(part.alike(["a"]).values()) == [2, 2]
    assert part.total == part.rows.total() == 4


def test_the_manifest_is_compared_with_what_was_counted(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,x\n1,y\n")
    folder = Folder(tmp_path, "recoded table", {}, {"data": ((tmp_path / "data.csv",), 3)})
    assert looking_alike(folder.part("data"), ["a"], ["b"]).sizes == (2,)
    assert list(folder.miscounted()) == ["data.csv has 2 rows, the manifest says 3"]


def test_known_rows_are_counted_without_a_file() -> None:
    part = RowMultiset(("a", "b"), Counter({("1", "x"): 2, ("1", "y"): 1}))
    assert list(part.alike(["a"]).values()) == [3]
    assert part.total == 3
