"""Replaced table: ``data.csv`` with the columns of the source, some of them with new values.

``kept.csv``, when there is one, says which properties of the original hold between which rows, numbered from 1: a locality by the
rows of its three values and the gap that is at least as wide (`wider`: `low` between the lower two, `high` between the upper two);
a rule of the policy that names records by the same rule with the rows that stand for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from sfumato.data.arrays import IntArray
from sfumato.data.table import Table
from sfumato.errors import PolicyError
from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form, differing_columns, differing_parts
from sfumato.release.past import Memory, Sheet, each_once, remember, sheet_of
from sfumato.release.release import Part, Trace

KEPT = "kept"
KEPT_COLUMNS = ("rule", "column", "low", "middle", "high", "wider")


class MadePart(BaseModel):
    """Columns that were made together, and how; the manifest's word, which cannot be read off the data."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    columns: tuple[str, ...]
    engine: str
    uniform: bool
    reads_original: bool
    learned: bool = False
    heuristic: str = ""
    block: int = 0
    variety: dict[str, int] = Field(default_factory=dict)


class WalkProgress(BaseModel):
    """How far a random walk went."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    parts: int = Field(ge=0, description="independent parts")
    mixed: int = Field(ge=0, description="parts whose walks have forgotten where they began")
    implied_equalities: int = Field(ge=0, description="values that the kept properties leave no room to move")


@dataclass(frozen=True)
class WalkTrace(Trace):
    """Also which localities were kept, within which range values could move, and how far the walk went."""

    localities: Mapping[str, IntArray] = field(default_factory=dict)
    range: Literal["", "domain", "partition"] = ""
    walk: WalkProgress | None = None
    partitions: Mapping[str, IntArray] = field(default_factory=dict)
    """By column the partition of every record, where partitions are records near each other."""
    distances: Mapping[str, IntArray] = field(default_factory=dict)
    """By column records (a, b, c, d) of which the first two are no farther apart than the last two."""

    def __post_init__(self) -> None:
        if isinstance(self.walk, Mapping):  # as it is read from a file
            object.__setattr__(self, "walk", WalkProgress.model_validate(dict(self.walk)))


class Replaced(Form):
    """One table in which chosen columns have new values that obey the rules."""

    name: ClassVar[str] = "replaced table"
    shows_columns: ClassVar[bool] = True
    replaces: ClassVar[bool] = True
    remembered: ClassVar[bool] = True
    beside_people: ClassVar[frozenset[str]] = frozenset({KEPT})

    parts: tuple[MadePart, ...] = Field(default=(), description="columns that were drawn together, and how")
    walked: bool = Field(default=False, description="whether values were walked to and not drawn")
    walk: WalkProgress | None = Field(default=None, description="only in folders of earlier versions: how far the walk went")
    told: bool = Field(default=False, description="whether kept.csv says which properties hold between which rows")
    ordered: bool = Field(default=False, description="whether rows stand in the order of the source")
    linked_at_most: float | None = Field(
        default=None, gt=0, le=1, description="the share of people whose row may be found by whoever knows everybody's old numbers"
    )

    @property
    def rests_on_chance(self) -> bool:
        return True

    def trace_type(self) -> type[Trace]:
        return WalkTrace

    @property
    def blind(self) -> bool:
        """Whether no new value depends on the value it stands for; the manifest's word."""
        return not self.walked and bool(self.parts) and not any(part.reads_original or part.learned for part in self.parts)

    def uncounted(self, policy: Policy) -> tuple[str, ...]:
        """All of them: almost every row of new values is different, and what must be true of rows is looked at file by file."""
        return policy.published

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Trace, original: Table) -> Memory:
        """Whose row is whose, with the columns that are published as they are; new values that nobody looked up tell nothing."""
        if not self.blind:
            what = "a ledger keeps replaced tables only where no new value looks at the original"
            raise PolicyError(what, hint="publish without a ledger, or with rules and domains that do not read the original")
        return remember(policy, original, np.asarray(trace.rows["data"]), _kept(policy))

    def sheets(self, exhibit: Exhibit, memory: Memory) -> tuple[Sheet, ...]:
        """What an outsider can join: the columns that are published as they are, if there are any."""
        kept = _kept(exhibit.policy)
        return (sheet_of(Table(exhibit.data.frame.select(list(kept))), memory.rows),) if kept else ()

    def accounts(self, exhibit: Exhibit, memory: Memory) -> bool:
        """Every row has somebody behind it, and nothing in it was looked up."""
        return self.blind and each_once(memory.rows, exhibit.data.rows)

    def shown(self, exhibit: Exhibit) -> tuple[str, ...]:
        return _kept(exhibit.policy)

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data", *([KEPT] if self.told else [])])
        yield from differing_columns(exhibit, "data", exhibit.policy.published)
        yield from differing_columns(exhibit, KEPT, KEPT_COLUMNS)

    def beside(self, part: str, policy: Policy, original: Any) -> tuple[str, pa.Table, list[str]]:
        return part, original.frame, list(policy.with_role("replaced"))


def _kept(policy: Policy) -> tuple[str, ...]:
    """Columns that are published as they are."""
    return tuple(name for name in policy.published if policy.columns[name].role != "replaced")
