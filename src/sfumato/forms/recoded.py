"""Recoded table: ``data.csv`` with the published columns; a generalized cell is the label of its hierarchy node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from sfumato.data.arrays import IntArray
from sfumato.data.table import Table
from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form, differing_columns, differing_parts
from sfumato.release.past import Memory, Sheet, as_often, each_once, keys_of, sheet_of, text_of, with_people
from sfumato.release.release import Part, Trace


class Optimality(BaseModel):
    """What a method says about the best release of its kind."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    objective: Literal["loss", "entropy_loss", "ntil"] = Field(description="the figure that the bound is about")
    lower_bound: float = Field(description="no release of the space loses less")
    proven_optimal: bool = Field(description="whether this release reaches the bound")
    space: str = Field(description="the releases that the bound is about, in words")
    proof: str = Field(description="how the bound is known")


@dataclass(frozen=True)
class RecodedTrace(Trace):
    """Also who the counterfeit rows stand in for, and what the method proved about the best release: a figure of the original."""

    stand_ins: tuple[list[str], pa.Table] | None = None
    """Keys and last known values of records that vanished, in the order of the rows with nobody behind them."""
    optimality: Optimality | None = None
    lineage: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The number of the lineage of each row, where the method formed lineages."""

    def __post_init__(self) -> None:
        if isinstance(self.optimality, Mapping):  # as it is read from a file
            object.__setattr__(self, "optimality", Optimality.model_validate(dict(self.optimality)))

    def kept(self) -> Trace:
        """The statement alone: who stands in which row can be matched again from the original, in whatever order it comes."""
        return RecodedTrace(optimality=self.optimality, lasting=self.lasting)


def plainly_recoded(form: type[Form]) -> bool:
    """Whether a form is a recoded table and nothing besides: its kin tie rows, draw them or suppress single cells."""
    return form is Recoded


class Recoded(Form):
    """One table whose quasi-identifiers are written more coarsely."""

    name: ClassVar[str] = "recoded table"
    shows_columns: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    remembered: ClassVar[bool] = True

    counterfeits: int = Field(default=0, ge=0, description="rows that stand in for records that vanished")
    optimality: Optimality | None = Field(default=None, description="only in folders of earlier versions: a bound on the loss")

    def trace_type(self) -> type[Trace]:
        return RecodedTrace

    def memory(self, policy: Policy, parts: Mapping[str, Part], trace: Trace, original: Table) -> Memory:
        behind = np.asarray(trace.rows["data"])
        keys = keys_of(policy, original) if policy.key else tuple(str(i) for i in range(original.rows))
        real = behind[behind >= 0]
        names = parts["data"].table.column_names
        values = pa.table({name: text_of(original, name).take(pa.array(real)) for name in names})
        named, rows = [keys[i] for i in real], np.flatnonzero(behind >= 0)
        stand_ins = trace.stand_ins if isinstance(trace, RecodedTrace) else None
        if stand_ins is not None:
            named += stand_ins[0]
            values = pa.concat_tables([values, stand_ins[1].select(values.column_names)])
            rows = np.concatenate([rows, np.flatnonzero(behind < 0)])
        counterfeit = np.arange(len(named)) >= len(real)
        lineage = np.asarray(getattr(trace, "lineage", ()), dtype=np.int64)
        memory = Memory(
            tuple(named),
            rows.astype(np.int64),
            Table(values.combine_chunks()),
            counterfeit,
            lineage=lineage[rows] if len(lineage) else lineage,
        )
        return memory if policy.person is None or stand_ins is not None else with_people(policy, original, memory)

    def sheets(self, exhibit: Exhibit, memory: Memory) -> tuple[Sheet, ...]:
        return (sheet_of(exhibit.data, memory.rows),)

    def accounts(self, exhibit: Exhibit, memory: Memory) -> bool:
        if exhibit.data.counts is not None:
            return as_often(memory, exhibit.data.counts)
        return memory.counts is None and each_once(memory.rows, exhibit.data.rows)

    def misfits(self, exhibit: Exhibit) -> Iterator[str]:
        yield from differing_parts(exhibit, ["data"])
        yield from differing_columns(exhibit, "data", exhibit.policy.published)

    def records(self, exhibit: Exhibit) -> int:
        return exhibit.data.records - self.counterfeits

    def uncountable(self, exhibit: Exhibit) -> str:
        return ""
