"""``sfumato check``: read and plan, and say what would happen; rows are read to judge rules and to find what undoes a
release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ACCEPT_ROLES, EFFORT, READING, policy_of

if TYPE_CHECKING:
    from sfumato.core.effort import Effort
    from sfumato.workflow.plan import Plan


@click.command("check", context_settings=SETTINGS)
@click.argument("policy", type=click.Path())
@click.option("--ledger", type=click.Path(), help="Also show how earlier releases in this ledger restrict this one.")
@click.option("--since", type=click.Path(), help="Warn about schema changes since this release folder (databases).")
@click.option("--strict", is_flag=True, help="Exit with code 2 if any warning is not accepted by the policy.")
@click.option(
    "--picture", type=click.Path(), help="Write the privacy–utility curve as an SVG file (edge perturbation only)."
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Where publishing would process rows.",
)
@EFFORT
@click.option("--no-forecast", is_flag=True, help="Do not make the trial run that forecasts loss and columns.")
@ACCEPT_ROLES
@READING
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    policy: str,
    reading: tuple[str, ...],
    strict: bool,
    picture: str | None,
    as_json: bool,
    engine: str,
    accept_roles: bool,
    effort: Effort | None,
    no_forecast: bool,
    **known: str | None,
) -> None:
    """Validate POLICY and show which method would run and why. Reads the data, writes nothing.

    Where the source is a table in a file or a database its rows are read, to judge the rules under 'keep' and to look
    for columns that would undo the release; then it says so. A generalized table is published in a short trial run, to
    forecast what would be lost. Nothing is written."""
    from sfumato.ui.cli._output import print_columns, print_json, print_labelled, print_next
    from sfumato.workflow.forecast import forecast_publish

    read = policy_of(policy, reading, accept_roles, effort)
    foresight = forecast_publish(read, **known, elsewhere=engine == "spark", tried=not no_forecast)
    if picture is not None:
        _draw(foresight.plan, picture)
    if as_json:
        print_json(foresight.to_json())
    else:
        print_labelled(foresight.sentences(), [str(warning) for warning in foresight.warnings])
        if foresight.trial is not None:
            print_columns("Forecast", foresight.trial.summary)
        if foresight.options is not None:
            one = foresight.options
            share = f"{one.now.suppressed:.0%} of the rows, loss of the release {one.now.loss:.3g}"
            click.echo(f"What would bring {one.column} back (tried quickly on {one.records:,} records; now {share}):")
            for sentence in one.sentences():
                click.echo(f"  {sentence}")
        click.echo("Dry run: data read, nothing written." if foresight.reads_rows else "Dry run: nothing written.")
        print_next(f"sfumato publish {policy} --out DIR")
    ctx.exit(2 if strict and foresight.warnings else 0)


def _draw(plan: Plan, file: str) -> None:
    """Write the picture of the method, when it has one; what is there already is not written over."""
    from sfumato.core.errors import PolicyError

    drawn = plan.method.picture(plan.policy)
    if not drawn:
        raise PolicyError(
            f"{plan.method.name} has no picture", where="--picture", hint="graphs with edge-perturbation have one"
        )
    try:
        with open(file, "x", encoding="utf-8") as out:
            out.write(drawn)
    except FileExistsError:
        raise PolicyError(f"{file} exists already", where="--picture", hint="name another file") from None
