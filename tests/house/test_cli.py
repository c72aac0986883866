"""The commands as a user meets them: exit codes, one-line errors, JSON, nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import run
from tests.secret import SEED

PATIENTS = "name,age,sex,illness\n" + "".join(f"P{i},{30 + i % 7},{'FM'[i % 2]},{'abc'[i % 3]}\n" for i in range(40))
POLICY = """\
version: 1
data: {kind: table, source: people.csv}
columns:
  name: identifier
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10]}}
  sex: quasi-identifier
  illness: sensitive
protect:
  - k-anonymity: {k: 3}
"""


def process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The program by itself, as nobody has warmed it up."""
    return subprocess.run(
        [sys.executable, "-m", "sfumato", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PATIENTS)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def error_of(result: subprocess.CompletedProcess[str], code: int) -> str:
    assert result.returncode == code, result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert "Traceback" not in result.stderr
    return lines[0]


def test_the_program_by_itself_says_what_it_says_here(desk: Path) -> None:
    """Most tests below run commands without a new process; this one compares."""
    for name, call in (("one", process), ("other", run)):
        made = call("publish", "policy.yaml", "--out", name, "--seed", str(SEED), "--no-report", cwd=desk)
        assert (made.returncode, made.stderr) == (0, "")
        assert made.stdout.replace(name, "out").startswith("Published 40 of 40 records to out/ (method: refined, ")
    assert (desk / "one" / "data.csv").read_text() == (desk / "other" / "data.csv").read_text()
    assert process("publsh", cwd=desk).stderr == run("publsh", cwd=desk).stderr


def test_publish_verify_measure_report(desk: Path) -> None:
    published = run("publish", "policy.yaml", "--out", "out", "--json", cwd=desk)
    assert published.returncode == 0, published.stderr
    certificate = json.loads(published.stdout)["certificate"]
    assert certificate["holds"]
    assert certificate["records"] == {"input": 40, "published": 40, "suppressed": 0}
    written = {"manifest.json", "certificate.json", "policy.yaml", "data.csv", "report.html"}
    assert {p.name for p in (desk / "out").iterdir()} == written | {"croissant.json", "datapackage.json"}
    assert (desk / "out.private.html").stat().st_mode & 0o777 == 0o600
    verified = run("verify", "out", "--original", "people.csv", "--json", cwd=desk)
    assert verified.returncode == 0
    assert json.loads(verified.stdout)["holds"]
    measured = run("measure", "out", "--original", "people.csv", "--json", cwd=desk)
    assert set(json.loads(measured.stdout)) >= {
        "loss",
        "ntil",
        "entropy_loss",
        "discernibility",
        "average_class_size",
        "query_error",
    }
    assert run("report", "out", cwd=desk).returncode == 0
    assert run("verify", "out", cwd=desk).returncode == 0
    assert run("report", "out", "--original", "people.csv", "--out", "mine.html", cwd=desk).returncode == 0
    error_of(run("report", "out", "--original", "people.csv", "--out", "out/mine.html", cwd=desk), 3)
    attacked = run("attack", "linkage", "out", "--original", "people.csv", "--json", cwd=desk)
    assert json.loads(attacked.stdout)["fewest_candidates"] >= 3


def test_a_violated_folder_exits_with_1(desk: Path) -> None:
    run("publish", "policy.yaml", "--out", "out", cwd=desk)
    with (desk / "out" / "data.csv").open("a") as file:
        file.write("0-4,F,a\n")
    assert run("verify", "out", cwd=desk).returncode == 1


def test_the_release_folder_holds_nothing_private(desk: Path) -> None:
    run("publish", "policy.yaml", "--out", "out", "--seed", "424242", cwd=desk)
    text = "".join(path.read_text() for path in (desk / "out").rglob("*") if path.is_file())
    assert "424242" not in text
    assert "people.csv" not in text
    assert "P17" not in text
    assert str(desk) not in text


def test_the_same_seed_repeats_and_no_seed_does_not(desk: Path) -> None:
    for name, seed in (("a", ["--seed", "3"]), ("b", ["--seed", "3"]), ("c", []), ("d", [])):
        run("publish", "policy.yaml", "--out", name, *seed, cwd=desk)
    data = {name: (desk / name / "data.csv").read_text() for name in "abcd"}
    assert data["a"] == data["b"]
    assert data["c"] != data["d"]


def test_parquet(desk: Path) -> None:
    assert run("publish", "policy.yaml", "--out", "out", "--format", "parquet", "--no-report", cwd=desk).returncode == 0
    assert (desk / "out" / "data.parquet").exists()
    assert not (desk / "out" / "report.html").exists()
    assert not (desk / "out.private.html").exists()
    assert run("verify", "out", "--original", "people.csv", cwd=desk).returncode == 0


def test_check_touches_no_rows(desk: Path) -> None:
    (desk / "people.csv").unlink()
    checked = run("check", "policy.yaml", cwd=desk)
    assert checked.returncode == 0
    assert "because" in checked.stdout
    assert "k-anonymity" in checked.stdout


@pytest.mark.parametrize(
    ("find", "put", "code", "expected"),
    [
        ("protect:", "protct:", 2, "policy.yaml:8 — did you mean 'protect'?"),
        ("k-anonymity", "k-anonimity", 2, "did you mean 'k-anonymity'?"),
        ("{k: 3}", "{k: none}", 2, "policy.yaml:9"),
        ("{k: 3}", "{k: 41}", 4, "k: 40"),
        ("illness: sensitive", "ilness: sensitive", 3, "did you mean 'illness'?"),
        ("people.csv", "peple.csv", 3, "no such file"),
        ("  sex: quasi-identifier", "  sex: quasi-identifier\n  sex: other", 2, "'sex' stands twice"),
        ("{intervals: [5, 10]}", "{intervals: [5, 12]}", 2, "multiple"),
        ("{intervals: [5, 10]}", "nowhere.csv", 2, "no such hierarchy file"),
        ("protect:", "method: {anatomy: {}}\nprotect:", 2, "anatomy"),
        ("protect:", "method: {mondrien: {}}\nprotect:", 2, "did you mean 'mondrian'?"),
        ("protect:", "method: {refined: {minutes: 2}}\nprotect:", 2, "unknown key 'minutes'"),
    ],
)
def test_a_bad_policy_is_one_line_and_leaves_nothing(desk: Path, find: str, put: str, code: int, expected: str) -> None:
    (desk / "policy.yaml").write_text(POLICY.replace(find, put, 1))
    assert expected in error_of(run("publish", "policy.yaml", "--out", "out", cwd=desk), code)
    assert sorted(path.name for path in desk.iterdir()) == ["people.csv", "policy.yaml"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty"),
        (b"name,age,sex,illness\n", "no rows"),
        (b"name,age,sex,age\n1,2,3,4\n", "stands twice"),
        (b"name,age,sex,illness\nSecret,30,F\n", "3 values"),
        ("name,age,sex,illness\nSecrét,30,F,é\n".encode() + b"Secr\xe9t,30,F,a\n", "UTF-8"),
        (b"name,age,sex,illness\nSecret,thirty,F,a\n", "no number"),
    ],
)
def test_bad_data_is_one_line_without_values(desk: Path, content: bytes, expected: str) -> None:
    (desk / "people.csv").write_bytes(content)
    error = error_of(run("publish", "policy.yaml", "--out", "out", cwd=desk), 3)
    assert expected in error
    assert "Secret" not in error
    assert "thirty" not in error
    assert not (desk / "out").exists()


def test_an_existing_folder_is_never_overwritten(desk: Path) -> None:
    (desk / "out").mkdir()
    (desk / "out" / "precious.txt").write_text("mine")
    error_of(run("publish", "policy.yaml", "--out", "out", cwd=desk), 3)
    assert (desk / "out" / "precious.txt").read_text() == "mine"


def test_no_release_folder_is_a_clear_error(desk: Path) -> None:
    error_of(run("verify", "nothing", cwd=desk), 8)
    (desk / "junk").mkdir()
    (desk / "junk" / "manifest.json").write_text("[1]")
    error_of(run("verify", "junk", cwd=desk), 1)


def test_killed_halfway_leaves_no_folder(desk: Path) -> None:
    code = (
        "import os, signal, sfumato as sf, sfumato.workflow.write as w\n"
        "w.folder_damage = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sf.publish('policy.yaml').write('out')\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=desk, check=False).returncode == -9
    assert not (desk / "out").exists()
    assert run("publish", "policy.yaml", "--out", "out", cwd=desk).returncode == 0


def test_demo_runs_end_to_end(tmp_path: Path) -> None:
    shown = run("demo", "--out", "demo", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "everything holds" in shown.stdout
    assert (tmp_path / "demo" / "release" / "report.html").exists()


def test_sql_source(desk: Path) -> None:
    import csv
    import sqlite3

    rows = list(csv.reader((desk / "people.csv").read_text(encoding="utf-8").splitlines()))
    with sqlite3.connect(desk / "people.db") as db:
        db.execute("create table people (name text, age integer, sex text, illness text)")
        db.executemany("insert into people values (?, ?, ?, ?)", rows[1:])
    (desk / "policy.yaml").write_text(
        POLICY.replace("source: people.csv", f"source: 'sqlite:///{desk}/people.db', table: people")
    )
    assert run("publish", "policy.yaml", "--out", "out", cwd=desk).returncode == 0
    assert run("verify", "out", "--original", "people.csv", cwd=desk).returncode == 0
    assert "sqlite" not in (desk / "out" / "policy.yaml").read_text()
    (desk / "policy.yaml").write_text(
        POLICY.replace("source: people.csv", f"source: 'sqlite:///{desk}/people.db', table: poeple")
    )
    assert "no table" in error_of(run("publish", "policy.yaml", "--out", "other", cwd=desk), 3)


def test_help_answers_without_a_home(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "sfumato", "--help"],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={**os.environ, "HOME": "/nonexistent"},
    )  # fmt: skip
    for command in ("publish", "verify", "measure", "attack", "report", "check", "demo"):
        assert command in result.stdout
