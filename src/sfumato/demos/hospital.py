"""`hospital`: a discharge table with names, exact ages, zip codes and diagnoses becomes a table that may be shared."""

from __future__ import annotations

import csv
import datetime as dt
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.demos.base import Scenario

POLICY = """\
# A hospital publishes its discharges for research: who was ill must stay private, when and where must stay useful.
version: 1
data: {kind: table, source: discharges.csv}
columns:
  name:       identifier
  age:        {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}, boundary: {level: 3}}
  sex:        quasi-identifier
  zip:        {role: quasi-identifier, hierarchy: {prefix: 5}}
  admitted:   {role: quasi-identifier, hierarchy: {dates: [month, quarter, year]}}
  ward:       other
  diagnosis:  sensitive
protect:
  - k-anonymity: {k: 5}
  - l-diversity: {l: 2, kind: distinct}
utility: {minimize: loss, suppress_at_most: 2%}
"""

_FIRST = ["Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jun", "Kai", "Lea", "Max", "Nora", "Otto", "Pia"]
_LAST = ["Abel", "Berg", "Conti", "Duval", "Evans", "Ferri", "Gallo", "Holm", "Ito", "Jansen", "Klein", "Lopez", "Nagy", "Olsen"]
_WARDS = {
    "cardiology": ["angina", "arrhythmia", "heart failure", "hypertension"],
    "surgery": ["appendicitis", "fracture", "gallstones", "hernia"],
    "medicine": ["asthma", "diabetes", "influenza", "pneumonia"],
    "neurology": ["epilepsy", "migraine", "stroke"],
}


class Hospital(Scenario):
    """Three thousand hospital discharges, five people at least behind every row."""

    name: ClassVar[str] = "hospital"
    title: ClassVar[str] = "A hospital shares its discharges"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data, policy = folder / "discharges.csv", folder / "policy.yaml"
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["name", "age", "sex", "zip", "admitted", "ward", "diagnosis"])
            writer.writerows(discharges(3000))
        policy.write_text(POLICY, encoding="utf-8")
        return policy, data


def discharges(count: int, seed: int = 1452) -> list[list[str]]:
    """Invented patients: older people are more often in cardiology, districts differ in age."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        district = int(rng.choice(6, p=[0.3, 0.22, 0.18, 0.14, 0.1, 0.06]))
        age = int(np.clip(rng.normal(48 + 4 * district, 19), 0, 99))
        weights = np.array([0.1 + age / 150, 0.3, 0.35, 0.1 + age / 300])
        ward = list(_WARDS)[int(rng.choice(4, p=weights / weights.sum()))]
        zip_code = f"{71 + district // 3}{district}{int(rng.integers(0, 8)):02d}"
        day = dt.date(2025, 1, 1) + dt.timedelta(days=int(rng.integers(0, 365)))
        name = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"
        sex = "F" if rng.random() < 0.52 else "M"
        rows.append([name, str(age), sex, zip_code, day.isoformat(), ward, str(rng.choice(_WARDS[ward]))])
    return rows
