"""Run by a test with `spark-submit`: a cluster of real processes in which tasks fail, run twice, and an executor is
killed."""

from __future__ import annotations

import sys
from pathlib import Path

import sfumato as sf
from sfumato.engines.spark.engine import SparkEngine
from sfumato.engines.spark.session import start
from tests.engines.people import people, policy
from tests.engines.troubled import after, failing, killing
from tests.secret import SEED


def main(place: Path) -> None:
    session = start()
    print("master", session.sparkContext.master)
    print("application", session.sparkContext.applicationId)
    flag = place / "kill.now"
    frame = killing(failing(session.createDataFrame(people(400)).repartition(2)), flag)
    engine = after("classes", SparkEngine(session, place), flag.touch)
    found = sf.publish(policy("clustering"), data=frame, engine=engine, seed=SEED)
    found.write(place / "out", report=False)
    print("killed", flag.with_suffix(".taken").exists())
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
