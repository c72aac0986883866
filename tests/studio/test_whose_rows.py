"""The studio says whose rows they are: columns, linked rows and households go into the policy, and nothing else of it
is lost."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

import sfumato as sf
from tests.people.test_related_tables import case, write
from tests.studio.opened import POLICY, client, fill, serving, settled

PAGE = "/p/people.yaml"
MORE = POLICY.replace("  name: identifier\n", "  name: identifier  # who it is\n  home: identifier\n")


def test_columns_rows_and_households_are_written_and_shown(tmp_path: Path) -> None:
    fill(tmp_path)
    lines = (tmp_path / "people.csv").read_text().splitlines()
    homes = ["home", *(f"H{at // 4}" for at in range(len(lines) - 1))]
    (tmp_path / "people.csv").write_text("".join(f"{line},{home}\n" for line, home in zip(lines, homes, strict=True)))
    (tmp_path / "people.yaml").write_text(MORE)
    with serving(tmp_path) as (_, port):
        asking = client(port)
        shown = settled(asking, f"{PAGE}/promises.json")["person"]
        assert shown["columns"] == [] and shown["offered"] == ["name", "home"]
        _says(asking, columns=["name"], rows="unlinked")
        assert (tmp_path / "people.yaml").read_text() == f"{MORE}person: name\n"
        _says(asking, columns=["name"], together=["home"], rows="linked")
        person = sf.Policy.read(tmp_path / "people.yaml").person
        assert person is not None and (person.columns, person.together, person.rows) == (("name",), ("home",), "linked")
        page = asking.get(f"{PAGE}/promises").text
        assert "households are the candidates" in page and "tied by a pseudonym" in page
        shown = asking.get(f"{PAGE}/promises.json").json()
        assert "person" in shown["yaml"].splitlines()[shown["person"]["line"] - 1]
        _says(asking, rows="unlinked")
        assert (tmp_path / "people.yaml").read_text() == MORE


@pytest.mark.parametrize("form", [{"together": ["name"], "rows": "unlinked"}, {"columns": ["name"], "rows": "tied"}])
def test_what_cannot_be_said_changes_nothing(form: dict[str, object], tmp_path: Path) -> None:
    fill(tmp_path)
    with serving(tmp_path) as (_, port):
        asking = client(port)
        assert _says(asking, **form).status_code >= 400
        assert (tmp_path / "people.yaml").read_text() == POLICY


def test_a_table_of_people_stays_and_is_shown(tmp_path: Path) -> None:
    policy, people, rows = case(4)
    write(tmp_path / "people.csv", people)
    write(tmp_path / "rows.csv", rows)
    (tmp_path / "people.yaml").write_text(json.dumps({**policy, "protect": [{"k-anonymity": {"k": 2}}]}))
    with serving(tmp_path) as (_, port):
        asking = client(port)
        shown = asking.get(f"{PAGE}/promises.json").json()["person"]
        assert shown["table"].endswith("people.csv") and shown["columns"]
        assert "It stays as it is" in asking.get(f"{PAGE}/promises").text
        assert _says(asking, rows="unlinked").status_code >= 400
        _says(asking, columns=shown["columns"], rows="unlinked")
        read = sf.Policy.read(tmp_path / "people.yaml")
        assert read.person is not None and not read.person.linked
        assert str(getattr(read.data, "people", "")).endswith("people.csv")


def _says(asking: httpx.Client, **form: object) -> httpx.Response:
    seen = asking.get(f"{PAGE}/promises.json").json()["seen"]
    return asking.post(f"{PAGE}/promises", data={"act": "person", "seen": seen, **form})
