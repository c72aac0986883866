"""Charts of the reports: nothing is written over anything else, nothing is cut off, whatever the numbers and labels
are."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from markupsafe import Markup

from sfumato.core.html.charts import (
    WIDTH,
    Box,
    Mark,
    bars,
    box_map,
    categories,
    dumbbell,
    figures_of_page,
    histogram,
    line,
    ranges,
    scatter,
    share_bars,
)

LETTER, TALL = 6.6, 9.0
"""A letter of 12 units is about that wide; a line of text is about that high above its base."""
TEXT = re.compile(r'<text x="([\d.]+)" y="([\d.]+)"(?: text-anchor="(\w+)")? class="(?:l|v|v over)">([^<]*)</text>')
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


SHARES = [(label, min(value / 2000, 1.0)) for label, value, _ in (*FEW, *LONG)]
CHARTS = {
    "bars": lambda: bars(LONG, title="t", axis="records"),
    "many bars": lambda: bars(MANY, title="t", axis="records"),
    "shares": lambda: share_bars([(label, share, label) for label, share in SHARES], title="t", axis="share"),
    "dumbbell": lambda: dumbbell(
        [("person most at risk", 1.0, 0.2), ("a person on average", 0.9, 0.1)], 0.2, title="t", axis="a"
    ),
    "categories": lambda: categories(
        [(label, share, share / 2) for label, share in SHARES], title="t", axis="share", names=("original", "release")
    ),
    "histogram": lambda: histogram(
        [(label, share, share / 2) for label, share in SHARES[:3]], title="t", axes=("age", "share of the records")
    ),
    "many columns": lambda: histogram(
        [(f"2024-01-{day:02}", 0.1, 0.3) for day in range(1, 25)], title="t", axes=("day", "share of the records")
    ),
    "counts": lambda: histogram(
        [(label, None, value) for label, value, _ in MANY], title="t", axes=("size", "records"), shares=False
    ),
    "ranges": lambda: ranges([("tea", 3.0, 900.0, 40.0), ("a" * 40, 0.0, 7.0, None)], title="t", axis="records"),
    "line": lambda: line(
        [(str(n), 3.0 + n % 2, f"k {n}") for n in range(1, 30)], (3.0, "required: k = 3"), title="t", axes=("r", "k")
    ),
}


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_texts_keep_apart_and_inside(name: str) -> None:
    chart = CHARTS[name]()
    placed = boxes(chart)
    for one, two in combinations(placed, 2):
        beside = one[1] <= two[0] or two[1] <= one[0]
        assert beside or one[3] <= two[2] or two[3] <= one[2], (one, two)
    tall = float(re.search(r'viewBox="0 0 \d+ (\d+)"', str(chart))[1])  # type: ignore[index]
    for left, right, top, bottom, text in placed:
        assert -2 <= left <= right <= WIDTH + 2, text
        assert -2 <= top <= bottom <= tall, text


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_a_chart_has_titles_a_table_and_its_figures_as_json(name: str) -> None:
    chart = str(CHARTS[name]())
    marks = re.findall(r"<(?:rect|circle)[^>]*>(?:<title>)?", chart)
    assert marks and all(mark.endswith("<title>") for mark in marks)
    (figures,) = figures_of_page(chart)
    assert figures["title"] == "t" and figures["rows"] and len(figures["header"]) >= 2
    assert chart.count('<th scope="row">') == len(figures["rows"])
    assert "<script" not in chart and "radient" not in chart
    shown = re.sub(r"<[^>]*>", "|", chart.partition("<details>")[0])
    assert "|share" in shown or "|records" in shown or "|a|" in shown or "|k|" in shown, "the axis has a title"


def test_more_than_eight_categories_have_one_bar_for_the_others() -> None:
    rows = [(f"v{n:02}", None, 1 / 20) for n in range(20)]
    (figures,) = figures_of_page(categories(rows, title="t", axis="share", names=("original", "release")))
    assert len(figures["rows"]) == 9
    assert figures["rows"][-1][0] == "other (12)" and figures["rows"][-1][2] == pytest.approx(12 / 20)


def test_the_axis_of_shares_is_fixed() -> None:
    assert ">100 %<" in share_bars([("a", 0.02, "a")], title="t", axis="share")
    assert ">100 %<" in dumbbell([("a", None, 0.02)], None, title="t", axis="share")


def test_time_stays_in_order() -> None:
    rows = [("2024-03", 0.1, 0.2), ("2024-01", 0.9, 0.1), ("2024-02", 0.0, 0.7)]
    (figures,) = figures_of_page(histogram(rows, title="t", axes=("month", "share")))
    assert [row[0] for row in figures["rows"]] == ["2024-03", "2024-01", "2024-02"]


def test_tables_and_rules_are_drawn() -> None:
    drawn = box_map(
        [Box("table-1", ("age", "sex"), ("illness",)), Box("table-2", ("zip",))], [("age → zip", "holds")], title="t"
    )
    assert {"table-1", "· age", "▢ illness", "age → zip", "holds"} <= {text for *_, text in boxes(drawn)}


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
