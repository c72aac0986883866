"""Writes an archive of Java's classes as sessions of Spark use them, once for an environment.

A Java machine spends half of its first seconds with loading and verifying classes, and the tests of this folder start
six of them. Where the archive lies in the environment they map it (`settings.py`). Where it does not, or belongs to
another Java or Spark, they load their classes as ever."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.engines.spark.engine import SparkEngine
from sfumato.engines.spark.session import start
from tests.engines.people import COLUMNS, csv_folder, parquet_folder, people, policy
from tests.engines.settings import ARCHIVE, INTERPRETED, SMALL

HIDING = [{"given": ["age", "town"], "hide": "illness", "by": {"l-diversity": {"l": 2}}}]
DRAWN = dict.fromkeys(COLUMNS, "other") | {"ward": {"role": "replaced", "domain": {"integers": [0, 99]}}}


def main() -> int:
    if shutil.which("java") is None:
        print("no Java: no archive of its classes")
        return 0
    wanted, made = Path(sys.argv[1]) if len(sys.argv) > 1 else ARCHIVE, Path(tempfile.mkdtemp()) / "classes.jsa"
    name = "spark.driver.extraJavaOptions"
    session = start("local[2,4]", **SMALL | {name: f"{SMALL[name]} -XX:ArchiveClassesAtExit={made}"}, **INTERPRETED)
    _work(session, made.parent)
    java = session.sparkContext._gateway.proc
    session.stop()
    session.sparkContext._gateway.shutdown()
    java.stdin.close()
    java.wait(timeout=300)
    with suppress(FileNotFoundError):
        shutil.move(made, wanted)
    shutil.rmtree(made.parent)
    return 0


def _work(session: Any, place: Path) -> None:
    """A little of everything that tests do."""
    table = people(120)
    out = sf.publish(policy(), data=csv_folder(table, place / "a.csv"), engine=session).write(
        place / "out", report=False
    )
    sf.verify(out, original=parquet_folder(table, place / "b.parquet"), engine=session)
    sf.publish(
        policy(), data=session.createDataFrame(table), engine=SparkEngine(session, most_classes=20, region_classes=100)
    )
    for method in ("anatomy", "guardian"):
        sf.publish(policy(method, protect=HIDING), data=session.createDataFrame(table), engine=session)
    asked = {"version": 1, "columns": DRAWN, "keep": ["ward >= age"], "method": {"obfuscation": {}}}
    sf.publish(sf.Policy.parse(asked), data=session.createDataFrame(table), engine=session)
    for name in INTERPRETED:  # once more as executors of a cluster do it, who compile what they are asked
        session.conf.unset(name)
    sf.publish(policy("clustering"), data=session.createDataFrame(table), engine=session)


if __name__ == "__main__":
    sys.exit(main())
