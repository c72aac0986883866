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

ROOT = Path(__file__).resolve().parents[2]


def test_nobody_is_lost_or_doubled(tmp_path: Path) -> None:
    """The release of a troubled cluster holds, also beside the original, and everybody is in it once."""
    require_java()
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
    published, original = rows_of(tmp_path / "out"), people(400)
    assert published.num_rows == original.num_rows
    for name in ("illness", "ward"):
        assert Counter(published.column(name).to_pylist()) == Counter(original.column(name).to_pylist())
    assert sf.verify(tmp_path / "out", original=original).holds
    assert not any("somebody" in line for line in run.stderr.splitlines())
