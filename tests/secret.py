"""Seeds that nobody can try out: a release made from one is like one made from chance, and a test can still repeat
it."""

from __future__ import annotations

SEED = int.from_bytes(b"sfumato: sixteen bytes and more")


def secret(number: int | None) -> int | None:
    """A seed of its own for every number; none stays none."""
    return None if number is None else SEED + number
