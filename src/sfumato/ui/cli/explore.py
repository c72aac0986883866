"""``sfumato explore``: what levels and methods cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ACCEPT_ROLES, EFFORT, READING, policy_of

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy
    from sfumato.workflow.explore.exploration import Exploration


@click.command("explore", context_settings=SETTINGS)
@click.argument("policy", type=click.Path())
@click.option("--data", help="Read the data from this file or URL instead of the policy's source.")
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="NAME=A,B",
    help="Try these values of a level, like k=3,5,10. Repeatable.",
)
@click.option(
    "--method", "methods", multiple=True, help="Try this method. Repeatable. Default: all that can and are fast."
)
@click.option("--without", multiple=True, metavar="A,B", help="Also try without these columns. Repeatable.")
@click.option(
    "--depth",
    "depths",
    multiple=True,
    metavar="COLUMN=A,B",
    help="Try these limits on the hierarchy levels of a column.",
)
@click.option(
    "--budget",
    type=click.FloatRange(0),
    help="Time limit in seconds. No setting is started after it. Default: 30, 120 or 600, by the effort.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Number of parallel workers.")
@click.option(
    "--out",
    type=click.Path(),
    help="Folder for the page, the results and the chosen policy. A second run continues there.",
)
@click.option(
    "--choose", type=click.IntRange(1), help="Write the policy of this line instead of the one with the lowest loss."
)
@click.option(
    "--numbers",
    is_flag=True,
    help="Compare walk, noise, swapping and microaggregation on the columns of numbers instead.",
)
@click.option(
    "--risk",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="With --numbers: share of the rows that may be found.",
)
@EFFORT
@ACCEPT_ROLES
@READING
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(policy: str, data: str | None, out: str | None, choose: int | None, as_json: bool, **options: Any) -> None:
    """Compare privacy and utility of POLICY for several levels and methods, and on request for fewer columns.

    Every line is a certified release that is not kept. With --out the page (explore.html), the results and the chosen
    policy (chosen.yaml) are written. With --numbers the columns of numbers are changed by four methods, each as little
    as --risk allows."""
    from sfumato.ui.cli._output import print_json, progress_bar
    from sfumato.workflow.explore.exploration import parse_sweep, write_exploration
    from sfumato.workflow.explore.explore import explore

    numbers, risk, reading = options.pop("numbers"), options.pop("risk"), options.pop("reading")
    varied = policy_of(policy, reading, options.pop("accept_roles"), options.pop("effort"))
    if numbers:
        _numbers(varied, data, risk, options["budget"], as_json=as_json)
        return
    sweep = parse_sweep(*(options.pop(key) for key in ("levels", "methods", "without", "depths")))
    with progress_bar(quiet=as_json) as progress:
        found = explore(varied, data, sweep=sweep, folder=out, progress=progress, **options)
    written = {} if out is None else write_exploration(found, Path(out), choose)
    if as_json:
        print_json(
            found.to_json() | ({"written": {name: str(path) for name, path in written.items()}} if written else {})
        )
    else:
        _show(found, written, policy)
    if found.stopped:
        raise click.Abort


def _numbers(policy: Policy, data: str | None, risk: float, budget: float | None, *, as_json: bool) -> None:
    from sfumato.ui.cli._output import print_json, progress_bar
    from sfumato.workflow.explore.numeric_methods import explore_numbers

    with progress_bar(quiet=as_json) as progress:
        trials = explore_numbers(policy, data, risk=risk, budget=budget, progress=progress)
    if as_json:
        print_json({"risk": risk, "methods": [trial.to_json() for trial in trials]})
        return
    for trial in trials:
        click.echo(f"  {trial}")
    click.echo("  · risk: rows that an adversary who knows all original numbers finds; spread 1 is right, the")
    click.echo("    others are errors")


def _show(found: Exploration, written: dict[str, Path], policy: str) -> None:
    from sfumato.ui.cli._output import print_next
    from sfumato.workflow.explore.exploration import exploration_lines

    for line in exploration_lines(found):
        shade: dict[str, Any] = {"dim": True} if line.endswith("  dominated") else {"bold": line.endswith("  chosen")}
        click.echo(click.style(line, **shade))
    for name, path in written.items():
        click.echo(f"{name.capitalize()}: {path}")
    chosen = written.get("policy")
    print_next(
        f"sfumato publish {chosen} --out DIR" if chosen else f"sfumato explore {policy} --out FOLDER keeps the choice."
    )
