"""`patterns`: a gym's members keep their ranking and their clusters, and lose their numbers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.demos.base import Scenario

POLICY = """\
# A gym shares members' measurements for clustering: who is closer to whom must survive, the numbers must not.
version: 1
data: {kind: table, source: members.csv}
columns:
  member:     identifier
  age:        {role: replaced, domain: {integers: [16, 90]}}
  weight:     {role: replaced, domain: {decimals: [40, 160], places: 1}}
  resting:    {role: replaced, domain: {integers: [35, 110]}}
  peak:       {role: replaced, domain: {integers: [90, 220]}}
  condition:  sensitive
keep:
  - "localities(age, weight, resting, peak) sample 0.3 partition 20"
  - "resting <= peak - 20"
  - "age within 15 of original.age"
method: {pattern-walk: {}}
"""

_CONDITIONS = ["none", "asthma", "back pain", "diabetes", "hypertension", "knee injury"]


class PatternsDemo(Scenario):
    """A thousand gym members with new numbers in the old pattern."""

    name: ClassVar[str] = "patterns"
    title: ClassVar[str] = "A gym shares measurements without the numbers"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data, policy = folder / "members.csv", folder / "policy.yaml"
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["member", "age", "weight", "resting", "peak", "condition"])
            writer.writerows(members(1000))
        policy.write_text(POLICY, encoding="utf-8")
        return policy, data


def members(count: int, seed: int = 1503) -> list[list[str]]:
    """Invented members: hearts beat slower at the peak with age, and conditions come with weight and years."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        age = int(np.clip(rng.normal(41, 14), 16, 90))
        weight = round(float(np.clip(rng.normal(74 + age / 8, 13), 40, 160)), 1)
        resting = int(np.clip(rng.normal(58 + weight / 10, 8), 35, 110))
        peak = int(np.clip(rng.normal(212 - 0.75 * age, 9), resting + 20, 220))
        weights = np.array([6, 1, 1 + age / 40, age / 60, age / 50 + weight / 90, 1.0])
        condition = str(rng.choice(_CONDITIONS, p=weights / weights.sum()))
        rows.append([f"M{number:05d}", str(age), str(weight), str(resting), str(peak), condition])
    return rows
