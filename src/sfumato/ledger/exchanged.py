"""Memories from which somebody was taken: the chain keeps the digest of what an entry had, a later entry that of what it has."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.release.head import MEMORY

WAS, FORGETTING = "memory.was", "forgetting"
"""The file with the digest that a memory had, and the kind of the entries with the digests of those that took their place."""


class ExchangedMemories:
    """Memories from which somebody was taken, and the digests that later entries have of them."""

    def __init__(self) -> None:
        self.now: dict[int, str] = {}
        self.said: dict[int, str] = {}

    def see(self, entry: int, body: Mapping[str, Any], files: Sequence[tuple[Any, Any]]) -> None:
        """Take note of an entry and its files."""
        stored = dict(files)
        if WAS in stored:
            memory = stored.get(MEMORY)
            self.now[entry] = hashlib.sha256(memory).hexdigest() if isinstance(memory, bytes) else "no bytes"
        if body.get("kind") == FORGETTING:
            self.said |= {int(number): str(told) for number, told in body.get("memories", {}).items()}

    @property
    def vouched(self) -> bool:
        """Whether every exchanged memory is the one that the newest entry about it names."""
        return all(self.said.get(number) == told for number, told in self.now.items())


def had(was: Any) -> bytes:
    """The digest in a file `WAS`; what is none was tampered with and gets another one."""
    try:
        return bytes.fromhex(was.decode("ascii"))
    except (AttributeError, ValueError):
        return b"changed"
