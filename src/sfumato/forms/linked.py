"""Linked table: ``data.csv`` with the published columns and a pseudonym that ties the rows of a person.

The pseudonym is a number that is drawn anew for every release. Rows of one person can be told to be that, so people who share all
their published rows are each other's candidates; a ledger does not keep such releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from sfumato.forms.recoded import Recoded
from sfumato.policy.person import PSEUDONYM
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import differing_columns, differing_parts


class LinkedTable(Recoded):
    """One table whose quasi-identifiers are written more coarsely, with a pseudonym that ties the rows of a person."""

    name: ClassVar[str] = "linked table"
    made: ClassVar[frozenset[str]] = frozenset({PSEUDONYM})
    remembered: ClassVar[bool] = False
    links_rows: ClassVar[bool] = True

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", (PSEUDONYM, *exhibit.policy.published))
        if exhibit.policy.person is None or not exhibit.policy.person.linked:
            yield "the policy does not say that the rows of a person are linked"
