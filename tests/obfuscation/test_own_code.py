"""Own code: off unless the environment names the very file, judged on what it made, said in the certificate."""

import hashlib
import sqlite3

import pytest
import yaml

import sfumato as sf
from sfumato.core.errors import AuditRefused, DataError, PolicyError
from tests.command_line import run

CODE = """
def even_sum(one, two):
    return (int(one) + int(two)) % 2 == 0

def badge(number):
    return f"B{number * 7:06d}"

def badge_holds(text):
    return text[:1] == "B" and text[1:].isdigit() and int(text[1:]) % 7 == 0

def broken(one):
    raise ValueError("never shown: " + one)
"""
ROWS = {"a": [str(n % 9) for n in range(60)], "b": [str(n % 5) for n in range(60)], "id": [f"X{n}" for n in range(60)]}


@pytest.fixture
def code(tmp_path, monkeypatch):
    file = tmp_path / "bank_rules.py"
    file.write_text(CODE)
    monkeypatch.setenv("SFUMATO_PLUGINS", str(file))
    return file


def policy(file, *rules, size=2_000_000):
    return {
        "version": 1,
        "plugins": {"file": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()},
        "columns": {
            "a": {"role": "replaced", "domain": {"integers": [0, 9]}},
            "b": "other",
            "id": {"role": "replaced", "domain": {"plugin": "badge", "size": size}},
        },
        "keep": ["own(even_sum, a, b)", "unique(id)", *rules],
    }


@pytest.mark.parametrize("size", [100, 2_000_000])
def test_own_code_makes_and_the_audit_judges(code, tmp_path, size):
    made = sf.publish(policy(code, size=size), ROWS)
    out = made.write(tmp_path / "out", report=False)
    rows = made.release.parts["data"].table.to_pylist()
    assert all((int(row["a"]) + int(row["b"])) % 2 == 0 for row in rows)
    assert len({row["id"] for row in rows}) == 60
    assert all(int(row["id"][1:]) % 7 == 0 for row in rows)
    told = " ".join(made.certificate.assumptions)
    assert "own code" in told and hashlib.sha256(CODE.encode()).hexdigest() in told
    data = out / "data.csv"
    data.write_text(data.read_text().replace("B", "C", 1))
    assert sf.verify(out).violated


def test_it_is_off_without_the_environment(code, monkeypatch):
    monkeypatch.delenv("SFUMATO_PLUGINS")
    with pytest.raises(PolicyError, match="own code is off"):
        sf.publish(policy(code), ROWS)


def test_other_bytes_do_not_run(code):
    asked = policy(code)
    code.write_text(CODE + "\nraise SystemExit('ran')\n")
    with pytest.raises(PolicyError, match="own code is off"):
        sf.publish(asked, ROWS)


def test_whoever_gets_the_folder_runs_nothing_and_judges_the_rest(code, tmp_path, monkeypatch):
    out = sf.publish(policy(code), ROWS).write(tmp_path / "out", report=False)
    monkeypatch.delenv("SFUMATO_PLUGINS")
    found = sf.verify(out)
    grades = {finding.model: finding.grade for finding in found.findings}
    assert grades["rules left open"] == grades["domains"] == "not judged"
    assert grades["rules"] == "exact"


@pytest.mark.parametrize(
    ("rule", "told"), [("own(broken, a)", "failed: ValueError"), ("own(nothing, a)", "no function 'nothing'")]
)
def test_errors_name_the_function_and_no_value(code, rule, told):
    with pytest.raises((DataError, PolicyError), match=told) as error:
        sf.publish(policy(code, rule), ROWS)
    assert "never shown" not in str(error.value)


def test_a_domain_that_repeats_itself_is_caught(code):
    code.write_text("def badge(number):\n    return f'B{number % 3}'\ndef even_sum(a, b):\n    return True\n")
    with pytest.raises((AuditRefused, DataError, PolicyError)):
        sf.publish(policy(code, size=1_000), ROWS)


def test_a_database_calls_it_too(code, tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t (id TEXT PRIMARY KEY, a INTEGER, b INTEGER)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?)", list(zip(ROWS["id"], ROWS["a"], ROWS["b"], strict=True))
        )
    asked = policy(code)
    asked["columns"] = {f"t.{name}": entry for name, entry in asked["columns"].items()}
    asked |= {"keep": ["own(even_sum, t.a, t.b)"], "data": {"kind": "database", "source": f"sqlite:///{tmp_path}/a.db"}}
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(asked))
    done = run("publish", str(tmp_path / "p.yaml"), "--out", str(tmp_path / "out"), "--no-report")
    assert done.returncode == 0, done.stderr
    rows = [line.split(",") for line in (tmp_path / "out" / "t.csv").read_text().splitlines()[1:]]
    assert all((int(a) + int(b)) % 2 == 0 and int(key[1:]) % 7 == 0 for key, a, b in rows)
