"""The five questions about a release as HTML: for reports, the studio and notebooks. No scripts, nothing to load."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from sfumato.core.html.charts import dumbbell, share_bars
from sfumato.core.wording import count_text, percent_text
from sfumato.release.certificate import MARKS, Finding, State
from sfumato.release.summary import ColumnChange, OpenPoint, RiskChange, Summary, Verdict

_CHIP: dict[Verdict, str] = {"holds": "hold", "open": "warn", "nothing": "warn", "broken": "bad"}
_STATE: dict[State, tuple[str, str]] = {
    "holds": ("hold", "holds"),
    "violated": ("bad", "violated"),
    "error": ("bad", "error"),
    "not assessed": ("warn", "not assessed"),
    "measured": ("plain", "measured"),
    "warning": ("warn", "warning"),
}
_MOST_COLUMNS, _MOST_PROMISES = 6, 5
_CODE = re.compile(r"`([^`]+)`")


def headline_html(summary: Summary, level: int = 1) -> Markup:
    """The verdict as a chip, and the guarantee as a heading."""
    head = summary.headline
    points = len(summary.open_points)
    more = (
        Markup(' <span class="chip warn">! {}</span>').format(count_text(points, "open point"))
        if points
        else Markup("")
    )
    chip = Markup('<span class="chip {}">{} {}</span>').format(_CHIP[head.verdict], head.mark, head.label)
    return Markup("<p>{}{}</p><h{level}>{}</h{level}>").format(chip, more, head.sentence, level=level)


def summary_html(summary: Summary, *, details: str = "", limits: str = "", words: str = "") -> Markup:
    """The answers as cards, with the addresses of all findings, of the known limits and of what the words mean."""
    left = [
        ("What is promised, does it hold", _promised(summary, details, words)),
        ("What was lost", _lost(summary) if summary.lost else Markup("")),
    ]
    right = [
        ("Risk of re-identification", _risks(summary.risks) if summary.risks else Markup("")),
        ("What is not covered", _not_covered(summary, limits)),
        ("What next", _next(summary.next_steps) if summary.next_steps else Markup("")),
    ]
    cards = [Markup("").join(_card(title, body) for title, body in side if body) for side in (left, right)]
    return Markup('<div class="five"><div class="col">{}</div><div class="col">{}</div></div>').format(*cards)


def state_chip(finding: Finding) -> Markup:
    """A finding's state as a sign and a word."""
    style, word = _STATE[finding.state]
    return Markup('<span class="chip {}">{} {}</span>').format(style, MARKS[finding.state], word)


def coded(text: str) -> Markup:
    """A sentence with what stands between backticks as code.

    >>> str(coded("Set `publish: false` < now"))
    'Set <code>publish: false</code> &lt; now'
    """
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _card(title: str, body: Markup) -> Markup:
    return Markup('<section class="card"><h2 class="q">{}</h2>{}</section>').format(title, body)


def _promised(summary: Summary, details: str, words: str) -> Markup:
    shown: Sequence[Finding] = (*summary.violated, *summary.promised)
    row = Markup("<tr><td><b>{}</b><br>{}</td><td>{}</td></tr>")
    rows = Markup("").join(
        row.format(each.title, coded(each.sentence), state_chip(each)) for each in shown[:_MOST_PROMISES]
    )
    if len(shown) > _MOST_PROMISES:
        more = count_text(len(shown) - _MOST_PROMISES, "further requirement")
        rows += Markup('<tr><td colspan="2"><a href="{}">{}</a></td></tr>').format(details, more)
    table = (
        Markup('<table class="tight">{}</table>').format(rows)
        if shown
        else Markup("<p>No requirement about people is stated.</p>")
    )
    if summary.stopped:
        return table + Markup("<p>Nothing else was assessed.</p>")
    further = count_text(len(summary.passed), "further check" if shown else "check")
    link = (
        Markup('<a href="{}">{} passed</a>').format(details, further)
        if details
        else Markup("{} passed").format(further)
    )
    meaning = Markup(' <a href="{}">What the words mean</a>').format(words) if words else Markup("")
    return table + Markup('<p class="soft">✓ {}, recomputed from the published files.{}</p>').format(link, meaning)


def _risks(risks: Iterable[RiskChange]) -> Markup:
    rows = [(risk.name, risk.before, risk.after) for risk in risks]
    limit = next((risk.promised for risk in risks if risk.promised is not None), None)
    return dumbbell(rows, limit, title="Risk of re-identification", axis="probability of finding the right record")


def _lost(summary: Summary) -> Markup:
    told = Markup("").join(Markup("<p>{}</p>").format(coded(line)) for line in summary.lost)
    shown = sorted(summary.columns, key=lambda column: -(column.loss or 0.0))[:_MOST_COLUMNS]
    if not shown:
        return told
    rows = [
        (column.name, column.loss or 0.0, f"{column.name}: {percent_text(column.loss or 0.0)} of its range")
        for column in shown
    ]
    chart = share_bars(
        rows,
        title="Information loss per column",
        axis="share of its range that a cell gives up (0 % exact, 100 % nothing left)",
    )
    return told + chart + _table_of_columns(summary.columns)


def _table_of_columns(columns: Sequence[ColumnChange]) -> Markup:
    row = Markup("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>")
    rows = Markup("").join(
        row.format(
            column.name,
            percent_text(column.unchanged),
            percent_text(column.generalized),
            percent_text(column.suppressed),
            ", ".join(f"{level} {percent_text(share)}" for level, share in column.levels) or "—",
        )
        for column in columns
    )
    head = Markup(
        "<tr><th>column</th><th>unchanged</th><th>generalized</th><th>suppressed</th><th>generalized to</th></tr>"
    )
    return Markup(
        "<details><summary>Cells per column</summary>"
        '<div class="scroll" tabindex="0" role="group" aria-label="Cells per column">'
        "<table>{}{}</table></div></details>"
    ).format(head, rows)


def _not_covered(summary: Summary, address: str) -> Markup:
    points = Markup("").join(map(_point, (*summary.open_points, *summary.accepted)))
    names = ", ".join(limit.name.replace("-", " ") for limit in summary.limits)
    listed = Markup('<a href="{}">{}</a>').format(address, "Known limits") if address else Markup("Known limits")
    limits = Markup('<p class="soft">{}: {}.</p>').format(listed, names) if names else Markup("")
    return (
        Markup('<ul class="points">{}</ul>').format(points) + limits
        if points
        else limits or Markup("<p>No open point was found.</p>")
    )


def _point(point: OpenPoint) -> Markup:
    """A point with its figure, and what can be done or who accepts it."""
    if point.accepted is not None:
        told = (
            f"Accepted by {point.accepted.by}: {point.accepted.reason}" if point.accepted.by else point.accepted.reason
        )
        sign = Markup('<span class="chip plain">accepted</span>')
        return Markup('<li>{} <span>{}<br><span class="soft">{}</span></span></li>').format(
            sign, coded(point.text), told
        )
    sign = Markup('<span class="chip warn">! {}</span>').format(point.figure)
    advice = Markup('<br><span class="soft">→ {}</span>').format(coded(point.advice)) if point.advice else Markup("")
    return Markup("<li>{} <span>{}{}</span></li>").format(sign, coded(point.text), advice)


def _next(steps: Sequence[str]) -> Markup:
    return Markup("<ol>{}</ol>").format(Markup("").join(Markup("<li>{}</li>").format(coded(step)) for step in steps))
