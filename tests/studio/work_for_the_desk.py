"""Work that only tests want done; every worker imports this file, so it needs nothing that takes long to load."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path


def endless(progress: object) -> None:
    """Work that writes something and never ends."""
    (Path(tempfile.mkdtemp()) / "half").write_text("x")
    progress(0.1, "inside")
    while True:
        time.sleep(0.05)


def fails(progress: object) -> None:
    raise ValueError("Alice has the flu")


def waits(progress: object) -> str:
    progress(0.5, "inside")
    time.sleep(0.4)
    return "done"


def until_taken(progress: object) -> str:
    """Work that goes on until it is asked for the best result so far."""
    from sfumato.core.effort import taking

    progress(0.1, "search: best so far 0.2")
    while not taking():
        time.sleep(0.02)
    return "taken"
