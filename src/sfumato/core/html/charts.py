"""Small charts as inline SVG: no scripts, no fonts to load, readable in print, on a telephone and by screen readers.

They are laid out for a narrow screen, 440 units wide with letters of 12; on a wide one the style draws letters smaller.
Nothing is written over anything else: labels are cut to their place with an ellipsis, and columns whose labels would
touch become bars.


Scatter
-------
Points in a plane as inline SVG: steps from left to right, a cost upwards, one colour per series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sfumato.core.wording import percent_text

INK, SOFT, TERRA = "var(--after, #0b62a8)", "var(--before, #9aa5b1)", "var(--after, #0b62a8)"
"""The release is blue and the original grey; pages have these as colors of their own, light and dark."""
_RULE = "var(--line, #dcdfe3)"
WIDTH, _LEFT = 440, 134
_LETTER = 6.8
"""How wide a letter is at most, on average."""
_ROW = Markup(
    '<text x="{tx}" y="{ty}" text-anchor="end" class="l">{label}</text>'
    '<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="2" fill="{fill}"/>'
    '<text x="{vx}" y="{ty}" class="v">{value}</text>'
)


def bars(rows: Sequence[tuple[str, float, str]], *, title: str, fill: str = INK) -> Markup:
    """Horizontal bars: (label, value, how the value is written)."""
    largest = max((value for _, value, _ in rows), default=0.0) or 1.0
    room = WIDTH - _LEFT - 8 - _LETTER * max((len(written) for _, _, written in rows), default=0)
    drawn = Markup("").join(
        _ROW.format(
            tx=_LEFT - 6, ty=20 * i + 14, label=_short(label), x=_LEFT, y=20 * i + 3, w=round(room * value / largest,
            1), h=14,
            fill=fill, vx=round(_LEFT + room * value / largest + 6, 1), value=written,
        )
        for i, (label, value, written) in enumerate(rows)
    )  # fmt: skip
    return _svg(20 * len(rows) + 6, title, drawn)


def paired_bars(rows: Sequence[tuple[str, float, float]], *, title: str, names: tuple[str, str]) -> Markup:
    """Two thin bars per label, for a before and an after; values are shares."""
    largest = max((max(a, b) for _, a, b in rows), default=0.0) or 1.0
    room = WIDTH - _LEFT - 8 - _LETTER * len("100.0% → 100.0%")
    key = Markup('<rect x="{}" y="2" width="10" height="10" fill="{}"/><text x="{}" y="11" class="v">{}</text>')
    drawn = [key.format(x, c, x + 15, _short(n, 22)) for x, c, n in ((8, SOFT, names[0]), (WIDTH / 2, TERRA, names[1]))]
    for i, (label, before, after) in enumerate(rows):
        y = 26 * i + 22
        drawn.append(
            Markup('<text x="{}" y="{}" text-anchor="end" class="l">{}</text>').format(_LEFT - 6, y + 13, _short(label))
        )
        for j, (value, fill) in enumerate(((before, SOFT), (after, TERRA))):
            span = round(room * value / largest, 1)
            drawn.append(
                Markup('<rect x="{}" y="{}" width="{}" height="8" rx="2" fill="{}"/>').format(
                    _LEFT, y + 1 + 9 * j, span, fill
                )
            )
        end = round(_LEFT + room * max(before, after) / largest + 6)
        drawn.append(Markup('<text x="{}" y="{}" class="v">{:.1%} → {:.1%}</text>').format(end, y + 13, before, after))
    return _svg(26 * len(rows) + 30, title, Markup("").join(drawn))


def share_bars(rows: Sequence[tuple[str, float, str]], *, title: str, axis: str) -> Markup:
    """Bars on a fixed axis from 0 to 100 %: (label, share, what it says in words)."""
    left, right = 120, 56
    room = WIDTH - left - right
    bar = Markup(
        '<text x="{tx}" y="{ty}" text-anchor="end" class="l">{label}</text>'
        '<rect x="{x}" y="{y}" width="{room}" height="14" rx="3" fill="{rule}"/>'
        '<rect x="{x}" y="{y}" width="{w}" height="14" rx="3" fill="{fill}"><title>{tip}</title></rect>'
        '<text x="{vx}" y="{ty}" class="v">{written}</text>'
    )
    drawn = [
        bar.format(
            tx=left - 8, ty=24 * i + 15, label=_short(label, 16), x=left, y=24 * i + 4, room=room, rule=_RULE, fill=INK,
            tip=tip,
            w=round(max(room * min(share, 1.0), 1), 1), vx=WIDTH - right + 8, written=percent_text(share),
        )
        for i, (label, share, tip) in enumerate(rows)
    ]  # fmt: skip
    low = 24 * len(rows) + 4
    return _svg(low + 38, title, Markup("").join([*drawn, *_percent_axis(left, room, low, axis)]))


def dumbbell(rows: Sequence[tuple[str, float | None, float]], limit: float | None, *, title: str, axis: str) -> Markup:
    """Probabilities before (hollow) and after (filled) on a fixed axis, with the promised level as a dashed line."""
    left, room = 130, WIDTH - 130 - 24
    drawn = []
    low = 36 * len(rows) + 8
    if limit is not None:
        x = round(left + room * limit, 1)
        drawn.append(
            Markup(
                '<line x1="{}" x2="{}" y1="4" y2="{}" stroke="var(--hold, #12715e)" stroke-dasharray="4 3"/>'
            ).format(x, x, low)
        )
    for i, (label, before, after) in enumerate(rows):
        y, at = 36 * i + 24, round(left + room * after, 1)
        drawn.append(Markup('<text x="0" y="{}" class="l">{}</text>').format(y + 4, _short(label, 20)))
        drawn.append(
            Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" stroke="{}"/>').format(left, left + room, y, y, _RULE)
        )
        if before is not None:
            was = round(left + room * before, 1)
            line = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" stroke="var(--soft, #56626f)" stroke-width="2"/>')
            ring = Markup(
                '<circle cx="{}" cy="{}" r="5" fill="var(--card, #fff)" stroke="{}"'
                ' stroke-width="2.5"><title>{}</title></circle>'
            )
            drawn += [line.format(at, was, y, y), ring.format(was, y, SOFT, f"original: {percent_text(before)}")]
            drawn.append(
                Markup('<text x="{}" y="{}" text-anchor="middle" class="v over">{}</text>').format(
                    was, y - 10, percent_text(before)
                )
            )
        dot = Markup('<circle cx="{}" cy="{}" r="5.5" fill="{}"><title>{}</title></circle>')
        drawn.append(dot.format(at, y, INK, f"release: {percent_text(after)}"))
        if before is None or abs(before - after) * room > 36:
            drawn.append(
                Markup('<text x="{}" y="{}" text-anchor="middle" class="v over">{}</text>').format(
                    at, y - 10, percent_text(after)
                )
            )
    key = "● release" + (", ○ original" if any(before is not None for _, before, _ in rows) else "")
    key += f", dashed: promised at most {percent_text(limit)}" if limit is not None else ""
    drawn += [*_percent_axis(left, room, low, axis)]
    drawn.append(
        Markup('<text x="{}" y="{}" text-anchor="middle" class="v">{}</text>').format(WIDTH / 2, low + 52, key)
    )
    return _svg(low + 58, title, Markup("").join(drawn))


def _percent_axis(left: float, room: float, low: float, axis: str) -> list[Markup]:
    tick = Markup('<line x1="{x}" x2="{x}" y1="{a}" y2="{b}" stroke="var(--soft, #56626f)"/>')
    text = Markup('<text x="{}" y="{}" text-anchor="middle" class="v">{}</text>')
    parts = []
    for quarter in range(5):
        x = round(left + room * quarter / 4, 1)
        parts += [tick.format(x=x, a=low, b=low + 4), text.format(x, low + 17, f"{25 * quarter} %")]
    return [*parts, text.format(WIDTH / 2, low + 34, axis)]


def columns(rows: Sequence[tuple[str, float, str]], *, title: str, fill: str = INK, height: int = 170) -> Markup:
    """Vertical columns for a distribution: (label below, value, how it is written above); bars where these would
    touch."""
    largest = max((value for _, value, _ in rows), default=0.0) or 1.0
    step = (WIDTH - 12) / max(len(rows), 1)
    if max((len(text) for label, _, tip in rows for text in (label, tip)), default=0) * _LETTER > step:
        return bars(rows, title=title, fill=fill)
    column = Markup(
        '<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="2" fill="{fill}"><title>{tip}</title></rect>'
        '<text x="{cx}" y="{ty}" text-anchor="middle" class="v">{tip}</text>'
        '<text x="{cx}" y="{ly}" text-anchor="middle" class="l">{label}</text>'
    )
    drawn = []
    for i, (label, value, tip) in enumerate(rows):
        tall = round((height - 48) * value / largest, 1)
        place = {
            "x": round(6 + i * step + step * 0.12, 1),
            "y": height - 24 - tall,
            "w": round(step * 0.76, 1),
            "h": tall,
        }
        texts = {"cx": round(6 + (i + 0.5) * step, 1), "ty": height - 29 - tall, "ly": height - 8}
        drawn.append(column.format(**place, **texts, fill=fill, tip=tip, label=label))
    return _svg(height, title, Markup("").join(drawn))


def _svg(height: int, title: str, inside: Markup) -> Markup:
    frame = Markup(
        '<svg viewBox="0 0 {} {}" class="chart" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">{}</svg>'
    )
    return frame.format(WIDTH, height, title, inside)


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
    marks: Sequence[Mark], steps: Sequence[str], *, title: str, width: int = WIDTH, height: int = 240
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

    drawn = [_axes(steps, ticks, width, height, room), _line([at(mark) for mark in _best(marks)])]
    drawn += [_dot(mark, *at(mark), colour[mark.series]) for mark in marks]
    drawn.append(_key(colour, height))
    frame = Markup(
        '<svg viewBox="0 0 {} {}" class="chart" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">{}</svg>'
    )
    rows = (len(series) + _KEYS - 1) // _KEYS
    return frame.format(width, height + _KEY * rows, title, Markup("").join(drawn))


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


def _line(places: Sequence[tuple[float, float]]) -> Markup:
    path = " ".join(f"{x},{y}" for x, y in places)
    return Markup('<polyline points="{}" fill="none" stroke="var(--soft, #56626f)" stroke-width="2"/>').format(path)


def _dot(mark: Mark, x: float, y: float, colour: str) -> Markup:
    shape = Markup(
        '<circle cx="{}" cy="{}" r="4" fill="{}" stroke="{}" stroke-width="1.3"'
        ' data-point="{}"><title>{}</title></circle>'
    )
    return shape.format(x, y, colour if mark.best else "var(--card, #ffffff)", colour, mark.number, mark.tip)


def _key(colour: dict[str, str], height: int) -> Markup:
    entry = Markup('<circle cx="{}" cy="{}" r="4" fill="{}"/><text x="{}" y="{}" class="l">{}</text>')
    parts = []
    for place, (name, ink) in enumerate(colour.items()):
        x, y = 10 + 143 * (place % _KEYS), height + 4 + _KEY * (place // _KEYS)
        parts.append(entry.format(x, y, ink, x + 8, y + 4, name if len(name) <= 18 else name[:17] + "…"))
    return Markup("").join(parts)
