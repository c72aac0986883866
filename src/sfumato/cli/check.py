"""``sfumato check``: read and plan, touch no rows; with rules under ``keep``, say whether they hold in the original."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sfumato.cli import SETTINGS

if TYPE_CHECKING:
    from sfumato.audit.database_source import Warning
    from sfumato.plan import Plan


@click.command("check", context_settings=SETTINGS)
@click.argument("policy", type=click.Path())
@click.option("--ledger", type=click.Path(), help="Also say what the earlier releases in this ledger mean for this one.")
@click.option("--since", type=click.Path(), help="Of a database: warn about what changed in the schema since this release folder.")
@click.option("--strict", is_flag=True, help="Exit with 2 when warnings remain that the policy does not accept.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(ctx: click.Context, policy: str, ledger: str | None, since: str | None, strict: bool, as_json: bool) -> None:
    """Read POLICY and plan it without touching a row: say what would run and why, or what is wrong with file:line."""
    from sfumato.cli._show import print_json
    from sfumato.plan import plan
    from sfumato.policy.policy import Policy
    from sfumato.publication import constraints

    read = Policy.read(policy)
    planned = plan(read, records=read.data.size())
    more, warnings = _with_data(planned, since)
    sentences = [*planned.sentences(), *constraints(read, ledger), *more]
    if as_json:
        told = [{"id": warning.identifier, "text": warning.text} for warning in warnings]
        print_json({"method": planned.method.name, "form": planned.form, "sentences": sentences, "warnings": told})
    else:
        for sentence in sentences:
            click.echo(sentence)
        for warning in warnings:
            click.echo(f"warning: {warning}")
    ctx.exit(2 if strict and warnings else 0)


def _with_data(planned: Plan, since: str | None) -> tuple[list[str], tuple[Warning, ...]]:
    """Rules are about data, so a policy that has some (and a database always has) is the one case in which the source is read."""
    from sfumato.audit.original import in_original
    from sfumato.data.table import Table
    from sfumato.errors import Infeasible, PolicyError

    try:
        if planned.form == "database":
            return _database(planned, since)
        if not planned.policy.keep or planned.policy.data.size() is None:
            return [], ()
        data = planned.policy.data.read()
        if not isinstance(data, Table):
            return [], ()
        return [*in_original(planned.policy, data), *planned.method.examine(planned.policy, data)], ()
    except Infeasible as error:
        raise PolicyError(error.what, where=error.where, hint=error.hint) from None


def _database(planned: Plan, since: str | None) -> tuple[list[str], tuple[Warning, ...]]:
    from pathlib import Path

    from sfumato.audit.database_source import check_source
    from sfumato.data.schema_json import schema_from
    from sfumato.io.database import DatabaseSource
    from sfumato.policy.bound_policy import BoundPolicy
    from sfumato.release.folder import read_folder

    source = planned.policy.data
    assert isinstance(source, DatabaseSource)
    BoundPolicy(planned.policy, source.read_schema()).require_fit()
    source.target_url()
    data = source.read()
    before = schema_from(read_folder(Path(since)).public.get("schema")) if since else None
    found = check_source(planned.policy, data, before)
    return [*found.sentences, *planned.method.examine(planned.policy, data)], found.warnings
