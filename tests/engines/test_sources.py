"""Where rows come from beside files and frames: tables that the session knows, and databases (JDBC; Derby comes with
Spark)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.errors import DataError, PlaceError, PolicyError, SfumatoError
from tests.engines.people import COLUMNS, people

ASKED = {"version": 1, "columns": COLUMNS, "protect": [{"k-anonymity": {"k": 5}}], "method": {"mondrian": {}}}


def _from(source: str, **more: str) -> sf.Policy:
    return sf.Policy.parse(ASKED | {"data": {"source": source, **more}})


def test_tables_of_the_session_and_of_a_database(spark: Any, tmp_path: Path) -> None:
    """The same release as from the frame itself, whoever holds the rows; and no folder says where they came from."""
    table = people(200, seed=12)
    frame = spark.createDataFrame(table)
    frame.createOrReplaceTempView("patients")
    url = "jdbc:derby:memory:ward"
    frame.write.jdbc(
        f"{url};create=true", "PATIENTS", properties={"createTableColumnTypes": "town VARCHAR(60), ward VARCHAR(20)"}
    )
    here = sf.publish(_from(""), data=table)
    for place, asked in enumerate([_from("table:patients"), _from(url, table="PATIENTS")]):
        there = sf.publish(asked, engine=spark)
        assert [f.to_json() for f in there.certificate.findings[:1]] == [
            f.to_json() for f in here.certificate.findings[:1]
        ]
        assert there.certificate.records == here.certificate.records
        out = there.write(tmp_path / str(place))
        assert sf.verify(out, original=table).holds
        told = [file.read_bytes() for file in out.rglob("*") if file.is_file()]
        assert not any(name in text for text in told for name in (b"patients", b"PATIENTS", b"derby"))


def test_what_is_not_there_is_said_without_secrets(spark: Any, tmp_path: Path) -> None:
    url = f"jdbc:derby:{tmp_path / 'nowhere'};user=me;password=hush"
    with pytest.raises(PolicyError, match="needs 'table:'"):
        sf.publish(_from(url), engine=spark)
    for asked in (_from(url, table="PATIENTS"), _from("table:nobody")):
        with pytest.raises(SfumatoError, match="could not open the source") as caught:
            sf.publish(asked, engine=spark)
        assert "hush" not in f"{caught.value} {caught.value.hint}"
    with pytest.raises(PlaceError, match="no JDBC driver for oracle"):
        sf.publish(_from("jdbc:oracle:thin:me/hush@nowhere:1521/x", table="PATIENTS"), engine=spark)
    with pytest.raises(DataError, match="no such file"):
        sf.publish(_from(str(tmp_path / "gone.parquet")), engine=spark)


@pytest.mark.slow
def test_a_table_of_hive(spark: Any) -> None:
    """A table with a metastore of its own, read through the same door as everything that the session calls a table."""
    assert spark.conf.get("spark.sql.catalogImplementation") == "hive"
    table = people(200, seed=13)
    spark.createDataFrame(table).createOrReplaceTempView("coming")
    spark.sql("CREATE TABLE ward STORED AS ORC AS SELECT * FROM coming")
    try:
        said = {row["col_name"]: row["data_type"] for row in spark.sql("DESCRIBE FORMATTED ward").collect()}
        assert said["Provider"] == "hive"
        here, there = sf.publish(_from(""), data=table), sf.publish(_from("table:default.ward"), engine=spark)
        assert [f.to_json() for f in there.certificate.findings[:1]] == [
            f.to_json() for f in here.certificate.findings[:1]
        ]
        assert there.certificate.records == here.certificate.records
    finally:
        spark.sql("DROP TABLE ward")
