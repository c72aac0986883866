"""``sfumato query``: COUNT queries answered from a release folder alone."""

from __future__ import annotations

import click

from sfumato.cli import SETTINGS


@click.command("query", context_settings=SETTINGS)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.argument("question")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folder: str, question: str, as_json: bool) -> None:
    """Answer QUESTION, like "count where age in (37, 55) and race = white", from the published files in DIR."""
    from sfumato.cli._show import print_json
    from sfumato.estimation import estimate

    answering = estimate(folder)
    count = answering.count(question)
    if as_json:
        print_json({"count": count, "of": answering.people})
    else:
        click.echo(f"{count:.6g} of {answering.people:,} people (estimate)")
