"""Seeds that nobody can try out: a release made from one is like one made from chance, and a test can still repeat it."""

from __future__ import annotations

SEED = int.from_bytes(b"sfumato: sixteen bytes and more")


def secret(number: int) -> int:
    """A seed of its own for every number."""
    return SEED + number
