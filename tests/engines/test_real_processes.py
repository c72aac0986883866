"""A cluster of real processes, with tasks that fail twice, speculation, and an executor that is killed while rows are written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import sfumato as sf
from tests.engines.people import people, policy
from tests.secret import SEED

ROOT = Path(__file__).resolve().parents[2]


def test_nobody_is_lost_or_doubled(spark: Any, tmp_path: Path) -> None:
    """The release of a troubled cluster is, byte by byte, the one that nothing happened to."""
    paths = os.pathsep.join([str(Path(sf.__file__).parents[1]), str(ROOT)])
    run = subprocess.run(
        [sys.executable, "-m", "tests.engines.on_a_cluster", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert "killed True" in run.stdout
    assert "holds True" in run.stdout
    quiet = sf.publish(policy("clustering"), data=spark.createDataFrame(people(400)), engine=spark, seed=SEED)
    quiet.write(tmp_path / "quiet", report=False)
    files = [sorted((tmp_path / name / "data").iterdir()) for name in ("out", "quiet")]
    assert [file.name for file in files[0]] == [file.name for file in files[1]]
    assert [file.read_bytes() for file in files[0]] == [file.read_bytes() for file in files[1]]
    assert not any("somebody" in line for line in run.stderr.splitlines())
