"""`publish` killed while it loads: the folder stands, each table is as before or complete, and the same command
finishes it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from shops import asked
from small_shop import make_shop, sfumato, write_policy
from test_cut_off import in_child

import sfumato as sf
from sfumato.core.errors import DataError
from sfumato.workflow.database_load import is_unfinished, load_release
from tests.secret import secret
from tests.slow import SLOW

TABLES = {"customer": 60, "orders": 239, "newsletter": 9}


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield f"sqlite:///{tmp_path / 'target.db'}" if request.param == "sqlite" else request.getfixturevalue("fresh")()


def killed_while_loading(policy: Path, out: Path, step: int) -> bool:
    """Publishes; the process that loads dies when it tells of its progress for the nth time."""
    steps = iter(range(1, 1000))

    def progress(_share: float, _sentence: str) -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sf.publish(policy, seed=secret(1)).write(out, report=False)
    return in_child(lambda: load_release(policy, out, progress=progress)) == signal.SIGKILL


def rows(url: str) -> dict[str, int]:
    found = {}
    for name in TABLES:
        try:
            found[name] = asked(url, f"SELECT count(*) FROM {name}")[1][0][0]
        except Exception:  # the driver's own errors: there is no such table
            continue
    return found


STEPS = [("sqlite", 1), ("postgresql", 4)]  # every step: test_cut_off, test_killed_everywhere
if SLOW:
    STEPS += [("sqlite", 4), ("postgresql", 1)]


@pytest.mark.parametrize(("target", "step"), STEPS, indirect=["target"])
def test_killed_in_the_load_and_finished_by_the_same_command(tmp_path: Path, target: str, step: int) -> None:
    source = make_shop(tmp_path / "shop.db")
    before = (tmp_path / "shop.db").read_bytes()
    policy, out = write_policy(tmp_path, source, target), tmp_path / "release"
    assert killed_while_loading(policy, out, step)
    assert all(count == TABLES[name] for name, count in rows(target).items())
    assert (out / "manifest.json").exists() and not (out / "target.json").exists()
    manifest = (out / "manifest.json").read_bytes()
    done = sfumato("publish", str(policy), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "Continuing with the database load" in done.stdout
    assert rows(target) == TABLES
    assert json.loads((out / "target.json").read_text())["holds"]
    assert (out / "manifest.json").read_bytes() == manifest
    assert not sf.verify(out, original=source, target=target).violated
    assert (tmp_path / "shop.db").read_bytes() == before


def test_a_finished_release_is_not_loaded_again(tmp_path: Path, target: str) -> None:
    source = make_shop(tmp_path / "shop.db")
    policy, out = write_policy(tmp_path, source, target), tmp_path / "release"
    assert sfumato("publish", str(policy), "--out", str(out)).returncode == 0
    assert not is_unfinished(sf.Policy.read(policy), out)
    again = sfumato("publish", str(policy), "--out", str(out))
    assert again.returncode == 3 and "exists already" in again.stderr


def test_another_policy_does_not_resume_this_load(tmp_path: Path, target: str) -> None:
    source = make_shop(tmp_path / "shop.db")
    policy, out = write_policy(tmp_path, source, target), tmp_path / "release"
    assert killed_while_loading(policy, out, 2)
    policy.write_text(policy.read_text().replace("[0, 500]", "[0, 600]"), encoding="utf-8")
    refused = sfumato("publish", str(policy), "--out", str(out))
    assert refused.returncode == 3 and "exists already" in refused.stderr


def test_a_target_with_other_tables_is_left_alone_unless_replaced(tmp_path: Path, target: str) -> None:
    source = make_shop(tmp_path / "shop.db")
    policy = write_policy(tmp_path, source, target)
    sf.publish(policy, seed=secret(1)).write(tmp_path / "one", report=False)
    load_release(policy, tmp_path / "one")
    before = sorted(asked(target, "SELECT * FROM customer")[1])
    sf.publish(policy, seed=secret(2)).write(tmp_path / "two", report=False)
    with pytest.raises(DataError, match="already"):
        load_release(policy, tmp_path / "two")
    assert sorted(asked(target, "SELECT * FROM customer")[1]) == before
    assert load_release(policy, tmp_path / "two", replace=True).holds
    assert sorted(asked(target, "SELECT * FROM customer")[1]) != before


def test_a_changed_folder_is_not_loaded(tmp_path: Path, target: str) -> None:
    source = make_shop(tmp_path / "shop.db")
    policy = write_policy(tmp_path, source, target)
    out = sf.publish(policy, seed=secret(1)).write(tmp_path / "release", report=False)
    (out / "orders.csv").write_text((out / "orders.csv").read_text().replace("2021", "2022"), encoding="utf-8")
    assert sfumato("publish", str(policy), "--out", str(out)).returncode == 1
    assert rows(target) == {}
