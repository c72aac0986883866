"""What commands show people: findings, figures, progress on a terminal, JSON for scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from sfumato.release.certificate import Finding, KnownAttack
from sfumato.release.method import Progress, no_progress


def print_json(tree: Any) -> None:
    """One JSON document on stdout and nothing else."""
    click.echo(json.dumps(tree, indent=1, ensure_ascii=False))


def print_findings(findings: Iterable[Finding]) -> None:
    """One line per finding: mark, name, level, reason."""
    for finding in findings:
        mark = _mark(finding)
        level = ", ".join(f"{key} {_number(value)}" for key, value in finding.achieved.items())
        asked = ", ".join(f"{key} {_number(value)}" for key, value in finding.required.items())
        detail = f"{level} (asked: {asked})" if asked else level
        hidden = f" hiding {', '.join(finding.hide)}" if finding.hide else ""
        click.echo(f"  {mark} {finding.model}{hidden}: {detail}" + (f" — {finding.reason}" if finding.reason else ""))


def print_attacks(attacks: Iterable[KnownAttack]) -> None:
    """What a release does not protect against, one line each; nothing when there is nothing to say."""
    for number, attack in enumerate(attacks):
        if not number:
            click.echo("what this does not protect against:")
        click.echo(f"  · {attack.name}: {attack.applies}")


def _mark(finding: Finding) -> str:
    if finding.holds and not finding.judged:
        return click.style("?" if finding.open else "·", fg="yellow")
    return click.style("✓", fg="green") if finding.holds else click.style("✗", fg="red")


def print_figures(figures: Mapping[str, Any], indent: str = "  ") -> None:
    """Name and value, one per line."""
    width = max((len(name) for name in figures), default=0)
    for name, value in figures.items():
        if isinstance(value, Mapping):
            click.echo(f"{indent}{name}")
            print_figures(value, indent + "  ")
        else:
            click.echo(f"{indent}{name:<{width}}  {_number(value)}")


def _number(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


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
