"""The guided way, without a browser: undo, recipes, numbers in sentences, mends, estimates, the question about the same
people, kept settings, files that go and come."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

import sfumato as sf
from sfumato.policy.yaml_document import parse_yaml
from sfumato.ui.studio.app import Studio
from sfumato.ui.studio.work.estimating import estimate, problems_of
from tests.studio.opened import POLICY, client, fill, serving, settled

PAGE = "/p/people.yaml"
DRAFT = """version: 1
data: {kind: table, source: people.csv}
columns:
  name: identifier
  age: {role: review, proposed: quasi-identifier, hierarchy: {intervals: [10, 20]}}
  town: {role: review, proposed: other}
  illness: sensitive
protect:
  - k-anonymity: {k: 3}
  - l-diversity: {l: 2}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[tuple[Path, httpx.Client, Studio]]:
    fill(tmp_path)
    with serving(tmp_path) as (opened, port), closing(client(port)) as asking:
        yield tmp_path, asking, opened


def _tree(folder: Path) -> dict[str, object]:
    return dict(parse_yaml((folder / "people.yaml").read_text(), name="people.yaml").tree)


def _press(asking: httpx.Client, page: str, **form: object) -> httpx.Response:
    seen = asking.get(f"{PAGE}/data.json").json()["seen"]
    return asking.post(f"{PAGE}/{page}", data={"seen": seen, **form})


def _undo(asking: httpx.Client) -> httpx.Response:
    seen = asking.get(f"{PAGE}/data.json").json()["seen"]
    return asking.post(f"{PAGE}/undo", data={"seen": seen, "page": "promises"})


def test_every_change_is_taken_back_in_turn(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    texts = [(folder / "people.yaml").read_text()]
    for form in (
        {"column": "town", "role": "sensitive"},
        {"act": "several", "several": ["town", "age"], "role": "drop"},
        {"act": "again", "again": "yes", "key": "name"},
    ):
        assert _press(asking, "data", **form).status_code == 303
        texts.append((folder / "people.yaml").read_text())
    assert len(set(texts)) == 4
    for earlier in reversed(texts[:-1]):
        assert _undo(asking).status_code == 303
        assert (folder / "people.yaml").read_text() == earlier
    assert _undo(asking).status_code == 422  # nothing is left to undo
    assert (folder / "people.yaml").read_text() == texts[0]


def test_undo_does_not_undo_what_was_changed_elsewhere(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    _press(asking, "data", column="town", role="sensitive")
    seen = asking.get(f"{PAGE}/data.json").json()["seen"]
    (folder / "people.yaml").write_text(POLICY + "title: by hand\n")
    assert asking.post(f"{PAGE}/undo", data={"seen": seen, "page": "data"}).status_code == 422
    assert "by hand" in (folder / "people.yaml").read_text()


def test_versions_are_private_and_few(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, opened = project
    for number in range(60):
        opened.desk.project.remember("people.yaml", f"text {number}", "a change")
    kept = folder / ".kept" / "people.yaml" / "versions"
    assert len(list(kept.iterdir())) == 50
    assert kept.stat().st_mode & 0o077 == 0 and all(file.stat().st_mode & 0o077 == 0 for file in kept.iterdir())
    assert asking.get("/files/.kept").status_code == 404


def test_a_recipe_and_a_number_in_a_sentence(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    assert _press(asking, "promises", act="recipe", recipe="open").status_code == 303
    assert _tree(folder)["protect"] == [{"k-anonymity": {"k": "12"}}, {"l-diversity": {"l": "3"}}]
    assert sf.Policy.read(folder / "people.yaml").utility.suppress_at_most == pytest.approx(0.05)
    assert [each["now"] for each in asking.get(f"{PAGE}/promises.json").json()["recipes"]] == [True, False, False]
    assert _press(asking, "promises", act="level", at="1", level="l", value="2").status_code == 303
    assert _tree(folder)["protect"] == [{"k-anonymity": {"k": "12"}}, {"l-diversity": {"l": "2"}}]
    for wrong in ({"at": "7", "level": "l"}, {"at": "1", "level": "k"}, {"at": "-1", "level": "l"}):
        assert _press(asking, "promises", act="level", value="2", **wrong).status_code == 422


def _estimated(folder: Path, text: str) -> dict[str, object]:
    (folder / "other.yaml").write_text(text)
    return estimate(lambda share, said: None, str(folder / "other.yaml"), str(folder / "cache.arrow"))


def test_an_estimate_counts_what_is_unique_and_publishes_like_a_release(tmp_path: Path) -> None:
    fill(tmp_path, 300)
    found = _estimated(tmp_path, POLICY)["figures"]
    ages = sf.Policy.read(tmp_path / "other.yaml").data.read(None).frame.to_pylist()
    pairs = [(row["age"], row["town"]) for row in ages]
    assert found["unique_before"] == sum(pairs.count(pair) == 1 for pair in set(pairs))
    release = sf.publish(tmp_path / "other.yaml")
    assert found["loss"] == pytest.approx(release.utility["loss"]) and found["unique_after"] == 0
    assert {each["name"] for each in found["columns"]} == {"age", "town"}
    rows = found["samples"][0]["rows"]
    assert all(str(row["age"]["before"]).isdigit() and "name" not in row for row in rows)
    assert (tmp_path / "cache.arrow").is_file()
    again = _estimated(tmp_path, POLICY)["figures"]  # from the cache; published rows are shuffled every time
    assert {**again, "samples": 0} == {**found, "samples": 0}


def test_an_estimate_takes_proposals_and_leaves_out_what_nobody_proposed(tmp_path: Path) -> None:
    fill(tmp_path, 300)
    told = _estimated(tmp_path, DRAFT.replace("{role: review, proposed: other}", "review"))
    assert told["problems"] == [] and told["figures"]["quasi_identifiers"] == ["age"]
    assert all("town" not in row for row in told["figures"]["samples"][0]["rows"])


WRONG = {
    "two dependencies": (POLICY + 'knows: ["age -> illness", "town -> illness"]\n', 2),
    "unknown columns": (POLICY + 'knows: ["born -> age", "code -> town"]\n', 2),
    "a method that cannot": (POLICY.replace("{mondrian: {}}", "{sequential: {}}"), 1),
    "a ledger without a key": (POLICY.replace("method: {mondrian: {}}\n", "ledger: people.ledger\n"), 1),
}


@pytest.mark.parametrize("name", WRONG)
def test_every_problem_is_told_and_its_first_button_mends_it(name: str, tmp_path: Path) -> None:
    """All problems at once; pressing the first button of each leaves a policy that can be planned."""
    fill(tmp_path)
    text, _ = WRONG[name]
    (tmp_path / "people.yaml").write_text(text)
    with serving(tmp_path) as (_, port), closing(client(port)) as asking:
        for _ in range(5):
            found = _problems(asking)
            if not found:
                break
            assert found[0]["mends"], found[0]
            assert _press(asking, "data", mend="0.0").status_code == 303
        assert _problems(asking) == []
        assert settled(asking, f"{PAGE}/promises.json")["job"]["error"] is None


def test_problems_are_found_behind_each_other() -> None:
    document = parse_yaml(WRONG["unknown columns"][0], name="people.yaml")
    assert len(list(problems_of(document))) == 2
    assert list(problems_of(parse_yaml(POLICY, name="people.yaml"))) == []


def _problems(asking: httpx.Client) -> list[dict[str, object]]:
    """The problems of the page, once its estimate is there."""
    while "Estimating" in (page := asking.get(f"{PAGE}/data").text):
        time.sleep(0.05)
    names = [part.split('value="')[1].split('"')[0] for part in page.split('name="mend"')[1:]]
    problems = sorted({name.split(".")[0] for name in names})
    return [{"mends": [name for name in names if name.startswith(f"{at}.")]} for at in problems]


def test_a_reason_is_asked_for_and_kept(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    (folder / "people.yaml").write_text(POLICY.split("accept:")[0])
    found = _problems(asking)
    assert len(found) == 1 and len(found[0]["mends"]) == 3
    assert _press(asking, "data", mend="0.2").status_code == 422  # who and why?
    assert _press(asking, "data", mend="0.2", reason="data office: counts only").status_code == 303
    assert _tree(folder)["accept"] == [{"unprotected:illness": "data office: counts only"}]
    assert _press(asking, "data", mend="9.9").status_code == 409


def test_with_the_proposals_only_what_is_dangerous_is_asked(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    (folder / "people.yaml").write_text(DRAFT)
    answer = asking.post(f"{PAGE}/publish", data={"act": "proposals"})
    assert answer.status_code == 303 and answer.headers["location"].endswith("proposals=1")
    page = asking.get(answer.headers["location"]).text
    assert 'name="role.town"' in page and 'name="role.age"' not in page
    assert (folder / "people.yaml").read_text() == DRAFT  # nothing was decided yet
    asking.post(f"{PAGE}/publish", data={"act": "proposals", "role.town": "quasi-identifier"})
    made = settled(asking, f"{PAGE}/publish.json")["job"]
    assert made["error"] is None, made["error"]
    policy = sf.Policy.read(folder / "people.yaml")
    assert policy.quasi_identifiers == ("age", "town") and not policy.undecided
    headers = {"HX-Request": "true"}
    waited = asking.get(f"{PAGE}/publish?job={made['name']}", headers=headers)
    assert waited.headers["hx-redirect"] == f"/r/{made['result']['release']}/certificate"
    assert "hx-redirect" not in asking.get(f"{PAGE}/publish?job=other", headers=headers).headers


def test_the_same_people_again_begins_a_ledger_and_a_release_can_be_withdrawn(
    project: tuple[Path, httpx.Client, Studio],
) -> None:
    folder, asking, _ = project
    text = POLICY.replace("method: {mondrian: {}}\n", "")
    (folder / "people.yaml").write_text(text)
    assert _press(asking, "publish", act="again", again="yes", key="nobody").status_code == 422
    assert _press(asking, "publish", act="again", again="yes", key="name").status_code == 303
    assert (_tree(folder)["key"], _tree(folder)["ledger"]) == ("name", "people.ledger")
    for number in (1, 2):
        asking.post(f"{PAGE}/publish", data={"act": "publish", "out": f"r{number}", "ledger": "people.ledger"})
        made = settled(asking, f"{PAGE}/publish.json")["job"]
        assert made["error"] is None, made["error"]
    page = asking.get("/r/r2/certificate").text
    assert "What changed" in page and 'href="/r/r1/certificate"' in page and 'href="/p/people.yaml/read"' in page
    kept = folder / ".kept" / "releases" / "r2.json"
    assert kept.stat().st_mode & 0o077 == 0 and not json.loads(kept.read_text()).get("key")
    assert asking.post("/r/r1/certificate", data={"act": "withdraw"}).status_code == 303
    assert not (folder / "r1").exists() and (folder / ".kept" / "withdrawn" / "r1" / "data.csv").is_file()
    assert "r1" not in asking.get("/project.json").json()["releases"]
    assert _press(asking, "publish", act="again", again="no").status_code == 303
    assert "ledger" not in _tree(folder) and "key" not in _tree(folder)


def test_settings_are_kept_restored_and_set_side_by_side(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    assert _press(asking, "explore", act="keep", name="A").status_code == 303
    assert _press(asking, "promises", act="level", at="0", level="k", value="10").status_code == 303
    assert _press(asking, "explore", act="keep", name="../B").status_code == 422
    assert _press(asking, "explore", act="keep", name="B").status_code == 303
    assert _press(asking, "explore", act="beside", setting="A").status_code == 422  # one is not enough
    _press(asking, "explore", act="beside", setting=["A", "B"])
    while (job := asking.get(f"{PAGE}/explore.json").json()["compared"])["state"] == "running":
        pass
    sides = job["result"]["after"]
    assert set(sides) == {"A", "B"} and sides["A"]["k"] >= 3 and sides["B"]["k"] >= 10
    assert _press(asking, "explore", act="restore", name="A").status_code == 303
    assert (folder / "people.yaml").read_text() == POLICY
    assert _press(asking, "explore", act="drop", name="A").status_code == 303
    assert [each["name"] for each in asking.get(f"{PAGE}/explore.json").json()["kept"]] == ["B"]


def test_a_file_is_read_shown_replaced_and_removed_before_anything_is_drafted(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, port), closing(client(port)) as asking:
        text = "Name;Größe\nJörg;1,75\nMia;1,62\n"
        assert asking.put("/files/leute.csv", content=text.encode("cp1252")).status_code == 200
        assert asking.put("/files/leute.csv", content=b"x").status_code == 422  # there already
        found = settled(asking, "/start.json?file=leute.csv")["job"]["result"]
        assert found["found"]["encoding"].lower() in ("windows-1252", "cp1252") and found["separator"] == "semicolon"
        assert found["names"] == ["Name", "Größe"] and found["first"][0] == ["Jörg", "1.75"]
        wrong = settled(asking, "/start.json?file=leute.csv&separator=%7C")["job"]["result"]
        assert len(wrong["names"]) == 1
        assert not list(tmp_path.glob("*.yaml"))  # nothing is drafted
        assert asking.put("/files/leute.csv?replace=1", content=b"a,b\n1,2\n").status_code == 200
        assert settled(asking, "/start.json?file=leute.csv")["job"]["result"]["names"] == ["a", "b"]
        assert asking.put("/files/picture.png", content=b"x").status_code == 422
        assert asking.post("/project", data={"act": "remove", "file": "leute.csv"}).status_code == 303
        assert not (tmp_path / "leute.csv").exists()


def test_only_data_is_replaced_or_removed(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    assert asking.put("/files/people.yaml?replace=1", content=b"version: 1\n").status_code == 422
    assert asking.post("/project", data={"act": "remove", "file": "people.yaml"}).status_code == 422
    assert (folder / "people.yaml").read_text() == POLICY
    assert asking.post("/r/people.csv/certificate", data={"act": "withdraw"}).status_code == 422  # no release
    assert (folder / "people.csv").is_file()


def test_exposure_is_counted(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    found = settled(asking, f"{PAGE}/risk.json")["job"]["result"]
    rows = [line.split(",") for line in (folder / "people.csv").read_text().splitlines()[1:]]
    pairs = [(row[1], row[2]) for row in rows]
    assert found["uniques"] == sum(pairs.count(pair) == 1 for pair in pairs) and found["rows"] == len(rows)
    assert [each["name"] for each in found["never"]] == ["name"]
    assert asking.get(f"{PAGE}/risk").status_code == 200
