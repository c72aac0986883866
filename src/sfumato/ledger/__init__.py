"""The ledger: what was published so far, and what the data holder remembers of it.

`book` is the file itself, entry by entry; `people_files` lie beside it where rows lie elsewhere; `forgetting` takes a person out of
the private part of both.
"""

from sfumato.ledger.book import Ledger
from sfumato.ledger.entries import Entry

__all__ = ["Entry", "Ledger"]
