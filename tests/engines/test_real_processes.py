"""A cluster of real processes, with tasks that fail twice, speculation, and an executor that is killed while rows are written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import sfumato as sf
from tests.engines.conftest import require_java
from tests.engines.people import people, rows_of
from tests.engines.settings import SMALL

ROOT = Path(__file__).resolve().parents[2]
MASTER = "local-cluster[2,1,1024]"
TROUBLED = {
    "spark.executor.memory": "1g",
    "spark.speculation": "true",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.3",
}


def test_nobody_is_lost_or_doubled(tmp_path: Path) -> None:
    """The release of a troubled cluster holds, also beside the original, and everybody is in it once."""
    require_java()
    import pyspark

    home = Path(pyspark.__file__).parent
    paths = os.pathsep.join([str(Path(sf.__file__).parents[1]), str(ROOT)])
    settings = [word for name, value in (SMALL | TROUBLED).items() for word in ("--conf", f"{name}={value}")]
    script = Path(__file__).with_name("on_a_cluster.py")
    run = subprocess.run(
        [home / "bin" / "spark-submit", "--master", MASTER, *settings, script, tmp_path],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert f"master {MASTER}" in run.stdout
    assert "killed True" in run.stdout
    published, original = rows_of(tmp_path / "out"), people(400)
    assert published.num_rows == original.num_rows
    for name in ("illness", "ward"):
        assert Counter(published.column(name).to_pylist()) == Counter(original.column(name).to_pylist())
    assert sf.verify(tmp_path / "out", original=original).holds
    assert not any("somebody" in line for line in run.stderr.splitlines())
