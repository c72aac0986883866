"""An exploration as a page: two pictures (loss, query error) and a table of all points; and as a card for notebooks."""

from __future__ import annotations

from markupsafe import Markup

from sfumato.exploration.points import Point
from sfumato.exploration.result import Exploration
from sfumato.exploration.variants import level_text
from sfumato.report.frame import Headline, Passage, card, framed
from sfumato.report.scatter import Mark, scatter
from sfumato.report.section import bullets, paragraph, table

_FOOTER = "Every published point was certified by the audit. Figures compare with the original: keep this page as safe as the data."
_HEADER = ("", "levels", "method", "loss", "query error", "suppressed", "seconds", "")


def render_exploration(found: Exploration) -> str:
    """The whole page."""
    passages = [
        Passage("loss", "Privacy against loss", paragraph(_EXPLAINED) + picture(found, "loss")),
        Passage("queries", "Privacy against query error", paragraph(_QUERIES) + picture(found, "query_error")),
        Passage("points", "All points", _table(found)),
    ]
    failed = [f"{point.variant}: {point.reason}" for point in found.points if point.status in ("infeasible", "refused")]
    if failed:
        passages.append(Passage("failed", "What cannot be had", bullets(failed)))
    return framed(_headline(found), passages)


_EXPLAINED = (
    "Safer to the right, costlier upwards. Full points are worth having: nothing is at least as safe and nowhere worse. Hollow "
    "ones are dominated. The line follows the cheapest point of every level."
)
_QUERIES = "The median relative error of COUNT queries that are answered from the release instead of the original."


def exploration_card(found: Exploration) -> str:
    """The first picture and the points worth having."""
    return card(_headline(found), picture(found, "loss"), _table(found, only_frontier=True))


def _headline(found: Exploration) -> Headline:
    published = [point for point in found.points if point.status == "published"]
    open_ones = sum(point.status == "not run" for point in found.points)
    lead = f"{found.records:,} records; {len(published)} certified releases, {len(found.frontier)} of them worth having."
    if open_ones:
        lead += f" {open_ones} points were not reached; explore again with the same folder to go on."
    figures = []
    if found.chosen is not None:
        best = found.points[found.chosen - 1]
        figures = [(f"number {found.chosen}", "keeps what was asked at least cost"), (str(best.variant), "its policy")]
        figures += [(f"{best.loss:.3f}", "loss")] if best.loss is not None else []
    return Headline("What privacy costs on this table", lead, tuple(figures), private=True, footer=_FOOTER)


def picture(found: Exploration, figure: str) -> Markup:
    """Every published point: levels along, a figure (`loss`, `query_error`) up, the frontier as a line."""
    published = [(number, point) for number, point in enumerate(found.points, 1) if point.status == "published"]
    shown = [(number, point, getattr(point, figure)) for number, point in published if getattr(point, figure) is not None]
    if not shown:
        return paragraph("No point has this figure.")
    order = sorted({(found.safety(point), level_text(point.variant.levels)) for _, point, _ in shown})
    step = {safety: place for place, (safety, _) in enumerate(order)}
    marks = [
        Mark(
            step[found.safety(point)],
            float(cost),
            _series(point),
            not point.dominated,
            f"{number}: {point.variant}, {cost:.4g}",
            number,
        )
        for number, point, cost in shown
    ]
    return scatter(marks, [text for _, text in order], title=f"{figure.replace('_', ' ')} at each level")


def _series(point: Point) -> str:
    rest = [f"without {', '.join(point.variant.without)}"] if point.variant.without else []
    rest += [f"{name} ≤ {depth}" for name, depth in point.variant.depths.items()]
    return " ".join([point.variant.method, *rest])


def _table(found: Exploration, *, only_frontier: bool = False) -> Markup:
    numbered = sorted(enumerate(found.points, 1), key=lambda pair: (found.safety(pair[1]), pair[0]))
    rows = [
        _row(number, point, found.chosen == number) for number, point in numbered if not only_frontier or point in found.frontier
    ]
    return table(_HEADER, rows)


def _row(number: int, point: Point, chosen: bool) -> tuple[object, ...]:
    state = "chosen" if chosen else "dominated" if point.dominated else "" if point.status == "published" else point.status
    shown = Markup('<span class="yes">chosen</span>') if chosen else state
    figures = [_figure(point.loss), _figure(point.query_error), "" if point.suppressed is None else f"{point.suppressed:.2%}"]
    return number, level_text(point.variant.levels), _series(point), *figures, f"{point.seconds:.1f}", shown


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
