"""An exploration: points, the frontier of those that nothing dominates, and the one to choose; as JSON, as a page, as a policy.


Points
------
A point: one variant of a policy that was made into a certified release, and what it costs.

Definitions
    loss          as in `tables.information_loss`, over the quasi-identifiers of the policy that is explored: a column that is left out
                  counts as lost
    query error   the median relative error of COUNT queries (`tables.query_error`)
    dominated     another point is at least as safe in every level, publishes at least the same columns and is nowhere worse, and
                  somewhere better

>>> good = Point(Variant({"k": 10}, "a"), "published", loss=0.1, query_error=0.2, suppressed=0.0)
>>> poor = Point(Variant({"k": 5}, "b"), "published", loss=0.3, query_error=0.2, suppressed=0.0)
>>> dominates(good, poor, {"k": "more"}), dominates(poor, good, {"k": "more"})
(True, False)


Page
----
An exploration as a page: two pictures (loss, query error) and a table of all points; and as a card for notebooks.


Writing
-------
An exploration in lines, and in files; and what the command line says as a sweep.
"""  # noqa: E501

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup

from sfumato.core.effort import watch_searches
from sfumato.core.errors import AuditRefused, Infeasible, PolicyError
from sfumato.core.html.charts import Mark, scatter
from sfumato.core.html.pages import Headline, Passage, card, render_page
from sfumato.core.wording import percent_text
from sfumato.data.text_values import is_whole, parse_number
from sfumato.io.plain_files import replace_file
from sfumato.models.base import Safer
from sfumato.policy.policy import Policy
from sfumato.policy.yaml_document import write_yaml
from sfumato.release.report_section import bullets, paragraph, table
from sfumato.workflow.explore.variants import Sweep, Variant, level_text, levels_of
from sfumato.workflow.publish import publish

Status = Literal["published", "infeasible", "refused", "not run"]
_EPS = 1e-9


@dataclass(frozen=True, slots=True)
class Point:
    """What became of one variant."""

    variant: Variant
    status: Status
    reason: str = ""
    achieved: Mapping[str, Any] = field(default_factory=dict)
    """The levels that the audit found."""
    loss: float | None = None
    query_error: float | None = None
    suppressed: float | None = None
    """Share of the records that are not published."""
    seconds: float = 0.0
    """Of the processor."""
    dominated: bool = False
    cut: bool = False
    """Whether the search ended with the time budget, so that the method may reach less loss."""

    def to_json(self) -> dict[str, Any]:
        tree = asdict(self)
        variant = tree.pop("variant")
        return {**variant, "without": list(variant["without"]), **tree}

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Point:
        values = dict(tree)
        depths = {name: int(depth) for name, depth in values.pop("depths").items()}
        variant = Variant(dict(values.pop("levels")), values.pop("method"), tuple(values.pop("without")), depths)
        return cls(variant, **values)


def try_variant(policy: Policy, variant: Variant, data: Any, seconds: float | None = None) -> Point:
    """Publish one variant: certified like every release, kept nowhere; its searches may do so many seconds of work."""
    started = time.process_time()
    try:
        with watch_searches(math.inf if seconds is None else seconds) as watch:
            publication = publish(variant.policy(policy), data)
    except (Infeasible, PolicyError) as error:
        return Point(variant, "infeasible", str(error), seconds=_since(started))
    except AuditRefused as error:
        return Point(variant, "refused", str(error), seconds=_since(started))
    figures, records = publication.utility, publication.certificate.records
    achieved = {
        name: value
        for finding in publication.findings
        for name, value in finding.achieved.items()
        if name in variant.levels
    }
    return Point(
        variant,
        "published",
        achieved=achieved,
        loss=_whole_loss(figures.get("loss"), policy, variant),
        query_error=_number(figures.get("query_error")),
        suppressed=records.suppressed / max(records.input, 1),
        seconds=_since(started),
        cut=any(not course.ended and course.allowed < course.limit for course in watch.courses),
    )


def _since(started: float) -> float:
    return round(time.process_time() - started, 3)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _whole_loss(loss: Any, policy: Policy, variant: Variant) -> float | None:
    """Over all quasi-identifiers of the policy; those left out are lost entirely."""
    if _number(loss) is None:
        return None
    gone = len(set(variant.without) & set(policy.quasi_identifiers))
    every = len(policy.quasi_identifiers)
    return (float(loss) * (every - gone) + gone) / max(every, 1)


def mark_dominated(points: Sequence[Point], safer: Mapping[str, Safer]) -> tuple[Point, ...]:
    """The points, each knowing whether another one dominates it."""
    return tuple(replace(one, dominated=any(dominates(two, one, safer) for two in points)) for one in points)


def dominates(better: Point, worse: Point, safer: Mapping[str, Safer]) -> bool:
    """Whether nobody who has the first would want the second."""
    if (
        better.status != "published"
        or worse.status != "published"
        or not set(better.variant.without) <= set(worse.variant.without)
    ):
        return False
    gains = [
        _gain(better.variant.levels[name], worse.variant.levels[name], safer[name]) for name in worse.variant.levels
    ]
    for one, two in (
        (better.loss, worse.loss),
        (better.query_error, worse.query_error),
        (better.suppressed, worse.suppressed),
    ):
        if (one is None) != (two is None):
            return False  # what was not measured on both cannot be compared
        gains.append(0.0 if one is None or two is None else two - one)
    return min(gains) >= -_EPS and max(gains) > _EPS


def _gain(one: float, two: float, safer: Safer) -> float:
    return one - two if safer == "more" else two - one


# Result
# ------


@dataclass(frozen=True, slots=True, repr=False)
class Exploration:
    """Points of privacy and utility on one table, as `explore` returns them.

    Attributes
    ----------
    points
        One point for each variant: levels, method, status, loss, query error, suppressed share.
    frontier
        Published points that no other point dominates.
    chosen
        Number of the point with the least loss that satisfies the policy; ``write(path, number)`` writes its policy.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"age": ["30", "31", "40", "41"] * 3, "illness": ["flu", "gout", "flu", "cold"] * 3}
    >>> draft = sf.Policy.table(people).quasi("age").sensitive("illness").protect(sf.k_anonymity(2))
    >>> sf.explore(draft, sweep=sf.Sweep({"k": (2, 6)}, ("mondrian",))).chosen
    1
    """

    policy: Policy = field(repr=False)
    points: tuple[Point, ...]
    safer: Mapping[str, Safer]
    records: int
    stopped: bool = False
    """Whether a person interrupted it; what was finished is here."""

    def __repr__(self) -> str:
        done = sum(point.status == "published" for point in self.points)
        return f"Exploration({done} of {len(self.points)} points published, {len(self.frontier)} on the frontier)"

    @property
    def frontier(self) -> tuple[Point, ...]:
        """Published points that no other one dominates, the safest last."""
        found = [point for point in self.points if point.status == "published" and not point.dominated]
        return tuple(sorted(found, key=self.safety))

    def safety(self, point: Point) -> tuple[float, ...]:
        """What points are ordered by: more is safer."""
        return tuple(value if self.safer[name] == "more" else -value for name, value in point.variant.levels.items())

    @property
    def chosen(self) -> int | None:
        """The number (from 1) of the least costly point that keeps everything the policy asks for; None when there is
        none."""
        asked = levels_of(self.policy)
        kept = [
            (self._cost(point), number)
            for number, point in enumerate(self.points, 1)
            if point.status == "published" and not point.variant.without and self._reaches(point, asked)
        ]
        return min(kept)[1] if kept else None

    def _reaches(self, point: Point, asked: Mapping[str, float]) -> bool:
        return all(
            point.variant.levels[name] >= value if self.safer[name] == "more" else point.variant.levels[name] <= value
            for name, value in asked.items()
        )

    @staticmethod
    def _cost(point: Point) -> tuple[float, float]:
        worst = float("inf")
        return worst if point.loss is None else point.loss, worst if point.query_error is None else point.query_error

    def text(self, number: int | None = None, folder: str | Path | None = None) -> str:
        """A point as the text of a policy, by its number (from 1); paths as they are found from `folder`."""
        number = self.chosen if number is None else number
        if number is None or not 1 <= number <= len(self.points):
            hint = (
                f"choose a point from 1 to {len(self.points)}"
                if number is not None
                else "no point keeps what the policy asks"
            )
            raise PolicyError("there is no such point", where="choose", hint=hint)
        tree = self.points[number - 1].variant.tree(self.policy)
        return write_yaml(_texts(moved(tree, self.policy.base, Path(folder)) if folder is not None else tree))

    def write(self, path: str | Path, number: int | None = None) -> Path:
        """Write a point as a policy file."""
        path = Path(path)
        path.write_text(self.text(number, path.parent), encoding="utf-8")
        return path

    def to_json(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "stopped": self.stopped,
            "safer": dict(self.safer),
            "chosen": self.chosen,
            "points": [{"number": number, **point.to_json()} for number, point in enumerate(self.points, 1)],
        }

    def page(self) -> str:
        """The exploration as one page that works offline."""
        pass

        return render_exploration(self)

    def _repr_html_(self) -> str:
        pass

        return exploration_card(self)


def moved(tree: dict[str, Any], base: Path, folder: Path) -> dict[str, Any]:
    """The tree with its relative paths as they are found from another folder."""

    def path(text: Any) -> Any:
        file = base / str(text)
        return (
            os.path.relpath(file, folder)
            if isinstance(text, str | Path) and not Path(text).is_absolute() and file.exists()
            else text
        )

    moved_tree = dict(tree)
    data = moved_tree.get("data")
    if isinstance(data, Mapping) and "source" in data:
        moved_tree["data"] = {**data, "source": path(data["source"])}
    elif isinstance(data, str):
        moved_tree["data"] = path(data)
    columns = dict(moved_tree.get("columns") or {})
    for name, entry in columns.items():
        if isinstance(entry, Mapping) and isinstance(entry.get("hierarchy"), str | Path):
            columns[name] = {**entry, "hierarchy": path(entry["hierarchy"])}
    return moved_tree | {"columns": columns}


def _texts(value: Any) -> Any:
    """Plain mappings, lists and scalars only."""
    if isinstance(value, Mapping):
        return {str(key): _texts(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(entry) for entry in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


# Page
# ----


_FOOTER = (
    "Every published point was certified by the audit. Figures compare with the original: keep this page as safe as the"
    " data."
)
_HEADER = ("", "levels", "method", "loss", "query error", "suppressed", "seconds", "")


def render_exploration(found: Exploration) -> str:
    """The whole page."""
    passages = [
        Passage("loss", "Privacy against loss", paragraph(_EXPLAINED) + exploration_chart(found, "loss")),
        Passage(
            "queries", "Privacy against query error", paragraph(_QUERIES) + exploration_chart(found, "query_error")
        ),
        Passage("points", "All points", _table(found)),
    ]
    failed = [f"{point.variant}: {point.reason}" for point in found.points if point.status in ("infeasible", "refused")]
    if failed:
        passages.append(Passage("failed", "What cannot be had", bullets(failed)))
    return render_page(_headline(found), passages)


_EXPLAINED = (
    "Safer to the right, costlier upwards. Full points are worth having: nothing is at least as safe and nowhere worse."
    " Hollow ones are dominated. The line follows the cheapest point of every level."
)
_QUERIES = "The median relative error of COUNT queries that are answered from the release instead of the original."


def exploration_card(found: Exploration) -> str:
    """The first picture and the points worth having."""
    return card(_headline(found), exploration_chart(found, "loss"), _table(found, only_frontier=True))


def _headline(found: Exploration) -> Headline:
    published = [point for point in found.points if point.status == "published"]
    open_ones = sum(point.status == "not run" for point in found.points)
    lead = (
        f"{found.records:,} records; {len(published)} certified releases, {len(found.frontier)} of them worth having."
    )
    if open_ones:
        lead += f" {open_ones} points were not reached; explore again with the same folder to go on."
    figures = []
    if found.chosen is not None:
        best = found.points[found.chosen - 1]
        figures = [(f"number {found.chosen}", "keeps what was asked at least cost"), (str(best.variant), "its policy")]
        figures += [(f"{best.loss:.3f}", "loss")] if best.loss is not None else []
    return Headline("What privacy costs on this table", lead, tuple(figures), private=True, footer=_FOOTER)


_FIGURES = {"loss": "information loss (0 to 1)", "query_error": "median error of count queries (share)"}


def exploration_chart(found: Exploration, figure: str) -> Markup:
    """Every published point: levels along, a figure (`loss`, `query_error`) up, the frontier as a line."""
    published = [(number, point) for number, point in enumerate(found.points, 1) if point.status == "published"]
    shown = [
        (number, point, getattr(point, figure)) for number, point in published if getattr(point, figure) is not None
    ]
    if not shown:
        return paragraph("No point has this figure.")
    order = sorted({(found.safety(point), level_text(point.variant.levels)) for _, point, _ in shown})
    step = {safety: place for place, (safety, _) in enumerate(order)}
    marks = [
        Mark(
            step[found.safety(point)],
            float(cost),
            _series(point),
            not point.dominated,
            f"{number}: {point.variant}, {cost:.4g}",
            number,
        )
        for number, point, cost in shown
    ]
    return scatter(
        marks,
        [text for _, text in order],
        title=f"{figure.replace('_', ' ')} at each level",
        axes=("level", _FIGURES.get(figure, figure)),
    )


def _series(point: Point) -> str:
    rest = [f"without {', '.join(point.variant.without)}"] if point.variant.without else []
    rest += [f"{name} ≤ {depth}" for name, depth in point.variant.depths.items()]
    return " ".join([point.variant.method, *rest])


def _table(found: Exploration, *, only_frontier: bool = False) -> Markup:
    numbered = sorted(enumerate(found.points, 1), key=lambda pair: (found.safety(pair[1]), pair[0]))
    rows = [
        _row(number, point, found.chosen == number)
        for number, point in numbered
        if not only_frontier or point in found.frontier
    ]
    return table(_HEADER, rows)


def _row(number: int, point: Point, chosen: bool) -> tuple[object, ...]:
    state = (
        "chosen" if chosen else "dominated" if point.dominated else "" if point.status == "published" else point.status
    )
    shown = Markup('<span class="yes">chosen</span>') if chosen else state
    figures = [
        _figure(point.loss),
        _figure(point.query_error),
        "" if point.suppressed is None else f"{point.suppressed:.2%}",
    ]
    return number, level_text(point.variant.levels), _series(point), *figures, f"{point.seconds:.1f}", shown


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


# Writing
# -------


def parse_sweep(levels: Any, methods: Any, without: Any, depths: Any) -> Sweep:
    """``k=3,5``, method names, ``a,b`` and ``age=1,2`` as a sweep."""
    sets = [tuple(name.strip() for name in text.split(",") if name.strip()) for text in without]
    read_depths = {name: _whole_numbers(name, values) for name, values in _pairs(depths)}
    return Sweep(dict(_pairs(levels)), tuple(methods), ((), *sets), read_depths)


def _pairs(texts: Sequence[str]) -> Iterator[tuple[str, tuple[float, ...]]]:
    for text in texts:
        name, _, values = text.partition("=")
        read = [parse_number(value.strip()) for value in values.split(",")]
        if not name.strip() or any(value is None for value in read):
            raise PolicyError(f"'{text}' is no name with numbers", where="command line", hint="write it like k=3,5,10")
        yield name.strip(), tuple(float(value) for value in read if value is not None)


def _whole_numbers(name: str, values: Sequence[float]) -> tuple[int, ...]:
    for value in values:
        if value < 0 or not is_whole(parse_number(f"{value:g}") or parse_number("0.5")):  # type: ignore[arg-type]
            raise PolicyError(
                f"a depth of '{name}' is no whole number", where="command line", hint="write it like age=1,2"
            )
    return tuple(int(value) for value in values)


def write_exploration(found: Exploration, folder: Path, choose: int | None = None) -> dict[str, Path]:
    """The page, and the chosen point as a policy when there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {"page": replace_file(folder / "explore.html", found.page().encode(), private=True)}
    if choose is not None or found.chosen is not None:
        written["policy"] = found.write(folder / "chosen.yaml", choose)
    return written


def exploration_lines(found: Exploration) -> Iterator[str]:
    """One line per point, in order of safety, then by what it costs; below it what the columns mean."""
    wide = max((len(str(point.variant)) for point in found.points), default=0)
    yield f"{'':>4}  {'':<{wide}}  {'loss':>8}  {'queries':>8}  {'left out':>8}  {'seconds':>7}"
    numbered = sorted(enumerate(found.points, 1), key=lambda pair: (found.safety(pair[1]), pair[0]))
    for place, point in numbered:
        if point.status != "published":
            yield f"{place:>4}  {point.variant!s:<{wide}}  {point.status}{': ' + point.reason if point.reason else ''}"
            continue
        figures = [f"{value:>8.4f}" if value is not None else " " * 8 for value in (point.loss, point.query_error)]
        mark = "  chosen" if place == found.chosen else "  dominated" if point.dominated else ""
        left = percent_text(point.suppressed or 0)
        yield f"{place:>4}  {point.variant!s:<{wide}}  {'  '.join(figures)}  {left:>8}  {point.seconds:>7.1f}{mark}"
    yield "loss: information loss against the original, 0 exact, 1 full suppression. queries: median error of"
    yield "count queries. left out: suppressed records. chosen: lowest loss at the required level. dominated:"
    yield "another line is at least as safe and loses less."
