"""``sfumato report``: the page that shows a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato.ui.cli import SETTINGS


@click.command("report", context_settings=SETTINGS)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--original", help="The original data: writes the data holder's private report instead.")
@click.option("--out", type=click.Path(), help="Where the private report goes; never into DIR.")
@click.option("--analysis", is_flag=True, help="In the private report also distances of pairs of columns.")
@click.option("--predict", help="In the private report also models trained on the release that predict this column.")
@click.option("--held-out", help="Rows that are in no training data, for --predict.")
def command(folder: str, original: str | None, out: str | None, **asked: Any) -> None:
    """Write one self-contained page about the release in DIR.

    Without the original it says only what the published files say (DIR/report.html). With --original it is the data
    holder's private report, written to --out. A certificate that does not agree with the published files is not
    printed."""
    from sfumato.workflow.report import write_report

    if original is None and any(asked.values()):
        raise click.UsageError("--analysis, --predict and --held-out need --original: they compare the release with it")
    page = write_report(Path(folder), original, Path(out) if out else None, **asked)
    click.echo(f"report: {page}")
