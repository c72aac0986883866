"""A picture of a database: tables as boxes, parents to the left of what refers to them, and a line for every foreign key."""

from __future__ import annotations

from markupsafe import Markup

from sfumato.data.database import ForeignKey, Schema
from sfumato.report.charts import INK, SOFT, TERRA

_WIDE, _HIGH, _GAP, _ROOM = 150, 40, 14, 60
_BOX = Markup(
    "<g><title>{title}</title>"
    '<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="4" fill="#fff" stroke="{ink}" stroke-width="{line}"/>'
    '<text x="{tx}" y="{ty}" class="l">{name}</text><text x="{tx}" y="{sy}" class="v">{below}</text></g>'
)
_LINE = Markup(
    '<path d="M{x1} {y1} C{c1} {y1} {c2} {y2} {x2} {y2}" fill="none" stroke="{ink}" stroke-width="1.2">'
    "<title>{title}</title></path>"
)
_PICTURE = Markup(
    '<div class="scroll"><svg viewBox="0 0 {w} {h}" width="{w}" height="{h}" class="map" role="img" '
    'aria-label="tables and their foreign keys">{inside}</svg></div>'
)


def table_map(schema: Schema, rows: dict[str, int], changed: dict[str, int]) -> Markup:
    """`changed` counts the columns with new values of each table; those tables are framed in colour."""
    place = {
        name: (20 + column * (_WIDE + _ROOM), 10 + row * (_HIGH + _GAP))
        for column, names in enumerate(_levels(schema))
        for row, name in enumerate(names)
    }
    width = max((x for x, _ in place.values()), default=0) + _WIDE + 40
    height = max((y for _, y in place.values()), default=0) + _HIGH + 20
    lines = Markup("").join(_line(key, place) for key in schema.foreign_keys)
    boxes = Markup("").join(_box(name, at, rows.get(name, 0), changed.get(name, 0)) for name, at in place.items())
    return _PICTURE.format(w=width, h=height, inside=lines + boxes)


def _levels(schema: Schema) -> list[list[str]]:
    """Tables by the longest chain of references above them; tables of a cycle share a level."""
    level: dict[str, int] = {}
    for names in schema.generations():
        above = [
            level[k.parent] + 1 for k in schema.foreign_keys if k.table in names and k.parent in level and k.parent not in names
        ]
        level |= dict.fromkeys(names, max(above, default=0))
    found: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for name, at in level.items():
        found[at].append(name)
    return found


def _box(name: str, at: tuple[int, int], rows: int, changed: int) -> Markup:
    below = f"{rows:,} rows" + (f", {changed} new" if changed else "")
    return _BOX.format(
        title=f"{name}: {below}", x=at[0], y=at[1], w=_WIDE, h=_HIGH, ink=TERRA if changed else SOFT, line=2 if changed else 1,
        tx=at[0] + 8, ty=at[1] + 17, sy=at[1] + 32, name=name if len(name) <= 20 else name[:19] + "…", below=below,
    )  # fmt: skip


def _line(key: ForeignKey, place: dict[str, tuple[int, int]]) -> Markup:
    (px, py), (cx, cy) = place[key.parent], place[key.table]
    x1, y1, y2 = px + _WIDE, py + _HIGH // 2, cy + _HIGH // 2
    half = _ROOM // 2
    if cx <= px:  # inside a level: leave and arrive on the right side
        x2 = cx + _WIDE
        return _LINE.format(x1=x1, y1=y1 - 4, c1=x1 + half, c2=x2 + half, x2=x2, y2=y2 + 4, ink=INK, title=_title(key))
    return _LINE.format(x1=x1, y1=y1, c1=x1 + half, c2=cx - half, x2=cx, y2=y2, ink=INK, title=_title(key))


def _title(key: ForeignKey) -> str:
    return f"{key.table}.{', '.join(key.columns)} → {key.parent}.{', '.join(key.parent_columns)}"
