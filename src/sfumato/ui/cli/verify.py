"""``sfumato verify``: the independent audit of a release folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.ui.cli import SETTINGS
from sfumato.ui.cli._options import ENGINE, READING

if TYPE_CHECKING:
    from sfumato.workflow.verify import Audit


@click.command("verify", context_settings=SETTINGS)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--original", help="Original data. Also check truthfulness, generalization limits and rules.")
@click.option("--ledger", type=click.Path(), help="Ledger file. Also check the guarantees over all earlier releases.")
@click.option("--target", help="URL of the loaded test database. Also check its contents.")
@click.option("--signer", help="Publisher's Ed25519 public key, or a file that contains it. Also check the signature.")
@click.option("--population", help="Population table. Also check the guarantees about the population.")
@click.option("--memory", help="Memory limit for auditing a database, for example '1 GB' (default: 2 GB).")
@click.option("--verbose", "-v", is_flag=True, help="List every check and explain the known limits.")
@READING
@ENGINE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def command(
    ctx: click.Context, /, folder: str, as_json: bool, verbose: bool, engine: str, master: str | None, **options: Any
) -> None:
    """Audit the release in DIR from its published files.

    Exit code 0: nothing is violated. 1: something is violated. A question mark means not assessed: more evidence is
    needed, and the guarantee does not count as true."""
    from sfumato.release.attack import attacks_on_folder
    from sfumato.ui.cli._options import engine_of, original_of
    from sfumato.ui.cli._output import print_json, print_summary
    from sfumato.workflow.verify import verify

    options["original"] = original_of(folder, options["original"], options.pop("reading"))
    verdict = verify(folder, engine=engine_of(engine, master), **options)
    if as_json:
        attacks = attacks_on_folder(Path(folder))
        print_json(verdict.to_json() | {"attacks": [{"name": each.name, "applies": each.applies} for each in attacks]})
    else:
        print_summary(verdict.summary(*_next(verdict, folder, options)), verbose=verbose, brief=True)
    ctx.exit(1 if verdict.violated else 0)


_EVIDENCE = (
    ("original", "original data", "the original data"),
    ("ledger", "--ledger", "the earlier releases"),
    ("population", "--population", "the population table"),
)
"""Options, the words with which a finding asks for them, and what they give."""


def _next(verdict: Audit, folder: str, options: dict[str, Any]) -> Iterator[str]:
    """What a recipient can do now."""
    from sfumato.release.signature import UNCHECKED

    if verdict.violated:
        yield "Do not use this release. Ask the publisher for an unchanged folder."
        return
    if verdict.signature == UNCHECKED:
        yield f"Signed, but not checked. `sfumato verify {folder} --signer KEY` checks who signed it."
    needed = " ".join(finding.sentence for finding in verdict.open)
    for option, words, what in _EVIDENCE:
        if words in needed and options.get(option) is None:
            yield f"sfumato verify {folder} --{option} FILE also checks what needs {what}."
    if not verdict.open:
        yield f"sfumato query {folder} 'count' answers count queries from the release."
