"""How a file is read, said on the command line as it would stand under ``data:`` in a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy

READING = click.option(
    "--read",
    "reading",
    multiple=True,
    metavar="KEY=VALUE",
    help="How the file is written, as under 'data:' in a policy, like missing=NA,? or separator=; or encoding=windows-1252 or "
    "decimal_comma=pay or thousands=pay or date_format=born:%d.%m.%Y or sheet=2024; may be repeated.",
)
_LISTS = ("missing", "decimal_comma", "thousands")


def settings_of(texts: tuple[str, ...]) -> dict[str, Any]:
    """The settings that a policy would have."""
    found: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign:
            raise click.BadParameter(f"'{text}' is no KEY=VALUE", param_hint="--read")
        if key in _LISTS:
            found[key] = [*found.get(key, []), *value.split(",")]
        elif key == "date_format":
            name, _, written = value.partition(":")
            found[key] = {**found.get(key, {}), name: written}
        else:
            found[key] = value
    return found


def policy_of(path: str, texts: tuple[str, ...]) -> Policy:
    """The policy in a file, with the settings of the command line in place of its own."""
    from sfumato.policy.policy import Policy

    return Policy.read(path).reading(settings_of(texts))
