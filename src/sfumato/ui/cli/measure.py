"""``sfumato measure``: how useful a release is."""

from __future__ import annotations

from typing import Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ENGINE, READING


@click.command("measure", context_settings=SETTINGS)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--original", required=True, help="The original data.")
@click.option(
    "--queries", type=click.IntRange(1), default=200, show_default=True, help="COUNT queries in the workload."
)
@click.option(
    "--dimension", type=click.IntRange(1), default=2, show_default=True, help="Columns each query asks about."
)
@click.option(
    "--selectivity", type=click.FloatRange(0, 1), default=0.1, show_default=True, help="Share that qualifies."
)
@click.option(
    "--percentage", type=click.FloatRange(0, 1), help="Share of each column's values a query accepts (sub-tables)."
)
@click.option("--analysis", is_flag=True, help="Also means, correlations and distances of distributions and pairs.")
@click.option("--predict", help="Also train models on the release that predict this column, judged on original rows.")
@click.option("--held-out", help="Rows that are in no training data, for --predict.")
@READING
@ENGINE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folder: str, original: str, as_json: bool, engine: str, master: str | None, **asked: Any) -> None:
    """Measure the utility of the release in DIR against the original, by all metrics that apply."""
    from sfumato.ui.cli._options import engine_of, original_of
    from sfumato.ui.cli._output import print_figures, print_json
    from sfumato.workflow.measure import measure

    given = original_of(folder, original, asked.pop("reading"))
    figures = measure(folder, original=given, parameters=asked, engine=engine_of(engine, master))
    (print_json if as_json else print_figures)(figures)
