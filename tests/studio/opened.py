"""A studio that runs for a test: a project folder with people in it, and a real server on a free port."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn

from sfumato.ui.studio.app import Studio, studio
from sfumato.ui.studio.project import Project
from sfumato.ui.studio.server import _listen

TOKEN = "a-token-of-the-tests-that-is-long-enough"
POLICY = """version: 1
data: {kind: table, source: people.csv}  # the visits of last year
columns:
  name: identifier
  age: {role: quasi-identifier, hierarchy: {intervals: [10, 20]}}
  town: quasi-identifier
  illness: sensitive  # nobody may learn it
protect:
  - k-anonymity: {k: 3}
method: {mondrian: {}}
accept:
  - "unprotected:illness": only counts of illnesses are of interest
"""


def fill(folder: Path, rows: int = 60) -> None:
    """People of three towns, and a policy about them."""
    rng = random.Random(7)
    lines = ["name,age,town,illness"]
    lines += [
        f"P{at},{rng.randint(20, 69)},{rng.choice(['Ulm', 'Bonn', 'Kiel'])},{rng.choice(['flu', 'gout', 'cold'])}"
        for at in range(rows)
    ]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "people.yaml").write_text(POLICY)


def fill_at_length(folder: Path) -> None:
    """People all of whom differ, and a policy whose release takes many seconds, so that it can be met halfway."""
    rng = random.Random(7)
    lines = ["name,age,town,illness"]
    lines += [f"P{at},{rng.randrange(50_000)},{rng.randrange(50_000)},flu" for at in range(4_000)]
    policy = POLICY.replace("{role: quasi-identifier, hierarchy: {intervals: [10, 20]}}", "quasi-identifier")
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "people.yaml").write_text(policy.replace("{mondrian: {}}", "{refined: {seconds: 120}}"))


@contextmanager
def serving(folder: Path) -> Iterator[tuple[Studio, int]]:
    """The studio of a folder on a free port."""
    listening = _listen(0)
    port = listening.getsockname()[1]
    opened = studio(Project.open(folder), token=TOKEN, port=port)
    server = uvicorn.Server(uvicorn.Config(opened.serve, log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield opened, port
    finally:
        server.should_exit = True
        thread.join(10)
        opened.desk.close()


def client(port: int, *, token: str = TOKEN) -> httpx.Client:
    """Return a browser that was sent to the address with this token, and comes from a page of the studio."""
    here = f"http://127.0.0.1:{port}"
    made = httpx.Client(base_url=here, headers={"Origin": here}, timeout=60, verify=False)
    made.get("/", params={"token": token})
    return made


def settled(asking: httpx.Client, path: str) -> dict[str, object]:
    """The model of a page, once its job has ended."""
    while True:
        model = asking.get(path).json()
        if not model.get("job") or model["job"]["state"] != "running":
            return model
        time.sleep(0.05)
