"""`sfumato new` writes files that work at once, in a copy of the sources."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "src", place / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return place


@pytest.mark.parametrize("kind", ["model", "method", "metric"])
def test_a_new_entry_passes_its_own_test(clone: Path, kind: str) -> None:
    shown = run("new", kind, f"my-{kind}", "--root", str(clone), cwd=clone)
    assert shown.returncode == 0, shown.stderr
    test = next((clone / "tests").rglob(f"test_my_{kind}.py"))
    tried = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
        cwd=clone, env={"PYTHONPATH": str(clone / "src"), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
    )  # fmt: skip
    assert tried.returncode == 0, tried.stdout[-3000:] + tried.stderr[-2000:]
    again = run("new", kind, f"my-{kind}", "--root", str(clone), cwd=clone)
    assert again.returncode != 0
    assert "is there already" in again.stderr


def test_a_folder_that_is_no_clone_is_refused(tmp_path: Path) -> None:
    shown = run("new", "model", "mine", cwd=tmp_path)
    assert shown.returncode != 0
    assert "is no clone of Sfumato" in shown.stderr


def test_a_name_that_cannot_be_one_is_refused(clone: Path) -> None:
    shown = run("new", "model", "../mine", "--root", str(clone), cwd=clone)
    assert "is no name of a model" in shown.stderr
