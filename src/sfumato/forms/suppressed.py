"""Locally suppressed table: ``data.csv`` with the published columns, in which single cells of quasi-identifiers are suppressed.

Every other cell is the original's. What stands for a suppressed cell is declared, so that nobody takes a value for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from sfumato.forms.recoded import Recoded
from sfumato.release.exhibit import Exhibit


class SuppressedCells(Recoded):
    """One table in which single cells are suppressed, and all others are as they were."""

    name: ClassVar[str] = "locally suppressed table"
    remembered: ClassVar[bool] = False

    marks: dict[str, str] = Field(default_factory=dict, description="what stands for a suppressed cell, in each quasi-identifier")

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from super().misfits(exhibit)
        if set(self.marks) != set(exhibit.policy.quasi_identifiers):
            yield "the manifest does not say how every quasi-identifier is suppressed"
