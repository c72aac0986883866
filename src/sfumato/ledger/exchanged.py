"""Memories and people files from which somebody was taken: the chain keeps what an entry had, a later entry says what it has.

Invariants
    I1  About every memory and every folder of people the newest entry has the last word; what it names must be what lies there.
    I2  An entry speaks of exchanged people only where an entry before it has people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sfumato.ledger.people_files import PEOPLE
from sfumato.release.head import MEMORY

WAS, FORGETTING = "memory.was", "forgetting"
"""The file with the digest that a memory had, and the kind of the entries with the digests of those that took their place."""
TAKEN_PLACE = "people_files"
"""Where such an entry says which folder of people, with which digests, took the place of which entry's."""


class ExchangedMemories:
    """Memories from which somebody was taken, the digests that later entries have of them, and where people are now."""

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


def newest_people(bodies: Iterable[tuple[int, Mapping[str, Any]]]) -> dict[int, Any]:
    """What is said of the people files of every entry that has some, by the newest entry about them."""
    seen = ExchangedMemories()
    for number, body in bodies:
        seen.see(number, body, [])
    return seen.people


def _by_entry(told: Any) -> dict[int, Any]:
    """What is said of entries, by number; what names none is said of an entry that never is."""
    said = told.items() if isinstance(told, Mapping) else [] if told is None else [("", told)]
    return {int(number) if number.isascii() and number.isdecimal() else 0: word for number, word in said}


def had(was: Any) -> bytes:
    """The digest in a file `WAS`; what is none was tampered with and gets another one."""
    try:
        return bytes.fromhex(was.decode("ascii"))
    except (AttributeError, ValueError):
        return b"changed"
