"""Where the rows are: ``--engine`` and ``--master`` of the commands that can leave them there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


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
    from sfumato.engines.spark import SparkEngine
    from sfumato.engines.spark_session import start

    return SparkEngine(start(master), staging)
