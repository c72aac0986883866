"""``sfumato check``: read and plan, touch no rows."""

from __future__ import annotations

import click


@click.command("check")
@click.argument("policy", type=click.Path())
@click.option("--ledger", type=click.Path(), help="Also say what the earlier releases in this ledger mean for this one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(policy: str, ledger: str | None, as_json: bool) -> None:
    """Read POLICY and plan it without touching a row: say what would run and why, or what is wrong with file:line."""
    from sfumato.cli._show import print_json
    from sfumato.plan import plan
    from sfumato.policy.policy import Policy
    from sfumato.publication import constraints

    read = Policy.read(policy)
    planned = plan(read, records=read.data.size())
    sentences = [*planned.sentences(), *constraints(read, ledger)]
    if as_json:
        print_json({"method": planned.method.name, "form": planned.form, "sentences": sentences})
        return
    for sentence in sentences:
        click.echo(sentence)
