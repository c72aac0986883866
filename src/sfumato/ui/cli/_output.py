"""What commands show people: findings, figures, progress on a terminal, JSON for scripts."""

from __future__ import annotations

import json
import re
import signal
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from sfumato.core.wording import count_text, join_names, number_text, percent_text
from sfumato.release.certificate import MARKS, Finding, KnownAttack, State
from sfumato.release.method import Progress, no_progress
from sfumato.release.summary import ColumnChange, Summary


def print_json(tree: Any) -> None:
    """One JSON document on stdout and nothing else."""
    click.echo(json.dumps(tree, indent=1, ensure_ascii=False))


WIDTH = 100
"""Columns that output is wrapped at."""
_COLORS = {"✓": "green", "✗": "red", "!": "yellow", "?": "yellow"}
_LABEL = 13
_TITLE = 24


def print_findings(findings: Iterable[Finding], verbose: bool = True) -> None:
    """One line per finding: mark, title, sentence; what only holds is counted unless all of it is wanted."""
    for line in findings_lines(list(findings), verbose):
        click.echo(line)


def findings_lines(findings: Sequence[Finding], verbose: bool = True) -> Iterator[str]:
    """Findings as lines: violated ones first, then warnings, then the rest."""
    order: Sequence[State] = ("violated", "error", "warning", "not assessed", "holds", "measured")
    shown = [finding for state in order for finding in findings if finding.state == state]
    folded = [] if verbose else [finding for finding in shown if finding.state == "holds"]
    for finding in shown:
        if finding not in folded:
            yield from _entry(MARKS[finding.state], finding.title, finding.sentence, finding.advice, indent=2)
    if folded:
        yield f"  {_mark('✓')} {count_text(len(folded), 'check')} passed (--verbose lists them)"


def print_summary(summary: Summary, *, verbose: bool = False, brief: bool = False) -> None:
    """The answers to the five questions; `brief` leaves the table of columns out."""
    for line in summary_lines(summary, verbose=verbose, brief=brief):
        click.echo(line)


def summary_lines(summary: Summary, *, verbose: bool = False, brief: bool = False) -> Iterator[str]:
    """The five questions as lines of at most `WIDTH` columns."""
    head = summary.headline
    yield f"{_mark(head.mark)} {click.style(head.label + '.', bold=True)}"
    if head.verdict != "broken":
        yield from _wrapped(head.sentence, 2)
    for finding in summary.violated:
        yield from _entry("✗", finding.title, finding.sentence, finding.advice, indent=2)
    if summary.stopped:
        yield "  Nothing else was assessed."
        yield from _block("Next", summary.next_steps)
        return
    yield from _promised(summary, verbose)
    yield from _block("Lost", summary.lost[:1] if brief else summary.lost)
    if not brief:
        yield from _columns(summary.columns)
        yield from _risks(summary)
    yield from _not_covered(summary, verbose, advise=not brief)
    yield from _block("Next", summary.next_steps)


def print_columns(label: str, summary: Summary) -> None:
    """What was lost, in sentences and column by column."""
    for line in (*_block(label, summary.lost), *_columns(summary.columns)):
        click.echo(line)


def _promised(summary: Summary, verbose: bool) -> Iterator[str]:
    label = "Promised"
    for finding in summary.promised:
        yield from _entry(MARKS[finding.state], finding.title, finding.sentence, "", indent=_LABEL, label=label)
        label = ""
    label = "Checked"
    for finding in summary.further if verbose else ():
        yield from _entry(MARKS[finding.state], finding.title, finding.sentence, "", indent=_LABEL, label=label)
        label = ""
    if summary.passed and not verbose:
        further = "further check" if summary.promised else "check"
        yield f"{label:<{_LABEL}}{_mark('✓')} {count_text(len(summary.passed), further)} passed (--verbose lists them)"


def _columns(columns: Sequence[ColumnChange]) -> Iterator[str]:
    if not columns:
        return
    wide = max(12, *(len(column.name) for column in columns)) + 2
    worst = max(columns, key=lambda column: column.loss or 0.0)
    yield f"{'':<{_LABEL}}{'':<{wide}}{'unchanged':>10}{'suppressed':>12}   generalized"
    for column in columns:
        levels = ", ".join(f"{level} {percent_text(share)}" for level, share in column.levels)
        most = "   ← lost most" if column is worst and len(columns) > 1 and (column.loss or 0) > 0 else ""
        shares = f"{percent_text(column.unchanged):>10}{percent_text(column.suppressed):>12}"
        yield f"{'':<{_LABEL}}{column.name:<{wide}}{shares}   {levels or '—'}{most}".rstrip()


def _risks(summary: Summary) -> Iterator[str]:
    label = "Risk"
    for risk in summary.risks:
        before = f"{percent_text(risk.before)} → " if risk.before is not None else ""
        promised = f" (promised: at most {percent_text(risk.promised)})" if risk.promised is not None else ""
        yield f"{label:<{_LABEL}}Re-identification, {risk.name}: {before}{percent_text(risk.after)}{promised}"
        label = ""


def _not_covered(summary: Summary, verbose: bool, *, advise: bool) -> Iterator[str]:
    label = "Not covered"
    for point in summary.open_points:
        yield from _entry(
            "!", "", point.text, point.advice if advise else "", indent=_LABEL, label=label, shade="yellow"
        )
        if advise and verbose and point.acceptance:
            yield from _wrapped(f"accept: {point.acceptance}", _LABEL + 2)
        label = ""
    if advise and not verbose and any(point.acceptance for point in summary.open_points):
        yield f"{'':<{_LABEL}}(--verbose shows the line under `accept:` with which a point is accepted)"
    for point in summary.accepted:
        told = point.accepted
        by = f"Accepted by {told.by}: {told.reason}" if told and told.by else f"Accepted: {told.reason}" if told else ""
        yield from _entry("·", "", point.text, by, indent=_LABEL, label=label)
        label = ""
    if not summary.limits:
        return
    if verbose:
        for limit in summary.limits:
            yield from _entry("·", limit.name, limit.applies, "", indent=_LABEL, label=label)
            label = ""
        return
    names = join_names([limit.name for limit in summary.limits])
    yield from _wrapped(f"Known limits: {names} (--verbose explains them)", _LABEL, label)


def _block(label: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield from _wrapped(line, _LABEL, label)
        label = ""


def _entry(
    mark: str, title: str, text: str, advice: str, *, indent: int, label: str = "", shade: str | None = None
) -> Iterator[str]:
    """A mark, a title in a column of its own, and a sentence with a hanging indent; advice on a line below."""
    name = f"{title:<{_TITLE - 1}} " if title else ""
    hang = indent + 2 + len(name)
    lines = textwrap.wrap(text, WIDTH - hang, break_long_words=False, break_on_hyphens=False) or [""]
    lines = [click.style(line, fg=shade) if shade else line for line in lines]
    yield f"{label:<{indent}}{_mark(mark)} {name}{lines[0]}".rstrip()
    yield from (" " * hang + line for line in lines[1:])
    if advice:
        yield from _wrapped(f"→ {advice}", hang)


def _wrapped(text: str, indent: int, label: str = "") -> Iterator[str]:
    lines = textwrap.wrap(text, WIDTH - indent, break_long_words=False, break_on_hyphens=False) or [""]
    yield f"{label:<{indent}}{lines[0]}"
    yield from (" " * indent + line for line in lines[1:])


def _mark(mark: str) -> str:
    return click.style(mark, fg=_COLORS[mark]) if mark in _COLORS else mark


def print_attacks(attacks: Iterable[KnownAttack]) -> None:
    """What a release does not protect against, one entry each; nothing when there is nothing to say."""
    for number, attack in enumerate(attacks):
        if not number:
            click.echo("Known limits:")
        for line in _entry("·", attack.name, attack.applies, "", indent=2):
            click.echo(line)


def print_sections(sections: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Headings with wrapped lines below them."""
    for heading, lines in sections:
        for number, line in enumerate(textwrap.wrap(heading, WIDTH)):
            click.echo(click.style("  " * bool(number) + line, bold=True))
        for line in lines:
            hang = 2 + _HANG.match(line).end() if _HANG.match(line) else 4  # type: ignore[union-attr]
            for text in textwrap.wrap(line, WIDTH, initial_indent="  ", subsequent_indent=" " * hang, **_WHOLE):
                click.echo(text)


def print_labelled(sentences: Iterable[str], warnings: Sequence[str] = ()) -> None:
    """Sentences with what they are about in a column of its own; warnings in yellow; wrapped on a terminal only, so
    that scripts find sentences whole."""
    wide = WIDTH if sys.stdout.isatty() else 1 << 20
    for warning in warnings:
        for line in textwrap.wrap(f"warning: {warning}", wide, subsequent_indent=" " * 9, **_WHOLE):
            click.echo(click.style(line, fg="yellow"))
    before = ""
    for sentence in sentences:
        label, sign, rest = sentence.partition(": ")
        about, text = (_LABELLED[label], rest) if sign and label in _LABELLED else ("", sentence)
        start = f"{'' if about == before else about:<{_LABEL}}" if about else ""
        for line in textwrap.wrap(
            start + text, wide, subsequent_indent=" " * len(start), drop_whitespace=True, **_WHOLE
        ):
            click.echo(line)
        before = about


_LABELLED = {"method": "Method", "promise": "Promised", "effort": "Effort", "expected loss": "Loss"}
"""What sentences of a plan are about, and how the command line calls it."""


def print_next(*commands: str) -> None:
    """The commands to go on with."""
    for number, command in enumerate(commands):
        click.echo(f"{'Next:' if not number else '     '} {command}")


def print_utility(figures: Mapping[str, Any], words: Mapping[str, tuple[str, str]]) -> None:
    """Each figure with its title, its one-line meaning and its key."""
    wide = max([len(words.get(name, (name, ""))[0]) for name in figures] + [0]) + 2
    for name, value in figures.items():
        title, meaning = words.get(name, (_plain(name), ""))
        nested = isinstance(value, Mapping)
        told = "" if nested else figure_text(name, value)
        hang = 2 + wide + 10
        lines = textwrap.wrap(f"{meaning} ({name})", WIDTH - hang, **_WHOLE)
        click.echo(f"  {title:<{wide}}{told:>8}  {lines[0]}".rstrip())
        for line in lines[1:]:
            click.echo(" " * hang + line)
        if nested:
            print_figures(value, "    ", name)


def print_figures(figures: Mapping[str, Any], indent: str = "  ", about: str = "") -> None:
    """Name and value, one per line; `about` names the figure that these belong to."""
    width = max((len(_plain(name)) for name in figures), default=0)
    for name, value in figures.items():
        if isinstance(value, Mapping):
            click.echo(f"{indent}{_plain(name)}")
            print_figures(value, indent + "  ", f"{about} {name}")
        elif isinstance(value, list | tuple) and value and all(isinstance(entry, Mapping) for entry in value):
            click.echo(f"{indent}{_plain(name)}")
            for entry in value:
                print_figures(entry, indent + "  ")
        else:
            click.echo(f"{indent}{_plain(name):<{width}}  {figure_text(f'{about} {name}', value)}")


def figure_text(name: str, value: Any) -> str:
    """A figure for people: shares and probabilities in percent.

    >>> figure_text("chance_to_find", 0.2), figure_text("people", 3000), figure_text("loss", 0.1107)
    ('20 %', '3,000', '0.1107')
    """
    if isinstance(value, list | tuple):
        return ", ".join(figure_text(name, entry) for entry in value) or "none"
    if isinstance(value, float) and 0 <= value <= 1 and any(word in name for word in _SHARES):
        return percent_text(value)
    return "none" if value is None else number_text(value)


_SHARES = ("chance", "share", "probability", "rate", "_error", "guess", "success", "found")
_WHOLE: Mapping[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
_HANG = re.compile(r"\S+(?: \S+)* {3,}|· ")
"""A name in a column of its own, or a mark, before the text that is wrapped."""


def _plain(name: str) -> str:
    return str(name).replace("_", " ")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the first Ctrl-C end searches with the best result so far, and the second one stop the command."""
    from sfumato.core.effort import take_on_request

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with take_on_request() as take:
        before = signal.getsignal(signal.SIGINT)

        def interrupted(number: int, frame: Any) -> None:
            signal.signal(signal.SIGINT, before)
            take()
            click.echo("taking the best result so far; press Ctrl-C again to stop without one", err=True)

        signal.signal(signal.SIGINT, interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on a terminal; silent when piped."""
    if quiet or not sys.stderr.isatty():
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("starting", total=1.0)
        yield lambda done, what: bar.update(line, completed=done, description=what)
