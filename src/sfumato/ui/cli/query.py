"""``sfumato query``: COUNT queries answered from a release folder alone."""

from __future__ import annotations

import click

from sfumato.ui.cli import SETTINGS


@click.command("query", context_settings=SETTINGS)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.argument("question")
@click.option("--weighted", is_flag=True, help="Count people of the population, by the published survey weights.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folder: str, question: str, weighted: bool, as_json: bool) -> None:
    """Answer QUESTION, like "count where age in (37, 55) and race = white", from the published files in DIR.

    Baskets are asked "count where items has tea and items lacks soap and creed = x" and answered with bounds.
    """
    from sfumato.ui.cli._output import print_json
    from sfumato.workflow.estimate import basket_answer, estimate

    counted = basket_answer(folder, question)
    if counted is not None:
        found, records = counted
        if as_json:
            print_json({"count": found.estimate, "low": found.low, "high": found.high, "of": records})
        else:
            click.echo(f"{found.estimate:,} of {records:,} records (between {found.low:,} and {found.high:,})")
        return
    answering = estimate(folder)
    count = answering.count(question, weighted=weighted)
    people = answering.count({}, weighted=True) if weighted else answering.people
    word = "people" if weighted else answering.policy.record_word
    if as_json:
        print_json({"count": count, "of": people})
    else:
        click.echo(f"About {count:,.6g} of {people:,.10g} {word} (estimate from the published files)")
