"""Algorithm 1: the records of a part cut into blocks, and what a block sees of the other records.

Notation
    bound   totals are counted together with the constants, as the paper prints it
    keeps   the block's own totals stay what they are (LM, LM*): nothing outside the block matters to them
    grows   the totals of the first records must be right after every block (IG): what comes before is known without
            solving it

Invariants
    I1  No block is smaller than q (unless the table is): a short last block would hardly change its records.
    I2  A total that must *equal* a constant and does so before a block is solved does so afterwards. So under LM and
        LM* every block keeps its own share, under IG it starts from a known one: blocks with such totals do not depend
        on each other.

Departures
    Algorithm 1 cuts off q records at a time. Its line 4 loses a last block of a single record, and a short last block
    leaks: with N = 1,000 and q = 333 the thousandth record keeps its values under LM. Here the rest is spread over the
    other blocks. The paper solves all blocks of a part with a global rule one after the other; I2 is why equal totals
    need not.


Patience
--------
How long the constraint solver may take, and where it goes on when it was stopped.

A run without a seed of its own writes one, and every answer that was found, into a private file beside the release
folder. The same command takes its answers from there and solves only what is left. The file goes when the release is
written: it opens the release.

Invariants
    I1  An answer is taken from the file only for a task that is the same in every respect: rules, records, the values
        inside and around it, seed. Its answer is a function of these, so a run that was stopped makes what it would
        have made.
    I2  A line that was cut off is no answer.
    I3  The file is readable by its owner alone: it ties new values to rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np

from sfumato.core.arrays import IntArray
from sfumato.core.errors import DataError, Infeasible
from sfumato.core.randomness import Randomness
from sfumato.policy.constraint_language.syntax_tree import ColumnValue
from sfumato.release.method import Task

Heuristic = Literal["LM", "LM*", "IG"]


@dataclass(frozen=True)
class Block:
    """A sub-problem: the records it may change, those it sees as constants, and how many come before it."""

    records: IntArray
    constants: IntArray
    before: int = 0
    totals: Literal["bound", "keeps", "grows"] = "bound"


@dataclass(frozen=True)
class BlockTask:
    """A block with its values, the values it depends on, and its own seed: everything that determines its solution."""

    block: Block
    inside: dict[ColumnValue, IntArray]
    outside: dict[ColumnValue, IntArray]
    seed: int
    may_stay: bool

    def table(self, count: int) -> dict[ColumnValue, IntArray]:
        """The values at their places in a table of `count` records; 0 where the block does not look."""
        found = {column: np.zeros(count, dtype=np.int64) for column in self.inside}
        for column, codes in found.items():
            codes[self.block.records] = self.inside[column]
            codes[self.block.constants] = self.outside[column]
        return found


def task(block: Block, current: dict[ColumnValue, IntArray], random: Randomness, *, may_stay: bool) -> BlockTask:
    """What the answer of one block depends on, cut out of the whole table."""
    inside = {column: codes[block.records] for column, codes in current.items()}
    outside = {column: codes[block.constants] for column, codes in current.items()}
    return BlockTask(block, inside, outside, int.from_bytes(random.bytes(32), "big"), may_stay)


def blocks(count: int, size: int, heuristic: Heuristic, random: Randomness) -> list[Block]:
    """The records cut into blocks of at least `size`, with what each block sees."""
    order = random.permutation(count) if heuristic == "LM*" else np.arange(count, dtype=np.int64)
    found, start = [], 0
    for records in np.array_split(order, max(1, count // size)):  # I1
        stop = start + len(records)
        seen = order[:start] if heuristic == "IG" else np.concatenate([order[:start], order[stop:]])
        found.append(Block(records, seen, start))
        start = stop
    return found


def parallel_blocks(found: Sequence[Block], count: int, heuristic: Heuristic) -> list[Block]:
    """The same blocks for solving at once (I2): each sees only records that none of the others changes."""
    changing = np.zeros(count, dtype=bool)
    for block in found:
        changing[block.records] = True
    totals: Literal["keeps", "grows"] = "grows" if heuristic == "IG" else "keeps"
    return [replace(block, constants=block.constants[~changing[block.constants]], totals=totals) for block in found]


def sub_block(block: Block, records: IntArray) -> Block:
    """Some records of a solved block as a block of their own, the others being constant."""
    rest = np.concatenate([np.setdiff1d(block.records, records), block.constants])
    return Block(records, rest, block.before, "bound" if block.totals == "bound" else "keeps")


# Patience
# --------


SECRET_BYTES = 32


class SolverBudget:
    """A budget in seconds for all solver blocks of a run, and the file that remembers what they found."""

    def __init__(self, minutes: float | None = None, file: Path | None = None, about: str = "") -> None:
        self.minutes, self.file = minutes, file
        self._about = hashlib.sha256(about.encode()).hexdigest()
        self._began: float | None = None
        self._seed, self._lock = "", Lock()
        self._known = self._read() if file is not None and file.exists() else {}
        self.found = 0
        """Answers that were taken from the file."""

    def _read(self) -> dict[str, Any]:
        assert self.file is not None
        lines = [_line(text) for text in self.file.read_text(encoding="utf-8").splitlines()]
        head = lines[0] if lines else None
        if head is None or head.get("about") != self._about:
            hint = "remove the file to begin anew"
            raise DataError(
                "an unfinished run of another policy or of other data stands there", where=str(self.file), hint=hint
            )
        self._seed = str(head["seed"])
        return {line["task"]: line for line in lines[1:] if line is not None and "task" in line}  # I2

    def chance(self, random: Randomness) -> Randomness:
        """The randomness of the solver's parts: of the run that was stopped, when there is one; a given seed repeats by
        itself."""
        if self.file is None:
            return random
        with self._lock:
            if not self._seed:
                self._seed = "given" if random.seed is not None else random.bytes(SECRET_BYTES).hex()
                os.close(os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # I3
                self._write({"about": self._about, "seed": self._seed})
        if random.seed is not None or self._seed == "given":
            return random
        return random.under(int.from_bytes(bytes.fromhex(self._seed), "big") | 1 << 8 * SECRET_BYTES)

    def _write(self, line: dict[str, Any]) -> None:
        assert self.file is not None
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
            out.flush()

    def known(self, task: str) -> dict[str, Any] | None:
        """What was found for a task by a run that was stopped (I1)."""
        line = self._known.get(task)
        self.found += line is not None
        return None if line is None else line["answer"]

    def keep(self, task: str, answer: dict[str, Any]) -> None:
        if self.file is not None:
            with self._lock:
                self._write({"task": task, "answer": answer})

    def require_time(self, done: int, tasks: int) -> None:
        """Refuse to go on when the budget is spent."""
        self._began = self._began or time.monotonic()
        if self.minutes is None or time.monotonic() - self._began <= self.minutes * 60:
            return
        what = f"the constraint solver has had its {self.minutes:g} minutes: {done} of about {tasks} blocks are solved"
        on = "the same command goes on from there; " if self.file is not None else ""
        raise Infeasible(what, where="method", hint=f"{on}or allow more 'minutes', smaller blocks, or fewer rules")


def _line(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def solver_budget(task: Task, minutes: float) -> SolverBudget:
    """For one run of a method: what the file knows belongs to this policy and to data of this size."""
    return SolverBudget(
        minutes,
        task.unfinished,
        f"{json.dumps(task.policy.document.tree, sort_keys=True, default=str)} {task.data.rows}",
    )
