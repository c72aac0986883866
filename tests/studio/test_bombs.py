"""Small files that unpack to very much, dropped into the studio: each ends soon, with little memory and a clear
error."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from sfumato.ui.studio.app import Studio
from sfumato.ui.studio.background_jobs import Job
from sfumato.ui.studio.pages.data import DRAFTING
from sfumato.ui.studio.pages.releases import VERIFYING
from tests.reading.test_unpacking_limits import BOMBS
from tests.studio.opened import client, fill, serving

SECONDS, MEGABYTES = 5.0, 600
TICKS = os.sysconf("SC_CLK_TCK")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are measured by /proc")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Studio, Path, httpx.Client]]:
    folder = tmp_path_factory.mktemp("project")
    fill(folder)
    with serving(folder) as (studio, port), closing(client(port)) as browser:
        yield studio, folder, browser


class Watch:
    """CPU seconds and megabytes of a worker, and of this process, while something is done."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self.before = _peak("self")
        self.began, self.seconds, self.megabytes = time.process_time(), 0.0, 0

    def look(self, job: Job) -> None:
        if job.process is not None and job.process.pid:
            try:
                figures = Path(f"/proc/{job.process.pid}/stat").read_text().rpartition(")")[2].split()
                self.seconds = max(self.seconds, (int(figures[11]) + int(figures[12])) / TICKS)
                self.megabytes = max(self.megabytes, _peak(str(job.process.pid)))
            except OSError:  # it has ended
                return

    def within_bounds(self) -> None:
        assert self.seconds + time.process_time() - self.began < SECONDS
        assert self.megabytes < MEGABYTES
        assert _peak("self") - self.before < MEGABYTES


def _peak(process: str) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM")), 0)


def dropped(browser: httpx.Client, file: Path, name: str) -> None:
    """Send a file as a page does when it is dropped."""
    with file.open("rb") as content:
        answer = browser.put(f"/files/{name}", content=iter(lambda: content.read(1 << 20), b""))
    assert answer.status_code == 200, answer.text
    file.unlink()


def finished(studio: Studio, title: str, watch: Watch) -> Job:
    """The job that was begun, when it has ended."""
    job = studio.desk.latest("", title)
    assert job is not None
    while job.state == "running":
        watch.look(job)
        time.sleep(0.005)
    return job


def refused(job: Job) -> None:
    assert job.state == "failed" and job.error is not None
    assert job.error["what"] and "unforeseen" not in job.error["what"]
    assert "without a word" not in job.error["what"]


TABLES = [name for name, (file, _) in BOMBS.items() if not file.endswith("yaml")]


@pytest.mark.parametrize("bomb", TABLES)
def test_a_dropped_table_is_refused_within_bounds(
    bomb: str, opened: tuple[Studio, Path, httpx.Client], tmp_path: Path
) -> None:
    studio, folder, browser = opened
    file, make = BOMBS[bomb]
    make(tmp_path / file)
    name = f"{bomb.replace(' ', '-')}.{file.partition('.')[2]}"
    watch = Watch()
    dropped(browser, tmp_path / file, name)
    assert browser.post("/project", data={"file": name}).status_code in (200, 303)
    refused(finished(studio, DRAFTING, watch))
    watch.within_bounds()
    (folder / name).unlink()


@pytest.mark.parametrize("bomb", [name for name in BOMBS if name not in TABLES])
def test_a_dropped_policy_is_refused_within_bounds(
    bomb: str, opened: tuple[Studio, Path, httpx.Client], tmp_path: Path
) -> None:
    """Pages read policies in the process of the server."""
    _, folder, browser = opened
    _, make = BOMBS[bomb]
    make(tmp_path / "a.yaml")
    name = f"{bomb.replace(' ', '-')}.yaml"
    watch = Watch()
    dropped(browser, tmp_path / "a.yaml", name)
    answer = browser.get(f"/p/{name}/data")
    assert answer.status_code in (200, 422) and "Traceback" not in answer.text
    watch.within_bounds()
    (folder / name).unlink()
    assert browser.get("/project").status_code == 200


def _computed(path: Path) -> None:
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        base.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(1_000)])
        base.execute("ALTER TABLE t ADD COLUMN b TEXT GENERATED ALWAYS AS (printf('%.*c', 60000000, 'x')) VIRTUAL")


def _endless(path: Path) -> None:
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        base.execute("CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c")


@pytest.mark.parametrize("make", [_computed, _endless])
def test_a_dropped_database_ends_within_bounds(
    make: Callable[[Path], None], opened: tuple[Studio, Path, httpx.Client], tmp_path: Path
) -> None:
    studio, folder, browser = opened
    make(tmp_path / "a.db")
    name = f"{make.__name__[1:]}.db"
    watch = Watch()
    dropped(browser, tmp_path / "a.db", name)
    assert browser.post("/project", data={"file": name}).status_code in (200, 303)
    job = finished(studio, DRAFTING, watch)
    if job.state != "done":  # what nobody asks for is not computed
        refused(job)
    watch.within_bounds()
    (folder / name).unlink()


def _zeros(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed, packed.open("r/data.csv", "w") as file:
        for _ in range(300):
            file.write(bytes(1 << 20))


def _entries(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        for number in range(60_000):
            packed.writestr(f"r/{number}", "")


def _deep(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("r/manifest.json", '{"format": 1, "form": ' + "[" * 2_000_000)


def _long(path: Path) -> None:
    manifest = {"format": 1, "form": "recoded table", "public": {}, "files": {"data.csv": {"sha256": "0", "rows": 1}}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("r/manifest.json", json.dumps(manifest))
        packed.writestr("r/certificate.json", "{}")
        packed.writestr("r/policy.yaml", "version: 1\n")
        packed.writestr("r/data.csv", "a\n" + "x" * 60_000_000)


@pytest.mark.parametrize("make", [_zeros, _entries, _deep, _long])
def test_a_dropped_release_is_refused_within_bounds(
    make: Callable[[Path], None], opened: tuple[Studio, Path, httpx.Client], tmp_path: Path
) -> None:
    studio, folder, browser = opened
    make(tmp_path / "a.zip")
    name = f"{make.__name__[1:]}.zip"
    watch = Watch()
    dropped(browser, tmp_path / "a.zip", name)
    assert browser.post("/verify", data={"archive": name}).status_code in (200, 303)
    refused(finished(studio, VERIFYING, watch))
    watch.within_bounds()
    (folder / name).unlink()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any((folder / ".studio").iterdir()):
        time.sleep(0.02)  # the server clears up after the worker has ended
    assert not any((folder / ".studio").iterdir())


def test_a_body_that_says_more_than_it_is_does_not_stay(tmp_path: Path) -> None:
    """A file of which the rest never comes leaves nothing behind."""
    fill(tmp_path)
    with serving(tmp_path) as (_, port), closing(client(port)) as browser:
        stop = threading.Event()

        def slowly() -> Iterator[bytes]:
            yield b"a,b\n"
            stop.set()
            raise httpx.WriteError("the sender has gone")

        with pytest.raises(httpx.HTTPError):
            browser.put("/files/slow.csv", content=slowly())
        assert stop.is_set()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and list(tmp_path.glob(".*[0-9a-f]")):
            time.sleep(0.05)
        assert not (tmp_path / "slow.csv").exists()
        assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"people.csv", "people.yaml"}
