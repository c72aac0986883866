"""``sfumato discover``: what data suggests for its policy."""

from __future__ import annotations

from typing import Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import READING, settings_of


@click.command("discover", context_settings=SETTINGS)
@click.argument("source")
@click.option("--policy", type=click.Path(), help="Compare with this policy and warn about what it overlooks.")
@click.option("--table", default="", help="Only this table, when SOURCE is a database.")
@click.option("--schema", default="", help="The PostgreSQL schema of the tables, when it is not the user's own.")
@click.option("--target", default="", help="Write this URL into the policy as the test database to load.")
@click.option(
    "--mode",
    type=click.Choice(["create", "fill", "clone"]),
    help="How the target gets its tables; without it a clone, where both databases are of one kind.",
)
@click.option("--most-rows", "most", type=click.IntRange(1_000), help="Of larger tables look at about so many rows, by chance.")
@click.option("--rows-only", is_flag=True, help="Look at the rows alone, not at what a database declares.")
@READING
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(source: str, policy: str | None, rows_only: bool, reading: tuple[str, ...], as_json: bool, **where: Any) -> None:
    """Propose a policy for SOURCE: column roles, hierarchies, rules and dependencies that hold in the data.

    SOURCE is a file, or the URL of a database (all its tables, or one). What is printed is read from private data.
    """
    from sfumato.policy.policy import Policy
    from sfumato.ui.cli._output import print_json, progress_bar
    from sfumato.workflow.discover.discover import PRIVATE, discover, policy_text

    with progress_bar() as progress:
        compared = Policy.read(policy) if policy else None
        settings = settings_of(reading)
        found = discover(source, compared, declared=not rows_only, read=settings, progress=progress, **where)
    if as_json:
        rules = [each.as_json() for each in found.proposals]
        told: dict[str, object] = {"reasons": [PRIVATE, *found.reasons], "warnings": list(found.warnings)}
        told |= {"accepted": dict(found.accepted), "left": dict(found.left), "columns": dict(found.remarks)}
        print_json({"policy": dict(found.policy), **told, "rules": rules})
        return
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo(policy_text(found), nl=False)
