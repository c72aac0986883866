"""``sfumato attack NAME``: one subcommand per adversary, its options made from its declaration."""

from __future__ import annotations

from typing import Any

import click

from sfumato.ui.cli import SETTINGS


class Attacks(click.Group):
    """The adversaries of the catalogue."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from sfumato.core.registry import catalogue
        from sfumato.release.attack import Attack

        return list(catalogue("attacks", Attack))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        from sfumato.core.registry import catalogue
        from sfumato.release.attack import Attack

        entries = catalogue("attacks", Attack)
        return _subcommand(entries[name]) if name in entries else None


def _subcommand(attack: Any) -> click.Command:
    parameters: list[click.Parameter] = [
        click.Argument([name], required=field.is_required())
        if name == "target"
        else click.Option(
            [f"--{name.replace('_', '-')}", name],
            required=field.is_required(),
            help=field.description,
            is_flag=field.annotation is bool,
            default=None,
        )
        for name, field in attack.model_fields.items()
    ]
    parameters.append(click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document."))

    def run(as_json: bool, **given: Any) -> None:
        from sfumato.core.wording import summary_of
        from sfumato.policy.yaml_document import Document, instantiate
        from sfumato.ui.cli._output import print_figures, print_json, print_sections, progress_bar

        chosen = {key: value for key, value in given.items() if value is not None}
        with progress_bar(quiet=as_json) as progress:
            result = instantiate(attack, chosen, Document({}), attack.name).watched(progress).run()
        if as_json:
            print_json(result)
            return
        print_sections([(f"{attack.name}: {summary_of(attack)}", ())])
        print_figures(result)

    return click.Command(attack.name, params=parameters, callback=run, help=attack.__doc__, context_settings=SETTINGS)


command = Attacks(
    "attack",
    help="Run a named attack against a release or a graph and report what an adversary gets.",
    context_settings=SETTINGS,
)
