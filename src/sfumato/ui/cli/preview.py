"""``sfumato preview``: before and after of the replaced columns, for a few rows; nothing is written."""

from __future__ import annotations

from typing import Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ACCEPT_ROLES, READING, SEED, policy_of


@click.command("preview", context_settings=SETTINGS)
@click.argument("policy", type=click.Path())
@click.option("--data", help="Read the data from this file or URL instead of the policy's source.")
@click.option("--rows", type=click.IntRange(1), default=5, show_default=True, help="Number of rows per table.")
@click.option("--table", help="Only this table of a database.")
@click.option("--seed", type=SEED, help="Seed for a repeatable run.")
@ACCEPT_ROLES
@READING
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    policy: str, data: str | None, reading: tuple[str, ...], accept_roles: bool, as_json: bool, **options: Any
) -> None:
    """Show original and published values of a few rows under POLICY. Writes nothing."""
    from sfumato.ui.cli._output import print_json, progress_bar
    from sfumato.workflow.forecast import preview

    with progress_bar(quiet=as_json) as progress:
        samples = preview(policy_of(policy, reading, accept_roles), data, **options, progress=progress)
    if as_json:
        print_json([sample.to_json() for sample in samples])
        return
    for sample in samples:
        click.echo(click.style(sample.table, bold=True))
        for old, new in zip(sample.before, sample.after, strict=True):
            for name, before, after in zip(sample.columns, old, new, strict=True):
                change = _shown(before) if before == after else f"{_shown(before)} → {_shown(after)}"
                click.echo(f"  {name}: {change}")
            click.echo("")
    click.echo(f"Next: sfumato publish {policy} --out DIR")


def _shown(value: str | None) -> str:
    return click.style("null", dim=True) if value is None else value if len(value) <= 60 else value[:57] + "…"
