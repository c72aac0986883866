"""The operating curve of a flip as a picture: chances and relative errors over μ, with the recommended point; one SVG, no scripts.

>>> "<svg" in picture([], None)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sfumato.methods.graphs.curve import OperatingPoint

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 900, 380, 60, 230, 30, 60
_LINES: tuple[tuple[str, str, str, Callable[[OperatingPoint], float]], ...] = (
    ("planted accounts found, at most", "#b5654a", "", lambda point: point.planted_bound),
    ("hubs found by degree", "#8a3b2a", "5 3", lambda point: point.hubs_found),
    ("people ten ties apart told apart", "#c9a227", "2 3", lambda point: point.told_apart),
    ("error of the number of edges", "#3f4b57", "", lambda point: point.errors["density"]),
    ("error of triangles", "#5b8a72", "", lambda point: point.errors["triangles"]),
    ("error of one person's degree", "#7a6ea8", "5 3", lambda point: point.errors["degree_of_one_person"]),
)


def picture(curve: Sequence[OperatingPoint], best: OperatingPoint | None) -> str:
    """An SVG of the curve; values above 1 are drawn at 1."""
    parts = [_axes(curve)]
    if best is not None:
        x = _x(curve, best.mu)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" stroke="#ecdc9a" stroke-width="6"/>')
        parts.append(f'<text x="{x:.1f}" y="{_TOP - 8}" text-anchor="middle" fill="#8a6d00">recommended: {best.mu:g}</text>')
    for index, (name, ink, dashes, value) in enumerate(_LINES):
        points = " ".join(f"{_x(curve, point.mu):.1f},{_y(value(point)):.1f}" for point in curve)
        parts.append(f'<polyline fill="none" stroke="{ink}" stroke-width="2" stroke-dasharray="{dashes}" points="{points}"/>')
        parts.append(f'<text x="{_WIDTH - _RIGHT + 18}" y="{_TOP + 14 + 20 * index}" fill="{ink}">{name}</text>')
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'


def _x(curve: Sequence[OperatingPoint], mu: float) -> float:
    low, high = math.log(min(point.mu for point in curve)), math.log(max(point.mu for point in curve))
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (math.log(mu) - low) / max(high - low, 1e-9)


def _y(value: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - min(max(value, 0.0), 1.0))


def _axes(curve: Sequence[OperatingPoint]) -> str:
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = _y(share)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:g}</text>')
    for index, point in enumerate(curve):
        at, low = f'x="{_x(curve, point.mu):.1f}" text-anchor="middle"', _HEIGHT - _BOTTOM + 30 + 11 * (index % 2)
        parts.append(f'<text {at} y="{_HEIGHT - _BOTTOM + 16}">{point.mu:g}</text>')
        parts.append(f'<text {at} y="{low}" fill="#777777">{_short(point.edges)}</text>')
    parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 8}">chance that a pair flips; below it edges to publish</text>')
    return "".join(parts)


def _short(number: float) -> str:
    for size, word in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{word}"
    return f"{number:.0f}"
