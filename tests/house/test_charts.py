"""Charts of the reports: nothing is written over anything else, nothing is cut off, whatever the numbers and labels
are."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from markupsafe import Markup

from sfumato.core.html.charts import WIDTH, Mark, bars, columns, paired_bars, scatter

LETTER, TALL = 6.6, 9.0
"""A letter of 12 units is about that wide; a line of text is about that high above its base."""
TEXT = re.compile(r'<text x="([\d.]+)" y="([\d.]+)"(?: text-anchor="(\w+)")? class="[lv]">([^<]*)</text>')
SIZES = [5 * 2**n for n in range(14)]
MANY = [(f"{low:,}–{low * 2:,}", 280_000 / low, f"{280_000 // low:,}") for low in SIZES]
FEW = [("5–6", 1_550.0, "1,550"), ("7–9", 889.0, "889"), ("10–21", 3.0, "3")]
LONG = [
    ("a label that is longer than its place can ever be", 1.0, "100.0%"),
    ("short", 1e-9, "0.0%"),
    ("W" * 18, 0.5, "50.0%"),
]


def boxes(chart: Markup) -> list[tuple[float, float, float, float, str]]:
    """Left, right, top and bottom of every text."""
    found = []
    for x, y, anchor, text in TEXT.findall(str(chart)):
        wide = LETTER * len(text) * (1.2 if text.isupper() else 1)
        left = float(x) - {"end": wide, "middle": wide / 2, "": 0.0}[anchor]
        found.append((left, left + wide, float(y) - TALL, float(y), text))
    return found


@pytest.mark.parametrize("rows", [MANY, MANY[:3], FEW, LONG, FEW[:1]])
@pytest.mark.parametrize("chart", [bars, columns])
def test_texts_keep_apart_and_inside(chart, rows) -> None:
    placed = boxes(chart(rows, title="t"))
    assert len(placed) == 2 * len(rows)
    for one, two in combinations(placed, 2):
        beside = one[1] <= two[0] or two[1] <= one[0]
        assert beside or one[3] <= two[2] or two[3] <= one[2], (one, two)
    tall = float(re.search(r'viewBox="0 0 \d+ (\d+)"', str(chart(rows, title="t")))[1])  # type: ignore[index]
    for left, right, top, bottom, text in placed:
        assert -2 <= left <= right <= WIDTH + 2, text
        assert 0 <= top <= bottom <= tall, text


def test_pairs_keep_apart_and_inside() -> None:
    rows = [("a label that is longer than its place can ever be", 1.0, 0.999), ("b", 0.0, 0.0), ("c", 0.4, 1.0)]
    placed = boxes(paired_bars(rows, title="t", names=("a long name of a column, original", "new")))
    assert len(placed) == 2 + 2 * len(rows)
    for one, two in combinations(placed, 2):
        assert one[1] <= two[0] or two[1] <= one[0] or one[3] <= two[2] or two[3] <= one[2], (one, two)
    assert max(right for _, right, *_ in placed) <= WIDTH + 2


def test_crowded_columns_become_bars() -> None:
    assert "middle" in columns(FEW, title="t")
    assert "middle" not in columns(MANY, title="t")


@pytest.mark.parametrize("count", [1, 4, 10, 30])
def test_steps_of_a_scatter_keep_apart(count: int) -> None:
    steps = [f"k = {5 * place}, l = 2" for place in range(count)]
    marks = [
        Mark(place, 0.01 * place, name, True, "", place)
        for place in range(count)
        for name in ("mondrian", "clustering", "x", "y")
    ]
    placed = boxes(scatter(marks, steps, title="t"))
    for one, two in combinations(placed, 2):
        assert one[1] <= two[0] or two[1] <= one[0] or one[3] <= two[2] or two[3] <= one[2], (one, two)
    assert max(right for _, right, *_ in placed) <= WIDTH + 30
