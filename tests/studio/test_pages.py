"""The pages and their JSON twins: what they show, what their forms change, and that the policy file is all there is."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import networkx as nx
import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.policy.yaml_document import parse_yaml
from sfumato.ui.studio.app import Studio
from sfumato.ui.studio.background_jobs import Desk
from sfumato.ui.studio.page import Page
from sfumato.ui.studio.policy_editing import REMOVE, edited, switched
from sfumato.workflow.forecast import forecast_publish
from tests.secret import SEED
from tests.studio.opened import POLICY, client, fill, serving, settled
from tests.studio.work_for_the_desk import endless, fails, waits

PAGE = "/p/people.yaml"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[tuple[Path, httpx.Client, Studio]]:
    fill(tmp_path)
    with serving(tmp_path) as (opened, port):
        yield tmp_path, client(port), opened


def test_every_page_has_a_json_twin(project: tuple[Path, httpx.Client, Studio]) -> None:
    _, asking, _ = project
    for name, page in catalogue("studio pages", Page).items():
        if page.about == "release":
            continue
        path = f"/{name}" if page.about == "project" else f"{PAGE}/{name}"
        assert asking.get(path).headers["content-type"].startswith("text/html")
        assert isinstance(asking.get(f"{path}.json").json(), dict)


def test_a_click_sets_a_role_and_keeps_every_comment(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    seen = settled(asking, f"{PAGE}/data.json")["seen"]
    assert asking.post(f"{PAGE}/data", data={"column": "town", "role": "other", "seen": seen}).status_code == 303
    text = (folder / "people.yaml").read_text()
    assert text == POLICY.replace("town: quasi-identifier", "town: other")


def test_profiles_say_what_the_columns_hold(project: tuple[Path, httpx.Client, Studio]) -> None:
    _, asking, _ = project
    found = settled(asking, f"{PAGE}/data.json")["job"]["result"]
    rows = [line.split(",") for line in (project[0] / "people.csv").read_text().splitlines()[1:]]
    towns = {name: sum(row[2] == name for row in rows) for name in {row[2] for row in rows}}
    by_name = {column["name"]: column for column in found["columns"]}
    assert found["rows"] == len(rows)
    assert dict(map(tuple, by_name["town"]["top"])) == towns
    assert by_name["name"]["role"] == "identifier"
    assert sum(count for _, _, count in by_name["age"]["histogram"]) == len(rows)


def test_a_form_from_an_old_page_changes_nothing(project: tuple[Path, httpx.Client, Studio]) -> None:
    """Two tabs: the second one is told, and what the first wrote stays."""
    folder, asking, _ = project
    seen = asking.get(f"{PAGE}/promises.json").json()["seen"]
    first = {"act": "suppress", "value": "2%", "seen": seen}
    assert asking.post(f"{PAGE}/promises", data=first).status_code == 303
    late = asking.post(f"{PAGE}/promises", data={"act": "suppress", "value": "9%", "seen": seen})
    assert late.status_code == 409
    assert "changed elsewhere" in late.text
    assert parse_yaml((folder / "people.yaml").read_text(), name="p").tree["utility"] == {"suppress_at_most": "2%"}


def test_promises_are_the_policy_and_check_is_the_command_line(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    seen = asking.get(f"{PAGE}/promises.json").json()["seen"]
    claim = {
        "act": "claim",
        "model": "l-diversity",
        "l-diversity.l": "2",
        "l-diversity.kind": "entropy",
        "l-diversity.c": "3.0",
    }
    claim |= {"given": ["age", "town"], "hide": "illness", "seen": seen}
    assert asking.post(f"{PAGE}/promises", data=claim).status_code == 303
    claims = sf.Policy.read(folder / "people.yaml").claims
    assert str(claims[1]) == "l-diversity {l: 2, kind: entropy}"
    shown = settled(asking, f"{PAGE}/promises.json")
    assert shown["job"]["result"] == json.loads(json.dumps(forecast_publish(folder / "people.yaml").to_json()))
    said = "an adversary who knows age, town must be left with at least 2 different values of illness (entropy"
    assert shown["claims"][1]["sentence"].startswith(said)
    assert (shown["claims"][1]["given"], shown["claims"][1]["hide"]) == (["age", "town"], ["illness"])
    lines = shown["yaml"].splitlines()
    assert "k-anonymity" in lines[shown["claims"][0]["line"] - 1] and "given" in lines[shown["claims"][1]["line"] - 1]


def test_the_usual_promise_and_a_rule_between_columns(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project

    def promise(**form: object) -> int:
        return asking.post(
            f"{PAGE}/promises", data=form | {"seen": asking.get(f"{PAGE}/promises.json").json()["seen"]}
        ).status_code

    assert promise(act="usual", k="4", l="2", given=["age"], hide=["illness"]) == 303
    assert promise(act="rule", level="3", word="diversity", given=["age", "town"], hide=["illness"]) == 303
    entries = parse_yaml((folder / "people.yaml").read_text(), name="p").tree["protect"]
    assert entries[1:] == [
        {"given": ["age"], "by": {"k-anonymity": {"k": "4"}}},
        {"given": ["age"], "hide": "illness", "by": {"l-diversity": {"l": "2"}}},
        "age, town -> illness : 3-diversity",
    ]
    shown = asking.get(f"{PAGE}/promises.json").json()
    assert (shown["claims"][3]["given"], shown["claims"][3]["hide"]) == (["age", "town"], ["illness"])
    assert "# nobody may learn it" in shown["yaml"]
    assert promise(act="rule", level="3", word="diversity", given=["age"]) == 422
    assert promise(act="rule", level="3", word="magic", given=["age"], hide=["illness"]) == 422
    assert promise(act="claim", model="magic") == 422
    assert promise(act="usual", k="", l="") == 422


def test_rules_are_found_and_switched(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    path = f"{PAGE}/promises"
    asking.post(path, data={"act": "look", "seen": ""})
    found = ended(asking, f"{path}.json", "rules")["result"]
    assert "unique(name)" in [each["rule"] for each in found["rules"]]
    text = (folder / "people.yaml").read_text() + 'keep:\n  - "unique(name)"  # found\n#  - "age > 0"  # doubtful\n'
    (folder / "people.yaml").write_text(text)
    shown = asking.get(f"{path}.json").json()
    assert [(each["rule"], each["on"], each["remark"]) for each in shown["keep"]] == [
        ("unique(name)", True, "found"),
        ("age > 0", False, "doubtful"),
    ]
    for rule, on in (("age > 0", "1"), ("unique(name)", "0")):
        seen = asking.get(f"{path}.json").json()["seen"]
        assert asking.post(path, data={"act": "switch", "rule": rule, "on": on, "seen": seen}).status_code == 303
    assert (folder / "people.yaml").read_text() == text.replace('  - "unique', '#  - "unique').replace(
        '#  - "age', '  - "age'
    )


@pytest.mark.parametrize(
    "kept", ['keep: ["a < b", "c"]\n', "keep:\n  - a < b\n  - c # why\n", 'keep:\n#  - "c"\n  - "a < b"\n']
)
@pytest.mark.parametrize("after", ["", "method: mondrian\n", "# end\n"])
def test_a_rule_goes_off_and_on_however_it_is_written(kept: str, after: str) -> None:
    text = f"version: 1\n{kept}{after}"
    off = switched(text, "a < b", False)
    assert "a < b" not in (parse_yaml(off, name="p").tree.get("keep") or [])
    on = switched(off, "a < b", True)
    assert "a < b" in parse_yaml(on, name="p").tree["keep"]
    both = switched(switched(on, "c", True), "new(x)", True)
    assert sorted(parse_yaml(both, name="p").tree["keep"]) == ["a < b", "c", "new(x)"]
    assert parse_yaml(both, name="p").tree.get("method") == parse_yaml(text, name="p").tree.get("method")


def test_a_policy_error_names_its_line(project: tuple[Path, httpx.Client, Studio]) -> None:
    _, asking, _ = project
    page = asking.get(f"{PAGE}/promises.json").json()
    wrong = page["yaml"].replace("k-anonymity: {k: 3}", "k-anonimity: {k: 3}")
    assert asking.post(f"{PAGE}/promises", data={"act": "yaml", "yaml": wrong, "seen": page["seen"]}).status_code == 303
    error = settled(asking, f"{PAGE}/promises.json")["job"]["error"]
    assert error["where"] == "people.yaml:9"
    broken = asking.get(f"{PAGE}/promises.json").json()
    answer = asking.post(f"{PAGE}/promises", data={"act": "yaml", "yaml": "a: [", "seen": broken["seen"]})
    assert answer.status_code == 422
    assert "not valid YAML" in answer.text


def test_hierarchies_are_built_bounded_and_shown(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    path = f"{PAGE}/hierarchies"
    tree = settled(asking, f"{path}.json?column=age")["job"]["result"]
    assert tree["records"] == 60
    tens = next(node["label"] for node in tree["nodes"] if node["level"] == 1)
    form = {"column": "age", "boundary": "1", "node": tens, "seen": asking.get(f"{path}.json").json()["seen"]}
    assert asking.post(path, data=form).status_code == 303
    again = settled(asking, f"{path}.json?column=age")
    assert [node["label"] for node in again["job"]["result"]["nodes"] if node["boundary"]] == [tens]
    drawn = json.dumps({"*": [{"South": ["Ulm"]}, {"North": ["Kiel", "Bonn"]}]})
    form = {"column": "town", "rule": "tree", "tree": drawn, "seen": again["seen"]}
    assert asking.post(path, data=form).status_code == 303
    labels = {node["label"] for node in settled(asking, f"{path}.json?column=town")["job"]["result"]["nodes"]}
    assert labels == {"*", "South", "North", "Ulm", "Kiel", "Bonn"}
    assert sf.Policy.read(folder / "people.yaml").columns["town"].hierarchy is not None


def test_a_database_in_a_file_is_drafted(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.sqlite") as base:
        base.execute("CREATE TABLE customer (id INTEGER PRIMARY KEY, email TEXT NOT NULL)")
        base.executemany("INSERT INTO customer VALUES (?, ?)", [(at, f"c{at}@example.org") for at in range(1, 30)])
    with serving(tmp_path) as (_, port):
        asking = client(port)
        asking.post("/project", data={"file": "shop.sqlite"})
        assert settled(asking, "/project.json")["job"]["error"] is None
        tree = parse_yaml((tmp_path / "shop.yaml").read_text(), name="p").tree
        assert tree["data"]["kind"] == "database" and tree["columns"]["customer.email"]["role"] == "replaced"
        assert settled(asking, "/p/shop.yaml/data.json")["job"]["result"]["rows"] == 29
        shown = asking.get("/p/shop.yaml/data").text
        assert "svg" in shown and asking.get("/p/shop.yaml/promises").status_code == 200


def use(asking: httpx.Client, column: str, **form: object) -> dict[str, object]:
    """Set the hierarchy of a column and see how it fits."""
    path = f"{PAGE}/hierarchies"
    answer = asking.post(path, data={"column": column, "seen": asking.get(f"{path}.json").json()["seen"], **form})
    assert answer.status_code == 303, answer.text
    return settled(asking, f"{path}.json?column={column}")["job"]["result"]


def test_a_tree_is_shown_where_it_breaks(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    lacks = use(asking, "town", rule="tree", tree='{"*": ["Ulm"]}')
    rows = [line.split(",")[2] for line in (folder / "people.csv").read_text().splitlines()[1:]]
    assert lacks["lacking"] == 2
    assert dict(map(tuple, lacks["missing"])) == {town: rows.count(town) for town in ("Bonn", "Kiel")}
    (folder / "towns.csv").write_text("Ulm;South;*\nBonn;West;*\nKiel;North;*\nUlm;North;*\n")
    broken = use(asking, "town", rule="file", file="towns.csv")
    assert broken["kind"] == "broken" and "two parents" in broken["error"]["what"]
    assert [1, "Ulm;South;*"] in broken["lines"] and [4, "Ulm;North;*"] in broken["lines"]
    page = asking.get(f"{PAGE}/hierarchies?column=town").text
    assert "Where it breaks" in page and "Ulm;North;*" in page


def test_every_rule_can_be_chosen(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project

    def level(tree: dict[str, object]) -> set[str]:
        return {node["label"] for node in tree["nodes"] if node["level"] == 1}

    cuts = use(asking, "age", rule="cuts", value="20, 30, 45, 60, 70", joined="1")
    assert level(cuts) == {"20-44", "45-69"} and cuts["levels"] == 4
    assert {"20-29", "30-44"} <= {node["label"] for node in cuts["nodes"]}
    assert sf.Policy.read(folder / "people.yaml").columns["age"].hierarchy == {
        "cuts": [["20", "30", "45", "60", "70"], ["20", "45", "70"]]
    }
    assert cuts["numbers"]["low"] == "20" and cuts["numbers"]["high"] == "70"
    assert sum(count for _, _, count in cuts["numbers"]["bins"]) == 60
    ordered = use(asking, "town", rule="order", entry=["Ulm", "Bonn", "Kiel"])
    assert level(ordered) == {"Ulm to Bonn", "Kiel"}
    coded = use(asking, "age", rule="coding", top="60", bottom="25", round="5", recode="")
    assert {"≤25", "≥60"} <= {node["label"] for node in coded["nodes"]} and not {"61", "23"} & {
        node["label"] for node in coded["nodes"]
    }
    now = sf.Policy.read(folder / "people.yaml").columns["age"].hierarchy  # beside the cuts that are there
    assert now == {
        "top": "60",
        "bottom": "25",
        "round": "5",
        "cuts": [["20", "30", "45", "60", "70"], ["20", "45", "70"]],
    }
    use(asking, "age", rule="intervals", value="10")
    assert sf.Policy.read(folder / "people.yaml").columns["age"].hierarchy == {
        "top": "60",
        "bottom": "25",
        "round": "5",
        "intervals": ["10"],
    }
    assert 'value="60"' in asking.get(f"{PAGE}/hierarchies?column=age").text
    use(asking, "age", rule="coding", recode="")
    assert sf.Policy.read(folder / "people.yaml").columns["age"].hierarchy == {"intervals": ["10"]}
    use(asking, "town", rule="flat")
    assert level(use(asking, "town", rule="coding", recode="Ulm = South\nBonn = South")) == {"South", "Kiel"}
    use(asking, "town", rule="coding", recode="")
    assert use(asking, "town", rule="list", value="countries")["kind"] == "tree"
    assert use(asking, "age", rule="ranges")["kind"] == "ranges"
    assert level(use(asking, "town", rule="flat")) == {"Ulm", "Bonn", "Kiel"}
    assert use(asking, "age", rule="cuts", value="20, 30")["kind"] == "broken"  # people of 45 have no place
    for wrong in (
        {"rule": "coding", "recode": "Ulm = South\nKiel"},
        {"rule": "cuts", "value": ""},
        {"rule": "tree", "tree": "{"},
        {"rule": "file", "file": "../x"},
    ):
        seen = asking.get(f"{PAGE}/hierarchies.json").json()["seen"]
        assert asking.post(f"{PAGE}/hierarchies", data={"column": "age", "seen": seen, **wrong}).status_code == 422


def test_files_of_other_tools(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    files = {
        "arx.csv": "Ulm;South;*\nBonn;West;*\nKiel;North;*\n",
        "anjana.csv": 'Ulm,"South, all",*\nBonn,West,*\nKiel,North,*\n',
        "amnesia.txt": (
            "distinct\nname towns\nheight 3\n\nSouth has Ulm \nNorth has Bonn Kiel \n\nWorld has South North \n"
        ),
    }
    for name, text in files.items():
        assert asking.put(f"/files/{name}", content=text.encode()).status_code == 200
        found = use(asking, "town", rule="file", file=name)
        assert found["kind"] == "tree" and not found["lacking"] and found["levels"] == 3, name
    ranges = (
        "range\nname age\ntype int\nheight 3\n\n0,39 has 0,29 30,39\n40,99 has 40,59 60,99\n\n0,99 has 0,39 40,99\n"
    )
    asking.put("/files/ages.txt", content=ranges.encode())
    found = use(asking, "age", rule="file", file="ages.txt")
    assert {node["label"] for node in found["nodes"] if node["level"] == 1} == {"0-39", "40-99"}
    assert sf.Policy.read(folder / "people.yaml").columns["age"].hierarchy == {
        "cuts": [["0", "30", "40", "60", "100"], ["0", "40", "100"]]
    }


def test_publish_verify_and_publish_again_with_a_ledger(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, opened = project
    text = edited(edited(POLICY, ("key",), "name"), ("protect", 0), {"k-linkability": {"k": 2}})
    (folder / "people.yaml").write_text(edited(text, ("method",), {"sequential": {}}))
    for number in (1, 2):
        answer = asking.post(f"{PAGE}/publish", data={"act": "publish", "out": f"out{number}", "ledger": "book.ledger"})
        assert answer.status_code == 303
        made = settled(asking, f"{PAGE}/publish.json")["job"]
        assert made["error"] is None, made["error"]
        assert made["result"]["release"] == f"out{number}"
    assert asking.get("/project.json").json()["releases"] == ["out1", "out2"]
    assert sf.verify(folder / "out2", ledger=folder / "book.ledger").violated is False
    asking.post("/verify", data={"folder": "out2", "original": "people.csv", "ledger": "book.ledger"})
    assert settled(asking, "/verify.json")["job"]["result"]["violated"] is False
    asking.get(f"{PAGE}/publish.json?ledger=book.ledger")
    timeline = opened.desk.latest(
        "people.yaml", next(job.title for job in opened.desk.jobs.values() if job.title.startswith("timeline"))
    )
    while timeline.state == "running":
        time.sleep(0.05)
    assert [entry["number"] for entry in timeline.result["entries"]] == [1, 2]
    (line,) = (line for line in timeline.result["levels"] if line["level"] == "k")
    assert line["asked"] == 2 and len(line["values"]) == 2 and min(line["values"]) >= 2
    ahead = ended(asking, f"{PAGE}/publish.json?ledger=book.ledger", "ahead")["result"]
    assert any("book.ledger" in sentence for sentence in ahead["history"])
    shown = asking.get(f"{PAGE}/publish?ledger=book.ledger").text
    assert "Levels after each release" in shown and "judged with all before" in shown
    assert asking.get("/r/out1/certificate").status_code == 200
    assert "sandbox" in asking.get("/r/out1/report.html").headers["content-security-policy"]
    assert asking.get("/r/out1.zip").content[:2] == b"PK"


def test_a_release_is_signed_attacked_and_verified_with_the_key(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    assert asking.post(f"{PAGE}/publish", data={"act": "key", "name": "mine"}).status_code == 303
    assert (folder / "mine.pem").stat().st_mode & 0o077 == 0
    assert (
        asking.post(f"{PAGE}/publish", data={"act": "key", "name": "mine"}).status_code == 422
    )  # keys are never replaced
    assert asking.post(f"{PAGE}/publish", data={"act": "key", "name": "../mine"}).status_code == 422
    sf.publish(folder / "people.yaml").write(folder / "out")
    page = "/r/out/certificate"
    assert asking.get(f"{page}.json").json()["signed"] is False
    asking.post(page, data={"act": "sign", "key": "mine.pem"})
    assert ended(asking, f"{page}.json", "signing")["error"] is None
    assert asking.get(f"{page}.json").json()["signed"] is True
    assert asking.post(page, data={"act": "sign", "key": "mine.pem"}).status_code == 422
    asking.post("/verify", data={"folder": "out", "signer": "mine.pub"})
    found = settled(asking, "/verify.json")["job"]["result"]
    assert found["violated"] is False and "mine" not in found["signature"] and found["signature"].startswith("signed")
    assert found["differences"] == []
    named = {attack["name"] for attack in asking.get(f"{page}.json").json()["certificate"]["attacks"]}
    for original in ("people.csv", "people.yaml"):
        asking.post(page, data={"act": "play", "original": original})
        played = settled(asking, f"{page}.json")["job"]
        assert played["error"] is None, played["error"]
        figures = played["result"]["figures"]
        assert {figure["attack"] for figure in figures} | set(played["result"]["without"]) == named
        assert any(isinstance(figure["got"], int | float) for figure in figures)
    assert figures[0]["attack"] in asking.get(page).text
    assert asking.post(page, data={"act": "play", "original": "../secret"}).status_code == 422


def test_differences_to_a_certificate_are_told_in_words(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    sf.publish(folder / "people.yaml").write(folder / "out")
    certificate = json.loads((folder / "out" / "certificate.json").read_text())
    certificate["findings"][0]["achieved"]["k"] += 20
    (folder / "out" / "certificate.json").write_text(json.dumps(certificate))
    asking.post("/verify", data={"folder": "out"})
    found = settled(asking, "/verify.json")["job"]["result"]
    assert found["violated"] is True and any("k-anonymity" in line for line in found["differences"])
    assert "Differences to its certificate" in asking.get("/verify").text
    assert asking.post("/verify", data={}).status_code == 422


def test_a_forged_release_that_is_dropped_is_found(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    sf.publish(folder / "people.yaml").write(folder / "out")
    packed = asking.get("/r/out.zip").content
    (folder / "out" / "data.csv").write_text((folder / "people.csv").read_text())
    forged = asking.get("/r/out.zip").content
    for name, content, violated in (("good.zip", packed, False), ("forged.zip", forged, True)):
        assert asking.put(f"/files/{name}", content=content).status_code == 200
        asking.post("/verify", data={"archive": name})
        assert settled(asking, "/verify.json")["job"]["result"]["violated"] is violated


def test_a_policy_of_the_studio_plans_as_on_the_command_line(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    seen = asking.get(f"{PAGE}/promises.json").json()["seen"]
    asking.post(f"{PAGE}/promises", data={"act": "method", "value": "refined", "seen": seen})
    asking.get(f"{PAGE}/promises.json")
    taken = asking.get("/files/people.yaml").text
    (folder / "elsewhere.yaml").write_text(taken)
    assert forecast_publish(folder / "elsewhere.yaml").to_json() == forecast_publish(folder / "people.yaml").to_json()
    assert "# the visits of last year" in taken and "# nobody may learn it" in taken


def test_a_point_of_the_frontier_becomes_a_policy(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    asking.post(f"{PAGE}/explore", data={"levels": "k=2,5", "budget": "60"})
    found = settled(asking, f"{PAGE}/explore.json")["job"]["result"]
    number = next(
        point["number"] for point in found["points"] if point["status"] == "published" and point["levels"]["k"] == 5
    )
    answer = asking.post(f"{PAGE}/explore", data={"choose": str(number)})
    name = answer.headers["location"].split("/")[2]
    assert [claim.model.k for claim in sf.Policy.read(folder / name).claims] == [5]
    assert "<svg" in found["pictures"]["loss"]


def test_candidates_are_compared_column_by_column_and_a_coarse_column_is_explained(
    project: tuple[Path, httpx.Client, Studio],
) -> None:
    folder, asking, _ = project
    path = f"{PAGE}/explore"
    asking.post(path, data={"levels": "k=2,8", "budget": "60"})
    points = settled(asking, f"{path}.json")["job"]["result"]["points"]
    tried = {point["levels"]["k"]: str(point["number"]) for point in points if point["method"] == "mondrian"}
    assert set(tried) == {2, 3, 8}  # the level of the policy itself is always among them
    chosen = list(tried.values())
    assert asking.post(path, data={"act": "compare"}).status_code == 422  # nothing is marked
    asking.post(path, data={"act": "compare", "compare": chosen})
    found = ended(asking, f"{path}.json", "compared")["result"]
    rows = [tuple(line.split(",")[1:3]) for line in (folder / "people.csv").read_text().splitlines()[1:]]
    assert found["before"]["classes"] == len(set(rows)) and found["before"]["k"] == 1
    assert {k for k, number in tried.items() if found["after"][f"number {number}"]["k"] < k} == set()
    asking.post(path, data={"act": "why", "column": "age", "of": tried[8], "budget": "60"})
    why = ended(asking, f"{path}.json", "why")["result"]
    assert {limit["kind"] for limit in why["limits"]} == {"rare values", "claim"}
    assert min(cell["records"] for cell in why["classes"]) >= 8
    shown = asking.get(path).text
    assert "Side by side" in shown and why["sentence"].split(":")[0] in shown.replace("&#39;", "'")
    assert asking.post(path, data={"act": "why", "column": "illness", "budget": "9"}).status_code == 303
    assert "no quasi-identifier" in ended(asking, f"{path}.json", "why")["error"]["what"]


def ended(asking: httpx.Client, path: str, key: str) -> dict[str, object]:
    """What a page shows under a key, once its job has ended."""
    while (job := asking.get(path).json()[key])["state"] == "running":
        time.sleep(0.05)
    return job


def test_baskets_error_against_k_and_graphs_what_a_flip_protects(tmp_path: Path) -> None:
    rng = random.Random(5)
    items = ["tea", "rice", "soap", "salt", "milk"]
    (tmp_path / "buys.dat").write_text(
        "\n".join(" ".join(rng.sample(items, rng.randint(1, 3))) for _ in range(60)) + "\n"
    )
    (tmp_path / "buys.yaml").write_text(
        "version: 1\ndata: {kind: baskets, source: buys.dat}\nprotect:\n  - k-anonymity: {k: 4}\n"
    )
    pairs = {tuple(sorted(rng.sample(range(40), 2))) for _ in range(90)}
    (tmp_path / "ties.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in sorted(pairs)))
    (tmp_path / "ties.yaml").write_text(
        "version: 1\ndata: {kind: graph, source: ties.csv}  # who knows whom\nprotect: []\n"
    )
    with serving(tmp_path) as (_, port):
        asking = client(port)
        asking.post("/p/buys.yaml/explore", data={"levels": "k=2,6", "budget": "60"})
        found = settled(asking, "/p/buys.yaml/explore.json")["job"]
        assert found["error"] is None, found["error"]
        errors = {
            point["levels"]["k"]: point["query_error"]
            for point in found["result"]["points"]
            if point["status"] == "published"
        }
        assert set(errors) == {2, 4, 6} and all(error is not None for error in errors.values())
        assert "query_error" in found["result"]["pictures"] and "loss" not in found["result"]["pictures"]
        assert asking.get("/p/buys.yaml/explore").status_code == 200
        curve = settled(asking, "/p/ties.yaml/explore.json")
        flips = [point["mu"] for point in curve["job"]["result"]["points"]]
        hubs = [point["hubs_found"] for point in curve["job"]["result"]["points"]]
        assert flips == sorted(flips) and hubs[0] > hubs[-1]
        assert "<svg" in asking.get("/p/ties.yaml/explore").text
        assert (
            asking.post("/p/ties.yaml/explore", data={"act": "flip", "mu": "0.01", "seen": curve["seen"]}).status_code
            == 303
        )
        assert sf.Policy.read(tmp_path / "ties.yaml").method.parameters == {"mu": "0.01"}


def test_what_can_be_undone_is_shown_where_the_form_says_so(tmp_path: Path) -> None:
    rng = random.Random(6)
    pairs = {tuple(sorted(rng.sample(range(30), 2))) for _ in range(60)}
    (tmp_path / "people.csv").write_text(
        "a,b\n" + "".join(f"{rng.gauss(40, 9):.0f},{rng.gauss(5, 2):.0f}\n" for _ in range(40))
    )
    ways = {
        "grown": ({"kind": "graph"}, {"protect": [{"k-degree-anonymity": {"k": 2}}]}, sorted(pairs)),
        "noisy": (
            {"kind": "table"},
            {"columns": dict.fromkeys("ab", "other"), "method": {"noise": {"columns": ["a", "b"]}}},
            None,
        ),
    }
    for name, (data, more, given) in ways.items():
        policy = sf.Policy.parse({"version": 1, "data": data} | more)
        made = sf.publish(policy, data=str(tmp_path / "people.csv") if given is None else nx.Graph(given), seed=SEED)
        made.write(tmp_path / name, report=False)
    with serving(tmp_path) as (_, port):
        asking = client(port)
        assert "mean of a" in ended(asking, "/r/noisy/certificate.json", "recovered")["result"]["figures"]
        assert "mean of a" in asking.get("/r/noisy/certificate").text
        assert asking.get("/r/grown/certificate.json").json()["recovered"] is None


def test_a_cancelled_job_leaves_nothing(tmp_path: Path) -> None:
    from sfumato.ui.studio.project import Project

    fill(tmp_path)
    desk = Desk(Project.open(tmp_path))
    before = sorted(os.listdir(tmp_path))
    job = desk.start(endless, "endless", "")
    while job.stage != "inside":
        time.sleep(0.02)
    inside = job.process.pid
    assert list(job.scratch.iterdir())
    desk.cancel(job.name)
    assert job.state == "cancelled" and not job.scratch.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(inside, 0)
    desk.close()
    assert sorted(os.listdir(tmp_path)) == before


def test_what_was_cancelled_too_late_is_not_called_nothing(tmp_path: Path) -> None:
    """A release that stood before the signal came is told from the disk, whatever the page was about to say."""
    fill(tmp_path)
    with serving(tmp_path) as (opened, port):
        asking = client(port)
        asking.post("/p/people.yaml/publish", data={"act": "publish", "out": "out"})
        settled(asking, "/p/people.yaml/publish.json")
        job = opened.desk.latest("people.yaml", "publishing")
        assert job.state == "done"
        job.state, job.result = "cancelled", None
        opened.desk._hear(job, {"stage": "halfway", "share": 0.5})
        assert job.state == "cancelled" and job.stage != "halfway"  # what it says on its way no longer counts
        page = asking.get("/p/people.yaml/publish").text
        assert "Cancelled too late" in page and "Nothing was published" not in page
        opened.desk._hear(job, {"result": {"late": True}, "cpu": 0.1})
        assert job.state == "done" and job.result == {"late": True}


def test_an_unforeseen_error_names_no_value(tmp_path: Path) -> None:
    from sfumato.ui.studio.project import Project

    desk = Desk(Project.open(tmp_path))
    job = desk.start(fails, "fails", "")
    while job.state == "running":
        time.sleep(0.02)
    assert "ValueError" in job.error["what"] and "Alice" not in json.dumps(job.to_json())
    desk.close()


@pytest.mark.parametrize("value", ["01234", "NO", "5", "a: b", "- x", "#no", "'q'", "1990-01-01", "é", "null", ""])
def test_any_text_goes_in_and_comes_out(value: str) -> None:
    text = edited(POLICY, ("columns", "town"), {"role": "other", "domain": [value, {"x": value}]})
    tree = parse_yaml(text, name="p").tree
    assert tree["columns"]["town"] == {"role": "other", "domain": [value, {"x": value}]}
    assert (
        parse_yaml(edited(text, ("columns", "town"), "quasi-identifier"), name="p").tree
        == parse_yaml(POLICY, name="p").tree
    )
    assert parse_yaml(edited(text, ("columns", "town", "domain"), REMOVE), name="p").tree["columns"]["town"] == {
        "role": "other"
    }


def test_a_click_on_a_role_reads_the_data_no_second_time(project: tuple[Path, httpx.Client, Studio]) -> None:
    _, asking, _ = project
    first = settled(asking, f"{PAGE}/data.json")
    asking.post(f"{PAGE}/data", data={"column": "town", "role": "other", "seen": first["seen"]})
    assert settled(asking, f"{PAGE}/data.json")["job"]["name"] == first["job"]["name"]
    (project[0] / "people.csv").write_text("name,age,town,illness\nA,30,Ulm,flu\n")
    assert settled(asking, f"{PAGE}/data.json")["job"]["result"]["rows"] == 1


def test_how_a_file_is_read_is_tried_before_it_is_set(project: tuple[Path, httpx.Client, Studio]) -> None:
    folder, asking, _ = project
    (folder / "people.csv").write_bytes("name;age;pay\nJörg;30;1,5\nAnna;NA;2,5\n".encode("windows-1252"))
    first = settled(asking, f"{PAGE}/data.json")
    assert first["job"]["error"] is None  # the encoding is found
    settings = {
        "separator": ";",
        "encoding": "windows-1252",
        "quote": '"',
        "missing": "",
        "decimal_comma": "",
        "date_format": "",
    }
    before = (folder / "people.yaml").read_text()
    asking.post(f"{PAGE}/data", data=settings | {"act": "try", "seen": first["seen"]})
    while (tried := asking.get(f"{PAGE}/data.json").json()["tried"])["state"] == "running":
        time.sleep(0.05)
    assert tried["result"]["first"] == [["Jörg", "30", "1,5"], ["Anna", "NA", "2,5"]]
    assert {odd["what"] for odd in tried["result"]["odd"]} >= {
        "missing values seem to be written as NA",
        "numbers have a decimal comma",
    }
    assert (folder / "people.yaml").read_text() == before
    asking.post(f"{PAGE}/data", data=settings | {"act": "read", "seen": first["seen"]})
    shown = settled(asking, f"{PAGE}/data.json")
    assert shown["job"]["error"] is None
    asking.post(f"{PAGE}/data", data={"act": "odd", "key": "missing", "value": "NA", "seen": shown["seen"]})
    shown = settled(asking, f"{PAGE}/data.json")
    assert shown["reading"] == {"separator": ";", "encoding": "windows-1252", "missing": "NA"}
    assert {column["name"]: column["missing"] for column in shown["job"]["result"]["columns"]}["age"] == 1
    assert "# the visits of last year" in (folder / "people.yaml").read_text()


def test_a_policy_whose_source_is_one_word_takes_settings() -> None:
    text = edited("version: 1\ndata: people.csv  # of last year\n", ("data", "separator"), ";")
    assert parse_yaml(text, name="p").tree["data"] == {"source": "people.csv", "separator": ";"}


def test_sheets_of_a_workbook(project: tuple[Path, httpx.Client, Studio]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    folder, asking, _ = project
    book = openpyxl.Workbook()
    book.active.append(["note"])
    book.active.append(["nothing"])
    people = book.create_sheet("people")
    for row in (["name", "age"], ["A", 30], ["B", 40]):
        people.append(row)
    book.save(folder / "book.xlsx")
    seen = asking.get(f"{PAGE}/data.json").json()["seen"]
    assert asking.post(f"{PAGE}/data", data={"source": "book.xlsx", "seen": seen}).status_code == 303
    shown = settled(asking, f"{PAGE}/data.json")
    assert shown["excel"] and shown["job"]["result"]["names"] == ["note"]
    asking.post(f"{PAGE}/data", data={"sheet": "people", "act": "read", "seen": shown["seen"]})
    assert settled(asking, f"{PAGE}/data.json")["job"]["result"]["names"] == ["name", "age"]


def test_only_a_few_jobs_run_at_once_and_all_have_their_turn(tmp_path: Path) -> None:
    from sfumato.ui.studio.background_jobs import PLACES
    from sfumato.ui.studio.project import Project

    desk = Desk(Project.open(tmp_path))
    jobs = [desk.start(waits, f"number {number}", "") for number in range(5)]
    most = 0
    while any(job.state == "running" for job in jobs):
        most = max(most, sum(job.state == "running" and job.process is not None for job in jobs))
        time.sleep(0.01)
    assert [job.result for job in jobs] == ["done"] * 5
    assert 0 < most <= PLACES["work"]
    waiting = [desk.start(endless, f"endless {number}", "") for number in range(3)]
    desk.cancel(waiting[2].name)  # it never had a process
    assert waiting[2].state == "cancelled" and waiting[2].process is None
    desk.close()
    assert not (tmp_path / ".studio").exists()


def test_a_newer_question_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    from sfumato.ui.studio.project import Project

    desk = Desk(Project.open(tmp_path))
    old, other = desk.ask(endless, "check", "1", "p.yaml"), desk.ask(waits, "tree", "1", "p.yaml")
    new = desk.ask(waits, "check", "2", "p.yaml")
    while new.state == "running" or old.state == "running" or other.state == "running":
        time.sleep(0.02)
    assert (old.state, new.state, other.state) == ("cancelled", "done", "done")
    desk.close()
