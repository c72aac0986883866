"""``sfumato recover``: what a recipient can estimate from a perturbed graph or table; no original."""

from __future__ import annotations

import click

from sfumato.ui.cli import SETTINGS


@click.command("recover", context_settings=SETTINGS)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option(
    "--confidence", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True, help="Of the intervals."
)
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    metavar="NAME",
    help="Also copies of a pattern: square, pentagon, clique-of-5 …",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folder: str, confidence: float, patterns: tuple[str, ...], as_json: bool) -> None:
    """Estimate figures of the original graph or table behind the release in DIR, with standard errors.

    Only the published files are used. Path lengths and diameter cannot be recovered from flipped ties, and that is
    said."""
    from sfumato.ui.cli._output import print_json
    from sfumato.workflow.estimate import recover_folder

    found = recover_folder(folder, confidence, patterns)
    if as_json or "confidence" not in found:
        print_json(found)
        return
    for name, figure in found["figures"].items():
        ends = f"[{figure['low']:,.6g}, {figure['high']:,.6g}]" if figure["low"] is not None else "no interval"
        told = f"{figure['estimate']:,.6g}" if figure["estimate"] is not None else "nothing"
        click.echo(f"  {name:28} {told:>14}   {ends}")
    for sentence in found["notes"]:
        click.echo(f"  · {sentence}")
