"""CSV and a small SVG of curves: one panel per title, one line per name."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"
INKS = ("#3f4b57", "#b5654a", "#7a9e7e", "#8a7ca8", "#c9a227")

Panels = Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]


def write_csv(name: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def merged(name: str, rows: Sequence[Sequence[object]]) -> list[list[str]]:
    """The rows of an earlier run about other data (first column), then these."""
    fresh, file = [[str(cell) for cell in row] for row in rows], RESULTS / f"{name}.csv"
    kept: list[list[str]] = []
    if file.is_file():
        with file.open(newline="") as text:
            kept = [row for row in list(csv.reader(text))[1:] if row[0] not in {row[0] for row in fresh}]
    return kept + fresh


def panels_of(
    rows: Sequence[Sequence[str]], x: int, line: int, y: int
) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """One panel per value of the first column, one line per value of column `line`."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows:
        panels.setdefault(row[0], {}).setdefault(row[line], []).append((float(row[x]), float(row[y])))
    return panels


def write_svg(name: str, panels: Panels, axis: str) -> None:
    width, height = 260, 200
    drawn = [
        _panel(title, lines, axis, index * width, width, height) for index, (title, lines) in enumerate(panels.items())
    ]
    size = f'viewBox="0 0 {width * len(panels)} {height + 20}" font-family="sans-serif" font-size="10"'
    (RESULTS / f"{name}.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(drawn)}</svg>\n')


def write_grid(name: str, rows: Mapping[str, Panels], axis: str) -> None:
    """One row of panels per measure, its name in front of it; what the lines are stands once, above."""
    width, height, most = 260, 200, max(len(panels) for panels in rows.values())
    names = list(next(iter(next(iter(rows.values())).values())))
    parts = ['<rect width="100%" height="100%" fill="white"/>']
    parts += [
        f'<text x="{64 + 130 * i}" y="16" font-size="13" fill="{INKS[i]}">{line}</text>' for i, line in enumerate(names)
    ]
    for at, (measure, panels) in enumerate(rows.items()):
        drawn = [
            _panel(
                title,
                {line: lines[line] for line in names if line in lines},
                axis,
                index * width,
                width,
                height,
                legend=False,
            )
            for index, (title, lines) in enumerate(panels.items())
        ]
        turned = f'transform="rotate(-90 14 {height / 2})" text-anchor="middle" font-size="13"'
        words = f'<text x="14" y="{height / 2}" {turned}>{measure}</text>'
        inside = f'{words}<g transform="translate(24 0)">{"".join(drawn)}</g>'
        parts.append(f'<g transform="translate(0 {24 + at * (height + 12)})">{inside}</g>')
    size = f'viewBox="0 0 {width * most + 24} {24 + (height + 12) * len(rows)}" font-family="sans-serif" font-size="10"'
    (RESULTS / f"{name}.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>\n')


def _panel(
    title: str,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    axis: str,
    left: int,
    width: int,
    height: int,
    *,
    legend: bool = True,
) -> str:
    xs = sorted({x for points in lines.values() for x, _ in points})
    top = max(y for points in lines.values() for _, y in points) or 1.0
    place = {x: left + 40 + (width - 60) * i / max(len(xs) - 1, 1) for i, x in enumerate(xs)}
    level = lambda y: 25 + (height - 60) * (1 - y / top)  # noqa: E731
    parts = [f'<text x="{left + 40}" y="14" font-weight="bold">{title}</text>']
    parts += [f'<text x="{place[x]:.0f}" y="{height - 18}" text-anchor="middle">{x:g}</text>' for x in xs]
    parts += [
        f'<text x="{left + 36}" y="{level(y) + 3:.0f}" text-anchor="end">{y:.3f}</text>' for y in (0, top / 2, top)
    ]
    parts.append(f'<text x="{left + width / 2:.0f}" y="{height - 4}" text-anchor="middle">{axis}</text>')
    for i, (name, points) in enumerate(lines.items()):
        path = " ".join(f"{place[x]:.1f},{level(y):.1f}" for x, y in points)
        parts.append(f'<polyline fill="none" stroke="{INKS[i]}" stroke-width="1.5" points="{path}"/>')
        if legend:
            parts.append(f'<text x="{left + 48}" y="{34 + 12 * i}" fill="{INKS[i]}">{name}</text>')
    return "".join(parts)
