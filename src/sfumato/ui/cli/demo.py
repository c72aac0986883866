"""``sfumato demo``: a complete embedded example."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from sfumato.ui.cli import SETTINGS


@click.command("demo", context_settings=SETTINGS)
@click.option("--scenario", default="hospital", show_default=True, help="Example to run.")
@click.option("--out", type=click.Path(), help="Output folder (default: a temporary folder).")
def command(scenario: str, out: str | None) -> None:
    """Run an example: make data, publish and verify a release, and write its reports."""
    from sfumato.core.registry import find
    from sfumato.ui.cli._output import progress_bar
    from sfumato.ui.demos.scenario import Scenario

    chosen = find("demos", Scenario, scenario)()
    folder = Path(out) if out else Path(tempfile.mkdtemp(prefix="sfumato-demo-"))
    click.echo(click.style(chosen.title, bold=True))
    with progress_bar() as progress:
        report = chosen.play(folder, click.echo, progress)
    click.echo(f"Report: {report}")
