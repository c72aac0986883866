"""What was done and what went wrong, by kind; every failure with the words that repeat it."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

COLUMNS = {
    "tried": "calls of publish",
    "published and verified": "releases that no judge looked at",
    "judged": "releases judged from their files",
    "histories": "histories of two or more releases judged",
    "given up": "releases with too many possible worlds",
    "broken promises": "violation",
    "false alarms": "false alarm",
    "audit refusals": "audit refusal",
    "false infeasible": "false refusal",
    "crashes": "crash",
    "edits": "edits after which the files are false",
    "edits passed": "not found",
}
"""The columns of the table of judges, and what is counted in each: something done, or a sort of failure."""


@dataclass
class Tally:
    """Counts, and the case that is being played."""

    case: str = ""
    rows: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """The table of judges: per kind of trial the counts by column."""
    releases: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    sorts: Counter[str] = field(default_factory=Counter)
    hostile: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, str]] = field(default_factory=list)

    def count_one(self, column: str) -> None:
        """Count something in the row of the kind that is being played."""
        self.rows[self.case.partition(":")[0]][column] += 1

    def fail(self, what: str, detail: str) -> None:
        """Write a failure down."""
        self.failures.append({"case": self.case, "what": what, "detail": detail[:2000]})
        for column, counted in COLUMNS.items():
            if what == counted or (what == "hang" and counted == "crash"):
                self.count_one(column)

    def judged(self, form: str, method: str) -> None:
        self.releases[form] += 1
        self.methods[method] += 1
        self.count_one("judged")

    def refused(self, why: str, method: str) -> None:
        self.refusals[f"{method}: {why}"] += 1

    def violations(self, wrong: list[str]) -> None:
        for what in wrong:
            self.fail("violation", what)

    def false_refusal(self, why: str, said: str) -> None:
        if why:
            self.fail("false refusal", f"{why}; said: {said}")

    def alarm(self, how: str, said: list[str]) -> None:
        for what in said:
            self.fail("false alarm", f"{how}: {what}")

    def spoilt(self, form: str, sort: str, said: str, found: bool) -> None:
        self.planted[form] += 1
        self.count_one("edits")
        self.sorts[sort] += 1
        self.found[form] += found
        if not found:
            self.fail("not found", f"{form}, {sort}: {said}")

    def attacked(self, sort: str) -> None:
        self.hostile[sort] += 1

    def count(self, what: str) -> int:
        return sum(failure["what"] == what for failure in self.failures)

    def figures(self) -> dict[str, Any]:
        """The table that stands in the results."""
        return {
            "releases judged": self.releases.total(),
            "violations": self.count("violation"),
            "false alarms": self.count("false alarm"),
            "false refusals": self.count("false refusal"),
            "spoilings planted": self.planted.total(),
            "spoilings found": self.found.total(),
            "hostile inputs": self.hostile.total(),
            "audit refusals": self.count("audit refusal"),
            "crashes": self.count("crash"),
            "hangs": self.count("hang"),
            "releases by form": dict(sorted(self.releases.items())),
            "releases by method": dict(sorted(self.methods.items())),
            "refused": dict(sorted(self.refusals.items())),
            "spoilings by form": {form: [self.planted[form], self.found[form]] for form in sorted(self.planted)},
            "spoilings by sort": dict(sorted(self.sorts.items())),
            "hostile inputs by sort": dict(sorted(self.hostile.items())),
        }

    def table(self) -> str:
        """The figures in lines."""
        lines = []
        for name, value in self.figures().items():
            if isinstance(value, dict):
                lines += [f"{name}:", *(f"    {key:32} {_shown(count):>14}" for key, count in value.items())]
            else:
                lines.append(f"{name:36} {value:>14,}")
        return "\n".join(lines)

    def save(self, file: Path, **more: Any) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            json.dumps(more | self.figures() | {"failures": self.failures}, indent=1, ensure_ascii=False) + "\n"
        )

    def save_rows(self, file: Path, seed: int, minutes: float) -> None:
        """Write the rows of this seed into the table of judges, in place of what it has of the same seed."""
        fields = ["date", "seed", "CPU minutes", "kind", *COLUMNS]
        kept: list[dict[str, Any]] = []
        if file.exists():
            with file.open(newline="", encoding="utf-8") as lines:
                kept = [
                    row for row in csv.DictReader(lines) if row["seed"] != str(seed) or row["kind"] not in self.rows
                ]
        same = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "seed": seed, "CPU minutes": round(minutes, 1)}
        rows = [same | {"kind": kind} | {column: self.rows[kind][column] for column in COLUMNS} for kind in self.rows]
        with file.open("w", newline="", encoding="utf-8") as lines:
            writer = csv.DictWriter(lines, fields)
            writer.writeheader()
            writer.writerows([*kept, *rows])

    @property
    def clean(self) -> bool:
        return not self.failures


def _shown(count: Any) -> str:
    return f"{count[1]:,} of {count[0]:,}" if isinstance(count, list) else f"{count:,}"
