"""How a replaced table was made: its parts, their rules and engines, and new values beside the original ones.


Patterns
--------
Patterns kept, how well the walk mixed, and, for the data holder, what neighbours give away.


Database
--------
A database for testing: its tables and how they refer to each other, what was replaced and how, and what was checked.


Table map
---------
A picture of a database: tables as boxes, parents to the left of what refers to them, and a line for every foreign key.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import numpy as np
from markupsafe import Markup

from sfumato.core.html.charts import INK, SOFT, categories, histogram
from sfumato.core.wording import percent_text
from sfumato.data.database import ForeignKey, Schema
from sfumato.kinds.testdata.form import DatabaseForm, Replaced, ReplacedPart, WalkProvenance, bound_policy
from sfumato.kinds.testdata.pattern_checks import NeighbourDisclosure, measure_neighbour_disclosure, numeric_columns
from sfumato.policy.constraint_language import classify, columns_of
from sfumato.policy.constraint_language.syntax_tree import ColumnValue
from sfumato.policy.database_policy import BoundPolicy
from sfumato.policy.kept_constraints import integrity_rules
from sfumato.policy.value_domains import Ordered, ValueDomain, Values
from sfumato.release.form import Form
from sfumato.release.report_section import Section, bullets, paragraph, table
from sfumato.release.view import ReleaseView

_MOST = 12


class ReplacedSection(Section):
    """Parts, rules and engines of a replaced table."""

    name: ClassVar[str] = "replaced"
    title: ClassVar[str] = "New values under rules"
    order: ClassVar[int] = 20
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(exhibit.of(Replaced).parts)

    def render(self, exhibit: ReleaseView) -> Markup:
        parts = exhibit.of(Replaced).parts
        blind = sum(not part.reads_original for part in parts)
        words = (
            f"The rules join the replaced columns into {len(parts)} independent part(s). {blind} of them were made"
            " without looking at the values they replace: whatever was there before, the result is as likely."
        )
        made = table(
            ("columns", "made by", "all legal tables equally likely", "original read"), [_row(part) for part in parts]
        )
        rules = [
            (f"{rule}", str(classify(rule)), _part(_named(rule), parts)) for rule in integrity_rules(exhibit.policy)
        ]
        listed = table(("rule, true in every line above", "kind", "part"), rules) if rules else Markup("")
        return Markup("").join([paragraph(words), made, Markup("<h3>Rules</h3>"), listed, _beside(exhibit)])


def _named(rule: Any) -> set[str]:
    """The published columns that a rule is about."""
    return {column.name for column in columns_of(rule) if not column.original}


def _row(part: ReplacedPart) -> tuple[object, ...]:
    how = f"{part.heuristic} with a solver, blocks of {part.block}" if part.heuristic else part.engine
    return ", ".join(part.columns), how, "yes" if part.uniform else "no", "yes" if part.reads_original else "no"


def _part(columns: set[str], parts: tuple[ReplacedPart, ...]) -> str:
    found = [str(number) for number, part in enumerate(parts, start=1) if columns & set(part.columns)]
    return ", ".join(found) or "—"


def _beside(exhibit: ReleaseView) -> Markup:
    """For the data holder: old and new frequencies of columns with few values."""
    if not exhibit.private:
        return Markup("")
    pieces = [Markup("<h3>Original and new values</h3>")]
    for name in exhibit.policy.with_role("replaced"):
        before, after = exhibit.original.text(name), exhibit.data.text(name)
        if max(len(before.labels), len(after.labels)) > 3 * _MOST:
            continue  # before millions of texts are sorted
        labels = sorted({*before.labels, *after.labels}, key=lambda label: (len(label), label))
        if len(labels) > 3 * _MOST:
            continue
        old = dict(zip(before.labels, (before.counts() / max(exhibit.original.rows, 1)).tolist(), strict=True))
        new = dict(zip(after.labels, (after.counts() / max(exhibit.data.rows, 1)).tolist(), strict=True))
        rows = [(label, old.get(label, 0.0), new.get(label, 0.0)) for label in labels]
        pieces.append(Markup("<h4>{}</h4>").format(name))
        pieces.append(categories(rows, title=name, axis="share of the records", names=("original", "new")))
    return Markup("").join(pieces) if len(pieces) > 1 else Markup("")


# Patterns
# --------


_BINS = 24
_SHOWN = 15


class PatternSection(Section):
    """The kept properties, the mixing of the walk, and the distributions before and after."""

    name: ClassVar[str] = "patterns"
    title: ClassVar[str] = "Patterns that survived"
    order: ClassVar[int] = 25
    forms: ClassVar[tuple[type[Form], ...]] = (Replaced,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return exhibit.of(Replaced).walked or exhibit.of(Replaced).walk is not None

    def render(self, exhibit: ReleaseView) -> Markup:
        walk = exhibit.traced(WalkProvenance).walk or exhibit.of(Replaced).walk
        words = "Values moved at random inside the space of all tables that keep the properties below."
        if walk is not None:
            words += (
                f" It falls into {walk.parts:,} independent parts; in {walk.mixed:,} of them "
                "several walks agreed that they no longer depend on the start. The properties "
                f"determine {walk.implied_equalities:,} values completely."
            )
        unsaid = "Privacy of this kind of release is measured afterwards; nothing is guaranteed."
        shown = [paragraph(words), bullets(exhibit.policy.keep), paragraph(unsaid)]
        if exhibit.private and numeric_columns(exhibit.original, exhibit.data, exhibit.policy):
            shown += [*_histograms(exhibit), *_neighbours(exhibit)]
        return Markup("").join(shown)


def _histograms(exhibit: ReleaseView) -> list[Markup]:
    found = [Markup("<h3>Original and release</h3>")]
    for name in numeric_columns(exhibit.original, exhibit.data, exhibit.policy):
        before, after = exhibit.original.numbers(name), exhibit.data.numbers(name)
        edges = np.histogram_bin_edges(np.concatenate([before, after]), bins=_BINS)
        shares = [np.histogram(values, edges)[0] / max(1, values.size) for values in (before, after)]
        labels = [f"{low:,.4g}" for low in edges[:-1]]
        rows = [(label, float(old), float(new)) for label, old, new in zip(labels, *shares, strict=True)]
        axes = (f"{name}, from", "share of the records")
        found += [Markup("<h4>{}</h4>").format(name), histogram(rows, title=name, axes=axes)]
    return found


def _neighbours(exhibit: ReleaseView) -> list[Markup]:
    found = []
    for name, measured in measure_neighbour_disclosure(exhibit.original, exhibit.data, exhibit.policy).items():
        found += [Markup("<h3>What neighbours say about {}</h3>").format(name), paragraph(_words(measured))]
        first = f"rank of the nearest published row with the person's own {name}"
        found.append(histogram(_rows(measured.first), title=first, axes=("rank", "share of the people")))
        equal = f"people whose k-th nearest published row has their own {name}"
        found.append(histogram(_rows(measured.equal), title=equal, axes=("k", "share of the people")))
    return found


def _words(measured: NeighbourDisclosure) -> str:
    return (
        "An adversary who knows a person's original numbers looks up the published rows nearest to them. First picture:"
        " the share of people for whom the k-th nearest row is the first with their own value. Second: the share for"
        " whom the k-th has it at all. The best guess of the adversaries that were tried is right for"
        f" {percent_text(measured.best_guess)}"
        f" of people; always naming the most frequent value is right for {measured.blind:.1%}."
    )


def _rows(shares: Any) -> list[tuple[str, float | None, float]]:
    return [(str(k + 1), None, float(share)) for k, share in enumerate(shares[:_SHOWN])]


# Database
# --------


class DatabaseSection(Section):
    """Tables, links, replaced columns and constraints of a database."""

    name: ClassVar[str] = "database"
    title: ClassVar[str] = "The database"
    order: ClassVar[int] = 20
    forms: ClassVar[tuple[type[Form], ...]] = (DatabaseForm,)

    def ready(self, exhibit: ReleaseView) -> bool:
        return bool(exhibit.of(DatabaseForm).declared)

    def render(self, exhibit: ReleaseView) -> Markup:
        bound = exhibit.once(bound_policy)
        rows = {entry.table: entry.rows for entry in exhibit.of(DatabaseForm).tables.values()}
        changed = Counter(str(column.table) for column in bound.changed)
        words = (
            f"{len(rows)} tables with {sum(rows.values()):,} rows. {len(bound.changed)} columns have new values; all"
            " others, and which cells are empty, are published as they were. Lines are foreign keys; framed tables"
            " have new values."
        )
        pieces = [
            paragraph(words),
            table_map(bound.schema, rows, dict(changed)),
            Markup("<h3>New values</h3>"),
            _replaced(exhibit, bound),
        ]
        pieces += [Markup("<h3>Constraints and rules, checked on every row</h3>"), _constraints(bound)]
        if bound.keep:
            pieces.append(bullets(rule.text for rule in bound.keep))
        return Markup("").join(pieces)


def _replaced(exhibit: ReleaseView, bound: BoundPolicy) -> Markup:
    made = {name: part for part in exhibit.of(DatabaseForm).parts for name in part.columns}
    rows = [_database_row(column, bound, made.get(str(column))) for column in bound.changed]
    return table(("column", "new values from", "made by", "original read"), rows)


def _database_row(column: ColumnValue, bound: BoundPolicy, part: ReplacedPart | None) -> tuple[object, ...]:
    source = _domain(bound.domain(column))
    if column in bound.mapped:
        link = bound.mapped[column]
        how = "a function of a secret" if link.deterministic else "one map for all linked columns"
        return str(column), source if column == link.root else f"follows {link.root}", how, "equal values stay equal"
    if column in bound.emptied:
        return str(column), "nothing", "emptied", "no"
    if column in bound.rewritten:
        return str(column), source, "single values inside documents", "no"
    if part is None:
        return str(column), source, "nothing: its table has no row", "no"
    return str(column), source, part.engine, "yes" if part.reads_original else "no"


def _domain(domain: ValueDomain) -> str:
    """A domain in a few words."""
    (kind, value), *_ = domain.declared().items()
    if isinstance(domain, Ordered):
        return f"{kind} {value[0]} … {value[1]}"
    if isinstance(domain, Values):
        return f"a list of {len(domain.values)}"
    return f"{kind} {value}" if len(str(value)) < 60 else kind


def _constraints(bound: BoundPolicy) -> Markup:
    kinds = Counter(constraint.kind for constraint in bound.constraints)
    left = sum(constraint.kind == "check" and constraint.rule is None for constraint in bound.constraints)
    rows = [
        (kind, count, f"{left} left to the server" if kind == "check" and left else "") for kind, count in kinds.items()
    ]
    return table(("declared by the schema", "how many", ""), rows)


# Table map
# ---------


_WIDE, _HIGH, _GAP, _ROOM = 150, 40, 14, 60
_BOX = Markup(
    "<g><title>{title}</title>"
    '<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="4" fill="var(--card, #fff)" stroke="{ink}"'
    ' stroke-width="{line}"/>'
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
            level[k.parent] + 1
            for k in schema.foreign_keys
            if k.table in names and k.parent in level and k.parent not in names
        ]
        level |= dict.fromkeys(names, max(above, default=0))
    found: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for name, at in level.items():
        found[at].append(name)
    return found


def _box(name: str, at: tuple[int, int], rows: int, changed: int) -> Markup:
    below = f"{rows:,} rows" + (f", {changed} new" if changed else "")
    return _BOX.format(
        title=f"{name}: {below}", x=at[0], y=at[1], w=_WIDE, h=_HIGH, ink=INK if changed else SOFT,
        line=2 if changed else 1,
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
