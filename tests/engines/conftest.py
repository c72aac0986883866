"""One Spark session for all tests, and a cluster beside them (`SESSIONS` in `tests/conftest.py`)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from tests.engines.settings import HIVE, INTERPRETED, MASTER, SMALL, TROUBLED
from tests.slow import SLOW

WITHOUT_JAVA = "Spark needs Java 17, which is not on this machine"
ROOT = Path(__file__).resolve().parents[2]


def require_java() -> None:
    pytest.importorskip("pyspark", reason="the extra sfumato[spark] is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip(WITHOUT_JAVA)


@dataclass(frozen=True)
class Submitted:
    """A program that `spark-submit` runs, with the folder that it works in."""

    process: subprocess.Popen[bytes]
    place: Path

    def said(self) -> tuple[int, str, str]:
        """How it ended, and what it wrote."""
        code = self.process.wait(timeout=900)
        return code, (self.place / "stdout").read_text(), (self.place / "stderr").read_text()

    def logs(self) -> list[str]:
        """What each executor wrote."""
        return [file.read_text() for file in sorted(self.work.rglob("stderr"))]

    @property
    def work(self) -> Path:
        """Where Spark keeps what executors write: in its own home, by the name of the application."""
        import pyspark

        named = re.search(r"^application (\S+)$", (self.place / "stdout").read_text(), flags=re.M)
        return Path(pyspark.__file__).parent / "work" / (named[1] if named else "none")


@pytest.fixture(scope="session")
def submitted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submitted]:
    """A release on a troubled cluster, in the making."""
    require_java()
    import pyspark

    home, place = Path(pyspark.__file__).parent, tmp_path_factory.mktemp("cluster")
    paths = os.pathsep.join([str(Path(sf.__file__).parents[1]), str(ROOT)])
    settings = [word for name, value in (SMALL | TROUBLED).items() for word in ("--conf", f"{name}={value}")]
    script = Path(__file__).with_name("on_a_cluster.py")
    with (place / "stdout").open("wb") as said, (place / "stderr").open("wb") as logged:
        process = subprocess.Popen(
            [home / "bin" / "spark-submit", "--master", MASTER, *settings, script, place],
            cwd=ROOT,
            env=os.environ
            | {
                "PYTHONPATH": paths,
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_HOME": str(home),
            },
            stdout=said,
            stderr=logged,
        )
    made = Submitted(process, place)
    yield made
    process.kill()
    process.wait()
    shutil.rmtree(made.work, ignore_errors=True)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    require_java()
    from sfumato.engines.spark.session import start

    warehouse = tmp_path_factory.mktemp("warehouse")
    more = INTERPRETED | (HIVE if SLOW else {}) | {"spark.sql.warehouse.dir": str(warehouse)}
    session = start("local[2,4]", **SMALL, **more)
    yield session
    session.stop()
