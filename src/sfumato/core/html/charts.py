"""Charts as inline SVG: no scripts, no fonts to load, readable in print, on a telephone and by screen readers.

A chart is a ``<figure>``: the drawing, the same figures as a table, and as JSON in ``data-figures``
(`figures_of_page`). Every axis has a title with its unit, and every mark a ``<title>``. Drawings are laid out for a
narrow screen, 440 units wide with letters of 12. Nothing is written over anything else: labels are cut to their place
with an ellipsis.

    dumbbell      probabilities before and after, with the promised level
    share_bars    shares on a fixed axis from 0 to 100 %
    categories    shares of categories, largest first, at most eight and "other"
    histogram     an ordered axis (numbers, days, sizes): the original as an outline, the release filled
    ranges        figures that lie between at least and at most
    line          a figure over a series of releases, with its threshold
    bars          figures of several kinds, one bar each
    box_map       what is published together, and which rules run between the boxes


Scatter
-------
Points in a plane as inline SVG: steps from left to right, a cost upwards, one colour per series.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from sfumato.core.wording import percent_text

INK, SOFT = "var(--after, #0b62a8)", "var(--before, #7d8995)"
"""The release is blue and the original grey; pages have these as colors of their own, light and dark."""
_RULE = "var(--line, #dcdfe3)"
_TEXT = "var(--soft, #56626f)"
WIDTH, _LEFT = 440, 134
MOST_CATEGORIES = 8
_LETTER = 6.8
"""How wide a letter is at most, on average."""
Axes = tuple[str, str]
"""The titles of the horizontal and the vertical axis, with units."""


def bars(rows: Sequence[tuple[str, float, str]], *, title: str, axis: str) -> Markup:
    """Horizontal bars from zero: (label, value, how the value is written)."""
    largest = max((value for _, value, _ in rows), default=0.0) or 1.0
    room = WIDTH - _LEFT - 8 - _LETTER * max((len(written) for _, _, written in rows), default=0)
    drawn = []
    for i, (label, value, written) in enumerate(rows):
        wide = round(room * value / largest, 1)
        drawn += [
            _text(_LEFT - 6, 20 * i + 14, _short(label), "l", "end"),
            _bar(_LEFT, 20 * i + 3, wide, 14, INK, f"{label}: {written}"),
            _text(round(_LEFT + wide + 6, 1), 20 * i + 14, written, "v"),
        ]
    low = 20 * len(rows) + 4
    drawn += [_line(_LEFT, 0, _LEFT, low, _TEXT), _text(WIDTH / 2, low + 16, axis, "v", "middle")]
    return _figure(low + 22, title, drawn, ("", axis), [(label, written) for label, _, written in rows], rows)


def share_bars(rows: Sequence[tuple[str, float, str]], *, title: str, axis: str) -> Markup:
    """Bars on a fixed axis from 0 to 100 %: (label, share, what it says in words)."""
    left, right = 120, 56
    room = WIDTH - left - right
    drawn = []
    for i, (label, share, tip) in enumerate(rows):
        wide = round(max(room * min(share, 1.0), 1), 1)
        drawn += [
            _text(left - 8, 24 * i + 15, _short(label, 16), "l", "end"),
            _bar(left, 24 * i + 4, room, 14, _RULE, tip),
            _bar(left, 24 * i + 4, wide, 14, INK, tip),
            _text(WIDTH - right + 8, 24 * i + 15, percent_text(share), "v"),
        ]
    low = 24 * len(rows) + 4
    drawn += _percent_axis(left, room, low, axis)
    told = [(label, percent_text(share)) for label, share, _ in rows]
    return _figure(low + 38, title, drawn, ("", axis), told, [(label, share) for label, share, _ in rows])


def dumbbell(rows: Sequence[tuple[str, float | None, float]], limit: float | None, *, title: str, axis: str) -> Markup:
    """Probabilities before (hollow) and after (filled) on a fixed axis, with the promised level as a dashed line."""
    left, room = 130, WIDTH - 130 - 24
    drawn = []
    low = 36 * len(rows) + 8
    if limit is not None:
        x = round(left + room * limit, 1)
        drawn.append(_line(x, 4, x, low, "var(--hold, #12715e)", dashed=f"promised: at most {percent_text(limit)}"))
    for i, (label, before, after) in enumerate(rows):
        y, at = 36 * i + 24, round(left + room * after, 1)
        drawn += [_text(0, y + 4, _short(label, 20), "l"), _line(left, y, left + room, y, _RULE)]
        if before is not None:
            was = round(left + room * before, 1)
            drawn += [_line(at, y, was, y, _TEXT, wide=2), _ring(was, y, f"{label}, original: {percent_text(before)}")]
            drawn.append(_text(was, y - 10, percent_text(before), "v over", "middle"))
        drawn.append(_dot(at, y, 5.5, INK, f"{label}, release: {percent_text(after)}"))
        if before is None or abs(before - after) * room > 36:
            drawn.append(_text(at, y - 10, percent_text(after), "v over", "middle"))
    key = "● release" + (", ○ original" if any(before is not None for _, before, _ in rows) else "")
    key += f", dashed: promised at most {percent_text(limit)}" if limit is not None else ""
    drawn += [*_percent_axis(left, room, low, axis), _text(WIDTH / 2, low + 52, key, "v", "middle")]
    told = [
        (label, "—" if before is None else percent_text(before), percent_text(after)) for label, before, after in rows
    ]
    data = [(label, before, after, limit) for label, before, after in rows]
    return _figure(low + 58, title, drawn, ("", "original", "release"), told, data)


def categories(rows: Sequence[tuple[str, float | None, float]], *, title: str, axis: str, names: Axes) -> Markup:
    """Shares of categories before and after, largest first; all beyond eight are one bar "other"."""
    ordered = sorted(rows, key=lambda row: -max(row[1] or 0.0, row[2]))
    shown, rest = ordered[:MOST_CATEGORIES], ordered[MOST_CATEGORIES:]
    if rest:
        before = None if rest[0][1] is None else sum(row[1] or 0.0 for row in rest)
        shown = [*shown, (f"other ({len(rest)})", before, sum(row[2] for row in rest))]
    paired = any(before is not None for _, before, _ in shown)
    top = _top_share([share for row in shown for share in row[1:] if share is not None])
    step, left = (28 if paired else 22), _LEFT
    room = WIDTH - left - 12 - _LETTER * max((len(percent_text(row[2])) for row in shown), default=0)
    drawn = _key(names) if paired else []
    start = 20 if paired else 0
    for i, (label, before, after) in enumerate(shown):
        y = step * i + start
        drawn.append(_text(left - 6, y + (16 if paired else 14), _short(label), "l", "end"))
        if before is not None:
            tip = f"{label}, {names[0]}: {percent_text(before)}"
            drawn.append(_bar(left, y + 3, round(room * before / top, 1), 8, SOFT, tip))
        tip = f"{label}, {names[1]}: {percent_text(after)}"
        drawn.append(_bar(left, y + (12 if paired else 3), round(room * after / top, 1), 8 if paired else 13, INK, tip))
        drawn.append(_text(left + room + 6, y + (16 if paired else 14), percent_text(after), "v"))
    low = step * len(shown) + start + 4
    drawn += _percent_axis(left, room, low, axis, top)
    told = [
        (label, *(() if not paired else ("—" if before is None else percent_text(before),)), percent_text(after))
        for label, before, after in shown
    ]
    return _figure(low + 38, title, drawn, ("", *(names if paired else names[1:])), told, shown)


def histogram(
    rows: Sequence[tuple[str, float | None, float]],
    *,
    title: str,
    axes: Axes,
    names: Axes = ("original", "release"),
    shares: bool = True,
    height: int = 190,
) -> Markup:
    """Columns in the order of the axis: the original as a grey outline, the release as filled columns."""
    values = [value for row in rows for value in row[1:] if value is not None]
    ticks = round_ticks(max(values, default=0.0) or 1.0)
    paired = any(before is not None for _, before, _ in rows)
    written = percent_text if shares else (lambda value: f"{value:,.6g}")
    left, top = 26 + _LETTER * max(len(written(tick)) for tick in ticks), (24 if paired else 8)
    room, low = WIDTH - left - 6, height - 44
    step = room / max(len(rows), 1)
    drawn = _key(names) if paired else []
    for tick in ticks:
        y = round(low - (low - top) * tick / ticks[-1], 1)
        drawn += [_line(left, y, WIDTH - 6, y, _RULE), _text(left - 4, y + 4, written(tick), "v", "end")]
    for i, (label, before, after) in enumerate(rows):
        x, tall = round(left + i * step + step * 0.1, 1), round((low - top) * after / ticks[-1], 1)
        tip = f"{label}, {names[1]}: {written(after)}"
        drawn.append(_bar(x, round(low - tall, 1), round(step * 0.8, 1), tall, INK, tip))
        if before is not None:
            was = round((low - top) * before / ticks[-1], 1)
            tip = f"{label}, {names[0]}: {written(before)}"
            drawn.append(_outline(round(left + i * step + 1, 1), round(low - was, 1), round(step - 2, 1), was, tip))
    every = max(1, math.ceil(_LETTER * (1 + max((len(label) for label, *_ in rows), default=0)) / step))
    for i in range(0, len(rows), every):
        label, middle = rows[i][0], left + (i + 0.5) * step
        half = _LETTER * len(label) / 2
        drawn.append(_text(round(min(max(middle, half), WIDTH - half), 1), low + 15, label, "l", "middle"))
    drawn += [_text(WIDTH / 2, height - 10, axes[0], "v", "middle"), _side(axes[1], (top + low) / 2)]
    told = [
        (label, *(() if not paired else ("—" if before is None else written(before),)), written(after))
        for label, before, after in rows
    ]
    return _figure(height, title, drawn, (axes[0], *(names if paired else (axes[1],))), told, rows)


def ranges(rows: Sequence[tuple[str, float, float, float | None]], *, title: str, axis: str) -> Markup:
    """Figures between at least and at most, and the original where it is at hand: (label, low, high, original)."""
    ticks = round_ticks(max((high for _, _, high, _ in rows), default=0.0) or 1.0)
    left, room = _LEFT, WIDTH - _LEFT - 24
    drawn = []

    def at(value: float) -> float:
        return round(left + room * value / ticks[-1], 1)

    for i, (label, least, most, true) in enumerate(rows):
        y, tip = 22 * i + 14, f"{label}: at least {least:,.6g}, at most {most:,.6g}"
        drawn += [_text(left - 6, y + 4, _short(label), "l", "end"), _line(left, y, left + room, y, _RULE)]
        drawn.append(_bar(at(least), y - 4, max(round(at(most) - at(least), 1), 2), 8, INK, tip))
        drawn += [_ring(at(true), y, f"{label}, original: {true:,.6g}")] if true is not None else []
    low = 22 * len(rows) + 6
    drawn += _axis(left, room, low, [(tick / ticks[-1], f"{tick:,.6g}") for tick in ticks], axis)
    key = "bar: from at least to at most" + (", ○ original" if any(row[3] is not None for row in rows) else "")
    drawn.append(_text(WIDTH / 2, low + 52, key, "v", "middle"))
    told = [
        (label, f"{least:,.6g}", f"{most:,.6g}", "—" if true is None else f"{true:,.6g}")
        for label, least, most, true in rows
    ]
    return _figure(low + 58, title, drawn, ("", "at least", "at most", "original"), told, rows)


def line(
    points: Sequence[tuple[str, float, str]], threshold: tuple[float, str] | None, *, title: str, axes: Axes
) -> Markup:
    """A figure after each release of a series, with the required level as a dashed line."""
    ticks = round_ticks(max([value for _, value, _ in points] + ([threshold[0]] if threshold else [])) or 1.0)
    left, top, height = 26 + _LETTER * max(len(f"{tick:,.6g}") for tick in ticks), 18, 190
    room, low = WIDTH - left - 20, height - 44
    step = room / max(len(points), 1)

    def place(i: int, value: float) -> tuple[float, float]:
        return round(left + (i + 0.5) * step, 1), round(low - (low - top) * value / ticks[-1], 1)

    drawn = []
    for tick in ticks:
        y = place(0, tick)[1]
        drawn += [_line(left, y, WIDTH - 6, y, _RULE), _text(left - 4, y + 4, f"{tick:,.6g}", "v", "end")]
    if threshold:
        y = place(0, threshold[0])[1]
        drawn.append(_line(left, y, WIDTH - 6, y, "var(--hold, #12715e)", dashed=threshold[1]))
    places = [place(i, value) for i, (_, value, _) in enumerate(points)]
    drawn.append(_polyline(places))
    every = max(1, math.ceil(_LETTER * (1 + max((len(label) for label, *_ in points), default=0)) / step))
    for i, ((label, _, written), (x, y)) in enumerate(zip(points, places, strict=True)):
        drawn.append(_dot(x, y, 4.5, INK, f"{label}: {written}"))
        drawn += [_text(x, low + 15, label, "l", "middle")] if i % every == 0 else []
    key = f", dashed: {threshold[1]}" if threshold else ""
    drawn += [_text(WIDTH / 2, height - 10, axes[0] + key, "v", "middle"), _side(axes[1], (top + low) / 2)]
    told = [(label, written) for label, _, written in points]
    data = [(label, value, threshold[0] if threshold else None) for label, value, _ in points]
    return _figure(height, title, drawn, axes, told, data)


@dataclass(frozen=True, slots=True)
class Box:
    """One published table: its columns, and those that stand in buckets."""

    name: str
    columns: tuple[str, ...]
    hidden: tuple[str, ...] = ()


def box_map(boxes: Sequence[Box], rules: Sequence[tuple[str, str]], *, title: str) -> Markup:
    """Tables as boxes side by side with their columns; below them each rule and whether it holds."""
    wide, gap = 136, 12
    across = max(1, (WIDTH + gap) // (wide + gap))
    tallest = max((len(box.columns) + len(box.hidden) for box in boxes), default=1)
    high = 26 + 16 * tallest
    drawn = []
    for i, box in enumerate(boxes):
        x, y = 2 + (i % across) * (wide + gap), 4 + (i // across) * (high + gap)
        tip = f"{box.name}: {', '.join(box.columns)}" + (f"; in buckets: {', '.join(box.hidden)}" if box.hidden else "")
        drawn += [_outline(x, y, wide, high, tip), _text(x + 8, y + 16, _short(box.name, 18), "l")]
        for j, name in enumerate((*box.columns, *box.hidden)):
            mark = "▢ " if j >= len(box.columns) else "· "
            drawn.append(_text(x + 8, y + 33 + 16 * j, mark + _short(name, 16), "v"))
    low = 4 + math.ceil(len(boxes) / across) * (high + gap)
    for i, (rule, state) in enumerate(rules):
        drawn += [
            _text(4, low + 14 + 18 * i, _short(rule, 50), "l"),
            _text(WIDTH - 4, low + 14 + 18 * i, state, "v", "end"),
        ]
    end = low + 18 * len(rules) + 14
    drawn.append(_text(4, end + 6, "· shown exactly   ▢ only as one of the values of a bucket", "v"))
    told = [(box.name, ", ".join(box.columns), ", ".join(box.hidden) or "—") for box in boxes]
    data = [(box.name, list(box.columns), list(box.hidden)) for box in boxes] + [list(rule) for rule in rules]
    return _figure(end + 14, title, drawn, ("table", "shown exactly", "in buckets"), told, data)


# Figures
# -------


def figures_of_page(page: str) -> list[dict[str, Any]]:
    """The figures of every chart of a page, in its order: title, header and rows.

    >>> shown = figures_of_page(bars([("a", 2.0, "2")], title="Sizes", axis="records"))
    >>> shown[0]["title"], shown[0]["rows"]
    ('Sizes', [['a', 2.0, '2']])
    """
    return [json.loads(html.unescape(found)) for found in re.findall(r'data-figures="([^"]*)"', page)]


def _figure(
    height: float,
    title: str,
    inside: Sequence[Markup],
    header: Sequence[str],
    told: Sequence[Sequence[str]],
    data: Sequence[Sequence[Any]],
) -> Markup:
    """A drawing, its figures as a table, and for programs as JSON."""
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(cell) for cell in header)
    row = Markup('<tr><th scope="row">{}</th>{}</tr>')
    cells = [
        row.format(first, Markup("").join(Markup("<td>{}</td>").format(cell) for cell in rest)) for first, *rest in told
    ]
    frame = Markup(
        '<figure class="fig" data-figures="{}">{}<details><summary>Figures<span class="hidden"> of {}</span></summary>'
        '<div class="scroll" tabindex="0" role="group" aria-label="{}"><table><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div></details></figure>"
    )
    known: Mapping[str, Any] = {"title": title, "header": [*header], "rows": [[*one] for one in data]}
    return frame.format(
        json.dumps(known),
        _svg(round(height), title, Markup("").join(inside)),
        title,
        f"Figures of {title}",
        head,
        Markup("").join(cells),
    )


def _svg(height: int, title: str, inside: Markup, width: int = WIDTH) -> Markup:
    frame = Markup(
        '<svg viewBox="0 0 {} {}" class="chart" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">{}</svg>'
    )
    return frame.format(width, height, title, inside)


# Marks
# -----


def _text(x: float, y: float, text: str, style: str, anchor: str = "") -> Markup:
    placed = Markup(' text-anchor="{}"').format(anchor) if anchor else Markup("")
    return Markup('<text x="{}" y="{}"{} class="{}">{}</text>').format(x, y, placed, style, text)


def _side(text: str, y: float) -> Markup:
    """The title of the vertical axis."""
    shape = Markup('<text transform="translate(10 {}) rotate(-90)" text-anchor="middle" class="v">{}</text>')
    return shape.format(round(y, 1), text)


def _bar(x: float, y: float, wide: float, high: float, fill: str, tip: str) -> Markup:
    shape = Markup('<rect x="{}" y="{}" width="{}" height="{}" rx="2" fill="{}"><title>{}</title></rect>')
    return shape.format(x, y, wide, high, fill, tip)


def _outline(x: float, y: float, wide: float, high: float, tip: str) -> Markup:
    shape = Markup(
        '<rect x="{}" y="{}" width="{}" height="{}" fill="none" stroke="{}" stroke-width="1.5"><title>{}</title></rect>'
    )
    return shape.format(x, y, wide, high, SOFT, tip)


def _dot(x: float, y: float, radius: float, fill: str, tip: str) -> Markup:
    return Markup('<circle cx="{}" cy="{}" r="{}" fill="{}"><title>{}</title></circle>').format(x, y, radius, fill, tip)


def _ring(x: float, y: float, tip: str) -> Markup:
    shape = Markup(
        '<circle cx="{}" cy="{}" r="5" fill="var(--card, #fff)" stroke="{}" stroke-width="2.5">'
        "<title>{}</title></circle>"
    )
    return shape.format(x, y, SOFT, tip)


def _line(x1: float, y1: float, x2: float, y2: float, ink: str, *, wide: float = 1, dashed: str = "") -> Markup:
    shape = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="{}"{}</line>')
    inside = Markup(' stroke-dasharray="4 3"><title>{}</title>').format(dashed) if dashed else Markup(">")
    return shape.format(x1, y1, x2, y2, ink, wide, inside)


def _polyline(places: Sequence[tuple[float, float]]) -> Markup:
    path = " ".join(f"{x},{y}" for x, y in places)
    return Markup('<polyline points="{}" fill="none" stroke="var(--soft, #56626f)" stroke-width="2"/>').format(path)


def _key(names: Axes) -> list[Markup]:
    """What is grey and what is blue."""
    return [
        _outline(8, 3, 10, 10, names[0]), _text(23, 12, _short(names[0], 24), "v"),
        _bar(WIDTH / 2, 3, 10, 10, INK, names[1]), _text(WIDTH / 2 + 15, 12, _short(names[1], 24), "v"),
    ]  # fmt: skip


def _percent_axis(left: float, room: float, low: float, axis: str, top: float = 1.0) -> list[Markup]:
    return _axis(left, room, low, [(quarter / 4, percent_text(top * quarter / 4)) for quarter in range(5)], axis)


def _axis(left: float, room: float, low: float, ticks: Sequence[tuple[float, str]], axis: str) -> list[Markup]:
    parts = []
    for share, written in ticks:
        x = round(left + room * share, 1)
        parts += [_line(x, low, x, low + 4, _TEXT), _text(x, low + 17, written, "v", "middle")]
    return [*parts, _text(WIDTH / 2, low + 34, axis, "v", "middle")]


def _top_share(shares: Sequence[float]) -> float:
    """The end of an axis of shares: 100 %, or a quarter of it or less where all shares are small.

    >>> [_top_share([share]) for share in (0.02, 0.2, 0.3, 0.9)]
    [0.1, 0.25, 0.5, 1.0]
    """
    largest = max(shares, default=0.0)
    return next(end for end in (0.1, 0.25, 0.5, 1.0, math.inf) if largest <= end + 1e-9)


def _short(label: str, most: int = 18) -> str:
    """As much of a label as its place holds; capitals and signs beyond the alphabet are wider.

    >>> _short("native-country"), _short("MARITAL-STATUS AND MORE"), _short("a" * 30)
    ('native-country', 'MARITAL-STATU…', 'aaaaaaaaaaaaaaaaa…')
    """
    width = 0.0
    for place, sign in enumerate(label):
        width += 1.0 if sign.isascii() and not sign.isupper() else 1.3
        if width > most - (1 if place < len(label) - 1 else 0):
            return label[:place] + "…"
    return label


# Scatter
# -------


COLOURS = ("#3f4b57", "#b5654a", "#5b8a72", "#8a6fa8", "#c09a3e", "#4f86a8", "#a04668", "#77705f")
_SCATTER_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 12, 40
_KEY, _KEYS = 18, 3
"""Height of one row of the legend, and number of entries in a row."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One point: a step, a cost, a series, and whether it is on the frontier."""

    step: int
    cost: float
    series: str
    best: bool
    tip: str
    number: int


def scatter(
    marks: Sequence[Mark],
    steps: Sequence[str],
    *,
    title: str,
    axes: Axes = ("level", "loss"),
    width: int = WIDTH,
    height: int = 240,
) -> Markup:
    """The points with a line through the best of every step; hollow ones are dominated."""
    series = list(dict.fromkeys(mark.series for mark in marks))
    colour = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(series)}
    ticks = round_ticks(max((mark.cost for mark in marks), default=0.0) or 1.0)
    top = ticks[-1]
    room = (width - _SCATTER_LEFT - _RIGHT) / max(len(steps), 1)

    def at(mark: Mark) -> tuple[float, float]:
        beside = series.index(mark.series) - (len(series) - 1) / 2
        x = _SCATTER_LEFT + room * (mark.step + 0.5) + beside * min(10, room / (len(series) + 1))
        return round(x, 1), round(_TOP + (height - _TOP - _BOTTOM) * (1 - mark.cost / top), 1)

    drawn = [_axes(steps, ticks, width, height, room), _polyline([at(mark) for mark in _best(marks)])]
    drawn += [_point(mark, *at(mark), colour[mark.series]) for mark in marks]
    drawn.append(_series_key(colour, height))
    rows = (len(series) + _KEYS - 1) // _KEYS
    low = height + _KEY * rows
    drawn.append(_text(width / 2, low + 12, f"across: {axes[0]}; upwards: {axes[1]}", "v", "middle"))
    told = [(str(mark.number), steps[mark.step], f"{mark.cost:,.4g}", mark.series) for mark in marks]
    data = [(mark.number, steps[mark.step], mark.cost, mark.series, mark.best) for mark in marks]
    return _figure(low + 18, title, drawn, ("point", *axes, "method"), told, data)


def round_ticks(highest: float) -> list[float]:
    """From 0 in three to seven round steps to the first one that is not below `highest`.

    >>> round_ticks(0.202), round_ticks(7)
    ([0.0, 0.05, 0.1, 0.15, 0.2, 0.25], [0.0, 2.0, 4.0, 6.0, 8.0])
    """
    unit = 10.0 ** math.floor(math.log10(highest))
    step = next(unit * times for times in (0.2, 0.25, 0.5, 1, 2, 2.5) if highest / (unit * times) <= 6)
    count = math.ceil(highest / step - 1e-9)
    return [float(f"{step * place:.6g}") for place in range(count + 1)]


def _best(marks: Sequence[Mark]) -> list[Mark]:
    """The cheapest point of the frontier at every step."""
    found: dict[int, Mark] = {}
    for mark in marks:
        if mark.best and (mark.step not in found or mark.cost < found[mark.step].cost):
            found[mark.step] = mark
    return [found[step] for step in sorted(found)]


def _axes(steps: Sequence[str], ticks: Sequence[float], width: int, height: int, room: float) -> Markup:
    line = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="var(--line, #dcdfe3)"/>')
    parts = []
    for tick in ticks:
        y = round(_TOP + (height - _TOP - _BOTTOM) * (1 - tick / ticks[-1]), 1)
        parts.append(line.format(_SCATTER_LEFT, y, width - _RIGHT, y))
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="end" class="v">{}</text>').format(
                _SCATTER_LEFT - 6, y + 4, f"{tick:.6g}"
            )
        )
    wide = max((len(step) for step in steps), default=0) * _LETTER
    every = max(1, math.ceil(wide / (2 * room)))
    for place, step in enumerate(steps[::every]):
        x = round(_SCATTER_LEFT + room * (every * place + 0.5), 1)
        low = height - _BOTTOM + 16 + (14 if wide > every * room and place % 2 else 0)
        parts.append(Markup('<text x="{}" y="{}" text-anchor="middle" class="l">{}</text>').format(x, low, step))
    return Markup("").join(parts)


def _point(mark: Mark, x: float, y: float, colour: str) -> Markup:
    shape = Markup(
        '<circle cx="{}" cy="{}" r="4" fill="{}" stroke="{}" stroke-width="1.3"'
        ' data-point="{}"><title>{}</title></circle>'
    )
    return shape.format(x, y, colour if mark.best else "var(--card, #ffffff)", colour, mark.number, mark.tip)


def _series_key(colour: dict[str, str], height: int) -> Markup:
    entry = Markup('<circle cx="{}" cy="{}" r="4" fill="{}"/><text x="{}" y="{}" class="l">{}</text>')
    parts = []
    for place, (name, ink) in enumerate(colour.items()):
        x, y = 10 + 143 * (place % _KEYS), height + 4 + _KEY * (place // _KEYS)
        parts.append(entry.format(x, y, ink, x + 8, y + 4, name if len(name) <= 18 else name[:17] + "…"))
    return Markup("").join(parts)
