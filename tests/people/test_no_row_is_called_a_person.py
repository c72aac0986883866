"""Whatever is said about a table of visits: no text counts more people than there are.

Twelve people have ten rows each, so that a figure of rows beside the word *people* shows at once.
"""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.ui.cli import root

PEOPLE, EACH = 12, 10
COLUMNS = """
version: 1
data: {source: visits.csv}
columns:
  visit: identifier
  patient: identifier
  age: {role: quasi-identifier, hierarchy: {intervals: [10, 50]}}
  sex: quasi-identifier
  illness: {role: sensitive, persistent: false}
"""
POLICIES = {
    "mondrian": (
        "person: patient\nprotect: [{k-anonymity: {k: 3}}, {l-diversity: {l: 2}}]\nmethod: mondrian\nkey: visit\n"
    ),
    "anatomy": "person: patient\nprotect: [{l-diversity: {l: 2}}]\nmethod: anatomy\n",
    "tables": "person: patient\nprotect: ['age, sex -> illness : 2-diversity']\nmethod: utility-aware\n",
    "linked": (
        "person: {columns: patient, rows: linked}\nprotect: [{k-anonymity: {k: 3}}]\nmethod: {linked: {groups:"
        " mondrian}}\n"
    ),
}
ATTACKS = {
    "mondrian": ("linkage", "membership", "minimality", "downcoding"),
    "anatomy": ("de-finetti", "membership"),
    "tables": (),
    "linked": ("linkage", "membership"),
}
_COUNTS = (
    re.compile(r"(?<![\d.])(\d[\d,]*) +(?:of +(\d[\d,]*) +)?(?:people|persons)\b"),
    re.compile(r"\bpeople(?:[_ ]below|[_ ]played)?\b[\"':=]* +(\d[\d,]*)\b"),
)


def too_many(text: str) -> list[str]:
    """Passages that count more people than there are."""
    lines = (
        [html.unescape(re.sub(r"(?s)<(style|script).*?</\1>|<[^>]+>", " ", text))]
        if "</" in text
        else text.splitlines()
    )
    plain = "\n".join(" ".join(line.split()) for line in lines)
    found = []
    for pattern in _COUNTS:
        for match in pattern.finditer(plain):
            if any(int(number.replace(",", "")) > PEOPLE for number in match.groups() if number):
                found.append(plain[max(match.start() - 60, 0) : match.end() + 30])
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, draw = tmp_path_factory.mktemp("visits"), random.Random(4)
    lines = ["visit,patient,age,sex,illness"]
    for visit in range(PEOPLE * EACH):
        illness = draw.choice(["flu", "gout", "cold", "cough", "ulcer"])
        lines.append(f"v{visit},p{visit % PEOPLE},{draw.randint(20, 69)},{draw.choice('mf')},{illness}")
    (folder / "visits.csv").write_text("\n".join(lines) + "\n")
    for name, rest in POLICIES.items():
        (folder / f"{name}.yaml").write_text(COLUMNS + rest)
    return folder


def commands(place: Path, name: str) -> Iterator[list[str]]:
    out, data = str(place / f"{name}-out"), str(place / "visits.csv")
    ledger = ["--ledger", str(place / "book")] if name == "mondrian" else []
    yield ["publish", str(place / f"{name}.yaml"), "--out", out, *ledger, *(["--new-ledger"] if ledger else [])]
    yield ["check", str(place / f"{name}.yaml")]
    yield ["verify", out, "--original", data]
    yield ["measure", out, "--original", data]
    yield ["query", out, "count where sex = m"]
    for attack in ATTACKS[name]:
        yield ["attack", attack, out, "--original", data]
    if ledger:
        yield ["publish", str(place / f"{name}.yaml"), "--out", f"{out}-again", *ledger]
        yield ["attack", "join", *ledger]
        yield ["risk", data, "--qi", "age,sex", "--person", "patient", "--out", str(place / "risk.html")]
        yield [
            "explore",
            str(place / f"{name}.yaml"),
            "--level",
            "k=2,3",
            "--method",
            "mondrian",
            "--out",
            str(place / "explored"),
        ]


@pytest.mark.parametrize("name", POLICIES)
def test_nothing_speaks_of_more_people_than_there_are(name: str, place: Path) -> None:
    for command in commands(place, name):
        said = CliRunner().invoke(root, command)
        assert said.exit_code == 0, (command, said.output)
        assert not too_many(said.output), command
    pages = [page for page in place.rglob("*") if page.suffix in (".html", ".json") and page.is_file()]
    assert len(pages) >= 4
    for page in pages:
        assert not too_many(page.read_text(encoding="utf-8")), page.name


def test_a_claim_that_fails_counts_rows(place: Path) -> None:
    out = place / "stricter"
    sf.publish(place / "mondrian.yaml").write(out)
    tree: dict[str, Any] = dict(sf.Policy.read(out / "policy.yaml").document.tree)
    (out / "policy.yaml").write_text(json.dumps({**tree, "protect": [{"k-anonymity": {"k": 200}}]}))
    told = sf.verify(out, original=place / "visits.csv").findings[0].reason
    assert told.startswith(f"{PEOPLE * EACH:,} rows in ") and told.endswith("do not reach the required level")


@pytest.mark.parametrize(
    "text",
    ["101 of 120 people (estimate)", "<td>people</td><td>120</td>", '"people_below": 13', "13 people in 2 group(s)"],
)
def test_a_wrong_count_is_seen(text: str) -> None:
    assert too_many(text)
    assert not too_many(text.replace("people", "rows"))
