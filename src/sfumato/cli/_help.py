"""The help of every command and subcommand, for the documentation."""

from __future__ import annotations

from collections.abc import Iterator

import click

from sfumato.cli import root


def all_help() -> Iterator[tuple[str, str]]:
    """(name, help) of the program, its commands, and theirs."""
    yield from _walk(root, "sfumato")


def _walk(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    with command.make_context(name, [], resilient_parsing=True) as context:
        yield name, command.get_help(context)
        if isinstance(command, click.Group):
            for below in command.list_commands(context):
                child = command.get_command(context, below)
                if child is not None:
                    yield from _walk(child, f"{name} {below}")
