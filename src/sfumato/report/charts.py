"""Small charts as inline SVG: no scripts, no fonts to load, readable in print and by screen readers."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

INK, SOFT, TERRA = "#3f4b57", "#9fb0bf", "#b5654a"
_LETTER, _LINE = 7.5, 15
"""How wide a letter below a column is; labels that would touch stand on two lines in turn."""
_ROW = Markup(
    '<text x="{tx}" y="{ty}" text-anchor="end" class="l">{label}</text>'
    '<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="2" fill="{fill}"/>'
    '<text x="{vx}" y="{ty}" class="v">{value}</text>'
)


def bars(rows: Sequence[tuple[str, float, str]], *, title: str, fill: str = INK, left: int = 170, width: int = 640) -> Markup:
    """Horizontal bars: (label, value, how the value is written)."""
    largest = max((value for _, value, _ in rows), default=0.0) or 1.0
    room = width - left - 90
    drawn = Markup("").join(
        _ROW.format(
            tx=left - 8, ty=24 * i + 17, label=_short(label), x=left, y=24 * i + 5, w=round(room * value / largest, 1), h=15,
            fill=fill, vx=round(left + room * value / largest + 6, 1), value=written,
        )
        for i, (label, value, written) in enumerate(rows)
    )  # fmt: skip
    return _svg(width, 24 * len(rows) + 8, title, drawn)


def paired_bars(
    rows: Sequence[tuple[str, float, float]], *, title: str, names: tuple[str, str], left: int = 170, width: int = 640
) -> Markup:
    """Two thin bars per label, for a before and an after; values are shares."""
    largest = max((max(a, b) for _, a, b in rows), default=0.0) or 1.0
    room = width - left - 90
    key = Markup('<rect x="{}" y="2" width="10" height="10" fill="{}"/><text x="{}" y="11" class="v">{}</text>')
    drawn = [key.format(x, c, x + 15, n) for x, c, n in ((left, SOFT, names[0]), (left + 170, TERRA, names[1]))]
    for i, (label, before, after) in enumerate(rows):
        y = 26 * i + 22
        drawn.append(Markup('<text x="{}" y="{}" text-anchor="end" class="l">{}</text>').format(left - 8, y + 13, _short(label)))
        for j, (value, fill) in enumerate(((before, SOFT), (after, TERRA))):
            span = round(room * value / largest, 1)
            drawn.append(
                Markup('<rect x="{}" y="{}" width="{}" height="8" rx="2" fill="{}"/>').format(left, y + 1 + 9 * j, span, fill)
            )
        end = round(left + room * max(before, after) / largest + 6)
        drawn.append(Markup('<text x="{}" y="{}" class="v">{:.1%} → {:.1%}</text>').format(end, y + 13, before, after))
    return _svg(width, 26 * len(rows) + 30, title, Markup("").join(drawn))


def columns(rows: Sequence[tuple[str, float, str]], *, title: str, fill: str = INK, width: int = 640, height: int = 190) -> Markup:
    """Vertical columns for a distribution: (label below, value, what a pointer sees)."""
    largest = max((value for _, value, _ in rows), default=0.0) or 1.0
    step = (width - 20) / max(len(rows), 1)
    lower = _LINE if max((len(_short(label, 14)) for label, _, _ in rows), default=0) * _LETTER > step else 0
    column = Markup(
        '<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="2" fill="{fill}"><title>{tip}</title></rect>'
        '<text x="{cx}" y="{ty}" text-anchor="middle" class="v">{tip}</text>'
        '<text x="{cx}" y="{ly}" text-anchor="middle" class="l">{label}</text>'
    )
    drawn = []
    for i, (label, value, tip) in enumerate(rows):
        tall = round((height - 60) * value / largest, 1)
        place = {"x": round(10 + i * step + step * 0.12, 1), "y": height - 30 - tall, "w": round(step * 0.76, 1), "h": tall}
        texts = {"cx": round(10 + (i + 0.5) * step, 1), "ty": height - 36 - tall, "ly": height - 12 + lower * (i % 2)}
        drawn.append(column.format(**place, **texts, fill=fill, tip=tip, label=_short(label, 14)))
    return _svg(width, height + lower, title, Markup("").join(drawn))


def _svg(width: int, height: int, title: str, inside: Markup) -> Markup:
    frame = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">{}</svg>')
    return frame.format(width, height, title, inside)


def _short(label: str, most: int = 24) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"
