"""``sfumato schema``: the JSON schema of a policy."""

from __future__ import annotations

import click

from sfumato.ui.cli import SETTINGS


@click.command("schema", context_settings=SETTINGS)
def command() -> None:
    """Print the JSON schema of a policy, for editors that complete and check while one writes.

    Many editors take it from a comment in the first line of the policy: # yaml-language-server:
    $schema=policy.schema.json"""
    from sfumato.ui.cli._output import print_json
    from sfumato.workflow.policy_schema import policy_schema

    print_json(policy_schema())
