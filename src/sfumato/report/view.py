"""What a report looks at: the published files, and on the data holder's side also the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sfumato.data.classes import Classes, group
from sfumato.data.generalization import MISSING, Generalization
from sfumato.data.table import Table
from sfumato.io.hierarchies import is_standing
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.certificate import Certificate
from sfumato.release.release import Part


@dataclass(frozen=True)
class View:
    """A release as a report sees it; `original` is ``None`` for the public report."""

    form: str
    parts: Mapping[str, Part]
    policy: Policy
    certificate: Certificate
    public: Mapping[str, Any] = field(default_factory=dict)
    original: Any = None
    history: Any = None

    @cached_property
    def tables(self) -> dict[str, Table]:
        return {name: Table(part.table) for name, part in self.parts.items()}

    @property
    def data(self) -> Table:
        return self.tables["data"]

    @property
    def private(self) -> bool:
        return self.original is not None

    @cached_property
    def classes(self) -> Classes:
        """Published rows with the same quasi-identifiers."""
        return group([self.data.text(name).codes for name in self.policy.quasi_identifiers], rows=self.data.rows)

    def domain(self, name: str) -> Generalization | None:
        """The domain of a column, as far as this report may know it."""
        if self.private:
            return generalization_of(self.policy, name, self.original.text(name).labels)
        if is_standing(self.policy.columns[name].hierarchy):
            missing = [label for label in self.data.text(name).labels if label == MISSING]
            return generalization_of(self.policy, name, missing)
        return None
