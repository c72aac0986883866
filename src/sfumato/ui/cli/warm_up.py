"""``sfumato warm-up``: build now what would be compiled later."""

from __future__ import annotations

import click

from sfumato.ui.cli import SETTINGS


@click.command("warm-up", context_settings=SETTINGS)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(as_json: bool) -> None:
    """Build the compiled kernels and keep them, so that no later run needs numba (for images and read-only homes).

    A wheel for this platform brings them along, and there is nothing to do. Otherwise they are built with numba and the
    C compiler of this machine, and kept in SFUMATO_CACHE or in the user's cache directory; no other user may be able to
    write there. Set SFUMATO_CACHE to the same directory when the image runs; it may be read-only then."""
    from sfumato.core.compiled.build import warm_up
    from sfumato.ui.cli._output import print_json

    ready, sentence = warm_up()
    if as_json:
        print_json({"ready": ready, "what": sentence})
    else:
        click.echo(sentence)
    if not ready:
        raise click.exceptions.Exit(7)
