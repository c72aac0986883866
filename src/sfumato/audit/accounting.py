"""What a ledger remembers of a release beside what the release shows: every row has exactly one record behind it."""

from __future__ import annotations

from sfumato.errors import DataError
from sfumato.release.past import PastRelease


def require_accounted(past: PastRelease) -> None:
    """Every published row must have exactly one remembered record behind it, in every table; anything else is refused."""
    memory = past.memory
    if len(set(memory.keys)) < len(memory.keys):
        raise DataError(f"the memory of release {past.number} names somebody twice")
    if not past.exhibit.form.accounts(past.exhibit, memory):
        raise DataError(f"the memory of release {past.number} does not account for its rows")
    if any(len(sheet.here) != len(memory.keys) for sheet in past.sheets):
        raise DataError(f"the memory of release {past.number} is not about its own records")
