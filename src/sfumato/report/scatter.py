"""Points in a plane as inline SVG: steps from left to right, a cost upwards, one colour per series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sfumato.report.charts import WIDTH

COLOURS = ("#3f4b57", "#b5654a", "#5b8a72", "#8a6fa8", "#c09a3e", "#4f86a8", "#a04668", "#77705f")
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 12, 40
_KEY, _KEYS = 18, 3
"""Height of one row of the key, and how many stand in it."""
_LETTER = 6.8


@dataclass(frozen=True, slots=True)
class Mark:
    """One point: a step, a cost, a series, and whether it is on the frontier."""

    step: int
    cost: float
    series: str
    best: bool
    tip: str
    number: int


def scatter(marks: Sequence[Mark], steps: Sequence[str], *, title: str, width: int = WIDTH, height: int = 240) -> Markup:
    """The points with a line through the best of every step; hollow ones are dominated."""
    series = list(dict.fromkeys(mark.series for mark in marks))
    colour = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(series)}
    ticks = round_ticks(max((mark.cost for mark in marks), default=0.0) or 1.0)
    top = ticks[-1]
    room = (width - _LEFT - _RIGHT) / max(len(steps), 1)

    def at(mark: Mark) -> tuple[float, float]:
        beside = series.index(mark.series) - (len(series) - 1) / 2
        x = _LEFT + room * (mark.step + 0.5) + beside * min(10, room / (len(series) + 1))
        return round(x, 1), round(_TOP + (height - _TOP - _BOTTOM) * (1 - mark.cost / top), 1)

    drawn = [_axes(steps, ticks, width, height, room), _line([at(mark) for mark in _best(marks)])]
    drawn += [_dot(mark, *at(mark), colour[mark.series]) for mark in marks]
    drawn.append(_key(colour, height))
    frame = Markup('<svg viewBox="0 0 {} {}" class="chart" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">{}</svg>')
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
    line = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="#e3ddd3"/>')
    parts = []
    for tick in ticks:
        y = round(_TOP + (height - _TOP - _BOTTOM) * (1 - tick / ticks[-1]), 1)
        parts.append(line.format(_LEFT, y, width - _RIGHT, y))
        parts.append(Markup('<text x="{}" y="{}" text-anchor="end" class="v">{}</text>').format(_LEFT - 6, y + 4, f"{tick:.6g}"))
    wide = max((len(step) for step in steps), default=0) * _LETTER
    every = max(1, math.ceil(wide / (2 * room)))
    for place, step in enumerate(steps[::every]):
        x = round(_LEFT + room * (every * place + 0.5), 1)
        low = height - _BOTTOM + 16 + (14 if wide > every * room and place % 2 else 0)
        parts.append(Markup('<text x="{}" y="{}" text-anchor="middle" class="l">{}</text>').format(x, low, step))
    return Markup("").join(parts)


def _line(places: Sequence[tuple[float, float]]) -> Markup:
    path = " ".join(f"{x},{y}" for x, y in places)
    return Markup('<polyline points="{}" fill="none" stroke="#c9a78f" stroke-width="2"/>').format(path)


def _dot(mark: Mark, x: float, y: float, colour: str) -> Markup:
    shape = Markup(
        '<circle cx="{}" cy="{}" r="4" fill="{}" stroke="{}" stroke-width="1.3" data-point="{}"><title>{}</title></circle>'
    )
    return shape.format(x, y, colour if mark.best else "#ffffff", colour, mark.number, mark.tip)


def _key(colour: dict[str, str], height: int) -> Markup:
    entry = Markup('<circle cx="{}" cy="{}" r="4" fill="{}"/><text x="{}" y="{}" class="l">{}</text>')
    parts = []
    for place, (name, ink) in enumerate(colour.items()):
        x, y = 10 + 143 * (place % _KEYS), height + 4 + _KEY * (place // _KEYS)
        parts.append(entry.format(x, y, ink, x + 8, y + 4, name if len(name) <= 18 else name[:17] + "…"))
    return Markup("").join(parts)
