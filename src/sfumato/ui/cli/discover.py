"""``sfumato discover``: what data suggests for its policy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import READING, settings_of


@click.command("discover", context_settings=SETTINGS)
@click.argument("source")
@click.option("--policy", type=click.Path(), help="Compare the data with this policy and warn about columns it misses.")
@click.option("--table", default="", help="Analyze only this table of the database.")
@click.option("--schema", default="", help="PostgreSQL schema that contains the tables.")
@click.option("--target", default="", help="URL of the test database to write into the policy.")
@click.option(
    "--mode",
    type=click.Choice(["create", "fill", "clone"]),
    help="How the target gets its tables; without it a clone, where both databases are of one kind.",
)
@click.option(
    "--most-rows", "most", type=click.IntRange(1_000), help="Analyze a random sample of about this many rows per table."
)
@click.option("--rows-only", is_flag=True, help="Ignore keys and constraints declared in the database.")
@READING
@click.option(
    "--out", "-o", type=click.Path(), help="Write the policy to this new file (mode 0600) instead of printing it."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    source: str,
    policy: str | None,
    rows_only: bool,
    reading: tuple[str, ...],
    out: str | None,
    as_json: bool,
    **where: Any,
) -> None:
    """Draft a policy for SOURCE: column roles, hierarchies, and rules that hold in the data.

    SOURCE is a file, or the URL of a database (all its tables, or one). The draft contains values of your data.
    """
    from sfumato.core.errors import PolicyError
    from sfumato.policy.policy import Policy
    from sfumato.ui.cli._output import print_json, progress_bar
    from sfumato.workflow.discover.discover import PRIVATE, discover, left_out_rules, policy_text

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
    if out is None:
        click.echo(policy_text(found), nl=False)
        return
    left = left_out_rules(found)
    apart = Path(out).with_suffix(".left-out.yaml")
    texts = {Path(out): policy_text(found, apart.name if left else "")} | ({apart: left} if left else {})
    for path, text in texts.items():
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise PolicyError(f"{path} exists already", where="--out", hint="name another file") from None
    click.echo(f"Wrote {out}. Review every role before you publish.")
    if left:
        click.echo(f"Wrote {apart}: rules that were found and switched off.")
    click.echo(f"Next: sfumato check {out}")
