"""``sfumato report``: the page that shows a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato.ui.cli import SETTINGS


@click.command("report", context_settings=SETTINGS)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--original", help="Original data. Write the data holder's private report instead.")
@click.option("--out", type=click.Path(), help="File for the private report, outside of DIR.")
@click.option("--analysis", is_flag=True, help="Private report: also compare pairs of columns.")
@click.option("--predict", help="Private report: also train models that predict this column.")
@click.option("--held-out", help="File with rows that are not in the training data, for --predict.")
@click.option("--json", "as_json", is_flag=True, help="Print the path and the figures of every chart as JSON.")
def command(folder: str, original: str | None, out: str | None, as_json: bool, **asked: Any) -> None:
    """Write one self-contained page about the release in DIR.

    Without the original it says only what the published files say (DIR/report.html). With --original it is the data
    holder's private report, written to --out. A certificate that does not agree with the published files is not
    printed."""
    from sfumato.core.html.charts import figures_of_page
    from sfumato.ui.cli._output import print_json, print_next
    from sfumato.workflow.report import write_report

    if original is None and any(asked.values()):
        raise click.UsageError("--analysis, --predict and --held-out need --original: they compare the release with it")
    page = write_report(Path(folder), original, Path(out) if out else None, **asked)
    if as_json:
        print_json({"report": str(page), "charts": figures_of_page(page.read_text(encoding="utf-8"))})
        return
    click.echo(f"Report: {page}")
    print_next(f"sfumato verify {folder}")
