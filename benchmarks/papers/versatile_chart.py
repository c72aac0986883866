"""A line chart as a small SVG: one curve per method, no dependencies."""

from __future__ import annotations

from collections.abc import Mapping

COLOURS = ["#b5654a", "#3f4b57", "#9fb0bf", "#6f8f5f", "#c9a227"]
LEFT, TOP, WIDTH, HEIGHT = 60, 34, 420, 240


def lines(curves: Mapping[str, Mapping[float, float]], *, title: str, across: str) -> str:
    xs = sorted({x for curve in curves.values() for x in curve})
    top = max((y for curve in curves.values() for y in curve.values() if y != float("inf")), default=1.0) or 1.0
    span = (xs[-1] - xs[0]) or 1.0

    def at(x: float, y: float) -> str:
        return f"{LEFT + (x - xs[0]) / span * WIDTH:.1f},{TOP + HEIGHT * (1 - min(y, top) / top):.1f}"

    drawn = [f'<text x="{LEFT}" y="18" font-size="14">{title}</text>']
    for step in range(5):
        y = TOP + HEIGHT * step / 4
        drawn.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{top * (1 - step / 4):.3g}</text>')
    for x in xs:
        drawn.append(
            f'<text x="{LEFT + (x - xs[0]) / span * WIDTH:.1f}" y="{TOP + HEIGHT + 16}"'
            f' text-anchor="middle">{x:g}</text>'
        )
    drawn.append(f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 32}" text-anchor="middle">{across}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(at(x, curve[x]) for x in sorted(curve))
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn.append(f'<text x="{LEFT + WIDTH + 12}" y="{TOP + 14 + 18 * number}" fill="{colour}">{name}</text>')
    size = f'width="{LEFT + WIDTH + 130}" height="{TOP + HEIGHT + 44}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif"'
        f' font-size="11">{"".join(drawn)}</svg>\n'
    )
