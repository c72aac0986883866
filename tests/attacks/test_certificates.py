"""The attacks that certificates name: which, from what, and where people meet them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.policy.policy import Policy
from sfumato.release.attack import Attack, ReleaseAttack, Threat, attacks_on_folder, known_attacks
from sfumato.release.certificate import Certificate
from sfumato.release.folder import CERTIFICATE, read_folder
from sfumato.release.view import ReleaseView
from sfumato.ui.demos.tables import discharges
from tests.command_line import run

LIMITS = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "limits.md"
ALWAYS = {"insiders", "intersection", "membership"}
NAMES = ("name", "age", "sex", "zip", "admitted", "ward", "illness")
PEOPLE = dict(zip(NAMES, map(list, zip(*discharges(300), strict=True)), strict=True))


def policy(protect: list[Any], method: Any = "mondrian", **changed: Any) -> Policy:
    columns: dict[str, Any] = {
        "name": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 20]}},
        "sex": "quasi-identifier",
        "illness": "sensitive",
    }
    return Policy.parse({"version": 1, "columns": columns | changed, "protect": protect, "method": method})


K = {"k-anonymity": {"k": 3}}
L = {"l-diversity": {"l": 2, "kind": "frequency"}}
T = {"t-closeness": {"t": 0.6}}


@pytest.mark.parametrize(
    ("chosen", "named"),
    [
        (policy([K]), {"homogeneity", "downcoding"}),
        (policy([K, L]), {"skewness", "minimality", "downcoding"}),
        (policy([K, T]), {"minimality", "downcoding"}),
        (policy([K, L, T], {"refined": {"seconds": 0.1}}), {"minimality", "downcoding"}),
        (policy([K, L], {"mondrian": {"blind": True}}), {"skewness", "downcoding"}),
        (policy([L], "anatomy"), {"skewness", "de-finetti"}),
        (policy([K], ward="other"), {"homogeneity", "downcoding", "other-columns"}),
        (policy([K, L], ward="sensitive", zip={"role": "sensitive", "publish": False}), {"skewness", "minimality",
        "downcoding"}),
        (policy([{"given": ["age", "sex"], "hide": "ward", "by": L}], ward="sensitive"), {"homogeneity", "skewness",
        "minimality",
                                                                                          "downcoding"}),
    ],
)  # fmt: skip
def test_the_certificate_names_the_attacks_that_apply(chosen: Policy, named: set[str], tmp_path: Path) -> None:
    publication = sf.publish(chosen, data={name: PEOPLE[name] for name in chosen.columns})
    certificate = publication.certificate
    assert {attack.name for attack in certificate.attacks} == named | ALWAYS
    assert all(len(attack.applies) > 30 and not attack.applies.endswith(".") for attack in certificate.attacks)
    publication.write(tmp_path / "out", report=False)
    entries = json.loads((tmp_path / "out" / CERTIFICATE).read_text())["attacks"]
    assert entries == [{"name": attack.name, "applies": attack.applies} for attack in certificate.attacks]
    assert attacks_on_folder(tmp_path / "out") == certificate.attacks == known_attacks(read_folder(tmp_path / "out"))


def test_graphs_and_baskets_have_their_own(tmp_path: Path) -> None:
    from sfumato.kinds.baskets.form import Basket
    from sfumato.kinds.graphs.form import Edges

    plain = Policy.parse({"version": 1, "columns": {"age": "quasi-identifier"}})
    assert "structural" in {attack.name for attack in known_attacks(ReleaseView(Edges(nodes=3), {}, plain))}
    assert "re-execution" in {attack.name for attack in known_attacks(ReleaseView(Basket(degree=2), {}, plain))}


def test_the_original_plays_no_part() -> None:
    """What an outsider's exhibit says is what the data holder's says."""
    exhibit = sf.publish(policy([K, L]), data={name: PEOPLE[name] for name in policy([K]).columns}).exhibit
    assert exhibit.private
    assert known_attacks(exhibit) == known_attacks(replace(exhibit.as_published(), parts={}))


def test_certificates_without_attacks_are_read() -> None:
    old = {"findings": [], "records": {"input": 1, "published": 1, "suppressed": 0}}
    assert Certificate.from_json(old).attacks is None


def test_every_threat_has_a_paragraph_in_the_limits() -> None:
    """A section has the name of the attack as its heading, as certificates write it."""
    told = set(re.findall(r"^### ([a-z-]+)$", LIMITS.read_text(encoding="utf-8"), re.MULTILINE))
    threats = {name for name, threat in catalogue("attacks", Threat).items() if "concerns" in vars(threat)}
    assert threats >= {
        "homogeneity",
        "skewness",
        "minimality",
        "downcoding",
        "de-finetti",
        "intersection",
        "other-columns",
        "insiders",
    }
    assert threats - told == set()


def test_attacks_that_a_report_plays_declare_their_figure() -> None:
    played = [
        cls
        for cls in catalogue("attacks", Attack).values()
        if issubclass(cls, ReleaseAttack) and "concerns" in vars(cls)
    ]
    assert len(played) >= 5
    assert [cls.name for cls in played if cls.quick and not cls.headline] == []


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    shown = ("name", "age", "sex", "illness")
    rows = zip(*(PEOPLE[name] for name in shown), strict=True)
    (tmp_path / "people.csv").write_text("\n".join([",".join(shown), *(",".join(map(str, row)) for row in rows), ""]))
    (tmp_path / "policy.yaml").write_text(
        "version: 1\ndata: people.csv\n"
        "columns: {name: identifier, age: quasi-identifier, sex: quasi-identifier, illness: sensitive}\n"
        "protect: [{l-diversity: {l: 3, kind: frequency}}]\nmethod: anatomy\n"
    )
    assert run("publish", "policy.yaml", "--out", "out", cwd=tmp_path).returncode == 0
    return tmp_path


def test_commands_show_and_play_them(desk: Path) -> None:
    shown = run("verify", "out", cwd=desk).stdout
    assert "Known limits: de-finetti" in shown
    assert "· de-finetti " in run("verify", "out", "--verbose", cwd=desk).stdout
    told: Mapping[str, Any] = json.loads(run("verify", "out", "--json", cwd=desk).stdout)
    assert {"name", "applies"} == set(told["attacks"][0])
    played = run("attack", "de-finetti", "out", "--original", "people.csv", "--json", cwd=desk)
    assert played.returncode == 0, played.stderr
    assert json.loads(played.stdout)["promised"] == pytest.approx(1 / 3)
    refused = run("attack", "downcoding", "out", "--original", "people.csv", cwd=desk)
    assert "this adversary reads a recoded table" in refused.stderr


def test_an_edited_certificate_does_not_silence_verify(desk: Path) -> None:
    file = desk / "out" / CERTIFICATE
    file.write_text(json.dumps(json.loads(file.read_text()) | {"attacks": []}))
    assert run("verify", "out", cwd=desk).returncode == 1
    told = json.loads(run("verify", "out", "--json", cwd=desk).stdout)
    assert "de-finetti" in {attack["name"] for attack in told["attacks"]}
    (desk / "out" / "policy.yaml").write_text("version: 2\n")
    assert attacks_on_folder(desk / "out") == ()


def test_the_private_report_plays_them_and_the_public_one_does_not(desk: Path) -> None:
    public, private = ((desk / name).read_text() for name in ("out/report.html", "out.private.html"))
    for page in (public, private):
        assert "What this does not protect against" in page
        assert "<td>de-finetti</td>" in page
    assert "Played against the original" in private
    assert "Played against the original" not in public
    assert "guesses right" in private


def test_a_figure_above_the_promise_is_red_and_named() -> None:
    """A value that follows from a visible column is learned by the attack, far above 1/l."""
    from sfumato.workflow.report import render

    groups = [min(i % 7, 3) for i in range(400)]
    data = {"g": [f"g{i}" for i in groups], "n": [str(i) for i in range(400)], "s": [f"v{i}" for i in groups]}
    columns = {"g": "quasi-identifier", "n": "quasi-identifier", "s": "sensitive"}
    chosen = Policy.parse(
        {
            "version": 1,
            "columns": columns,
            "protect": [{"l-diversity": {"l": 1.5, "kind": "frequency"}}],
            "method": "anatomy",
        }
    )
    page = render(sf.publish(chosen, data=data).exhibit)
    assert re.search(r'<span class="above">[\d.]+ — above the promise</span>', page)
    assert "Above what was promised: de-finetti." in page


def test_people_believed_above_the_promise_are_red_too() -> None:
    """Six people under 2-diversity, two of them certain for who knows the method."""
    from sfumato.workflow.report import render

    columns = {"q": "quasi-identifier", "s": "sensitive"}
    chosen = Policy.parse(
        {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 2}}, L], "method": "mondrian"}
    )
    page = render(sf.publish(chosen, data={"q": list("aabbbb"), "s": list("hhwxyz")}).exhibit)
    assert "Above what was promised: minimality." in page


def test_the_assumption_says_that_outsiders_have_no_opinion() -> None:
    said = sf.publish(policy([K]), data={name: PEOPLE[name] for name in policy([K]).columns}).certificate.assumptions
    assert any("no opinion beforehand" in each and "why the method" in each for each in said)
