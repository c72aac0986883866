"""Small charts as inline SVG: no scripts, no fonts to load, readable in print, on a telephone and by screen readers.

They are laid out for a narrow screen, 440 units wide with letters of 12; on a wide one the style draws letters smaller. Nothing is
written over anything else: labels are cut to their place with an ellipsis, and columns whose labels would touch become bars.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

INK, SOFT, TERRA = "#3f4b57", "#9fb0bf", "#b5654a"
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
            tx=_LEFT - 6, ty=20 * i + 14, label=_short(label), x=_LEFT, y=20 * i + 3, w=round(room * value / largest, 1), h=14,
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
        drawn.append(Markup('<text x="{}" y="{}" text-anchor="end" class="l">{}</text>').format(_LEFT - 6, y + 13, _short(label)))
        for j, (value, fill) in enumerate(((before, SOFT), (after, TERRA))):
            span = round(room * value / largest, 1)
            drawn.append(
                Markup('<rect x="{}" y="{}" width="{}" height="8" rx="2" fill="{}"/>').format(_LEFT, y + 1 + 9 * j, span, fill)
            )
        end = round(_LEFT + room * max(before, after) / largest + 6)
        drawn.append(Markup('<text x="{}" y="{}" class="v">{:.1%} → {:.1%}</text>').format(end, y + 13, before, after))
    return _svg(26 * len(rows) + 30, title, Markup("").join(drawn))


def columns(rows: Sequence[tuple[str, float, str]], *, title: str, fill: str = INK, height: int = 170) -> Markup:
    """Vertical columns for a distribution: (label below, value, how it is written above); bars where these would touch."""
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
        place = {"x": round(6 + i * step + step * 0.12, 1), "y": height - 24 - tall, "w": round(step * 0.76, 1), "h": tall}
        texts = {"cx": round(6 + (i + 0.5) * step, 1), "ty": height - 29 - tall, "ly": height - 8}
        drawn.append(column.format(**place, **texts, fill=fill, tip=tip, label=label))
    return _svg(height, title, Markup("").join(drawn))


def _svg(height: int, title: str, inside: Markup) -> Markup:
    frame = Markup('<svg viewBox="0 0 {} {}" class="chart" role="img" aria-label="{}" xmlns="http://www.w3.org/2000/svg">{}</svg>')
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
