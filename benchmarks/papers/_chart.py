"""Curves as a table and as a small SVG: x on a logarithmic scale (zero stands at its left end), y from 0 to 1 or to the largest."""

from __future__ import annotations

import csv
import math
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"
COLOURS = ("#3f4b57", "#b5654a", "#6b8f71", "#9a7fb0", "#c9a13b", "#5b8fb9")


def save(name: str, header: list[str], rows: list[list[object]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def draw(name: str, title: str, curves: dict[str, list[tuple[float, float]]], *, across: str = "mu") -> None:
    xs = sorted({x for curve in curves.values() for x, _ in curve})
    positive = [x for x in xs if x > 0]
    left = math.log10(positive[0]) - (1 if xs[0] == 0 else 0)
    right = max(math.log10(positive[-1]), left + 1)
    top = max(max(y for curve in curves.values() for _, y in curve), 1e-12)

    def place(x: float, y: float) -> tuple[float, float]:
        along = (math.log10(x) if x > 0 else left) - left
        return 60 + 420 * along / (right - left), 250 - 200 * y / top

    drawn = [f'<text x="60" y="24" font-size="14">{title}</text>', '<path d="M60 50V250H480" fill="none" stroke="#999"/>']
    drawn += [f'<text x="{place(x, 0)[0]:.0f}" y="268" text-anchor="middle">{x:g}</text>' for x in xs]
    drawn += [f'<text x="52" y="{place(1, y)[1] + 4:.0f}" text-anchor="end">{y:.3g}</text>' for y in (0, top / 2, top)]
    drawn.append(f'<text x="270" y="288" text-anchor="middle">{across}</text>')
    for number, (label, curve) in enumerate(curves.items()):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in curve))
        colour = COLOURS[number % len(COLOURS)]
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn.append(f'<text x="490" y="{60 + 18 * number}" fill="{colour}">{label}</text>')
    body = "\n".join(drawn)
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 300" font-family="sans-serif" font-size="11">\n{body}\n</svg>\n'
    (RESULTS / f"{name}.svg").write_text(frame, encoding="utf-8")
