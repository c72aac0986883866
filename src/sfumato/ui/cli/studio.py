"""``sfumato studio``: the whole work in a browser, on this machine."""

from __future__ import annotations

import click

from sfumato.ui.cli import SETTINGS


@click.command("studio", context_settings=SETTINGS)
@click.argument("folder", type=click.Path(), default=".")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of the loopback interface; a free one when absent.",
)
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
def command(folder: str, port: int, no_browser: bool) -> None:
    """Open FOLDER (data, policies, releases, ledger) in the browser; prints one address with its token. Ctrl-C ends
    it."""
    from sfumato.core.extras import require

    for package in ("starlette", "uvicorn"):
        require(package, "the studio")
    from sfumato.ui.studio.server import serve

    serve(folder, port=port, browser=not no_browser, said=click.echo)
