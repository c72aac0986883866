"""Entries of a ledger, parsed strictly.

The meaning of a field never changes; new fields are optional.


Chain
-----
The chain of a ledger: every entry's digest covers its content and the digest of the entry before it.


Exchanged
---------
Memories and people files from which a person was taken: the chain keeps what an entry had, a later entry says what it
has.

Invariants
    I1  About every memory and every folder of people the newest entry has the last word; what it names must be what
        lies there.
    I2  An entry is about exchanged people only where an entry before it has people.


Head
----
The head: what the certificate of a release says about the ledger it was entered in.

::

    "ledger": {"release": 3, "head": "9f2c…"}

The certificate is part of the ledger entry, so it cannot contain the entry's own digest. It carries one over everything
before the entry (its number, and with the digest of the entry before it the whole chain so far) and over every file
published with it, the certificate and what is made from it excepted. Removing the entry, changing an earlier one, or
replacing the release gives a ledger without this head.

Invariants
    I1  A head reveals nothing private of the ledger: it is salted with 256 random bits, and the salt stays in the
        entry. Without it, who knows all people but one could try the values of that one until the digest fits.

>>> place = LedgerPlace(2, "ab" * 32, "00" * 32)
>>> place.head({"data.csv": "cd" * 32}) == place.head({"data.csv": "cd" * 32, "certificate.json": "ef" * 32})
True
>>> head_of_certificate({"holds": True}), head_of_certificate({"ledger": {"release": 2, "head": "9f2c"}})
((None, None), (2, '9f2c'))
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.errors import LedgerError
from sfumato.history.ledger.person_files import PEOPLE
from sfumato.io.file_contents import parse_json
from sfumato.io.plain_files import digest, files_of
from sfumato.release.folder import AGAIN, CERTIFICATE, MANIFEST, STATEMENT, TARGET

_BODY = {"when": str, "policy": str, "certificate": dict, "records": int, "counterfeits": int}
"""What every entry has, whatever else it may have."""


@dataclass(frozen=True)
class Entry:
    """One publication as the ledger stores it."""

    number: int
    body: Mapping[str, Any]
    digest: str

    @property
    def when(self) -> str:
        return str(self.body["when"])

    @property
    def forgets(self) -> bool:
        """Whether it is no release, but says that a person was taken out of the memories of some."""
        return self.body.get("kind") == FORGETTING

    @property
    def distant(self) -> bool:
        """Whether it was made where its rows lie, so that its people lie beside the ledger (`people_files`)."""
        return PEOPLE in self.body

    @property
    def imported(self) -> bool:
        """Whether the release was made elsewhere."""
        return bool(self.body.get("imported"))


def body_of(text: str, ledger: Path) -> dict[str, Any]:
    """The content of an entry."""
    try:
        tree = parse_json(text)
    except (ValueError, TypeError):
        tree = None
    if not isinstance(tree, dict) or any(not isinstance(tree.get(key), kind) for key, kind in _BODY.items()):
        raise LedgerError("the ledger is broken: an entry cannot be read", where=str(ledger))
    return tree


# Chain
# -----


def newest_entry(base: sqlite3.Connection) -> tuple[int, str]:
    """Number and digest of the newest entry."""
    found = base.execute("SELECT number, digest FROM entries ORDER BY number DESC LIMIT 1").fetchone()
    return (0, GENESIS) if found is None else (int(found[0]), str(found[1]))


def entry_digest(body: str, previous: str, files: Sequence[Any]) -> str:
    """The digest of an entry: the one before it, its body, and every file by name and content."""
    total = hashlib.sha256(previous.encode() + b"\0" + body.encode())
    was = next((content for name, content in files if name == WAS), None)
    for name, content in files:
        if name != WAS:
            raw = stored_digest(was) if was is not None and name == MEMORY else _raw(content)
            total.update(b"\0" + str(name).encode() + b"\0" + raw)
    return total.hexdigest()


def _raw(content: Any) -> bytes:
    """The digest of a file's bytes; what is no longer bytes was tampered with and gets another one."""
    return hashlib.sha256(content if isinstance(content, bytes) else b"changed" + str(content).encode()).digest()


# Exchanged
# ---------


WAS, FORGETTING = "memory.was", "forgetting"
"""The file with the digest that a memory had, and the kind of the entries with the digests of those that took their
place."""
TAKEN_PLACE = "people_files"
"""Where such an entry says which folder of people, with which digests, took the place of which entry's."""


class ReplacedMemories:
    """Memories from which a person was taken, the digests that later entries have of them, and where people are now."""

    def __init__(self) -> None:
        self.now: dict[int, str] = {}
        self.said: dict[int, str] = {}
        self.people: dict[int, Any] = {}
        """The newest word about the people files of every entry that has some (I1)."""
        self.astray = False
        """Whether an entry speaks of people that no entry before it has (I2)."""

    def see(self, entry: int, body: Mapping[str, Any], files: Sequence[tuple[Any, Any]]) -> None:
        """Take note of an entry and its files."""
        stored = dict(files)
        if WAS in stored:
            memory = stored.get(MEMORY)
            self.now[entry] = hashlib.sha256(memory).hexdigest() if isinstance(memory, bytes) else "no bytes"
        if PEOPLE in body:
            self.people[entry] = body[PEOPLE]
        if body.get("kind") == FORGETTING:
            self.said |= {number: str(told) for number, told in _by_entry(body.get("memories")).items()}
            taken = _by_entry(body.get(TAKEN_PLACE))
            self.astray |= not taken.keys() <= self.people.keys()
            self.people |= taken

    @property
    def vouched(self) -> bool:
        """Whether every exchanged memory is the one that the newest entry about it names (I1)."""
        return all(self.said.get(number) == told for number, told in self.now.items())


def newest_person_files(bodies: Iterable[tuple[int, Mapping[str, Any]]]) -> dict[int, Any]:
    """What is said of the people files of every entry that has some, by the newest entry about them."""
    seen = ReplacedMemories()
    for number, body in bodies:
        seen.see(number, body, [])
    return seen.people


def _by_entry(told: Any) -> dict[int, Any]:
    """What is said of entries, by number; what names none is said of an entry that never is."""
    said = told.items() if isinstance(told, Mapping) else [] if told is None else [("", told)]
    return {int(number) if number.isascii() and number.isdecimal() else 0: word for number, word in said}


def stored_digest(was: Any) -> bytes:
    """The digest in a file `WAS`; what is none was tampered with and gets another one."""
    try:
        return bytes.fromhex(was.decode("ascii"))
    except (AttributeError, ValueError):
        return b"changed"


# Head
# ----


GENESIS = "0" * 64
"""The digest before the first entry."""
MEMORY = "memory.arrow"
"""What a ledger keeps of the records behind a release; private."""
_AFTER = AGAIN | {MANIFEST, CERTIFICATE, STATEMENT, TARGET, MEMORY}
"""Files that a head does not cover: the certificate that carries it, what is made from the certificate, and what is
private."""


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """Where the next entry of a ledger goes: its number, the digest before it, and a salt."""

    number: int
    previous: str
    salt: str

    @classmethod
    def after(cls, previous: str, entries: int) -> LedgerPlace:
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
        return {
            "release": self.number,
            "head": self.head({name: digest(file) for name, file in files_of(folder).items()}),
        }


def head_of_certificate(certificate: Mapping[str, Any]) -> tuple[int | None, str | None]:
    """Release number and head in a certificate; nothing when it has none."""
    said = certificate.get("ledger")
    if not isinstance(said, Mapping) or not isinstance(said.get("head"), str):
        return None, None
    return said.get("release"), said["head"]
