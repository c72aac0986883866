"""Histories of people with counts say what histories of everybody say, and methods continue them as safely, one by
one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import LedgerError
from sfumato.core.randomness import Randomness
from sfumato.data.table import Table
from sfumato.engines.local import HERE
from sfumato.engines.protocol import COUNT, LINE, PERSON, NumberedClasses
from sfumato.engines.spark.persons import PAST
from sfumato.engines.spark.workflow.history import _task
from sfumato.history.judge.series import judge_by_classes
from sfumato.history.ledger import Ledger
from sfumato.history.persistent_classes import count_trajectories
from sfumato.history.published_cells import PublishedCells
from sfumato.history.standing_requirements import standing_requirements
from sfumato.workflow.plan import plan
from tests.slow import SLOW

CASES = 40 if SLOW else 2
NAMES = ["age", "town", "illness"]
AGE = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 20]}}
COLUMNS = {"key": "identifier", "age": AGE, "town": "quasi-identifier", "illness": "sensitive"}


def policy(method: str = "mondrian") -> sf.Policy:
    protect = [{"k-anonymity": {"k": 3}}, {"l-diversity": {"l": 2}}]
    made = {"seconds": 0.1} if method == "refined" else {}
    return replace(
        sf.Policy.parse({"version": 1, "columns": COLUMNS, "protect": protect, "method": {method: made}}), key=("key",)
    )


def table(draw: np.random.Generator, there: np.ndarray[Any, Any]) -> pa.Table:
    """Some of everybody; who somebody is says what they have."""
    key = np.flatnonzero(there)
    age, town, illness = 20 + key * 7 % 12, key * 3 % 2, key * 11 % 5 % 3
    order = draw.permutation(len(key))
    columns = {"key": key, "age": age, "town": town, "illness": illness}
    return pa.table({name: pa.array(column[order]).cast(pa.string()) for name, column in columns.items()})


def quarters(seed: int) -> Iterator[pa.Table]:
    draw = np.random.default_rng(seed)
    for share in (0.7, 0.8, 0.85):
        yield table(draw, (draw.random(150) < share))


@pytest.fixture(params=range(CASES))
def book(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[pa.Table]]:
    tables = list(quarters(request.param))
    for number, data in enumerate(tables[:2]):
        made = sf.publish(policy(), data=data, ledger=tmp_path / "l.ledger", new_ledger=not number, seed=request.param)
        made.write(tmp_path / f"out-{number}", report=False)
    return tmp_path / "l.ledger", tables


def test_counted_histories_say_the_same(book: Any) -> None:
    file, _ = book
    everybody, chronicle = Ledger(file).history(), Ledger(file).chronicle()
    counted = count_trajectories(HERE, chronicle)
    assert counted.counted
    one, other = PublishedCells(everybody), PublishedCells(counted)
    assert other.people < one.people == other.weights.sum()
    for claim in standing_requirements(policy(), everybody):
        assert judge_by_classes(one, claim, True) == judge_by_classes(other, claim, True)
    assert [one.shown(r) for r in (0, 1)] == [other.shown(r) for r in (0, 1)]


@pytest.mark.parametrize("method", ["mondrian", "clustering", "refined", "global"])
def test_methods_continue_courses(method: str, book: Any) -> None:
    """Everybody is dealt to a line of the new release by hand, and joint classes are counted one by one, who is absent
    included."""
    file, tables = book
    chronicle, asked = Ledger(file).chronicle(), policy(method)
    lives: dict[str, list[Any]] = defaultdict(lambda: [None, None, None])
    ways: dict[str, list[int]] = defaultdict(lambda: [-1, -1])
    for number, (past, people) in enumerate(chronicle):
        shown = past.exhibit.data.frame.to_pylist()
        for row in people.to_pylist():
            ways[row[PERSON]][number] = row[LINE]
            lives[row[PERSON]][number] = shown[row[LINE]]
    way = {key: "\x1f" + ",".join(map(str, lines)) for key, lines in ways.items()}
    rows = tables[2].to_pylist()
    classes: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in rows:
        classes[(*(row[name] for name in NAMES), way.get(row["key"], ""))].append(row["key"])
    gone = Counter(said for key, said in way.items() if key not in {row["key"] for row in rows})
    held = pa.table(dict(zip([*NAMES, PAST], map(list, zip(*classes, strict=True)), strict=True)))
    counts = np.array([len(keys) for keys in classes.values()])
    numbered = NumberedClasses(Table(held, counts=counts), np.arange(len(counts)))
    left = pa.table({PAST: list(gone), COUNT: pa.array(list(gone.values()), pa.int64())})
    chosen = plan(asked, remembering=True)
    release = chosen.method.run(replace(_task(asked, chosen, numbered, left, chronicle), randomness=Randomness(1)))
    part, behind = release.parts["data"], release.trace.rows["data"]
    waiting = [list(keys) for keys in classes.values()]
    for cells, of, many in zip(part.table.to_pylist(), behind, part.counts, strict=True):
        for _ in range(many):
            lives[waiting[of].pop()][2] = cells
    assert sum(map(len, waiting)) == release.suppressed
    joint: dict[Any, list[str]] = defaultdict(list)
    for life in lives.values():
        known = tuple(None if cells is None else (cells["age"], cells["town"]) for cells in life)
        joint[known].append(next(cells["illness"] for cells in life if cells is not None))
    assert min(map(len, joint.values())) >= 3
    assert min(len(set(values)) for values in joint.values()) >= 2
    assert sum(life[2] is not None for life in lives.values()) == len(rows) - release.suppressed


def test_people_who_are_lost_or_doubled_are_found(book: Any) -> None:
    chronicle = Ledger(book[0]).chronicle()
    (first, people), second = chronicle
    with pytest.raises(LedgerError, match="not those that the ledger counted"):
        count_trajectories(HERE, [(first, people.slice(1)), second])
    with pytest.raises(LedgerError, match="twice"):
        count_trajectories(HERE, [(first, pa.concat_tables([people, people.slice(0, 1)])), second])
