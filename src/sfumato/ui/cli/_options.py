"""Where the rows are: ``--engine`` and ``--master`` of the commands that can leave them there.


Reading
-------
How a file is read, said on the command line as it would stand under ``data:`` in a policy.


Seed
----
A seed on the command line: a whole number, or hexadecimal digits.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sfumato.core.effort import Effort
    from sfumato.policy.policy import Policy


def ENGINE(command: Callable[..., Any]) -> Callable[..., Any]:
    """The two options."""
    master = click.option("--master", help="Of --engine spark: the cluster, like local[4] or spark://host:7077.")
    engine = click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="spark: rows stay on a cluster, and parts are folders of Parquet files.",
    )
    return engine(master(command))


def engine_of(name: str, master: str | None, staging: Path | None = None) -> Any:
    """The engine that was asked for; none for this process."""
    if name == "local":
        if master is not None:
            raise click.UsageError("--master belongs to --engine spark")
        return None
    from sfumato.engines.spark.engine import SparkEngine
    from sfumato.engines.spark.session import start

    return SparkEngine(start(master), staging)


# Reading
# -------


READING = click.option(
    "--read",
    "reading",
    multiple=True,
    metavar="KEY=VALUE",
    help=(
        "How the file is written, as under 'data:' in a policy, like missing=NA,? or separator=; or"
        " encoding=windows-1252 or decimal_comma=pay or thousands=pay or date_format=born:%d.%m.%Y or sheet=2024 or"
        " header_row=3; may be repeated."
    ),
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


def policy_of(path: str, texts: tuple[str, ...], accept_roles: bool = False, effort: Effort | None = None) -> Policy:
    """The policy in a file, with the settings of the command line in place of its own, and with accepted roles where
    asked."""
    from sfumato.policy.policy import Policy

    policy = Policy.read(path).reading(settings_of(texts)).with_effort(effort)
    return policy.accept_roles() if accept_roles else policy


def is_policy(source: str) -> bool:
    """Whether a command that takes data was given a policy.

    >>> is_policy("policy.yaml"), is_policy("stays.csv")
    (True, False)
    """
    return source.lower().endswith((".yaml", ".yml"))


ACCEPT_ROLES = click.option(
    "--accept-roles",
    is_flag=True,
    help="Take the proposed role of every column under 'review'; without it they are refused.",
)


EFFORT = click.option(
    "--effort",
    type=click.Choice(["quick", "balanced", "thorough"]),
    help="Search time: quick, balanced (the default) or thorough.",
)


def original_of(folder: str, original: str | None, texts: tuple[str, ...]) -> Any:
    """Return the original data as the policy of a release and these settings read it; its path where nothing is set."""
    if original is None or not texts:
        return original
    return policy_of(str(Path(folder) / "policy.yaml"), texts).data.read(original)


# Seed
# ----


SEED_RULE = "Below 2^127, or with fewer than 32 hexadecimal digits, the release is marked as not for publication."


class Seed(click.ParamType[int]):
    """A whole number, or a text of hexadecimal digits."""

    name = "seed"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from sfumato.core.randomness import read_seed

        try:
            return value if isinstance(value, int) else read_seed(str(value))
        except ValueError:
            self.fail("a seed is a whole number or a text of hexadecimal digits", param, ctx)


SEED = Seed()
