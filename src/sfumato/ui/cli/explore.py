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
@click.option("--data", help="Take the data from here instead of the policy's source.")
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="NAME=A,B",
    help="A level and its values, like k=3,5,10; may be repeated.",
)
@click.option(
    "--method", "methods", multiple=True, help="A method to try; may be repeated. Default: all that are able and fast."
)
@click.option("--without", multiple=True, metavar="A,B", help="Also try without these columns; may be repeated.")
@click.option(
    "--depth", "depths", multiple=True, metavar="COLUMN=A,B", help="How many levels of its hierarchy a column may rise."
)
@click.option(
    "--budget",
    type=click.FloatRange(0),
    help="Seconds; no point is begun after them. Default: 30, 120 or 600 for a quick, balanced or thorough effort.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="How many processes.")
@click.option(
    "--out",
    type=click.Path(),
    help="Folder for the page, the points, and the chosen policy; goes on where it was stopped.",
)
@click.option(
    "--choose", type=click.IntRange(1), help="The number of the point to write as a policy, instead of the cheapest."
)
@click.option(
    "--numbers",
    is_flag=True,
    help="Compare walk, noise, swapping and microaggregation on the columns of numbers instead.",
)
@click.option(
    "--risk", type=click.FloatRange(0, 1), default=0.05, show_default=True, help="With --numbers: share of rows found."
)
@EFFORT
@ACCEPT_ROLES
@READING
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(policy: str, data: str | None, out: str | None, choose: int | None, as_json: bool, **options: Any) -> None:
    """Vary POLICY (levels, methods, and if asked columns and hierarchy depths) and show privacy against loss and query
    error.

    Every point is a certified release that is kept nowhere. Dominated points are marked. With --out the page
    (explore.html), the finished points and the chosen policy (chosen.yaml) are written; calling it again goes on where
    it was stopped. With --numbers the columns of numbers are changed in four ways, each as little as --risk allows, and
    what they are still good for is told."""
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
        _show(found, written)
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
    click.echo("  · risk: rows found by whoever knows all original numbers; spread 1 is right, the others are errors")


def _show(found: Exploration, written: dict[str, Path]) -> None:
    from sfumato.workflow.explore.exploration import exploration_lines

    for line in exploration_lines(found):
        click.echo(line)
    for name, path in written.items():
        click.echo(f"{name}: {path}")
