"""The head: what the certificate of a release says about the ledger it was entered in.

::

    "ledger": {"release": 3, "head": "9f2c…"}

The certificate stands in the ledger's entry, so it cannot carry the entry's own digest. It carries one over everything before the
entry (its number, and with the digest of the entry before it the whole chain so far) and over every file published with it, the
certificate and what is made from it excepted. Whoever takes the entry away, changes one before it, or puts another release in
its place leaves a ledger without this head.

Invariants
    I1  A head says nothing about what is private in the ledger: it is salted with 256 random bits, and the salt stays in the entry.
        Without it, who knows all people but one could try the values of that one until the digest fits.

>>> place = Place(2, "ab" * 32, "00" * 32)
>>> place.head({"data.csv": "cd" * 32}) == place.head({"data.csv": "cd" * 32, "certificate.json": "ef" * 32})
True
>>> head_in({"holds": True}), head_in({"ledger": {"release": 2, "head": "9f2c"}})
((None, None), (2, '9f2c'))
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.release.folder import CERTIFICATE, MANIFEST, REPORT, STATEMENT, TARGET
from sfumato.release.plain_files import digest, files_of

GENESIS = "0" * 64
"""The digest before the first entry."""
MEMORY = "memory.arrow"
"""What a ledger keeps of the records behind a release; private."""
_AFTER = frozenset({MANIFEST, CERTIFICATE, STATEMENT, REPORT, TARGET, MEMORY})
"""Files that a head does not cover: the certificate that carries it, what is made from the certificate, and what is private."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the next entry of a ledger goes: its number, the digest before it, and a salt."""

    number: int
    previous: str
    salt: str

    @classmethod
    def after(cls, previous: str, entries: int) -> Place:
        """The place behind so many entries, with a salt that nobody knows (I1)."""
        return cls(entries + 1, previous, secrets.token_hex(32))

    def head(self, files: Mapping[str, str]) -> str:
        """The head, from the digests of the published files by name."""
        total = hashlib.sha256(f"sfumato ledger head\0{self.number}\0{self.previous}\0{self.salt}".encode())  # I1
        for name in sorted(set(files) - _AFTER):
            total.update(b"\0" + name.encode() + b"\0" + bytes.fromhex(files[name]))
        return total.hexdigest()

    def certified(self, folder: Path) -> dict[str, Any]:
        """What stands under ``ledger`` in the certificate of the release in a folder."""
        return {"release": self.number, "head": self.head({name: digest(file) for name, file in files_of(folder).items()})}


def head_in(certificate: Mapping[str, Any]) -> tuple[int | None, str | None]:
    """Release number and head in a certificate; nothing when it has none."""
    said = certificate.get("ledger")
    if not isinstance(said, Mapping) or not isinstance(said.get("head"), str):
        return None, None
    return said.get("release"), said["head"]
