"""Privacy rules as the paper writes them: one line of text, and always a diversity.

>>> str(rule("age, icd9 -> race : 3-diversity"))
'age, icd9 → race : 3-diversity'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.policy.privacy_rules import PrivacyRule, split_arrow


@dataclass(frozen=True, slots=True, order=True)
class Diversity:
    """No value of the hidden column has a share above 1/l among anybody's candidates."""

    hides_combinations: ClassVar[bool] = True
    l: float = 2

    def covers(self, other: Any) -> bool:
        return isinstance(other, Diversity) and self.l >= other.l

    def __str__(self) -> str:
        return f"{self.l:g}-diversity"


def rule(text: str) -> PrivacyRule:
    """The rule that ``"age, icd9 -> race : 3-diversity"`` says."""
    sides, by = text.split(" : ")
    return PrivacyRule(*split_arrow(sides), Diversity(float(by.removesuffix("-diversity"))))
