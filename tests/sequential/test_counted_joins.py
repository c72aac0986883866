"""The joins of an outsider on people with counts: figures as of the same people one by one, safe histories and unsafe
ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.audit.join_attack import JoinAttack
from sfumato.data.table import Table
from sfumato.engines.protocol import LINE, PERSON
from sfumato.history.ledger import Ledger
from sfumato.history.release_sequence import ReleaseSequence
from sfumato.release.past_releases import History, Memory, PastRelease
from sfumato.release.release import Part
from tests.slow import SLOW

from .instances import random_instance
from .plain_cluster import publish_there
from .test_courses import policy, table

CASES = 30 if SLOW else 2


def quarters(seed: int) -> list[pa.Table]:
    """People come, and some leave: others in every history."""
    draw = np.random.default_rng(seed)
    came, left = draw.random(90) * 3, 2 + draw.random(90) * 3
    return [table(draw, (came <= now) & (left > now)) for now in (1, 2, 3)]


def publish_here(asked: sf.Policy, data: pa.Table, ledger: Path, *, new: bool, seed: int) -> sf.Publication:
    return sf.publish(asked, data=data, ledger=ledger, new_ledger=new, seed=seed)


def history(place: Path, seed: int, publish: Callable[..., sf.Publication]) -> Path:
    for number, data in enumerate(quarters(seed)):
        publish(policy(), data, place / "l.ledger", new=not number, seed=seed).write(
            place / f"out-{number}", report=False
        )
    return place / "l.ledger"


def attack(ledger: Path, release: int = 0) -> dict[str, Any]:
    return JoinAttack(ledger=str(ledger), k=3, release=release).run()


def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that forgets the past, and an audit that judges every release alone."""
    from sfumato.history.constrain.constraints import HistoryConstraint
    from sfumato.kinds.tables.methods import recoding

    monkeypatch.setattr(recoding, "constrain_task", lambda task: HistoryConstraint.first(task.data))
    monkeypatch.setattr("sfumato.audit.certify.together", lambda exhibit, alone: iter(alone))


def one_by_one(ledger: Path) -> History:
    """The people of all releases written out, from the people files and the lines they are on."""
    found = []
    for past, people in Ledger(ledger).chronicle():
        pairs = people if isinstance(people, pa.Table) else pa.concat_tables(map(pq.read_table, people))
        line = pairs.column(LINE).to_numpy()
        shown, values = (
            past.exhibit.data.frame.take(pa.array(line)),
            Table(past.memory.values.frame.take(pa.array(line))),
        )
        nobody = np.zeros(len(line), dtype=np.bool_)
        memory = Memory(tuple(pairs.column(PERSON).to_pylist()), np.arange(len(line)), values, nobody)
        found.append(PastRelease(replace(past.exhibit, parts={"data": Part(shown)}), memory, past.number))
    return History(tuple(found))


@pytest.mark.parametrize("seed", range(CASES))
@pytest.mark.parametrize("unsafe", [False, True])
def test_a_history_that_is_counted_gives_the_same_figures(
    seed: int, unsafe: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if unsafe:
        forgetful(monkeypatch)
    ledger = history(tmp_path, seed, publish_here)
    everybody = [attack(ledger, release) for release in (1, 2, 3)]
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "distant", True)
        assert [attack(ledger, release) for release in (1, 2, 3)] == everybody


@pytest.mark.parametrize("unsafe", [False, True])
def test_releases_made_where_rows_lie_are_joined_like_others(
    unsafe: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if unsafe:
        forgetful(monkeypatch)
    ledger = history(tmp_path, 7, publish_there)
    found = attack(ledger)["illness"]
    written_out = one_by_one(ledger)
    with monkeypatch.context() as patched:
        patched.setattr("sfumato.audit.join_attack._everything", lambda book: written_out)
        assert attack(ledger)["illness"] == found
    assert found["full"]["people"] == written_out.releases[-1].exhibit.data.rows
    promised = JoinAttack(ledger=str(ledger)).run()["illness"]
    assert (promised["full"]["people_below"] > 0) is unsafe


@pytest.mark.parametrize("seed", range(20))
def test_records_with_weights_are_as_many_records(seed: int) -> None:
    draw = np.random.default_rng(seed)
    columns, published, leaves = random_instance(draw)
    weights = draw.integers(1, 4, len(leaves))
    judged = draw.random(len(leaves)) < 0.8
    judged[0] = True
    each = np.repeat(np.arange(len(leaves)), weights)
    known = leaves[judged], leaves[judged] + 1
    short = ReleaseSequence.of_records(columns, published, known, (weights, weights[judged]))
    many = np.repeat(np.arange(judged.sum()), weights[judged])
    long = ReleaseSequence.of_records(
        columns, [(lo[each], hi[each]) for lo, hi in published], (known[0][many], known[1][many])
    )
    np.testing.assert_array_equal(short.links, long.links)
    np.testing.assert_array_equal(short.weight, long.weight)
    for mine, theirs in zip((*short.releases, short.known), (*long.releases, long.known), strict=True):
        for side in ("lo", "hi", "count"):
            np.testing.assert_array_equal(getattr(mine, side), getattr(theirs, side))


def test_values_that_only_a_later_release_has_are_not_looked_for_in_earlier_ones(tmp_path: Path) -> None:
    """Of a hierarchy that grows from the data the first release does not know a label that the second one published."""
    every = {
        "key": list("abcdef"),
        "age": ["20"] * 3 + ["30"] * 3,
        "town": ["x"] * 6,
        "illness": ["flu", "gout", "cold"] * 2,
    }
    for number, people in enumerate((3, 6)):
        data = {name: values[:people] for name, values in every.items()}
        made = sf.publish(policy(), data=data, ledger=tmp_path / "l.ledger", new_ledger=not number)
        made.write(tmp_path / f"out-{number}", report=False)
    assert attack(tmp_path / "l.ledger")["illness"]["full"]["linkability"] == 3
