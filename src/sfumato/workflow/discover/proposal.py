"""A proposal: a rule that holds in the data, how many rows speak for it, and how easily it would hold by accident.

Notation
    support   rows (or distinct values) that could have broken the rule and did not
    chance    log10 of the probability that unrelated data would keep the rule; every template says how it estimates it
    weight    log10 of what the names of the columns and the shape of the tables add to it; 0 when they say nothing
    off       why a proposal that holds is not switched on

Invariants
    I1  A proposal is switched on only when it is declared, or when chance + weight is at most `SURE`. A few thousand
        candidates are looked at in a table of fifteen columns, so about one table in a hundred gets an accidental rule
        switched on.

>>> Proposal("a < b", "orders", support=400, chance=-80.0).active, Proposal("a < b", "orders", support=9,
...     chance=-3.0).active
(True, False)
>>> print(Proposal("unique(a)", "keys", support=9, chance=-3.0))
found, 9 rows, p = 10^-3; off: may be an accident
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SURE = -6.0
"""At most this (chance + weight): switched on."""
WORTH = -2.0
"""At most this: worth a line, switched off."""
OFTEN = 5
"""A value is spelled out in a proposal only when at least this many rows carry it."""

_PLAIN = re.compile(r"[^\W\d]\w*")
_WORDS = frozenset(
    ("and", "or", "not", "if", "then", "in", "within", "of", "determines", "references", "by", "where", "original")
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rule in the language of `keep:` with what speaks for it."""

    rule: str
    template: str
    support: int
    chance: float
    weight: float = 0.0
    declared: bool = False
    off: str = ""

    @property
    def score(self) -> float:
        return self.chance + self.weight

    @property
    def active(self) -> bool:
        """Whether the written policy has it switched on."""  # I1
        return not self.off and (self.declared or self.score <= SURE)

    @property
    def listed(self) -> bool:
        return self.declared or self.score <= WORTH

    def __str__(self) -> str:
        rows = f"{self.support:,} row{'' if self.support == 1 else 's'}"
        parts = ["declared" if self.declared else "found", rows, f"p {_p(self.chance)}"]
        if self.weight:
            parts.append(f"p with names {_p(self.score)}")
        return ", ".join(parts) + (f"; off: {self.doubt}" if self.doubt else "")

    @property
    def doubt(self) -> str:
        """Why it is switched off; empty when it is on."""
        return self.off or ("" if self.active else "may be an accident")

    def as_json(self) -> dict[str, Any]:
        """The proposal for scripts; chances below 10^-999 are cut there."""
        return {
            "rule": self.rule,
            "template": self.template,
            "support": self.support,
            "chance": round(max(self.chance, -999.0), 2),
            "weight": round(self.weight, 2),
            "declared": self.declared,
            "active": self.active,
            "doubt": self.doubt,
        }


def odds(power: float) -> str:
    """A power of ten as people read it.

    >>> odds(-0.01), odds(-12.4), odds(-1e6)
    ('1', '10^-12', 'below 10^-999')
    """
    if power < -999 or math.isinf(power):
        return "below 10^-999"
    return f"10^{round(power)}" if round(power) < 0 else "1"


def rank_proposals(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Declared first, then those switched on, most surprising first; the order given decides ties."""
    return sorted(proposals, key=lambda each: (not each.declared, not each.active, each.score))


def quoted(name: str) -> str:
    """Quote a name as constraints write it.

    >>> quoted("age"), quoted("Order Details"), quoted("by")
    ('age', '`Order Details`', '`by`')
    """
    return name if _PLAIN.fullmatch(name) and name not in _WORDS else f"`{name}`"


def can_be_named(name: str) -> bool:
    """Whether rules can name it at all."""
    return bool(name) and "`" not in name and name != "original"


def _p(power: float) -> str:
    """The probability that unrelated data keeps a rule, as comments of a draft say it."""
    told = odds(power)
    return told if told.startswith("below") else f"= {told}"
