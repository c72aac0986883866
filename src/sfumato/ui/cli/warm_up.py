"""``sfumato warm-up``: make now what would be compiled later."""

from __future__ import annotations

import click

from sfumato.ui.cli import SETTINGS


@click.command("warm-up", context_settings=SETTINGS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(as_json: bool) -> None:
    """Make the compiled loops and keep them, so that no later run has to (for images and read-only homes).

    A package that was installed with a C++ compiler at hand brings them along, and there is nothing to do. Otherwise they are
    made with the compiler of this machine and kept in SFUMATO_CACHE, or in the user's own cache directory; nobody else may be
    able to write there. Set SFUMATO_CACHE to the same directory when the image runs; it may be read-only then.
    """
    from sfumato.core.compiled.native import warm_up
    from sfumato.ui.cli._output import print_json

    ready, sentence = warm_up()
    if as_json:
        print_json({"ready": ready, "what": sentence})
    else:
        click.echo(sentence)
    if not ready:
        raise click.exceptions.Exit(7)
