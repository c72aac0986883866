"""`baskets`: a pharmacy chain shares what was bought together, with the main diagnosis of each customer as the label."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.attacks.basket_linkage import BasketLinkage
from sfumato.attacks.re_execution import ReExecution
from sfumato.demos.base import Say, Scenario
from sfumato.methods.base import Progress, silent

POLICY = """\
# A pharmacy chain shares baskets: nobody's basket may be found, no diagnosis guessed with a chance above one in three.
version: 1
data: {kind: baskets, source: baskets.csv, items: items}
columns:
  customer:  identifier
  diagnosis: sensitive
protect:
  - k-anonymity: {k: 6}
  - l-diversity: {l: 3, kind: frequency}
"""

_THEMES = {
    "allergy": ["cetirizine", "nasal-spray", "eye-drops", "tissues"],
    "asthma": ["inhaler", "spacer", "peak-flow-meter", "tissues"],
    "diabetes": ["test-strips", "lancets", "glucose-tablets", "foot-cream", "insulin-pens"],
    "hypertension": ["ace-inhibitor", "salt-substitute", "blood-pressure-cuff", "aspirin"],
    "infection": ["antibiotic", "probiotic", "thermometer", "ibuprofen"],
    "injury": ["bandage", "cooling-gel", "ibuprofen", "crutches", "tape"],
    "migraine": ["triptan", "ibuprofen", "ear-plugs", "caffeine-tablets"],
    "pregnancy": ["folic-acid", "iron", "test-kit", "nausea-bands"],
}
_EVERYDAY = ["toothpaste", "shampoo", "vitamin-c", "plasters", "hand-cream", "sun-lotion", "cough-drops", "tea", "soap", "tissues"]


class BasketDemo(Scenario):
    """Two thousand pharmacy baskets with a diagnosis each, published without giving anyone away."""

    name: ClassVar[str] = "baskets"
    title: ClassVar[str] = "A pharmacy chain shares its baskets"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data, policy = folder / "baskets.csv", folder / "policy.yaml"
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["customer", "items", "diagnosis"])
            writer.writerows(purchases(2000))
        policy.write_text(POLICY, encoding="utf-8")
        return policy, data

    def play(self, folder: Path, say: Say, progress: Progress = silent) -> Path:
        report = super().play(folder, say, progress)
        release, original = str(folder / "release"), str(folder / "baskets.csv")
        seen = BasketLinkage(target=release, original=original).run()
        say(
            f"attack    knowing a whole basket: {seen['fewest_candidates']} candidates at least, diagnosis guessed right "
            f"{seen['guesses_right:diagnosis']:.1%}"
        )
        again = ReExecution(target=release, original=original).run()
        say(
            f"attack    knowing all baskets and this program: row found {again['rows_found']:.1%}, promised {again['promised']:.1%}"
        )
        return report


def purchases(count: int, seed: int = 1503) -> Iterator[list[str]]:
    """Invented customers: everyday goods, goods that go with a habit, and a diagnosis that the habit only hints at."""
    rng = np.random.default_rng(seed)
    diagnoses = list(_THEMES)
    for customer in range(count):
        diagnosis, habit = rng.choice(diagnoses), rng.choice(diagnoses)
        theme = _THEMES[str(habit)]
        bought = set(rng.choice(theme, size=int(rng.integers(0, len(theme) + 1)), replace=False).tolist())
        bought |= set(rng.choice(_EVERYDAY, size=int(rng.integers(1, 5)), replace=False).tolist())
        yield [f"C{customer:05d}", " ".join(sorted(bought)), str(diagnosis)]
