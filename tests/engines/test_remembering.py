"""A ledger on the cluster: people come and go, releases are judged together, and both engines come to the same."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused, DataError, Infeasible, LedgerError
from sfumato.engines.local import HERE
from sfumato.engines.spark.engine import SparkEngine
from sfumato.history.ledger import Ledger
from sfumato.history.ledger.forgetting import forget
from sfumato.workflow.forecast import forecast_publish
from tests.engines.people import AGE, people
from tests.secret import SEED

FORGOTTEN = "somebody 3"
"""Who is forgotten after the second release, and is in the third one as somebody new."""
COLUMNS = {"name": "identifier", "age": AGE, "town": "quasi-identifier", "illness": "sensitive"}


def asked(method: str = "mondrian", **series: Any) -> sf.Policy:
    protect = [{"k-anonymity": {"k": 4}}, {"l-diversity": {"l": 2}}]
    told = {"version": 1, "columns": COLUMNS, "protect": protect, "method": {method: {}}, "series": series}
    return replace(sf.Policy.parse(told), key=("name",))


def quarters(rows: int = 1200) -> list[pa.Table]:
    """Three tables of people: some come, then others come and some leave."""
    everybody, place = people(rows, seed=5).drop_columns(["ward"]), np.arange(rows)
    there = [place < rows * 3 // 4, place < rows * 9 // 10, place % 13 != 5]
    return [everybody.filter(pa.array(mask)) for mask in there]


def published(tables: list[pa.Table], place: Path, policy: sf.Policy, engine: Any) -> list[sf.Publication]:
    place.mkdir()
    made = []
    for number, table in enumerate(tables):
        data = table if engine is None else engine.createDataFrame(table).repartition(2)
        ledger = {"ledger": place / "people.ledger", "new_ledger": number == 0}
        made.append(sf.publish(policy, data=data, engine=engine, seed=SEED, **ledger))
        made[-1].write(place / f"out-{number}", report=number == 1)
        if number == 1:
            assert forget(Ledger(place / "people.ledger"), FORGOTTEN) == [1, 2]
    return made


@pytest.fixture(scope="module")
def series(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[sf.Publication]]:
    place = tmp_path_factory.mktemp("remembering") / "there"
    return place, published(quarters(), place, asked(), spark)


def test_both_engines_come_to_the_same_over_all_releases(series: Any, tmp_path: Path) -> None:
    there = series[1]
    here = published(quarters(), tmp_path / "here", asked(), None)
    for mine, theirs in zip(there, here, strict=True):
        assert any("each of one past" in said for said in mine.certificate.assumptions)
        assert [f.to_json() for f in mine.findings[:2]] == [f.to_json() for f in theirs.findings[:2]]
        assert {f.model for f in mine.findings} == {f.model for f in theirs.findings}
    for mine, theirs in zip(there[:2], here[:2], strict=True):
        assert mine.certificate.records == theirs.certificate.records
        assert mine.utility["loss"] == pytest.approx(theirs.utility["loss"], rel=0.01)
    # companions of people who left are drawn, and runs of either engine under different seeds differ as much
    lost = [made[2].certificate.records.suppressed for made in (there, here)]
    assert min(lost) > 0
    assert lost[0] == pytest.approx(lost[1], rel=0.15)
    assert there[2].utility["loss"] == pytest.approx(here[2].utility["loss"], rel=0.1)


def test_verify_reads_everything_itself(series: Any, spark: Any) -> None:
    place, _ = series
    book, last = place / "people.ledger", quarters()[2]
    for audit in (
        sf.verify(place / "out-2", ledger=book, original=last),
        sf.verify(place / "out-2", ledger=book, original=spark.createDataFrame(last), engine=spark),
        sf.verify(place / "out-0", ledger=book),
    ):
        assert audit.holds, [f.to_json() for f in audit.findings if not f.holds or f.open]
    assert Ledger(book).verify() == 4
    assert sum(entry.body["records"] for entry in Ledger(book).entries()) > 2500
    assert (place / "people.ledger.people").stat().st_mode & 0o077 == 0
    with pytest.raises(LedgerError, match="made where its rows lie"):
        sf.publish(asked(), data=last, ledger=book)
    told = " ".join(forecast_publish(asked(), ledger=book, elsewhere=True).sentences())
    assert "3 earlier release(s)" in told
    assert "brought to the driver" not in told


def test_every_promise_is_that_of_people_written_out(series: Any) -> None:
    """From the people files and the published cells, by the definition: who looked alike in all releases, one by
    one."""
    place, _ = series
    lives: dict[str, list[Any]] = {}
    for number, (past, files) in enumerate(Ledger(place / "people.ledger").chronicle()):
        shown = past.exhibit.data.frame.to_pylist()
        for row in pa.concat_tables([pq.read_table(file) for file in files]).to_pylist():
            cells = shown[row["line"]]
            lives.setdefault(row["key"], [None] * 3)[number] = (cells["age"], cells["town"], cells["illness"])
    classes: dict[Any, list[str]] = {}
    for life in lives.values():
        known = tuple(None if cells is None else cells[:2] for cells in life)
        classes.setdefault(known, []).append(next(cells[2] for cells in life if cells is not None))
    assert len(lives) > 1000
    stranger, new = (
        [cells is not None for cells in lives[key]] for key in (*(k for k in lives if "forgotten" in k), FORGOTTEN)
    )
    assert stranger == [
        True,
        True,
        False,
    ]  # forgotten on the cluster's own files, which it read again for the third release
    assert new == [False, False, True]
    assert min(map(len, classes.values())) >= 4
    assert min(len(set(values)) for values in classes.values()) >= 2


def test_people_who_are_seated_wrongly_are_found(spark: Any, tmp_path: Path) -> None:
    """Lines that are exchanged between two people of different classes, as a defect would do, are refused by the
    audit."""

    class Confused(SparkEngine):
        def seats(self, *given: Any) -> Any:
            right = super().seats(*given).toPandas().sort_values("line", ignore_index=True)
            right.loc[[0, len(right) - 1], "line"] = right.loc[[len(right) - 1, 0], "line"].to_numpy()
            return self.session.createDataFrame(right)

    data = spark.createDataFrame(quarters(240)[0])
    with pytest.raises(AuditRefused, match="truthfulness"):
        sf.publish(asked(), data=data, engine=Confused(spark), ledger=tmp_path / "new.ledger", new_ledger=True)


def test_a_release_that_forgets_the_past_is_refused(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A method that mixes people of different pasts keeps every claim in its own release, and none over all of them."""
    from sfumato.history.constrain.constraints import HistoryConstraint
    from sfumato.kinds.tables.methods import recoding

    first, second, _ = quarters(240)
    published([first], tmp_path / "here", asked(), None)
    monkeypatch.setattr(recoding, "constrain_task", lambda task: HistoryConstraint.first(task.data))
    with pytest.raises(Infeasible, match=r"over 2 releases"):
        sf.publish(
            asked(), data=spark.createDataFrame(second), engine=spark, ledger=tmp_path / "here" / "people.ledger"
        )


def test_people_files_are_under_the_chain(series: Any, spark: Any, tmp_path: Path) -> None:
    shutil.copytree(series[0], tmp_path / "there")
    book = tmp_path / "there" / "people.ledger"
    file = min((tmp_path / "there" / "people.ledger.people").glob("0*/part-*.parquet"))
    table = pq.read_table(file)
    pq.write_table(
        table.set_column(1, "line", table.column("line").take(pa.array(np.arange(table.num_rows)[::-1]))), file
    )
    with pytest.raises(LedgerError, match="people of entry 1"):
        Ledger(book).verify()
    file.unlink()
    with pytest.raises(LedgerError, match="people of entry 1"):
        sf.publish(asked(), data=spark.createDataFrame(quarters()[1]), engine=spark, ledger=book)


def test_a_ledger_begun_here_goes_on_there(spark: Any, tmp_path: Path) -> None:
    first, second, _ = quarters(240)
    published([first], tmp_path / "here", asked(), None)
    book = tmp_path / "here" / "people.ledger"
    made = sf.publish(asked(), data=spark.createDataFrame(second), engine=spark, ledger=book, seed=SEED)
    out = made.write(tmp_path / "out", report=False)
    assert sf.verify(out, ledger=book).holds
    alone = sf.publish(asked(), data=second, seed=SEED)
    assert made.utility["loss"] > alone.utility["loss"]  # the past binds it


def test_keys_that_name_two_people_are_refused(spark: Any, tmp_path: Path) -> None:
    table = quarters(120)[0]
    twice = pa.concat_tables([table, table.slice(0, 1)])
    with pytest.raises(DataError, match=r"1 record\(s\) repeat the key"):
        sf.publish(
            asked(), data=spark.createDataFrame(twice), engine=spark, ledger=tmp_path / "l.ledger", new_ledger=True
        )


def test_somebody_who_stands_twice_in_a_release_is_refused(spark: Any) -> None:
    """Who is in several releases went one way; who is twice in one of them would have gone two."""
    once, twice = (pa.table({"key": keys, "line": [0, 1]}) for keys in (["Ada", "Bea"], ["Ada", "Ada"]))
    for engine in (HERE, SparkEngine(spark)):
        courses, often = engine.courses([once, once])
        assert sorted(map(str, courses.to_pylist())) == ["{'0': 0, '1': 0}", "{'0': 1, '1': 1}"]
        assert often.tolist() == [1, 1]
        with pytest.raises(LedgerError, match="stands twice"):
            engine.courses([once, twice])
