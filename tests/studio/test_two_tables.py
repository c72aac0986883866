"""A table of people and one of their rows in the studio: every page answers, and a release is made, verified and
attacked."""

from __future__ import annotations

import json
from pathlib import Path

from sfumato.core.registry import catalogue
from sfumato.ui.studio.page import Page
from tests.people.test_related_tables import case, write
from tests.studio.opened import client, serving, settled

PAGE = "/p/both.yaml"


def test_two_tables_go_through_the_studio(tmp_path: Path) -> None:
    policy, people, rows = case(4)
    write(tmp_path / "people.csv", people)
    write(tmp_path / "rows.csv", rows)
    told = {
        **policy,
        "protect": [{"k-anonymity": {"k": 2}}],
        "accept": [{"unprotected:s0": "a test"}],
        "method": {"related": {"groups": "mondrian"}},
    }
    (tmp_path / "both.yaml").write_text(json.dumps(told))
    with serving(tmp_path) as (_, port):
        asking = client(port)
        for name, page in catalogue("studio pages", Page).items():
            if page.about not in ("release", "project"):
                assert asking.get(f"{PAGE}/{name}").status_code == 200, name
        held = settled(asking, f"{PAGE}/data.json")["job"]
        assert held["error"] is None and {"q0", "q1", "s0"} <= {column["name"] for column in held["result"]["columns"]}
        asking.post(f"{PAGE}/publish", data={"act": "publish", "out": "out"})
        made = settled(asking, f"{PAGE}/publish.json")["job"]
        assert made["error"] is None, made["error"]
        asking.post("/verify", data={"folder": "out", "original": "both.yaml"})
        assert settled(asking, "/verify.json")["job"]["result"]["violated"] is False
        asking.post("/r/out/certificate", data={"act": "play", "original": "both.yaml"})
        assert settled(asking, "/r/out/certificate.json")["job"]["error"] is None
        assert asking.get("/r/out/certificate").status_code == 200
