"""How long the constraint solver may take, and where it goes on when it was stopped.

A run without a seed of its own writes one, and every answer that was found, into a private file beside the release folder. The same
command takes its answers from there and solves only what is left. The file goes when the release is written: it opens the release.

Invariants
    I1  An answer is taken from the file only for a task that is the same in every respect: rules, records, the values inside and
        around it, seed. Its answer is a function of these, so a run that was stopped makes what it would have made.
    I2  A line that was cut off is no answer.
    I3  The file is readable by its owner alone: it ties new values to rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from threading import Lock
from typing import Any

from sfumato.errors import DataError, Infeasible
from sfumato.methods.base import Task
from sfumato.randomness import Randomness

SECRET_BYTES = 32


class Patience:
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
            raise DataError("an unfinished run of another policy or of other data stands there", where=str(self.file), hint=hint)
        self._seed = str(head["seed"])
        return {line["task"]: line for line in lines[1:] if line is not None and "task" in line}  # I2

    def chance(self, random: Randomness) -> Randomness:
        """The randomness of the solver's parts: of the run that was stopped, when there is one; a given seed repeats by itself."""
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


def patience_of(task: Task, minutes: float) -> Patience:
    """For one run of a method: what the file knows belongs to this policy and to data of this size."""
    return Patience(
        minutes, task.unfinished, f"{json.dumps(task.policy.document.tree, sort_keys=True, default=str)} {task.data.rows}"
    )
