"""``sfumato risk``: how identifying a table is as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ENGINE, READING, settings_of


@click.command("risk", context_settings=SETTINGS)
@click.argument("source")
@click.option("--qi", default="", help="Quasi-identifiers, like age,sex,zip. Default: detected from names and values.")
@click.option("--sensitive", default="", help="Sensitive columns. Default: detected.")
@click.option("--person", default="", help="Columns that name a person who may have several rows.")
@click.option("--weights", help="Column of survey weights.")
@click.option(
    "--fraction", type=click.FloatRange(0, 1, min_open=True), help="Share of the population that is in the table."
)
@click.option("--population", help="File with the whole population and the same quasi-identifiers.")
@click.option(
    "--largest",
    type=click.IntRange(1, 5),
    default=3,
    show_default=True,
    help="Largest number of columns in a combination.",
)
@click.option("--out", type=click.Path(), help="Write a page with charts to this file.")
@click.option("--records", type=click.Path(), help="Write the risk of every record to this CSV file (mode 0600).")
@READING
@ENGINE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    source: str, qi: str, sensitive: str, out: str | None, records: str | None, as_json: bool, **options: Any
) -> None:
    """Measure the re-identification risk of the original table in SOURCE, which is a file, a URL or a policy.

    Of a policy the source and the roles of its columns are used. No row leaves this machine. The page and the records
    are as private as the table.
    """
    from sfumato.io.plain_files import replace_file
    from sfumato.ui.cli._options import engine_of, is_policy, policy_of
    from sfumato.ui.cli._output import print_json, print_next, print_sections
    from sfumato.workflow.risk.report import records_text, risk, sentences

    options["person"] = options["person"].split(",") if options["person"] else None
    options["read"] = settings_of(options.pop("reading"))
    options["engine"] = engine_of(options.pop("engine"), options.pop("master"))
    known, hidden = (text.split(",") if text else None for text in (qi, sensitive))
    drafted = is_policy(source)
    data: Any = source
    if drafted:
        policy = policy_of(source, ()).reading(options.pop("read"))
        data, options["read"] = policy.data.read(), None
        known, hidden = known or list(policy.quasi_identifiers) or None, hidden or list(policy.sensitive) or None
        if options["person"] is None and policy.person is not None:
            options["person"] = list(policy.person.columns)
    found = risk(data, known, sensitive=hidden, **options)
    if out is not None:
        replace_file(Path(out), found.page().encode(), private=True)
    if records is not None:
        replace_file(Path(records), records_text(found), private=True)
    if as_json:
        print_json(found.to_json())
        return
    print_sections(sentences(found))
    for path, what in ((out, "Page"), (records, "Risk of every record")):
        if path:
            click.echo(f"{what}: {path} (private)")
    print_next(f"sfumato check {source}" if drafted else f"sfumato discover {source} --out policy.yaml")
