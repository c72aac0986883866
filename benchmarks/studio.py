"""The studio with 280,000 people and 14 columns: how long pages take to answer, how long profiles take, how much memory
it holds.

    python benchmarks/studio.py

People are the first 280,000 of the KDD census file, with a name of their own each. Every page is asked three times
after its work in the background has ended; the slowest answer counts. Memory is the proportional share (PSS) of the
server and everything it started, looked at ten times a second over the whole run."""

from __future__ import annotations

import csv
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.csv as pacsv

from sfumato.ui.studio.app import studio
from sfumato.ui.studio.project import Project

DATA = Path(__file__).parents[2] / "shared" / "data" / "census_income_kdd" / "census_income_299285.csv.gz"
RESULTS = Path(__file__).parent / "results" / "studio.csv"
ROWS, TOKEN = 280_000, "a-token-of-the-benchmark-that-is-long"
COLUMNS = (
    "age", "sex", "race", "marital_stat", "education", "class_of_worker", "major_occupation_code",
    "state_of_previous_residence",
    "country_of_birth_self", "citizenship", "weeks_worked_in_year", "instance_weight", "income",
)  # fmt: skip
KNOWN = ("age", "sex", "race", "marital_stat", "education", "country_of_birth_self")
PAGES = ("data", "hierarchies?column=age", "promises", "explore", "publish")


def filled(folder: Path) -> None:
    """The table with a key, and a policy."""
    people = pacsv.read_csv(DATA).slice(0, ROWS).select(COLUMNS)
    people = people.add_column(0, "person", pa.array([f"P{number:06}" for number in range(ROWS)]))
    pacsv.write_csv(people, folder / "census.csv")
    roles = dict.fromkeys(KNOWN, "quasi-identifier") | {"person": "identifier", "income": "sensitive"}
    lines = [f"  {name}: {roles.get(name, 'other')}" for name in people.column_names]
    text = "version: 1\ndata: {kind: table, source: census.csv}\ncolumns:\n" + "\n".join(lines)
    (folder / "census.yaml").write_text(text + "\nprotect:\n  - k-anonymity: {k: 5}\nmethod: {mondrian: {}}\n")


class Memory(threading.Thread):
    """Looks at this process and all below it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.over = 0, False

    def run(self) -> None:
        while not self.over:
            self.most = max(self.most, sum(map(_share, _family(os.getpid()))))
            time.sleep(0.1)


def _family(pid: int) -> list[int]:
    try:
        below = [int(child) for task in os.listdir(f"/proc/{pid}/task") for child in _children(pid, task)]
    except FileNotFoundError:
        return []
    return [pid, *(each for child in below for each in _family(child))]


def _children(pid: int, task: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{task}/children").read_text().split()
    except FileNotFoundError:
        return []


def _share(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


def settled(asking: httpx.Client, path: str) -> dict[str, Any]:
    """The model of a page once its work has ended."""
    while True:
        model = asking.get(path).json()
        if not model.get("job") or model["job"]["state"] != "running":
            return model
        time.sleep(0.1)


def asked(asking: httpx.Client, rows: list[list[object]], path: str, work: tuple[object, object] = ("", "")) -> None:
    """The slowest of three answers of a page, and how long its work took."""
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        answer = asking.get(path)
        seconds.append(time.perf_counter() - began)
        assert answer.status_code == 200, answer.text
    rows.append([path, f"{max(seconds):.3f}", *work])
    print(*rows[-1], flush=True)


def story(asking: httpx.Client) -> list[list[object]]:
    """Every page, with the work behind it."""
    rows: list[list[object]] = []
    asked(asking, rows, "/project")
    for page in PAGES:
        path = f"/p/census.yaml/{page}"
        began = time.perf_counter()
        asking.get(path)
        opened = time.perf_counter() - began
        twin = path.replace("?", ".json?") if "?" in path else f"{path}.json"
        settled(asking, twin)
        job = asking.get(twin).json().get("job") or {}
        asked(asking, rows, path, (job.get("seconds", ""), job.get("cpu", "")))
        rows.append([f"{path}, asked first", f"{opened:.3f}", "", ""])
        print(*rows[-1], flush=True)
    asking.post("/p/census.yaml/publish", data={"act": "publish", "out": "first", "ledger": "", "key": ""})
    began, during = time.perf_counter(), list[list[object]]()
    while asking.get("/p/census.yaml/publish.json").json()["job"]["state"] == "running":
        asked(asking, during, "/p/census.yaml/data")
        time.sleep(2)
    made = asking.get("/p/census.yaml/publish.json").json()["job"]
    assert made["state"] == "done", made["error"]
    rows.append(["/p/census.yaml/data, while a release is made", max(str(row[1]) for row in during), "", ""])
    rows.append(["a release", "", f"{time.perf_counter() - began:.1f}", made["cpu"]])
    asked(asking, rows, "/p/census.yaml/publish")
    asked(asking, rows, "/r/first/certificate")
    asked(asking, rows, "/verify")
    return rows


def _client(here: str) -> httpx.Client:
    """Return a browser that was sent to the address with the token."""
    made = httpx.Client(base_url=here, headers={"Origin": here}, timeout=600)
    made.get("/", params={"token": TOKEN})
    return made


def main() -> None:
    import uvicorn

    from sfumato.ui.studio.server import _listen

    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        filled(folder)
        listening = _listen(0)
        port = listening.getsockname()[1]
        opened = studio(Project.open(folder), token=TOKEN, port=port)
        server = uvicorn.Server(uvicorn.Config(opened.serve, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        opened.warm()
        time.sleep(20)  # what the server does before somebody finds the address and clicks
        memory = Memory()
        memory.start()
        here = f"http://127.0.0.1:{port}"
        rows = story(_client(here))
        memory.over = True
        server.should_exit = True
        thread.join(10)
        opened.desk.close()
    rows.append(["memory at most, MB", f"{memory.most / 1e6:.0f}", "", ""])
    print(*rows[-1])
    with RESULTS.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["page", "seconds to answer, slowest of three", "seconds of the work behind it", "CPU seconds"], *rows]
        )


if __name__ == "__main__":
    main()
