"""A publish that is killed, or meets a full or read-only disk, at any of its steps.

A step is a file that is opened for writing, a folder that is made, a rename or a removal, as Python's audit events tell
them. Each run is a fork of one process, and ends at its nth step: by SIGKILL, or with an error of the system."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.draft_folders import draft_folder
from tests.slow import SLOW

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="runs are forked")

PEOPLE = "id,age,illness\n" + "".join(f"P{n},{20 + n % 5},{'abc'[n % 3]}\n" for n in range(40))
POLICY = """\
version: 1
key: id
data: {source: people.csv}
columns: {id: identifier, age: quasi-identifier, illness: sensitive}
protect: [{k-anonymity: {k: 2}}]
method: mondrian
"""

RUNNER = """
import contextlib, errno, importlib, json, os, signal, sys
from pathlib import Path
from sfumato.ui.cli import main
import sfumato, sfumato.workflow.publish, sfumato.workflow.report, sfumato.history.ledger

place, number = Path(sys.argv[1]), json.loads(sys.argv[2])
STEPS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "shutil.rmtree")

def steps(event, given):
    if event in STEPS:
        return True
    if event != "open":
        return False
    path, _, flags = given
    writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    return bool(writes) and isinstance(path, (str, bytes)) and str(place) in os.fspath(path)

def attempt(turn, stop):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.chdir(place)
    seen = 0
    def hook(event, given):
        nonlocal seen
        if steps(event, given):
            seen += 1
            if seen == stop:
                if number is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                raise OSError(number, os.strerror(number), str(given[0]))
    said, tally = open(place / "said.txt", "w"), os.open(place / "steps.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said.fileno(), 1), os.dup2(said.fileno(), 2)
    if stop:
        sys.addaudithook(hook)
    code = 99
    try:
        main(["publish", "policy.yaml", "--out", "out", "--ledger", "book", "--new-ledger"])
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        import traceback
        traceback.print_exc()
    sys.stdout.flush(), sys.stderr.flush()
    os.write(tally, str(seen).encode())
    if not stop:
        (place / "modules.txt").write_text("\\n".join(sys.modules))
    os._exit(code)

for line in sys.stdin:
    code = attempt(0, int(line))
    if (place / "modules.txt").exists():  # what a run imports is imported once, and not in every fork
        for name in (place / "modules.txt").read_text().splitlines():
            if name.startswith(("sfumato.", "pyarrow", "scipy", "numpy", "yaml", "markupsafe", "jinja2")):
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
        (place / "modules.txt").unlink()
    print(code, flush=True)
"""


class Runner:
    """One process whose forks publish."""

    def __init__(self, place: Path, number: int | None) -> None:
        self.place, self.temporary, self.steps = place, place / "temporary", 0
        self.temporary.mkdir(mode=0o700)
        (place / "people.csv").write_text(PEOPLE)
        (place / "policy.yaml").write_text(POLICY)
        command = [sys.executable, "-c", RUNNER, str(place), json.dumps(number)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"TMPDIR": str(self.temporary)},
        )  # fmt: skip
        self.given = self.found()
        self.publish()
        self.clear()

    def publish(self, stop: int = 0) -> tuple[int, str]:
        """Run until the nth step; 0: to the end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{stop}\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        said = (self.place / "said.txt").read_text()
        self.steps = int((self.place / "steps.txt").read_text() or 0)
        (self.place / "said.txt").unlink()
        (self.place / "steps.txt").unlink()
        return code, said

    def found(self) -> set[str]:
        return {path.relative_to(self.place).as_posix() for path in self.place.rglob("*")}

    def left(self) -> list[Path]:
        """What lies in the way of nobody: everything but what was given and what a whole run writes."""
        made = ("out", "out.private.html", "book", "book.kept", "out.private.trace")
        names = [name for name in self.found() - self.given if not name.startswith(("out/", "book/"))]
        return [self.place / name for name in names if name not in made]

    def clear(self) -> None:
        import shutil

        for name in ("out", "book"):
            shutil.rmtree(self.place / name, ignore_errors=True)
            (self.place / name).unlink(missing_ok=True) if (self.place / name).is_file() else None
        for path in [*self.place.glob("out.*"), *self.place.glob("book*"), *self.place.glob(".*")]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def age(self) -> None:
        """Everything is an hour old."""
        for path in [*self.place.iterdir(), *self.temporary.iterdir()]:
            os.utime(path, (time.time() - 3600,) * 2, follow_symlinks=False)

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


@pytest.fixture
def runner(request: Any, tmp_path: Path) -> Any:
    made = Runner(tmp_path, getattr(request, "param", None))
    yield made
    made.close()


def private(path: Path) -> bool:
    """Nobody else may read it, or what is above it."""
    return any(not place.lstat().st_mode & 0o077 for place in (path, *path.parents[:3]))


def test_a_run_that_is_killed_at_any_step_leaves_private_files_that_the_next_run_removes(runner: Runner) -> None:
    killed = 0
    for stop in range(1, 400, 1 if SLOW else 4):
        code, _ = runner.publish(stop)
        if code == 0:
            break
        assert code == -9
        killed += 1
        public = [path for path in runner.left() if not private(path)]
        assert not public, (stop, public)
        whole = (runner.place / "out").exists()
        if whole:  # a folder with its name is whole
            assert (runner.place / "out" / "manifest.json").exists() and (runner.place / "out" / "data.csv").exists()
        book = (runner.place / "book").exists()
        assert not whole or book, "never without its entry in the ledger"
        runner.clear()
        runner.temporary.joinpath("x").mkdir(exist_ok=True)
        runner.temporary.joinpath("x").rmdir()
        runner.age()
        code, said = runner.publish()
        assert code == 0, (stop, said)
        assert not [path for path in runner.left() if "sfumato" in path.name or path.name.startswith(".")], stop
        runner.clear()
    assert killed > 5


@pytest.mark.parametrize("runner", [errno.ENOSPC, errno.EROFS, errno.EACCES], indirect=True, ids=str)
def test_a_full_or_read_only_disk_at_any_step_is_one_line_and_leaves_nothing(runner: Runner) -> None:
    failed = 0
    for stop in range(1, 400, 1 if SLOW else 5):
        code, said = runner.publish(stop)
        if runner.steps < stop:
            break
        if code:
            failed += 1
            assert "Traceback" not in said, (stop, said)
            assert said.splitlines()[-1].startswith("error: "), (stop, said)
            assert code in (3, 6, 7, 8), (stop, said)
            assert not (runner.place / "out").exists() or (runner.place / "book").exists(), (stop, said)
        left = runner.left()
        assert all(private(path) for path in left), (stop, left)
        runner.clear()
        if left:  # the step that failed was to remove it: the next run does
            runner.age()
            assert runner.publish()[0] == 0 and not runner.left(), (stop, left)
            runner.clear()
    assert failed > 3


def test_a_neighbour_cannot_make_a_run_remove_what_is_elsewhere(tmp_path: Path) -> None:
    """Links with the names of our temporary folders, and folders that others made, stay."""
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "data").write_text("x")
    link = tmp_path / "sfumato-draft-abcd"
    link.symlink_to(tmp_path / "victim")
    inside = tmp_path / "sfumato-draft-efgh"
    inside.mkdir()
    (inside / "out").symlink_to(tmp_path / "victim")
    for path in (link, inside):
        os.utime(path, (time.time() - 3600,) * 2, follow_symlinks=False)
    made = draft_folder("sfumato-draft-", tmp_path)
    assert (tmp_path / "victim" / "data").read_text() == "x"
    assert link.is_symlink() and not inside.exists()
    assert not Path(made.name).stat().st_mode & 0o077
    made.cleanup()


def test_names_of_temporary_folders_cannot_be_foretold(tmp_path: Path) -> None:
    made = [draft_folder("sfumato-draft-", tmp_path) for _ in range(20)]
    names = {Path(one.name).name for one in made}
    assert len(names) == 20 and all(len(name) >= len("sfumato-draft-") + 8 for name in names)
    for one in made:
        one.cleanup()
