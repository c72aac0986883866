"""Evidence: everything an audit may look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.table import Table
from sfumato.decomposition.published_subtables import PublishedSubTables, read_tables
from sfumato.history.past_releases import History
from sfumato.policy.policy import Policy
from sfumato.release.certificate import Records
from sfumato.release.release import Part


@dataclass(frozen=True)
class Evidence:
    """Published parts and the public policy; on the data holder's side also the original and the private trace."""

    form: str
    parts: Mapping[str, Part]
    policy: Policy
    public: Mapping[str, Any] = field(default_factory=dict)
    records: Records | None = None
    """What the certificate says about record counts."""
    damage: tuple[str, ...] | None = None
    """What is wrong with the files of a folder; ``None`` when there is no folder yet."""
    original: Any = None
    """The original dataset, when the data holder gives it."""
    behind: Mapping[str, NDArray[np.int64]] | None = None
    """Per part the original record behind each row, when the private trace is at hand."""
    private: Mapping[str, Any] = field(default_factory=dict)
    """What else of the private trace a check may use."""
    history: History | None = None
    """Every release so far, this one last, when a ledger (or the private trace) is at hand."""

    @cached_property
    def tables(self) -> dict[str, Table]:
        return {name: Table(part.table) for name, part in self.parts.items()}

    @cached_property
    def sub_tables(self) -> PublishedSubTables:
        """The parts of a release of several tables, in common codes."""
        return read_tables(self.tables)

    @property
    def data(self) -> Table:
        """The main part of a release."""
        return self.tables["data"]
