"""`baskets`: a pharmacy chain shares what was bought together, with the main diagnosis of each customer as the label.


Graph
-----
`graph`: a club publishes who knows whom, and somebody had planted accounts in it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.core.wording import percent_text
from sfumato.kinds.baskets.attacks import BasketLinkage, ReExecution
from sfumato.kinds.graphs.form import Edges
from sfumato.kinds.graphs.planted_account_attacks import IntervalWalk, Walk
from sfumato.release.folder import read_folder
from sfumato.release.method import Progress, no_progress
from sfumato.release.view import certificate_of
from sfumato.ui.demos.scenario import Say, Scenario

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
_EVERYDAY = [
    "toothpaste",
    "shampoo",
    "vitamin-c",
    "plasters",
    "hand-cream",
    "sun-lotion",
    "cough-drops",
    "tea",
    "soap",
    "tissues",
]


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

    def play(self, folder: Path, say: Say, progress: Progress = no_progress) -> Path:
        report = super().play(folder, say, progress)
        release, original = str(folder / "release"), str(folder / "baskets.csv")
        seen = BasketLinkage(target=release, original=original).run()
        say(
            f"Attack: an adversary who knows all items of a person has at least {seen['fewest_candidates']} candidates "
            f"and guesses the diagnosis for {percent_text(seen['guesses_right:diagnosis'])} of the people."
        )
        again = ReExecution(target=release, original=original).run()
        say(
            f"Attack: one who also knows everybody's items and this program finds {percent_text(again['rows_found'])}"
            f" of the rows (promised: at most {percent_text(again['promised'])})."
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


# Graph
# -----


GRAPH_POLICY = """\
# A club publishes who knows whom. Somebody may have planted twelve accounts before publication.
version: 1
data: {kind: graph, source: friends.csv}
protect:
  - structural-attack: {planted: 12, success_at_most: 0.2}
method: {edge-perturbation: {}}
"""


class SocialGraph(Scenario):
    """Fifteen hundred people in circles of friends; planted accounts lose their victims, analysts keep their
    figures."""

    name: ClassVar[str] = "graph"
    title: ClassVar[str] = "A club publishes who knows whom"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data, policy = folder / "friends.csv", folder / "policy.yaml"
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["source", "target"])
            writer.writerows(friendships(1500))
        policy.write_text(GRAPH_POLICY, encoding="utf-8")
        return policy, data

    def play(self, folder: Path, say: Say, progress: Progress = no_progress) -> Path:
        report = super().play(folder, say, progress)
        read = read_folder(report.parent)
        for name, figure in certificate_of(read).utility["recovered"].items():
            say(f"Estimated {name:<13} {figure['estimate']:.6g} ± {figure['standard_error']:.2g} (standard error)")
        self._attacks(folder / "friends.csv", float(read.of(Edges).mu or 0.0), say)
        return report

    def _attacks(self, data: Path, mu: float, say: Say) -> None:
        for chance in (0.0, 1e-4, 1e-3, mu):
            for kind in (Walk, IntervalWalk):
                played = kind(target=str(data), mu=chance, planted=12, victims=20, trials=5, limit=10**7).run()
                found = percent_text(played["success_rate"])
                say(
                    f"Attack {kind.name:<13} at flip probability {chance:<7g} finds its accounts in {found} of the"
                    " trials."
                )


def friendships(people: int, seed: int = 1503) -> list[tuple[str, str]]:
    """Invented circles of friends: everybody is in two or three circles, and circles know each other well."""
    rng = np.random.default_rng(seed)
    ties: set[tuple[int, int]] = set()
    for circle in range(people // 4):
        members = np.unique((rng.normal(circle * 4, 12, size=int(rng.integers(4, 11))).astype(int)) % people)
        ties |= {(int(a), int(b)) for a in members for b in members if a < b and rng.random() < 0.7}
    return [(f"person{a:04d}", f"person{b:04d}") for a, b in sorted(ties)]
