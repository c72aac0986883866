"""Linked table: ``data.csv`` with the published columns and a pseudonym that ties the rows of a person.

The pseudonym is a number that is drawn anew for every release. Rows of one person can be told to be that, so people who share all
their published rows are each other's candidates. What a ledger remembers of rows is whose they are, and not the pseudonym, which
means nothing in another release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from sfumato.data.table import Table
from sfumato.forms.recoded import Recoded
from sfumato.policy.person import PSEUDONYM
from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import differing_columns, differing_parts
from sfumato.release.past import Memory, Sheet, remember, sheet_of, with_people
from sfumato.release.release import Part, Trace


class LinkedTable(Recoded):
    """One table whose quasi-identifiers are written more coarsely, with a pseudonym that ties the rows of a person."""

    name: ClassVar[str] = "linked table"
    made: ClassVar[frozenset[str]] = frozenset({PSEUDONYM})
    links_rows: ClassVar[bool] = True

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Trace, original: Table) -> Memory:
        return with_people(policy, original, remember(policy, original, np.asarray(trace.rows["data"]), policy.published))

    def sheets(self, exhibit: Exhibit, memory: Memory) -> tuple[Sheet, ...]:
        told = sheet_of(exhibit.data, memory.rows)
        return (Sheet({name: cells for name, cells in told.columns.items() if name != PSEUDONYM}, told.here),)

    def shown(self, exhibit: Exhibit) -> tuple[str, ...]:
        return exhibit.policy.published

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", (PSEUDONYM, *exhibit.policy.published))
        if exhibit.policy.person is None or not exhibit.policy.person.linked:
            yield "the policy does not say that the rows of a person are linked"
