"""The ways into the library of loops: one line of ``signatures.txt`` each, its number the number of the entry."""

from __future__ import annotations

from functools import cache
from pathlib import Path

SIGNATURES = Path(__file__).parent / "signatures.txt"


@cache
def signatures() -> list[tuple[str, str, str]]:
    """(module, function, types) of every entry."""
    found = []
    for line in SIGNATURES.read_text(encoding="utf-8").splitlines() if SIGNATURES.exists() else []:
        if line and not line.startswith("#"):
            module, function, types = line.split(" ", 2)
            found.append((module, function, types))
    return found
