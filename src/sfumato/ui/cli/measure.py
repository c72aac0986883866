"""``sfumato measure``: how useful a release is."""

from __future__ import annotations

from typing import Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ENGINE, READING


@click.command("measure", context_settings=SETTINGS)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--original", required=True, help="Original data, or the policy that names it.")
@click.option(
    "--queries", type=click.IntRange(1), default=200, show_default=True, help="Number of random COUNT queries."
)
@click.option(
    "--dimension", type=click.IntRange(1), default=2, show_default=True, help="Number of columns in each query."
)
@click.option(
    "--selectivity",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="Share of the records that a query selects.",
)
@click.option(
    "--percentage",
    type=click.FloatRange(0, 1),
    help="Share of the values of each column that a query accepts (sub-tables).",
)
@click.option("--analysis", is_flag=True, help="Also compare means, correlations, distributions and pairs of columns.")
@click.option(
    "--predict", help="Also train models on the release that predict this column, and test them on original rows."
)
@click.option("--held-out", help="File with rows that are not in the training data, for --predict.")
@READING
@ENGINE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folder: str, original: str, as_json: bool, engine: str, master: str | None, **asked: Any) -> None:
    """Measure the utility of the release in DIR against the original, by all metrics that apply."""
    from sfumato.ui.cli._options import engine_of, original_of
    from sfumato.ui.cli._output import print_json, print_next, print_utility
    from sfumato.workflow.measure import measure

    given = original_of(folder, original, asked.pop("reading"))
    figures = measure(folder, original=given, parameters=asked, engine=engine_of(engine, master))
    if as_json:
        print_json(figures)
        return
    click.echo(click.style(f"Utility of {folder} against the original", bold=True))
    print_utility(figures, figures.words)
    print_next(f"sfumato report {folder} --original {original} shows the same as charts.")
