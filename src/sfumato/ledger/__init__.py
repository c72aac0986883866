"""The ledger: what was published so far, and what the data holder remembers of it.

`book` is the file itself, entry by entry; `forgetting` takes a person out of its private part.
"""

from sfumato.ledger.book import Entry, Ledger

__all__ = ["Entry", "Ledger"]
