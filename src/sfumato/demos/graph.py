"""`graph`: a club publishes who knows whom, and somebody had planted accounts in it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.attacks.interval_walk import IntervalWalk
from sfumato.attacks.walk import Walk
from sfumato.demos.base import Say, Scenario
from sfumato.forms.graph import Edges
from sfumato.methods.base import Progress, silent
from sfumato.release.exhibit import certified
from sfumato.release.folder import read_folder

POLICY = """\
# A club publishes who knows whom. Somebody may have planted twelve accounts before publication.
version: 1
data: {kind: graph, source: friends.csv}
protect:
  - structural-attack: {planted: 12, success_at_most: 0.2}
method: {edge-perturbation: {}}
"""


class SocialGraph(Scenario):
    """Fifteen hundred people in circles of friends; planted accounts lose their victims, analysts keep their figures."""

    name: ClassVar[str] = "graph"
    title: ClassVar[str] = "A club publishes who knows whom"

    def make(self, folder: Path) -> tuple[Path, Path]:
        folder.mkdir(parents=True, exist_ok=True)
        data, policy = folder / "friends.csv", folder / "policy.yaml"
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["source", "target"])
            writer.writerows(friendships(1500))
        policy.write_text(POLICY, encoding="utf-8")
        return policy, data

    def play(self, folder: Path, say: Say, progress: Progress = silent) -> Path:
        report = super().play(folder, say, progress)
        read = read_folder(report.parent)
        for name, figure in certified(read).utility["recovered"].items():
            say(f"recovered {name:<13} {figure['estimate']:.6g} ± {figure['standard_error']:.2g}")
        self._attacks(folder / "friends.csv", float(read.of(Edges).mu or 0.0), say)
        return report

    def _attacks(self, data: Path, mu: float, say: Say) -> None:
        for chance in (0.0, 1e-4, 1e-3, mu):
            for kind in (Walk, IntervalWalk):
                played = kind(target=str(data), mu=chance, planted=12, victims=20, trials=5, limit=10**7).run()
                say(f"attack    mu {chance:<7g} {kind.name:<13} finds its accounts in {played['success_rate']:.0%} of the trials")


def friendships(people: int, seed: int = 1503) -> list[tuple[str, str]]:
    """Invented circles of friends: everybody is in two or three circles, and circles know each other well."""
    rng = np.random.default_rng(seed)
    ties: set[tuple[int, int]] = set()
    for circle in range(people // 4):
        members = np.unique((rng.normal(circle * 4, 12, size=int(rng.integers(4, 11))).astype(int)) % people)
        ties |= {(int(a), int(b)) for a in members for b in members if a < b and rng.random() < 0.7}
    return [(f"person{a:04d}", f"person{b:04d}") for a, b in sorted(ties)]
