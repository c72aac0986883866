"""What a ledger keeps beside itself so that the next release need not read all earlier ones: everybody's cells, put together.

The file lies next to the ledger, is as private, and carries no trust of its own. The newest entry has its digest under the chain;
only the file with that digest is used, and only by who publishes. Whatever else lies there, a file that is missing, older, cut off
or changed, is as good as none: then all releases are read, as `verify` always does.

Invariants
    I1  Readable by its owner only, from its first byte on; it takes its name when it is complete.
    I2  Forgetting somebody removes it, and nothing kept before the last forgetting is used again.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.ledger.removal import wipe

KEPT = "kept"
"""What an entry calls the digest of the file."""


def kept_path(ledger: Path) -> Path:
    """Where the file of a ledger lies."""
    return ledger.with_name(f"{ledger.name}.kept")


def kept_digest(content: bytes) -> str:
    """What the newest entry says of the file."""
    return hashlib.sha256(content).hexdigest()


def read_kept(ledger: Path, newest: Mapping[str, Any]) -> pa.Table | None:
    """What was kept with the newest entry; nothing where the file is not the one that the entry names (I2)."""
    path, wanted = kept_path(ledger), newest.get(KEPT)
    try:
        if not isinstance(wanted, str) or not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        content = path.read_bytes()
    except OSError:
        return None
    if kept_digest(content) != wanted:
        return None
    with pa.ipc.open_file(io.BytesIO(content)) as reader:
        return reader.read_all()


def write_kept(ledger: Path, content: bytes) -> None:
    """Put the file in the place of the one before (I1)."""
    handle, draft = tempfile.mkstemp(prefix=f".{ledger.name}.", dir=ledger.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, kept_path(ledger))
    except BaseException:
        os.unlink(draft)
        raise


def remove_kept(ledger: Path) -> None:
    """Overwrite and remove the file (I2)."""
    path = kept_path(ledger)
    if path.is_file() and not path.is_symlink():
        wipe(path)
