"""The ledger: append-only record of releases and private memory of what they were made of.

The ledger: what was published so far, and what the data holder remembers of it.

`ledger` is the file itself, entry by entry; `person_files` lie beside it on a cluster; `forgetting` takes a person out
of the private part of both.
"""

from sfumato.history.ledger.entries import Entry
from sfumato.history.ledger.ledger import Ledger

__all__ = ["Entry", "Ledger"]
