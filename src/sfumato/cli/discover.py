"""``sfumato discover``: what data suggests for its policy."""

from __future__ import annotations

import click


@click.command("discover")
@click.argument("source")
@click.option("--policy", type=click.Path(), help="Compare with this policy and warn about what it overlooks.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(source: str, policy: str | None, as_json: bool) -> None:
    """Propose a policy for SOURCE: column roles, hierarchies, rules and dependencies that hold in the data."""
    from sfumato.cli._show import print_json
    from sfumato.discover.base import discover
    from sfumato.policy.policy import Policy
    from sfumato.policy.read import write_yaml

    found = discover(source, Policy.read(policy) if policy else None)
    if as_json:
        print_json({"policy": dict(found.policy), "reasons": list(found.reasons), "warnings": list(found.warnings)})
        return
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    for reason in found.reasons:
        click.echo(f"# {reason}")
    click.echo(write_yaml(dict(found.policy)), nl=False)
