"""The chain of a ledger: every entry's digest covers its content and the digest of the entry before it."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from typing import Any

from sfumato.ledger.exchanged import WAS, had
from sfumato.release.head import GENESIS, MEMORY


def last_of(base: sqlite3.Connection) -> tuple[int, str]:
    """Number and digest of the newest entry."""
    found = base.execute("SELECT number, digest FROM entries ORDER BY number DESC LIMIT 1").fetchone()
    return (0, GENESIS) if found is None else (int(found[0]), str(found[1]))


def chained(body: str, previous: str, files: Sequence[Any]) -> str:
    """The digest of an entry: the one before it, its body, and every file by name and content."""
    total = hashlib.sha256(previous.encode() + b"\0" + body.encode())
    was = next((content for name, content in files if name == WAS), None)
    for name, content in files:
        if name != WAS:
            raw = had(was) if was is not None and name == MEMORY else _raw(content)
            total.update(b"\0" + str(name).encode() + b"\0" + raw)
    return total.hexdigest()


def _raw(content: Any) -> bytes:
    """The digest of a file's bytes; what is no longer bytes was tampered with and gets another one."""
    return hashlib.sha256(content if isinstance(content, bytes) else b"changed" + str(content).encode()).digest()
