"""``sfumato verify``: the independent audit of a release folder."""

from __future__ import annotations

import click


@click.command("verify")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--original", help="The original data: also judges truthfulness, boundaries and rules.")
@click.option("--ledger", type=click.Path(), help="The ledger: also judges the release together with all before it.")
@click.option("--target", help="URL of the test database that was loaded: also judges what stands there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(ctx: click.Context, folder: str, original: str | None, ledger: str | None, target: str | None, as_json: bool) -> None:
    """Audit the release in DIR from its published files alone; exit code 0 when everything holds, 1 when not."""
    from sfumato.cli._show import print_findings, print_json
    from sfumato.publication import verify

    verdict = verify(folder, original=original, ledger=ledger, target=target)
    if as_json:
        print_json(verdict.to_json())
    else:
        click.echo("the release holds" if verdict.holds else "the release is VIOLATED")
        print_findings(verdict.findings)
    ctx.exit(0 if verdict.holds else 1)
