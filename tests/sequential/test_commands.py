"""What a steward does at the command line: publish again and again with a ledger, check, verify, attack, list."""

import json
import shutil

import pytest
import yaml
from click.testing import CliRunner

from sfumato.ui.cli import main, root

from .stories import TREES, people, random_generator


@pytest.fixture(scope="module")
def two_releases(tmp_path_factory):
    """A folder with data, three policies and two releases; made once, and left as it is."""
    folder = tmp_path_factory.mktemp("desk")
    table = people(random_generator(31), 24)
    lines = [",".join(table), *(",".join(row) for row in zip(*table.values(), strict=True))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    for number, columns in enumerate((["a", "b"], ["b", "s"], ["a", "s"]), start=1):
        tree = {
            "version": 1,
            "data": {"kind": "table", "source": "people.csv"},
            "columns": {"id": "identifier"}
            | {
                name: {"role": "quasi-identifier", "hierarchy": TREES[name], "publish": name in columns}
                for name in ("a", "b")
            }
            | {"s": {"role": "sensitive", "publish": "s" in columns}},
            "protect": [{"k-linkability": {"k": 3}}],
            "ledger": "book.ledger",
            "key": "id",
        }
        (folder / f"p{number}.yaml").write_text(yaml.safe_dump(tree, sort_keys=False))
    for number in (1, 2):
        new = ["--new-ledger"] if number == 1 else []
        done = run("publish", folder / f"p{number}.yaml", "--out", folder / f"r{number}", "--no-report", *new)
        assert done.exit_code == 0, done.output
        assert f" as release {number}." in done.output
    return folder


@pytest.fixture
def desk(two_releases, tmp_path):
    """A copy of that folder, to go on from."""
    return shutil.copytree(two_releases, tmp_path / "desk")


def run(*arguments):
    return CliRunner().invoke(root, [str(argument) for argument in arguments], catch_exceptions=False)


def test_the_planner_takes_the_method_that_remembers(desk):
    done = run("check", desk / "p1.yaml")
    assert "sequential" in done.output


def test_check_says_what_the_earlier_releases_mean(desk, tmp_path):
    done = run("check", desk / "p3.yaml")
    assert "2 earlier release(s)" in done.output
    assert "after release 2 k-linkability of s stands at k" in done.output
    assert "shared with earlier releases: a, s; new: nothing" in done.output


def test_publish_verify_attack_and_list(desk, tmp_path):
    desk = shutil.copytree(desk, tmp_path / "copy")  # others count the releases there
    assert run("publish", desk / "p3.yaml", "--out", desk / "r3").exit_code == 0
    found = json.loads(run("verify", desk / "r3", "--ledger", desk / "book.ledger", "--json").output)
    assert found["holds"]
    assert found["findings"][0]["model"] == "k-linkability"
    assert found["findings"][0]["achieved"]["k"] >= 3
    alone = json.loads(run("verify", desk / "r3", "--json").output)
    assert alone["holds"] is None
    assert {finding["model"] for finding in alone["findings"] if finding["holds"] is None} >= {
        "k-linkability",
        "earlier releases",
    }
    attack = json.loads(run("attack", "join", "--ledger", desk / "book.ledger", "--json").output)
    assert attack["s"]["full"]["people_below"] == 0
    assert attack["s"]["full"]["linkability"] >= 3
    harder = json.loads(run("attack", "join", "--ledger", desk / "book.ledger", "--k", "5", "--json").output)
    assert harder["s"]["full"]["people_below"] == 24  # there are only four values
    listed = json.loads(run("ledger", "list", desk / "book.ledger", "--json").output)
    assert [entry["number"] for entry in listed] == [1, 2, 3]
    shown = run("ledger", "show", desk / "book.ledger", "3", "--json").output
    assert "memory" not in shown
    assert run("ledger", "verify", desk / "book.ledger").exit_code == 0
    timeline = (desk / "r3.private.html").read_text()
    assert "All releases together" in timeline
    assert "All releases together" not in (desk / "r3" / "report.html").read_text()


def test_a_broken_ledger_ends_with_code_6(desk, tmp_path, capsys):
    content = bytearray((desk / "book.ledger").read_bytes())
    place = content.index(b'"records": 24')
    content[place + 12] ^= 1
    (tmp_path / "broken.ledger").write_bytes(bytes(content))
    with pytest.raises(SystemExit) as end:
        main(["ledger", "verify", str(tmp_path / "broken.ledger")])
    assert end.value.code == 6
    assert "error: the ledger is broken" in capsys.readouterr().err


def test_impossible_levels_end_with_code_4_and_the_level_that_is_reachable(desk, tmp_path, capsys):
    tree = yaml.safe_load((desk / "p3.yaml").read_text())
    tree["protect"] = [{"k-linkability": {"k": 9}}]
    tree["ledger"] = str(tmp_path / "other.ledger")
    tree["data"]["source"] = str(desk / "people.csv")
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(tree))
    with pytest.raises(SystemExit) as end:
        main(["publish", str(tmp_path / "p.yaml"), "--out", str(tmp_path / "out"), "--new-ledger"])
    assert end.value.code == 4
    assert "no record can be published" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
