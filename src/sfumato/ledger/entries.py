"""Entries of a ledger: what stands in one, read strictly.

What stands in an entry is never reinterpreted: new fields are optional, meanings never change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError
from sfumato.io.json_text import parse_json
from sfumato.ledger.exchanged import FORGETTING
from sfumato.ledger.people_files import PEOPLE

_BODY = {"when": str, "policy": str, "certificate": dict, "records": int, "counterfeits": int}
"""What every entry has, whatever else it may have."""


@dataclass(frozen=True)
class Entry:
    """One publication as it stands in the ledger."""

    number: int
    body: Mapping[str, Any]
    digest: str

    @property
    def when(self) -> str:
        return str(self.body["when"])

    @property
    def forgets(self) -> bool:
        """Whether it is no release, but says that somebody was taken out of the memories of some."""
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
