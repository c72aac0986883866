"""The certificate in a folder is compared with what the audit finds; `report` prints none that does not agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.errors import AuditRefused, ReleaseError
from sfumato.kinds.graphs.recovery import Recovered
from sfumato.release.certificate import AT_BEST, SOME_FOUND, Certificate, Finding, one_sided_verdict
from tests.command_line import run
from tests.secret import secret
from tests.slow import SLOW
from tests.trust.every_form import FORMS, columns, copy_of, redo, release_of, violations

Tree = dict[str, Any]
JUDGED_ALONE = [form for form in FORMS if form not in ("baskets", "database")]
"""Forms whose claims are judged from the published files alone."""


def edited(folder: Path, change: Callable[[Tree], object]) -> Path:
    """A certificate changed by a forger who redoes the checksums."""
    tree = json.loads((folder / "certificate.json").read_text())
    change(tree)
    (folder / "certificate.json").write_text(json.dumps(tree))
    redo(folder)
    return folder


def test_k_of_five_thousand_and_differential_privacy(tmp_path: Path) -> None:
    def boast(tree: Tree) -> None:
        tree["findings"][0]["achieved"]["k"] = 5000
        tree["findings"].append(
            {"model": "differential privacy", "holds": True, "achieved": {"epsilon": 0.1}, "grade": "exact"}
        )

    folder = edited(copy_of("recoded table", tmp_path)[0], boast)
    before = (folder / "report.html").read_bytes()
    assert violations(folder) == {"certificate"}
    assert run("verify", str(folder)).returncode == 1
    printed = run("report", str(folder))
    assert printed.returncode == 1
    assert "does not agree" in printed.stderr
    assert (folder / "report.html").read_bytes() == before


def test_a_private_report_of_a_forged_certificate_is_refused_too(tmp_path: Path) -> None:
    folder, original = copy_of("recoded table", tmp_path)
    edited(folder, lambda tree: tree["findings"][0]["achieved"].update(k=5000))
    people = tmp_path / "people.csv"
    rows = [",".join(original), *(",".join(row) for row in zip(*original.values(), strict=True))]
    people.write_text("\n".join(rows) + "\n")
    assert (
        run("report", str(folder), "--original", str(people), "--out", str(tmp_path / "private.html")).returncode == 1
    )
    assert not (tmp_path / "private.html").exists()


@pytest.mark.parametrize("form", FORMS)
def test_a_report_of_an_honest_folder_is_printed(form: str, tmp_path: Path) -> None:
    folder, _ = copy_of(form, tmp_path)
    assert run("report", str(folder)).returncode == 0
    assert violations(folder) == set()


@pytest.mark.parametrize("form", JUDGED_ALONE)
def test_every_number_of_every_claim(form: str, tmp_path: Path) -> None:
    """Each figure asked for or achieved, raised or lowered: neighbours differently, in `make slow` in all ways."""
    stated = json.loads((release_of(form)[0] / "certificate.json").read_text())["findings"]
    claims = sf.Policy.read(release_of(form)[0] / "policy.yaml").claims
    for place in range(len(claims)):
        for side in ("required", "achieved"):
            for turn, (key, value) in enumerate(
                stated[place][side].items(), start=FORMS.index(form) + (side == "achieved")
            ):
                for number, other in list(enumerate([5000, 0.001, -1, None, "many", True]))[
                    0 if SLOW else turn % 2 :: 1 if SLOW else 2
                ]:
                    if isinstance(value, str) and other == "many":
                        continue
                    where = tmp_path / f"{place}-{side}-{key}-{number}"
                    folder = edited(
                        copy_of(form, where)[0],
                        lambda t, o=other, p=place, s=side, k=key: t["findings"][p][s].update({k: o}),
                    )
                    assert violations(folder), (form, place, side, key, other)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "perturbed table"])  # which has no claim
def test_every_other_word_of_a_claim(form: str, tmp_path: Path) -> None:
    if form == "database":
        pytest.skip("a database makes no claims")
    changes: dict[str, Callable[[Tree], object]] = {
        "model": lambda tree: tree["findings"][0].update(model="differential privacy"),
        "given": lambda tree: tree["findings"][0].update(given=["everything"]),
        "hide": lambda tree: tree["findings"][0].update(hide=["everything"]),
        "missing": lambda tree: tree["findings"].pop(0),
        "broken": lambda tree: tree["findings"][0].update(holds=False),
        "another": lambda tree: tree["findings"].insert(
            0, {"model": "k-anonymity", "holds": True, "achieved": {"k": 9}}
        ),
    }
    for name, change in changes.items():
        folder = edited(copy_of(form, tmp_path / name)[0], change)
        found = violations(folder)
        assert found, name
        assert found <= {"certificate", "files", "unreadable"}, name


@pytest.mark.parametrize("form", FORMS)
def test_an_assumption_that_was_struck_out(form: str, tmp_path: Path) -> None:
    """Every sentence that follows from policy and form; what a method notes about its own work cannot be found
    again."""
    from sfumato.release.folder import read_folder
    from sfumato.workflow.publication import list_assumptions

    folder, _ = copy_of(form, tmp_path)
    for sentence in list_assumptions(read_folder(folder)):
        tree = json.loads((folder / "certificate.json").read_text())
        assert sentence in tree["assumptions"]
        kept = [other for other in tree["assumptions"] if other != sentence]
        (folder / "certificate.json").write_text(json.dumps(tree | {"assumptions": kept}))
        redo(folder)
        assert "certificate" in violations(folder)
        (folder / "certificate.json").write_text(json.dumps(tree))
        redo(folder)


@pytest.mark.parametrize("form", FORMS)
def test_unknown_findings_records_method_and_figures(form: str, tmp_path: Path) -> None:
    """Every other change, the rest on the next form; in `make slow` all."""
    stranger = {"model": "unlinkability", "holds": True, "required": {}, "achieved": {"level": 9}, "grade": "exact"}
    foreign = "kept-edges" if form != "graph" else "truthfulness"
    changes: dict[str, Callable[[Tree], object]] = {
        "unknown": lambda tree: tree["findings"].append(stranger),
        "unknown, not judged": lambda tree: tree["findings"].append(stranger | {"grade": "not judged", "holds": None}),
        "of another form": lambda tree: tree["findings"].append(stranger | {"model": foreign}),
        "twice": lambda tree: tree["findings"].append(tree["findings"][-1]),
        "more records": lambda tree: tree["records"].update(published=10**6, input=10**6),
        "more suppressed": lambda tree: tree["records"].update(suppressed=7),
        "method": lambda tree: tree.update(method="magic"),
        "figure": lambda tree: tree["utility"].update(usefulness=1.0),
        "attack left out": lambda tree: tree["attacks"].pop(),
        "attack talked down": lambda tree: tree["attacks"][0].update(applies="not worth a thought"),
        "attack of another release": lambda tree: tree["attacks"].append({"name": "magic", "applies": "always"}),
        "attack left out by a version that nobody knows": lambda tree: (
            tree.update(version="7.1"),
            tree["attacks"].pop(),
        ),
        "attack of another version": lambda tree: tree.update(
            version="0.0.1", attacks=[{"name": "magic", "applies": "always"}]
        ),
    }
    for name, change in list(changes.items())[0 if SLOW else FORMS.index(form) % 2 :: 1 if SLOW else 2]:
        folder = edited(copy_of(form, tmp_path / name)[0], change)
        assert "certificate" in violations(folder), name


def test_a_figure_that_the_folder_gives_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import networkx as nx

    monkeypatch.setattr(Recovered, "needs_original", False, raising=False)
    tree = {"version": 1, "data": {"kind": "graph"}, "method": {"edge-perturbation": {"mu": 0.1}}}
    folder = sf.publish(sf.Policy.parse(tree), data=nx.gnp_random_graph(60, 0.2, seed=secret(1))).write(
        tmp_path / "out"
    )
    assert violations(folder) == set()
    edited(folder, lambda t: t["utility"]["recovered"]["density"].update(estimate=0.999))
    assert "certificate" in violations(folder)


def test_a_certificate_of_the_first_version_still_verifies(tmp_path: Path) -> None:
    """It has no floor, no form, no share of suppressed records, and a claim on columns that nobody publishes has no
    figure."""

    def age(tree: Tree) -> None:
        tree["findings"] = [entry for entry in tree["findings"] if entry["model"] not in ("floor", "form")]
        tree.pop("complete", None)
        tree.pop("attacks")
        for entry in tree["findings"]:
            if entry["model"] == "suppression":
                entry["achieved"].pop("suppress_at_most", None)

    for number, form in enumerate(FORMS):
        folder = edited(copy_of(form, tmp_path / str(number))[0], age)
        assert violations(folder) == set(), form


def test_a_weaker_statement_is_a_difference_too(tmp_path: Path) -> None:
    folder = edited(copy_of("recoded table", tmp_path)[0], lambda tree: tree["findings"][0]["achieved"].update(k=4))
    level = json.loads((release_of("recoded table")[0] / "certificate.json").read_text())["findings"][0]["achieved"][
        "k"
    ]
    assert (violations(folder) == {"certificate"}) == (level != 4)


def test_two_joint_claims_with_and_without_the_original(tmp_path: Path) -> None:
    """Without the original a joint claim is not judged: the certificate says it is as asked, and whatever says more is
    a boast."""
    data = columns(60)
    roles = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}}, "sex": "quasi-identifier"}
    tree = {
        "version": 1,
        "columns": roles | {"ward": "other", "illness": "sensitive"},
        "protect": [{"k-linkability": {"k": 2}}],
    }
    policy = sf.Policy.parse(tree | {"method": {"sequential": {}}})
    folder = sf.publish(policy, data=data, seed=secret(3)).write(tmp_path / "out")
    assert violations(folder) == set()
    assert violations(folder, data) == set()
    assert [finding.model for finding in sf.verify(folder).open] == ["k-linkability"]
    edited(folder, lambda t: t["findings"][0]["achieved"].update(k=50))
    assert violations(folder) == {"certificate"}
    assert violations(folder, data) == {"certificate"}
    edited(folder, lambda t: t["findings"][0].update(grade="exact"))
    assert violations(folder) == {"certificate"}


@pytest.mark.parametrize("grade", [AT_BEST, SOME_FOUND])
def test_a_bound_on_the_wrong_side_refutes_and_never_shows(grade: str) -> None:
    """Five at best may be two, and no mistake among some may be one among all."""
    asked, reached = ({"k": 5}, {"k": 7}) if grade == AT_BEST else ({"rows": 0}, {"rows": 0})
    name = "k-anonymity" if grade == AT_BEST else "truthfulness"
    with pytest.raises(AuditRefused, match="wrong side"):
        Finding(name, True, asked, reached, grade=grade)
    said = one_sided_verdict(True, grade, reached, "", "not all were looked at")
    assert Finding(name, required=asked, **said).verdict is None
    refuted = one_sided_verdict(False, grade, reached, "some fall below", "")
    assert Finding(name, required=asked, **refuted).verdict is False
    written = {
        "model": name,
        "holds": True,
        "required": asked,
        "achieved": reached,
        "grade": grade,
        "given": [],
        "hide": [],
    }
    tree = {"findings": [written], "records": {"input": 1, "published": 1, "suppressed": 0}}
    assert Certificate.from_json(tree).findings[0].verdict is None  # a folder of another version that ticks it


@pytest.mark.parametrize("said", [2, 0, "1", True, 1.0, None])
def test_a_folder_of_an_unknown_format_is_refused(said: object, tmp_path: Path) -> None:
    folder = copy_of("recoded table", tmp_path)[0]
    redo(folder, format=said)
    with pytest.raises(ReleaseError, match="format that this version does not know"):
        sf.verify(folder)
