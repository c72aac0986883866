"""``sfumato recover``: what a recipient can estimate from a perturbed graph or table; no original."""

from __future__ import annotations

import textwrap

import click

from sfumato.ui.cli import SETTINGS


@click.command("recover", context_settings=SETTINGS)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.999),
    default=0.95,
    show_default=True,
    help="Confidence of the intervals.",
)
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    metavar="NAME",
    help="Also count copies of a pattern: square, pentagon, clique-of-5 …",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(folder: str, confidence: float, patterns: tuple[str, ...], as_json: bool) -> None:
    """Estimate figures of the original graph or table behind the release in DIR, with standard errors.

    Only the published files are used. Path lengths and the diameter cannot be estimated from flipped edges."""
    from sfumato.core.wording import as_sentences, number_text, percent_text
    from sfumato.ui.cli._output import print_json
    from sfumato.workflow.estimate import recover_folder

    found = recover_folder(folder, confidence, patterns)
    if as_json or "confidence" not in found:
        print_json(found)
        return
    click.echo(f"{'Estimate for the original':<30} {'':>12}   {percent_text(confidence)} interval")
    for name, figure in found["figures"].items():
        ends = (
            f"{number_text(figure['low'])} to {number_text(figure['high'])}"
            if figure["low"] is not None
            else "no interval"
        )
        told = number_text(figure["estimate"]) if figure["estimate"] is not None else "not possible"
        click.echo(f"  {name.replace('_', ' '):28} {told:>12}   {ends}")
    for sentence in found["notes"]:
        for line in textwrap.wrap(as_sentences(sentence), 96, initial_indent="  · ", subsequent_indent="    "):
            click.echo(line)
