"""Three words for the time of a search: the same release on any number of cores, never a worse one with more effort."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.effort import EFFORTS, Effort, SearchCourse, take_on_request
from sfumato.core.errors import PolicyError
from sfumato.data.item_sets import Sets
from sfumato.data.table import Table
from sfumato.kinds.baskets.methods import nonreciprocal, record_order
from sfumato.kinds.tables.methods import local_search
from sfumato.kinds.tables.methods.refined import Refined
from sfumato.workflow import trial
from sfumato.workflow.explore import explore
from sfumato.workflow.plan import plan
from sfumato.workflow.trial import try_policy
from tests.command_line import run
from tests.studio.opened import client, fill_at_length, serving


def people(rows: int, seed: int = 3) -> dict[str, list[str]]:
    rng = random.Random(seed)
    return {
        "age": [str(int(rng.gauss(45, 15))) for _ in range(rows)],
        "town": [str(int(rng.paretovariate(0.8)) % 90) for _ in range(rows)],
        "job": [f"j{rng.randrange(30)}" for _ in range(rows)],
        "illness": [rng.choice(["flu", "gout", "cold"]) for _ in range(rows)],
    }


def policy(**more: Any) -> sf.Policy:
    columns = {"age": "quasi-identifier", "town": "quasi-identifier", "job": "quasi-identifier", "illness": "sensitive"}
    tree = {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 4}}, {"l-diversity": {"l": 2}}]}
    return sf.Policy.parse(tree | {"method": "refined"} | more)


def test_more_effort_never_loses_more() -> None:
    for rows, seed in ((700, 1), (2_500, 2)):
        data = people(rows, seed)
        lost = [sf.publish(policy(effort=effort), data).utility["loss"] for effort in EFFORTS]
        assert lost[0] >= lost[1] >= lost[2]
        assert lost[0] > lost[2]


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_number_of_cores_does_not_change_a_release(effort: str, tmp_path: Path) -> None:
    data, files = people(1_500), []
    for jobs in (1, 2):
        sf.publish(policy(effort=effort), data, seed=2**128 + 7, jobs=jobs).write(tmp_path / str(jobs), report=False)
        files.append((tmp_path / str(jobs) / "data.csv").read_bytes())
    assert files[0] == files[1]


def test_the_work_of_a_search_keeps_to_what_was_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    done: dict[str, float] = {}
    original = local_search._Search.run

    def recorded(self: Any) -> None:
        original(self)
        done[effort] = self.done / local_search.SPEED

    monkeypatch.setattr(local_search._Search, "run", recorded)
    for rows in (700, 4_000):
        data = people(rows)
        for effort in EFFORTS:
            sf.publish(policy(effort=effort), data)
            assert done[effort] <= Refined().seconds_announced(rows, effort)[2]
        assert done["quick"] <= done["balanced"] <= done["thorough"]
    assert done["quick"] >= Refined().seconds_announced(4_000, "quick")[0] / 2


def test_progress_says_the_loss_so_far_and_the_work_that_is_left() -> None:
    told: list[tuple[float, str]] = []
    loss = sf.publish(policy(), people(1_500), progress=lambda done, what: told.append((done, what))).utility["loss"]
    said = [what for _, what in told if "so far" in what]
    assert len(said) > 2
    found = [
        re.fullmatch(r"improving, loss ([\d.]+) so far, at most ([\d.]+) s of one core left", what) for what in said
    ]
    losses, left = ([float(each[group]) for each in found if each] for group in (1, 2))
    assert len(losses) == len(said)
    assert losses == sorted(losses, reverse=True)
    assert left == sorted(left, reverse=True)
    assert left[0] <= Refined().seconds_announced(1_500, "balanced")[2]
    assert losses[-1] == pytest.approx(loss, rel=0.2)


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_forecast_is_the_loss_of_the_release(effort: Effort) -> None:
    """Small tables are searched as `publish` searches them; for larger ones the loss is estimated."""
    for rows in (700, 6_000):
        table = Table(pa.table(people(rows)))
        tried = try_policy(policy(effort=effort), table)
        loss = sf.publish(policy(effort=effort), table).utility["loss"]
        assert effort in tried.measured or rows == 6_000
        assert tried.losses[effort] == pytest.approx(loss, rel=1e-9 if effort in tried.measured else 0.1)
        assert tried.losses["quick"] >= tried.losses["balanced"] >= tried.losses["thorough"]


def test_a_trial_of_a_large_table_draws_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "ROWS", 500)
    tried = try_policy(policy(), Table(pa.table(people(2_000))))
    assert (tried.records, tried.sampled) == (2_000, 500)
    assert tried.publication.certificate.records.input == 500
    assert "on a sample of 500 of 2,000 records" in tried.sentence()
    assert "expected loss: at most" in tried.sentence()


def test_seconds_stay_the_exact_form() -> None:
    data = people(700)
    losses = {
        sf.publish(policy(effort=effort, method={"refined": {"seconds": 0.2}}), data).utility["loss"]
        for effort in EFFORTS
    }
    assert len(losses) == 1


def test_an_effort_that_is_none_is_refused() -> None:
    with pytest.raises(PolicyError, match="quick, balanced or thorough"):
        policy(effort="fast")


def test_check_says_what_each_effort_means_for_this_table(tmp_path: Path) -> None:
    rows = people(400)
    (tmp_path / "p.csv").write_text(
        "\n".join([",".join(rows), *map(",".join, zip(*rows.values(), strict=True))]) + "\n"
    )
    (tmp_path / "p.yaml").write_text(
        "version: 1\ndata: p.csv\n"
        "columns: {age: quasi-identifier, town: quasi-identifier, job: quasi-identifier, illness: sensitive}\n"
        "protect: [k-anonymity: {k: 4}, l-diversity: {l: 2}]\nmethod: refined\n"
    )
    said = run("check", str(tmp_path / "p.yaml"), "--effort", "quick").stdout
    plain = " ".join(said.split())
    assert "Effort quick (search time on one core: quick" in plain
    assert "at most half as long again" in plain
    assert "Loss quick" in plain
    shown = next(line for line in said.splitlines() if line.split()[:1] == ["town"])
    assert shown.count("%") >= 2
    assert "Loss  " not in run("check", str(tmp_path / "p.yaml"), "--no-forecast").stdout
    forecast = json.loads(run("check", str(tmp_path / "p.yaml"), "--effort", "quick", "--json").stdout)["forecast"]
    done = run("publish", str(tmp_path / "p.yaml"), "--effort", "quick", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "effort: quick" in (tmp_path / "out" / "policy.yaml").read_text()
    made = sf.publish(sf.Policy.read(tmp_path / "p.yaml").with_effort("quick"))
    assert forecast["loss"]["quick"] == pytest.approx(made.utility["loss"])
    columns = made.summary().to_json()["columns"]
    assert columns.keys() == forecast["columns"].keys()
    for name, shares in columns.items():
        assert forecast["columns"][name] == pytest.approx(shares), name


def test_check_warns_of_a_column_that_is_suppressed_in_most_rows(tmp_path: Path) -> None:
    rows = ["age,club,flag"] + [f"{20 + row % 3},c{row},x" for row in range(60)]
    (tmp_path / "p.csv").write_text("\n".join(rows) + "\n")
    written = (
        "version: 1\ndata: p.csv\ncolumns: {age: quasi-identifier, club: {role: quasi-identifier, hierarchy: flat},"
        " flag: other}\nprotect: [k-anonymity: {k: 5}]\n"
    )
    (tmp_path / "p.yaml").write_text(written)
    found = run("check", str(tmp_path / "p.yaml"), "--strict")
    assert "warning: club is suppressed in 100 % of the rows" in found.stdout
    assert found.returncode == 2
    (tmp_path / "p.yaml").write_text(written + "accept: ['suppressed:club']\n")
    found = run("check", str(tmp_path / "p.yaml"), "--strict")
    assert found.returncode == 0, found.stdout
    assert "accepted: club is suppressed" in found.stdout
    assert "no longer there" not in found.stdout


def test_a_request_takes_the_best_result_so_far() -> None:
    data = people(3_000)
    hurried = policy(method={"refined": {"seconds": 60}})
    began = time.process_time()
    with take_on_request() as take:

        def progress(share: float, what: str) -> None:
            if "so far" in what:
                take()

        made = sf.publish(hurried, data, progress=progress)
    assert made.certificate.holds
    assert time.process_time() - began < 30
    with take_on_request():
        pass
    assert made.utility["loss"] <= sf.publish(policy(method="mondrian"), data).utility["loss"]


def _publishing(tmp_path: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A long publication in a real terminal, once its search has begun."""
    fill_at_length(tmp_path)
    here, there = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "sfumato",
        "publish",
        str(tmp_path / "people.yaml"),
        "--out",
        str(tmp_path / "out"),
    ]
    process = subprocess.Popen(
        command, stdin=there, stdout=there, stderr=there, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    )
    os.close(there)
    seen = b""
    while b"so far" not in seen:
        seen += os.read(here, 4096)
    return process, here


def _rest(terminal: int) -> bytes:
    seen = b""
    try:
        while piece := os.read(terminal, 4096):
            seen += piece
    except OSError:
        pass
    os.close(terminal)
    return seen


def test_the_first_interrupt_publishes_what_there_is(tmp_path: Path) -> None:
    process, terminal = _publishing(tmp_path)
    process.send_signal(signal.SIGINT)
    said = _rest(terminal)
    assert process.wait(120) == 0
    assert b"taking the best result so far" in said
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["holds"]
    assert not sf.verify(tmp_path / "out", original=tmp_path / "people.csv").violated


def test_the_second_interrupt_stops_without_a_release(tmp_path: Path) -> None:
    process, terminal = _publishing(tmp_path)
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _rest(terminal)
    assert process.wait(120) != 0
    assert not (tmp_path / "out").exists()


def test_the_studio_takes_what_there_is(tmp_path: Path) -> None:
    fill_at_length(tmp_path)
    with serving(tmp_path) as (_, port):
        asking = client(port)
        asking.post("/p/people.yaml/publish", data={"act": "publish", "out": "out"})
        while "so far" not in (job := asking.get("/p/people.yaml/publish.json").json()["job"])["stage"]:
            assert job["state"] == "running", job["error"]
            time.sleep(0.1)
        assert "Take what there is" in asking.get("/p/people.yaml/publish").text
        asking.post(f"/jobs/{job['name']}/take")
        began = time.monotonic()
        while (job := asking.get(f"/jobs/{job['name']}.json").json())["state"] == "running":
            assert time.monotonic() - began < 100
            time.sleep(0.1)
        assert job["state"] == "done", job["error"]
        assert job["result"]["certificate"]["holds"]


def test_more_sweeps_over_baskets_never_lose_more_on_any_number_of_cores() -> None:
    rng = random.Random(5)
    rows = [frozenset(int(rng.paretovariate(0.7)) % 60 for _ in range(6)) for _ in range(700)]
    sets = Sets.of([sorted(row) for row in rows], 60)
    blocks, rings = [], []
    for effort in EFFORTS:
        one, two = (record_order.partition(sets, 5, jobs=jobs, effort=effort) for jobs in (1, 2))
        assert (one.order == two.order).all()
        blocks.append(record_order.block_error(sets, one))
        rings.append(nonreciprocal.window_error(sets, nonreciprocal.window_order(sets, 5, effort), 5))
    for errors in (blocks, rings):
        assert errors[0] >= errors[1] >= errors[2]
        assert errors[0] > errors[2]


def test_an_exploration_takes_its_time_limit_from_the_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    monkeypatch.setattr(explore, "_run", lambda policy, wanted, table, budget, jobs: given.append(budget) or iter(()))
    for effort in EFFORTS:
        sf.explore(policy(effort=effort), people(60))
    sf.explore(policy(effort="quick"), people(60), budget=7.0)
    assert given == [30.0, 120.0, 600.0, 7.0]


@pytest.mark.parametrize(("method", "least"), [("optimal", "quick 2 s"), ("sequential", "quick 0.2 s")])
def test_other_searches_say_their_time_for_each_effort(method: str, least: str) -> None:
    table = Table(pa.table(people(60)))

    def said(asked: sf.Policy) -> str:
        return " ".join(plan(asked, records=60).method.describe(asked, table))

    assert f"effort: quick (search time on one core, at most: {least}" in said(policy(method=method, effort="quick"))
    assert "search time: at most 0.5 s of one core" in said(policy(method={method: {"seconds": 0.5}}))


def test_a_thorough_search_that_passed_its_limit_is_forecast_by_its_last_step() -> None:
    course = SearchCourse(limit=2.0, allowed=9.0, steps=[(0.0, 1.0), (1.9, 0.5), (2.4, 0.4)])
    assert Refined().expected_cost(course, "thorough") == (0.4, True)
