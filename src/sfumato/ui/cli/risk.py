"""``sfumato risk``: how identifying a table is as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ENGINE, READING, settings_of

if TYPE_CHECKING:
    from sfumato.workflow.risk.report import RiskReport


@click.command("risk", context_settings=SETTINGS)
@click.argument("source")
@click.option("--qi", default="", help="The quasi-identifiers, like age,sex,zip; without them names and looks decide.")
@click.option("--sensitive", default="", help="Columns whose spread over the classes is measured.")
@click.option("--person", default="", help="The columns that name a person, who may stand in several rows.")
@click.option("--weights", help="A column of survey weights.")
@click.option(
    "--fraction", type=click.FloatRange(0, 1, min_open=True), help="The share of the population that the table holds."
)
@click.option("--population", help="The population itself, a file with the same quasi-identifiers.")
@click.option(
    "--largest", type=click.IntRange(1, 5), default=3, show_default=True, help="Columns in a combination, at most."
)
@click.option("--out", type=click.Path(), help="Write the page with pictures here.")
@click.option("--records", type=click.Path(), help="Write the risk of every record here (CSV), readable by you alone.")
@READING
@ENGINE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    source: str, qi: str, sensitive: str, out: str | None, records: str | None, as_json: bool, **options: Any
) -> None:
    """Say how identifying the table in SOURCE is as it stands: who is at risk, by which columns, and for whom.

    No policy is needed and no row leaves the machine. What is written (page, records) is as private as the table.
    """
    from sfumato.io.plain_files import replace_file
    from sfumato.ui.cli._options import engine_of
    from sfumato.ui.cli._output import print_json
    from sfumato.workflow.risk.report import records_text, risk

    options["person"] = options["person"].split(",") if options["person"] else None
    options["read"] = settings_of(options.pop("reading"))
    options["engine"] = engine_of(options.pop("engine"), options.pop("master"))
    found = risk(
        source, qi.split(",") if qi else None, sensitive=sensitive.split(",") if sensitive else None, **options
    )
    if out is not None:
        replace_file(Path(out), found.page().encode(), private=True)
    if records is not None:
        replace_file(Path(records), records_text(found), private=True)
    if as_json:
        print_json(found.to_json())
        return
    _show(found)
    for path, what in ((out, "page"), (records, "risk of every record")):
        if path:
            click.echo(f"{what}: {path} (private)")


def _show(found: RiskReport) -> None:
    from sfumato.workflow.risk.report import sentences

    for heading, lines in sentences(found):
        click.echo(click.style(heading, bold=True))
        for line in lines:
            click.echo(f"  {line}")
