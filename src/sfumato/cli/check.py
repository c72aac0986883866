"""``sfumato check``: read and plan, touch no rows; with rules under ``keep``, say whether they hold in the original."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sfumato.plan import Plan


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
    sentences = [*planned.sentences(), *constraints(read, ledger), *_with_data(planned)]
    if as_json:
        print_json({"method": planned.method.name, "form": planned.form, "sentences": sentences})
        return
    for sentence in sentences:
        click.echo(sentence)


def _with_data(planned: Plan) -> list[str]:
    """Rules are about data, so a policy that has some is the one case in which the source is read (and only read)."""
    from sfumato.audit.original import in_original
    from sfumato.data.table import Table
    from sfumato.errors import Infeasible, PolicyError

    if not planned.policy.keep or planned.policy.data.size() is None:
        return []
    data = planned.policy.data.read()
    if not isinstance(data, Table):
        return []
    try:
        return [*in_original(planned.policy, data), *planned.method.examine(planned.policy, data)]
    except Infeasible as error:
        raise PolicyError(error.what, where=error.where, hint=error.hint) from None
