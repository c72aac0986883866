"""``sfumato check``: read and plan, touch no rows."""

from __future__ import annotations

import click


@click.command("check")
@click.argument("policy", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(policy: str, as_json: bool) -> None:
    """Read POLICY and plan it without touching a row: say what would run and why, or what is wrong with file:line."""
    from sfumato.cli._show import print_json
    from sfumato.plan import plan
    from sfumato.policy.policy import Policy

    read = Policy.read(policy)
    planned = plan(read, records=read.data.size())
    sentences = list(planned.sentences())
    if as_json:
        print_json({"method": planned.method.name, "form": planned.form, "sentences": sentences})
        return
    for sentence in sentences:
        click.echo(sentence)
