"""`single-attribute`: every column in a table of its own; keeps every rule and destroys every correlation.

Guarantee: nothing connects two columns, so every rule holds that holds for its hidden column alone.
Paper: [versatile §1.3], a baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sfumato.decomposition.guardian import SubTable
from sfumato.decomposition.privacy_rules import PrivacyRule
from sfumato.methods.subtables.base import Hidden, SubTableMethod


class SingleAttribute(SubTableMethod):
    """Every column in a table of its own: keeps any rules, loses every correlation; a baseline."""

    name: ClassVar[str] = "single-attribute"
    paper: ClassVar[str] = "versatile §1.3"

    def decompose(self, units: Sequence[str], rules: Sequence[PrivacyRule], guardable: set[str], data: Hidden) -> list[SubTable]:
        return [SubTable(frozenset({unit})) for unit in units]
