"""Folders of a killed run are removed by the next one, and those of a living run are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from sfumato.core.draft_folders import draft_folder
from sfumato.release.folder import new_folder

HOLDER = """
import sys, time
from pathlib import Path
from sfumato.core.draft_folders import draft_folder
from sfumato.release.folder import new_folder
place = Path(sys.argv[1])
draft = draft_folder("sfumato-draft-", place)
(Path(draft.name) / "part.csv").write_text("secret")
with new_folder(place / "out") as folder:
    (folder / "part.csv").write_text("secret")
    print("ready", flush=True)
    time.sleep(60)
"""


def holding(place: Path) -> subprocess.Popen[str]:
    run = subprocess.Popen([sys.executable, "-c", HOLDER, str(place)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    return run


def aged(place: Path) -> list[str]:
    """All folders of the place, an hour old."""
    for folder in place.iterdir():
        os.utime(folder, (time.time() - 3600,) * 2)
    return sorted(folder.name for folder in place.iterdir())


def next_run(place: Path) -> None:
    draft_folder("sfumato-draft-", place).cleanup()
    with new_folder(place / "out") as folder:
        (folder / "x").write_text("")
    (place / "out" / "x").unlink()
    (place / "out").rmdir()


def test_leftovers_of_a_killed_run_are_removed_and_a_living_one_keeps_its_folders(tmp_path: Path) -> None:
    run = holding(tmp_path)
    try:
        there = aged(tmp_path)
        assert len(there) == 2
        next_run(tmp_path)
        assert aged(tmp_path) == there, "another run lives"
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.communicate()
    (tmp_path / "sfumato-draft-file").write_text("no folder of ours")
    (tmp_path / "sfumato-draft-link").symlink_to(tmp_path)
    next_run(tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["sfumato-draft-file", "sfumato-draft-link"]


def test_a_folder_that_was_just_made_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sfumato-draft-new").mkdir()
    next_run(tmp_path)
    assert (tmp_path / "sfumato-draft-new").is_dir()
