"""What the originals said about everybody, by the newest release that told it, and which values each release knew of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from sfumato.data.arrays import IntArray
from sfumato.data.table import Table
from sfumato.errors import LedgerError
from sfumato.release.past import WHOSE


class RememberedValues:
    """Per column the labels that were ever met, everybody's newest one, and those that each release met."""

    def __init__(self) -> None:
        self.number: dict[str, dict[str, int]] = {}
        """Per column the number of every label."""
        self.newest: dict[str, IntArray] = {}
        """Per column the number of everybody's newest label, −1 where nobody remembers."""
        self.met: list[dict[str, IntArray]] = []
        """Per release and column the labels that it met."""
        self.changed: set[str] = set()
        """Columns in which a release said something else of somebody than one before it, since what was kept."""

    def add(self, values: Table, at: IntArray, people: int) -> None:
        """Take note of a memory; `at` are the people behind its records."""
        met = {}
        for name in values.names:
            text, number = values.text(name), self.number.setdefault(name, {})
            codes = np.array([number.setdefault(label, len(number)) for label in text.labels], dtype=np.int64)
            self._grow(name, people)
            if name == WHOSE:
                _require_same_owner(self.newest[name][at], codes[text.codes])
            before, now = self.newest[name][at], codes[text.codes]
            self.changed |= {name} if bool(((before >= 0) & (before != now)).any()) else set()
            self.newest[name][at] = now
            met[name] = np.unique(codes)
        for name in self.newest:
            self._grow(name, people)
        self.met.append(met)

    def _grow(self, name: str, people: int) -> None:
        had = self.newest.get(name, np.zeros(0, dtype=np.int64))
        self.newest[name] = np.concatenate([had, np.full(people - len(had), -1, dtype=np.int64)])

    def ever(self, name: str) -> list[str]:
        """Every label that was ever met in a column."""
        return list(self.number.get(name, ()))

    def known_to(self, release: int, name: str) -> list[str] | None:
        """The labels that one release met, in an order of their own; nothing when it did not remember the column."""
        if name not in self.met[release]:
            return None
        labels = self.ever(name)
        return sorted(labels[code] for code in self.met[release][name].tolist())

    def of_people(self, name: str, people: IntArray) -> list[str | None]:
        """The newest label of some people."""
        labels = [*self.ever(name), None]
        codes = self.newest[name][people] if name in self.newest else np.full(len(people), -1)
        return [labels[code] for code in codes.tolist()]

    def parts(self) -> Iterator[tuple[str, pa.Array]]:
        """As arrays with names, for a ledger."""
        for name in sorted(self.newest):
            yield f"value:labels:{name}", pa.array(self.ever(name), pa.string())
            yield f"value:newest:{name}", pa.array(self.newest[name].astype(np.int32))
        for release, met in enumerate(self.met):
            yield f"met:{release}", pa.array([], pa.int32())
            for name in sorted(met):
                yield f"met:{release}:{name}", pa.array(met[name].astype(np.int32))

    @classmethod
    def of(cls, parts: Mapping[str, pa.Array]) -> RememberedValues:
        """What `parts` named."""
        found = cls()
        for name in (part.removeprefix("value:labels:") for part in parts if part.startswith("value:labels:")):
            labels = parts[f"value:labels:{name}"].to_pylist()
            found.number[name] = {label: code for code, label in enumerate(labels)}
            found.newest[name] = parts[f"value:newest:{name}"].to_numpy(zero_copy_only=False).astype(np.int64)
        while f"met:{len(found.met)}" in parts:
            mine = f"met:{len(found.met)}:"
            names = [part.removeprefix(mine) for part in parts if part.startswith(mine)]
            found.met.append({name: parts[f"{mine}{name}"].to_numpy(zero_copy_only=False).astype(np.int64) for name in names})
        return found


def _require_same_owner(before: IntArray, now: IntArray) -> None:
    """Refuse records that are said to be another person's than they were."""
    if moved := int(((before >= 0) & (before != now)).sum()):
        what = f"{moved} record(s) are another person's than in an earlier release"
        raise LedgerError(what, where="person", hint="a key names one row of one person, in every release")
