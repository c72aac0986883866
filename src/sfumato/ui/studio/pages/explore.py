"""Explore: what levels and methods cost, as a picture; candidates column by column; why a column is coarse; what flips
protect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfumato.core.errors import PolicyError
from sfumato.data.text_values import parse_number
from sfumato.ui.studio.background_jobs import Job
from sfumato.ui.studio.page import Page, Visit, question
from sfumato.ui.studio.policy_editing import digest
from sfumato.ui.studio.project import is_plain
from sfumato.ui.studio.work.exploring import coarseness, flips, side_by_side, sweep
from sfumato.workflow.explore.exploration import parse_sweep

EXPLORING, COMPARING, WHY = "exploring", "comparing", "why coarse"
FIGURES = ("rows", "sampled", "unique_before", "unique_after", "loss", "suppressed", "method")
"""What is kept of an estimate beside a setting."""
_MOST = 6
"""Candidates that are compared at once."""


class ExplorePage(Page):
    """Privacy against loss and query error; of graphs, what a flip protects against what it leaves."""

    name: ClassVar[str] = "explore"
    title: ClassVar[str] = "Compare settings"
    order: ClassVar[int] = 45
    step: ClassVar[int] = 5

    def model(self, visit: Visit) -> dict[str, Any]:
        kind = str(visit.data.get("kind", "table"))
        if kind == "graph":
            job: Job | None = visit.work(flips, "flips", visit.data_stamp(), policy=str(visit.file))
        else:
            job = visit.desk.latest(visit.subject, EXPLORING)
        compared, why = visit.desk.latest(visit.subject, COMPARING), visit.desk.latest(visit.subject, WHY)
        columns = visit.tree.get("columns")
        known = (
            [name for name, entry in columns.items() if _role(entry) == "quasi-identifier"]
            if isinstance(columns, Mapping)
            else []
        )
        return {
            "kind": kind,
            "job": None if job is None else question(job),
            "columns": known,
            "compared": None if compared is None else question(compared),
            "points": [
                point
                for point in _points(job)
                if compared is not None and str(point["number"]) in compared.note.split(",")
            ],
            "why": None if why is None else question(why),
            "about": "" if why is None else why.note,
            "kept": [
                {"name": name, "same": told.get("text") == visit.text, "figures": told.get("figures") or {}}
                for name, told in visit.project.settings(visit.subject).items()
            ],
            "seen": visit.digest,
        }

    def act(self, visit: Visit, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Begin a sweep, a comparison or a question; or write one of its points as a policy of its own."""
        what = form.get("act", "")
        if what in ("keep", "drop", "restore", "beside"):
            return self._kept(visit, what, form, several)
        if "choose" in form:
            return self._choose(visit, form["choose"])
        if what == "flip":
            return self._flip(visit, form)
        if what == "compare":
            self._compare(visit, several.get("compare", []))
        elif what == "why":
            self._ask(visit, form)
        else:
            self._sweep(visit, form)
        return ""

    @staticmethod
    def _kept(visit: Visit, what: str, form: Mapping[str, str], several: Mapping[str, list[str]]) -> str:
        """Keep the present setting under a name, forget or restore one, or make two of them side by side."""
        name, known = form.get("name", "").strip(), visit.project.settings(visit.subject)
        if what == "keep":
            if not is_plain(name):
                raise PolicyError("a setting needs a short name", where="keep", hint="A, B, or k 10")
            job = visit.estimate()
            figures = (job.result or {}).get("figures") if job is not None else None
            shown = {key: figures[key] for key in FIGURES if key in figures} if figures else {}
            visit.project.keep_setting(visit.subject, name, {"text": visit.text, "figures": shown})
        elif what == "drop":
            visit.project.drop_setting(visit.subject, name)
        elif what == "restore" and name in known:
            visit.save(known[name]["text"], form.get("seen", ""), f"setting {name} restored")
        elif what == "beside":
            texts = {"now": visit.text} | {each: str(told["text"]) for each, told in known.items()}
            chosen = {each: texts[each] for each in several.get("setting", []) if each in texts}
            if len(chosen) < 2:
                raise PolicyError(
                    "mark two settings", where="compare", hint="keep the present setting under a name first"
                )
            base = str(visit.project.folder)
            visit.desk.start(
                side_by_side, COMPARING, visit.subject, texts=dict(list(chosen.items())[:_MOST]), base=base
            )
        return f"/p/{visit.subject}/explore"

    @staticmethod
    def _sweep(visit: Visit, form: Mapping[str, str]) -> None:
        levels = parse_sweep([part for part in form.get("levels", "").split() if part], [], [], []).levels
        given = {name: list(values) for name, values in levels.items()}
        folder = visit.project.folder / f".explored-{Path(visit.subject).stem}"
        work: dict[str, Any] = {
            "policy": str(visit.file),
            "folder": str(folder),
            "levels": given,
            "budget": seconds(form),
        }
        visit.desk.start(sweep, EXPLORING, visit.subject, **work)

    @staticmethod
    def _compare(visit: Visit, chosen: list[str]) -> None:
        texts = _texts(visit)
        known = [each for each in chosen if each in texts][:_MOST]
        if not known:
            raise PolicyError(
                "nothing is marked", where="compare", hint="mark points in the table or click them in a picture"
            )
        base = str(visit.project.folder)
        job = visit.desk.start(
            side_by_side, COMPARING, visit.subject, texts={f"number {each}": texts[each] for each in known}, base=base
        )
        job.note = ",".join(known)

    @staticmethod
    def _ask(visit: Visit, form: Mapping[str, str]) -> None:
        of, column = form.get("of", ""), form.get("column", "")
        text = visit.text if not of else _texts(visit).get(of)
        if text is None:
            raise PolicyError("there is no such point", where="explore", hint="explore again")
        base = str(visit.project.folder)
        work: dict[str, Any] = {"text": text, "base": base, "column": column, "budget": seconds(form)}
        job = visit.desk.start(coarseness, WHY, visit.subject, **work)
        job.note = f"number {of}" if of else "this policy"

    @staticmethod
    def _flip(visit: Visit, form: Mapping[str, str]) -> str:
        """Take a point of the curve as the method of the policy."""
        mu = parse_number(form.get("mu", ""))
        if mu is None or not 0 < mu < 1:
            raise PolicyError(
                "the flip probability is no number between 0 and 1", where="mu", hint="choose a point of the curve"
            )
        visit.edit(form.get("seen", ""), (("method",), {"edge-perturbation": {"mu": form["mu"]}}))
        return f"/p/{visit.subject}/promises"

    @staticmethod
    def _choose(visit: Visit, chosen: str) -> str:
        texts = _texts(visit)
        if chosen not in texts:
            raise PolicyError("there is no such point", where="explore", hint="explore again")
        name = f"{Path(visit.subject).stem}-point-{chosen}.yaml"
        place = visit.project.path(name)
        if place.exists() and digest(place.read_text(encoding="utf-8")) != digest(texts[chosen]):
            hint = "rename or remove it first: it is not what this point would be"
            raise PolicyError(f"'{name}' is there already", where="explore", hint=hint)
        visit.project.write(name, texts[chosen].encode())
        return f"/p/{name}/promises"


def seconds(form: Mapping[str, str]) -> float:
    """The budget that a form gives."""
    try:
        return min(3600.0, max(1.0, float(form.get("budget", "60"))))
    except ValueError:
        raise PolicyError("a budget is a number of seconds", where="budget", hint="60") from None


def _texts(visit: Visit) -> dict[str, str]:
    job = visit.desk.latest(visit.subject, EXPLORING)
    return {} if job is None or job.result is None else dict(job.result["texts"])


def _points(job: Job | None) -> list[dict[str, Any]]:
    return [] if job is None or not isinstance(job.result, dict) else list(job.result.get("points", []))


def _role(entry: Any) -> str:
    return str(entry.get("role", "")) if isinstance(entry, dict) else str(entry)
