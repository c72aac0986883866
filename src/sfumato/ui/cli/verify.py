"""``sfumato verify``: the independent audit of a release folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ENGINE, READING

if TYPE_CHECKING:
    from sfumato.workflow.verify import Audit


@click.command("verify", context_settings=SETTINGS)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--original", help="The original data: also judges truthfulness, boundaries and rules.")
@click.option("--ledger", type=click.Path(), help="The ledger: also judges the release together with all before it.")
@click.option("--target", help="URL of the test database that was loaded: also judges what stands there.")
@click.option("--signer", help="The data holder's Ed25519 public key, or a file with it: also judges who made the folder.")
@click.option("--population", help="The table of the population: also judges claims that speak of everybody in it.")
@click.option("--memory", help="Of a database: how much memory may be taken, like '1 GB'; 2 GB without it.")
@READING
@ENGINE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(ctx: click.Context, /, folder: str, as_json: bool, engine: str, master: str | None, **options: Any) -> None:
    """Audit the release in DIR from its published files alone; exit code 0 when nothing is violated, 1 when something is.

    What was promised and cannot be judged from what was given does not hold: it is marked with a question mark, counted in the
    first line, and null in the JSON document. A figure that was only measured is marked with a dot.
    """
    from sfumato.release.attack import attacks_on_folder
    from sfumato.release.signature import UNCHECKED
    from sfumato.ui.cli._options import engine_of, original_of
    from sfumato.ui.cli._output import print_attacks, print_findings, print_json
    from sfumato.workflow.verify import verify

    options["original"] = original_of(folder, options["original"], options.pop("reading"))
    verdict = verify(folder, engine=engine_of(engine, master), **options)
    attacks = attacks_on_folder(Path(folder))
    if as_json:
        print_json(verdict.to_json() | {"attacks": [{"name": each.name, "applies": each.applies} for each in attacks]})
    else:
        click.echo(headline(verdict, with_original=options.get("original") is not None))
        if verdict.signature == UNCHECKED:
            click.echo(f"{UNCHECKED}: --signer PUBKEY tells whether the data holder made it")
        print_findings(verdict.findings)
        print_attacks(attacks)
    ctx.exit(1 if verdict.violated else 0)


def headline(verdict: Audit, *, with_original: bool = False) -> str:
    """The verdict in one line; what was not judged is never passed over."""
    if verdict.violated:
        return "the release is VIOLATED"
    if verdict.complete:
        return "the release holds"
    count = len(verdict.open)
    claims = "1 claim needs" if count == 1 else f"{count} claims need"
    missing = "more evidence" if with_original else "--original"
    return f"nothing is violated as far as the published files show; {claims} {missing} to be judged"
