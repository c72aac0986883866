"""A dry run: what a few rows would become, replaced columns only; nothing is written or remembered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import PolicyError
from sfumato.methods.base import Progress, Task, silent
from sfumato.policy.policy import Policy
from sfumato.randomness import Randomness
from sfumato.registry import nearest
from sfumato.release.release import Release
from sfumato.spine.plan import plan


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of one table: for every replaced column its value before and after."""

    table: str
    columns: tuple[str, ...]
    before: tuple[tuple[str | None, ...], ...]
    after: tuple[tuple[str | None, ...], ...]

    def to_json(self) -> dict[str, Any]:
        rows = [
            {name: {"before": b, "after": a} for name, b, a in zip(self.columns, old, new, strict=True)}
            for old, new in zip(self.before, self.after, strict=True)
        ]
        return {"table": self.table, "rows": rows}


def preview(
    policy: Policy | str | Path,
    data: Any = None,
    *,
    rows: int = 5,
    table: str | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> list[Sample]:
    """Before and after, for some rows of every table with replaced columns."""
    policy = policy if isinstance(policy, Policy) else Policy.read(policy)
    method = plan(policy).method
    if not method.form.replaces:
        what = f"{method.name} replaces no values, so there is nothing to preview"
        raise PolicyError(what, where=policy.document.where("method"), hint="give columns the role 'replaced'")
    with policy.data.within():
        dataset = policy.data.read(data)
        release = method.run(Task(policy, dataset, Randomness(seed), progress=progress))
        found = list(_samples(policy, dataset, release, rows))
    if table is not None and table not in {sample.table for sample in found}:
        hint = nearest(table, [sample.table for sample in found])
        raise PolicyError(f"no column of a table '{table}' is replaced", where="--table", hint=hint)
    return [sample for sample in found if table in (None, sample.table)]


def _samples(policy: Policy, dataset: Any, release: Release, rows: int) -> Iterator[Sample]:
    for part in (name for name in release.parts if name not in release.form.beside_people):
        table, original, columns = release.form.beside(part, policy, dataset)
        if columns:
            yield _sample(table, columns, original, release, part, rows)


def _sample(table: str, columns: list[str], original: pa.Table, release: Release, part: str, rows: int) -> Sample:
    """Published rows are in random order, so the first ones are a random choice."""
    after = release.parts[part].table.select(columns).slice(0, rows)
    before = original.select(columns).take(pa.array(release.trace.rows[part][:rows]))
    return Sample(table, tuple(columns), _texts(before), _texts(after))


def _texts(frame: pa.Table) -> tuple[tuple[str | None, ...], ...]:
    values = [[None if cell is None else str(cell) for cell in frame.column(name).to_pylist()] for name in frame.column_names]
    return tuple(zip(*values, strict=True)) if values else ()
