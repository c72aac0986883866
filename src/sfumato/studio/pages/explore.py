"""Explore: what levels and methods cost, as a picture; a point that pleases becomes a policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfumato.errors import PolicyError
from sfumato.exploration.writing import sweep_of
from sfumato.studio.visit import Page, Visit, question
from sfumato.studio.work.releasing import sweep

EXPLORING = "exploring"


class ExplorePage(Page):
    """Privacy against loss and query error."""

    name: ClassVar[str] = "explore"
    title: ClassVar[str] = "Explore"
    order: ClassVar[int] = 40

    def model(self, visit: Visit) -> dict[str, Any]:
        job = visit.desk.latest(visit.subject, EXPLORING)
        return {"job": None if job is None else question(job), "seen": visit.digest, "compared": _compared(job, visit.query)}

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Begin a sweep, or write one of its points as a policy of its own."""
        if "choose" in form:
            return self._choose(visit, form["choose"])
        levels = sweep_of([part for part in form.get("levels", "").split() if part], [], [], []).levels
        try:
            budget = min(3600.0, max(1.0, float(form.get("budget", "60"))))
        except ValueError:
            raise PolicyError("a budget is a number of seconds", where="budget", hint="60") from None
        given = {name: list(values) for name, values in levels.items()}
        folder = visit.project.folder / f".explored-{Path(visit.subject).stem}"
        visit.desk.start(sweep, EXPLORING, visit.subject, policy=str(visit.file), folder=str(folder), levels=given, budget=budget)
        return ""

    @staticmethod
    def _choose(visit: Visit, number: str) -> str:
        job = visit.desk.latest(visit.subject, EXPLORING)
        texts = {} if job is None or job.result is None else job.result["texts"]
        if number not in texts:
            raise PolicyError("there is no such point", where="explore", hint="explore again")
        name = f"{Path(visit.subject).stem}-point-{number}.yaml"
        visit.project.write(name, texts[number].encode())
        return f"/p/{name}/promises"


def _compared(job: Any, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """The points that were chosen for a closer look, side by side."""
    wanted = {number for number in query.get("compare", "").split(",") if number}
    points = [] if job is None or job.result is None else job.result["points"]
    return [point for point in points if str(point["number"]) in wanted]
