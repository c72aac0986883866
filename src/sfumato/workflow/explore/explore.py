"""Explore: run a sweep within a budget, point by point, and go on where an earlier run was stopped.

Runs share what they can: the data is read once, and hierarchies are kept by what they depend on. With a folder every
finished point is written down at once under everything it depends on (variant, policy, data, version), so that a
resumed run computes nothing twice.

Invariants
    I1  A point of an earlier run is taken only when nothing that it depends on differs.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato import __version__
from sfumato.core.effort import Effort
from sfumato.core.errors import DataError, PolicyError
from sfumato.data.baskets import Baskets
from sfumato.data.table import Table
from sfumato.io.file_contents import parse_json
from sfumato.policy.policy import Policy
from sfumato.release.evidence import source_audit
from sfumato.release.method import Progress, no_progress
from sfumato.workflow.arguments import PolicyLike, as_policy
from sfumato.workflow.explore.exploration import Exploration, Point, mark_dominated, try_variant
from sfumato.workflow.explore.variants import Sweep, Variant, is_own, variants

JOURNAL = "points.jsonl"
_KINDS = ("table", "baskets")
Explored = Table | Baskets
BUDGETS: Mapping[Effort, float] = {"quick": 30.0, "balanced": 120.0, "thorough": 600.0}
"""Seconds after which no further point is begun, by the effort of the policy."""


def explore(
    policy: PolicyLike,
    data: Any = None,
    *,
    sweep: Sweep | None = None,
    budget: float | None = None,
    jobs: int = 1,
    folder: str | Path | None = None,
    progress: Progress = no_progress,
) -> Exploration:
    """Publish many variants of a policy and compare privacy with utility.

    Parameters
    ----------
    policy
        The policy to vary: a `Policy`, a draft, a mapping or text with its keys, or the path of a file.
    data
        Used instead of the source of the policy.
    sweep
        What is varied. By default the first level over its usual values, with every suitable method.
    budget
        Seconds after which no further variant is started; by default 30 s, 120 s or 600 s, as the effort says. The
        first variant is what the policy itself would publish, with its full effort; the search of every later one ends
        with the budget.
    jobs
        Number of parallel processes.
    folder
        Folder in which finished points are stored, and from which a later call continues.
    progress
        Function that is called with the finished share of the work and a word.

    Returns
    -------
    Exploration
        The points with their costs, which of them are dominated, and the one to choose.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = {"age": ["30", "31", "40", "41"] * 3, "illness": ["flu", "gout", "flu", "cold"] * 3}
    >>> draft = sf.Policy.table(people).quasi("age").sensitive("illness").protect(sf.k_anonymity(2))
    >>> found = sf.explore(draft, sweep=sf.Sweep({"k": (2, 6)}, ("mondrian",)))
    >>> [point.variant.levels["k"] for point in found.points]
    [2, 6]
    """
    policy, data = as_policy(policy, data)
    if policy.data.name not in _KINDS:
        hint = "publish it with several policies; 'sfumato check' tells what a graph costs"
        raise PolicyError("exploration looks at tables and baskets", where=policy.document.where("data"), hint=hint)
    budget = BUDGETS[policy.effort] if budget is None else budget
    wanted = variants(policy, sweep or Sweep())
    table = source_audit(policy).read(policy, data)
    source_audit(policy).require_sound(policy, table, rules_stay=False)
    journal = None if folder is None else PointJournal(Path(folder), policy, table)
    known = {} if journal is None else journal.points()
    points = {_key(variant): known.get(_key(variant)) or Point(variant, "not run") for variant in wanted}
    open_ones = [point.variant for point in points.values() if point.status == "not run"]
    stopped = False
    try:
        for done, point in enumerate(_run(policy, open_ones, table, budget, jobs), 1):
            points[_key(point.variant)] = point
            if journal is not None and not point.cut:
                journal.enter(point)
            progress(done / len(open_ones), str(point.variant))
    except KeyboardInterrupt:
        stopped = True
    safer = {name: way for claim in policy.claims for name, way in claim.model.levels.items()}
    return Exploration(policy, mark_dominated(list(points.values()), safer), safer, table.rows, stopped)


def _key(variant: Variant) -> str:
    """A variant as a text that tells it from all others."""
    return json.dumps(
        [
            sorted((name, float(value)) for name, value in variant.levels.items()),
            variant.method,
            variant.without,
            sorted(variant.depths.items()),
        ]
    )


def _run(policy: Policy, wanted: Sequence[Variant], table: Explored, budget: float, jobs: int) -> Iterator[Point]:
    """Finished points; none is begun once the budget is spent."""
    end = time.monotonic() + budget
    if jobs <= 1:
        for variant in wanted:
            left = end - time.monotonic()
            if left <= 0:
                return
            yield try_variant(policy, variant, table, None if is_own(policy, variant) else left)
        return
    yield from _side_by_side(policy, wanted, table, end, jobs)


def _side_by_side(policy: Policy, wanted: Sequence[Variant], table: Explored, end: float, jobs: int) -> Iterator[Point]:
    from multiprocessing import get_context

    waiting = list(wanted)
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin, initargs=(policy, _sent(table))) as pool:
        running: set[Future[Point]] = set()
        try:
            while waiting or running:
                while waiting and len(running) < jobs and (left := end - time.monotonic()) > 0:
                    running.add(pool.submit(_tried, waiting.pop(0), left))
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_HERE: dict[str, Any] = {}
"""What a process that works for another person was given when it began."""


def _sent(data: Explored) -> pa.Table | Baskets:
    """What another process is given; it encodes the columns of a table for itself."""
    return data.frame if isinstance(data, Table) else data


def _begin(policy: Policy, data: pa.Table | Baskets) -> None:
    _HERE.update(policy=policy, table=data if isinstance(data, Baskets) else Table(data))


def _tried(variant: Variant, left: float) -> Point:
    policy = _HERE["policy"]
    return try_variant(policy, variant, _HERE["table"], None if is_own(policy, variant) else left)


class PointJournal:
    """Finished points in a file, each under what it depends on (I1)."""

    def __init__(self, folder: Path, policy: Policy, table: Explored) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / JOURNAL
        self.mark = _mark(policy, table)

    def points(self) -> dict[str, Point]:
        """What an earlier run finished, by the text of its variant."""
        if not self.path.exists():
            return {}
        found = {}
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                entry = parse_json(line)
                if entry["mark"] == self.mark:
                    point = Point.from_json(entry["point"])
                    found[_key(point.variant)] = replace(point, dominated=False)
            except (KeyError, TypeError, AttributeError, ValueError):
                hint = "remove the file to begin anew"
                raise DataError("this is no line of an exploration", where=f"{self.path}:{number}", hint=hint) from None
        return found

    def enter(self, point: Point) -> None:
        """One more line; a run that is stopped loses at most the point it was at."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"mark": self.mark, "point": point.to_json()}) + "\n")


def _mark(policy: Policy, table: Explored) -> str:
    """A digest of everything but the variant: policy, hierarchy files, data, version."""
    digest = hashlib.sha256(f"{__version__}\0{_written(policy)}".encode())
    for piece in table.content():
        digest.update(piece)
    return digest.hexdigest()


def _written(policy: Policy) -> str:
    """The tree as text, with the content of the files it names."""
    files = [
        policy.base / str(column.hierarchy) for column in policy.columns.values() if isinstance(column.hierarchy, str)
    ]
    contents = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]
    return json.dumps([policy.document.tree, contents], default=str, sort_keys=True)
