"""From policy to certified folder and back: what users see, what the audit catches, what exit codes say."""

import contextlib
import csv
import io
import itertools
import json
import shutil
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import DataError, PolicyError
from sfumato.data.table import Table
from sfumato.io.plain_files import digest
from sfumato.kinds.testdata.constraint_checks import _echoes
from sfumato.ui.cli import main
from sfumato.ui.demos.testdata import POLICY as DEMO
from sfumato.ui.demos.testdata import students
from tests.secret import secret

GRADES = {
    "version": 1,
    "columns": {
        "phone": {"role": "replaced", "domain": {"pattern": "05[0247][0-9]{7}"}},
        "age": "other",
        "courses": {"role": "replaced", "domain": {"integers": [80, 100]}},
        "thesis": {"role": "replaced", "domain": {"integers": [80, 100]}},
        "final": {"role": "replaced", "domain": {"integers": [80, 100]}},
    },
    "keep": ["unique(phone)", "final = (courses + thesis) / 2", "mean(final) = 90"],
    "protect": [{"given": ["phone"], "hide": "final", "by": {"l-diversity": {"l": 2, "kind": "frequency"}}}],
    "method": {"obfuscation": {}},
}


def people(count):
    rows = students(count)
    return {
        "phone": [row[1] for row in rows],
        "age": [str(20 + i % 30) for i in range(count)],
        "courses": [row[5] for row in rows],
        "thesis": [row[6] for row in rows],
        "final": [row[7] for row in rows],
    }


def policy(**changes):
    return sf.Policy.parse({**GRADES, **changes})


def finding(certificate, name):
    return next(found for found in certificate.findings if found.model == name)


@dataclass
class Result:
    exit_code: int
    output: str


def invoke(*arguments):
    """A command as a user runs it; both streams together."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return Result(int(stopped.value.code or 0), said.getvalue())


def test_the_shared_students_policy_works_verbatim(shared, tmp_path):
    source = shared / "policies" / "students.yaml"
    checked = invoke("check", source)
    assert checked.exit_code == 0
    assert 'rule "mean(final_grade) = 90" holds in the original' in checked.output
    assert "3 independent part(s)" in checked.output
    published = invoke("publish", source, "--out", tmp_path / "out")
    assert published.exit_code == 0
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["holds"]
    assert certificate["findings"][0]["grade"] == "exact"
    assert invoke("verify", tmp_path / "out", "--original", shared / "policies" / "students.csv").exit_code == 0
    with (tmp_path / "out" / "data.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["final_grade"]) for row in rows) == 360


def test_linkage_confidence_of_the_students_by_listing_all_worlds():
    """Four students with mean 90: the audit's exact l against brute force over all 221^4 tables, counted by final
    grades."""
    publication = sf.publish(policy(), data=people(4), seed=secret(3))
    weight = {
        f: sum(1 for c, t in itertools.product(range(80, 101), repeat=2) if c + t == 2 * f) for f in range(80, 101)
    }
    link = dict.fromkeys(weight, 0)
    for finals in itertools.product(weight, repeat=4):
        if sum(finals) == 360:
            link[finals[0]] += weight[finals[0]] * weight[finals[1]] * weight[finals[2]] * weight[finals[3]]
    expected = sum(link.values()) / max(link.values())
    found = finding(publication.certificate, "l-diversity")
    assert found.grade == "exact"
    assert found.achieved["l"] == pytest.approx(expected, rel=1e-5)


def test_kept_columns_stay_and_rows_are_shuffled():
    data = people(300)
    table = sf.publish(policy(), data=data, seed=secret(3)).release.parts["data"]
    ages = table["age"].to_pylist()
    assert sorted(ages) == sorted(data["age"])
    assert ages != data["age"]


def test_a_seed_repeats_and_no_seed_does_not():
    data = people(50)
    one, two = (sf.publish(policy(), data=data, seed=secret(3)).release.parts["data"] for _ in range(2))
    assert one == two
    assert one != sf.publish(policy(), data=data).release.parts["data"]


def test_what_is_published_does_not_depend_on_the_replaced_values():
    """Zero knowledge: other originals, same output."""
    data = people(40)
    other = {
        **data,
        **dict.fromkeys(("final", "courses", "thesis"), ["90"] * 40),
        "phone": [f"05{i:08d}" for i in range(40)],
    }
    one = sf.publish(policy(), data=data, seed=secret(3)).release.parts["data"]
    two = sf.publish(policy(), data=other, seed=secret(3)).release.parts["data"]
    assert one == two


def test_the_manifest_says_how_each_part_was_made_and_nothing_private(tmp_path):
    publication = sf.publish(policy(), data=people(40), seed=secret(987654321))
    publication.write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [part["engine"] for part in manifest["public"]["parts"]] == ["permuted ranks", "fixed totals"]
    assert all(part["uniform"] and not part["reads_original"] for part in manifest["public"]["parts"])
    for file in (tmp_path / "out").iterdir():
        assert "987654321" not in file.read_text()


CHANGES = {
    "a rule about records": ({"final": "85"}, "rules"),
    "a total": ({"courses": "80", "thesis": "80", "final": "80"}, "rules"),
    "a value outside its domain": ({"phone": "0601234567"}, "domains"),
    "a kept column": ({"age": "99"}, "kept columns"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_verify_catches_changes(tmp_path, what):
    change, wrong = CHANGES[what]
    data = people(60)
    sf.publish(policy(), data=data, seed=secret(3)).write(tmp_path / "out")
    folder = tmp_path / "forged"
    shutil.copytree(tmp_path / "out", folder)
    with (folder / "data.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert any(rows[0][name] != value for name, value in change.items())
    rows[0].update(change)
    with (folder / "data.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["data.csv"]["sha256"] = digest(folder / "data.csv")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    verdict = sf.verify(folder, original=data)
    assert [found.model for found in verdict.findings if not found.holds] == [wrong, "certificate"]


def test_a_repeated_key_is_caught(tmp_path):
    from sfumato.kinds.testdata.constraint_checks import RulesKept
    from sfumato.kinds.testdata.form import Replaced
    from sfumato.release.release import Part
    from sfumato.release.view import ReleaseView

    publication = sf.publish(policy(), data=people(60), seed=secret(3))
    table = publication.release.parts["data"].table
    phones = table["phone"].to_pylist()
    forged = table.set_column(0, "phone", [[phones[1], *phones[1:]]])
    found = RulesKept().examine(ReleaseView(Replaced(), {"data": Part(forged)}, policy()))
    assert not found.holds
    assert '"unique(phone)" is broken 1 time(s)' in found.reason


def test_lm_estimates_and_lm_with_tiny_blocks_is_caught():
    """Sorted grades: blocks of two hardly move, so the audit refuses; LM* with large blocks passes."""
    data = people(200)
    order = np.argsort([int(value) for value in data["final"]])
    data = {name: [values[i] for i in order] for name, values in data.items()}
    claim = {"given": ["phone"], "hide": "final", "by": {"l-diversity": {"l": 5, "kind": "frequency"}}}
    keep = {"keep": GRADES["keep"][1:], "protect": [claim]}
    with pytest.raises(PolicyError, match="blocks of one record"):
        sf.publish(policy(method={"obfuscation": {"heuristic": "LM", "block": 1}}), data=data)
    with pytest.raises(sf.Infeasible, match="not reach the required level"):
        sf.publish(
            policy(**keep, method={"obfuscation": {"heuristic": "LM", "block": 2, "engine": "blocks"}}),
            data=data,
            seed=secret(1),
        )
    made = {"obfuscation": {"heuristic": "LM*", "block": 100, "engine": "blocks"}}
    found = finding(sf.publish(policy(**keep, method=made), data=data, seed=secret(1)).certificate, "l-diversity")
    assert found.grade == "estimate ± 0.05 at 0.95"
    assert found.achieved["l"] > 5


def test_check_counts_violations_in_the_original(tmp_path):
    data = people(20)
    data["phone"][3] = data["phone"][4]
    data["final"][0] = "100"
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(data)
        writer.writerows(zip(*data.values(), strict=True))
    text = DEMO.split("columns:")[0].replace("students.csv", "people.csv")
    text += 'columns:\n  phone: {role: replaced, domain: {pattern: "05[0-9]{8}"}}\n'
    text += "  courses: {role: replaced, domain: {integers: [80, 100]}}\n"
    text += (
        "  thesis: {role: replaced, domain: {integers: [80, 100]}}\n  final: {role: replaced, domain: {integers: [80,"
        " 90]}}\n"
    )
    text += 'keep: ["unique(phone)", "final = (courses + thesis) / 2"]\nmethod: {obfuscation: {}}\n'
    (tmp_path / "policy.yaml").write_text(text)
    output = invoke("check", tmp_path / "policy.yaml").output
    assert 'rule "unique(phone)" is broken 1 time(s) in the original' in output
    assert 'rule "final = (courses + thesis) / 2" is broken 1 time(s) in the original' in output
    assert "column 'final' has" in output
    assert invoke("publish", tmp_path / "policy.yaml", "--out", tmp_path / "out").exit_code == 0


def write_policy(folder, keep, domain="{integers: [0, 9]}"):
    (folder / "d.csv").write_text("a,b\n" + "\n".join(f"{i},{i}" for i in range(10)) + "\n")
    rules = json.dumps(keep)
    (folder / "p.yaml").write_text(
        "version: 1\ndata: {kind: table, source: d.csv}\ncolumns:\n"
        f"  a: {{role: replaced, domain: {domain}}}\n  b: {{role: replaced, domain: {domain}}}\nkeep: {rules}\n"
        "method: {obfuscation: {}}\n"
    )
    return folder / "p.yaml"


def test_an_unsatisfiable_set_is_exit_4_and_names_the_rules(tmp_path):
    path = write_policy(tmp_path, ["a < b", "b < a", "unique(a)"])
    result = invoke("publish", path, "--out", tmp_path / "out")
    assert result.exit_code == 4
    assert '"a < b" and "b < a"' in result.output
    assert not (tmp_path / "out").exists()
    assert invoke("check", path).exit_code == 2


def test_a_misspelt_rule_is_exit_2_with_file_line_and_character(tmp_path):
    result = invoke("check", write_policy(tmp_path, ["a < b", "a <= cc"]))
    assert result.exit_code == 2
    assert "p.yaml:6" in result.output
    assert "character 6" in result.output
    assert "there is no column 'cc'" in result.output


@pytest.mark.parametrize(
    ("domain", "what"),
    [
        ("{integers: [9, 0]}", "lower bound"),
        ("{integer: [0, 9]}", "did you mean 'integers'"),
        ("{pattern: '[0-9'}", "cannot be read"),
        ("{fakes: nmae}", "did you mean 'name'"),
        ("{like: zz}", "unknown column"),
        ("{values: [x, x]}", "repeats"),
    ],
)
def test_wrong_domains_are_policy_errors(tmp_path, domain, what):
    result = invoke("check", write_policy(tmp_path, [], domain))
    assert result.exit_code == 2
    assert what in result.output


def test_rules_against_the_original_are_judged_with_the_trace():
    data = {"pay": [str(1000 + 13 * i) for i in range(100)], "dept": ["a", "b"] * 50}
    tree = {
        "version": 1,
        "columns": {"pay": {"role": "replaced", "domain": {"integers": [0, 9999]}}, "dept": "other"},
        "keep": ["pay >= 0.8 * original.pay", "pay <= 1.2 * original.pay"],
        "method": {"obfuscation": {}},
    }
    made = sf.publish(sf.Policy.parse(tree), data=data, seed=secret(1))
    assert next(found for found in made.findings if found.model == "rules").achieved == {"rules": 2, "broken": 0}
    assert finding(made.certificate, "rules").achieved == {"broken": 0}
    hidden = {
        **tree,
        "protect": [{"given": ["dept"], "hide": "pay", "by": {"l-diversity": {"l": 2, "kind": "frequency"}}}],
    }
    with pytest.raises(sf.Infeasible, match="bind new values to the original"):
        sf.publish(sf.Policy.parse(hidden), data=data, seed=secret(1))


def test_totals_per_group_leave_a_person_alone_in_a_group_exposed():
    data = {"pay": ["10", "20", "30", "40"], "dept": ["a", "b", "b", "b"]}
    tree = {
        "version": 1,
        "columns": {"pay": {"role": "replaced", "domain": {"integers": [0, 50]}}, "dept": "other"},
        "keep": ["sum(pay by dept) = sum(original.pay by dept)"],
        "protect": [{"given": ["dept"], "hide": "pay", "by": {"l-diversity": {"l": 2, "kind": "frequency"}}}],
        "method": {"obfuscation": {}},
    }
    with pytest.raises(sf.Infeasible, match="1 person in 1 equivalence class does not reach"):
        sf.publish(sf.Policy.parse(tree), data=data, seed=secret(1))


def test_values_like_a_column_and_lists():
    data = {"city": ["Rome", "Oslo", "Rome", "Bonn"], "size": ["s", "m", "s", "l"]}
    tree = {
        "version": 1,
        "columns": {
            "city": {"role": "replaced", "domain": {"like": "city"}},
            "size": {"role": "replaced", "domain": {"values": ["s", "m", "l", "xl"]}},
        },
        "keep": ["city != 'Oslo'", "if city = 'Rome' then size in {'s', 'm'}"],
    }
    table = sf.publish(sf.Policy.parse(tree), data=data, seed=secret(1)).release.parts["data"]
    assert set(table["city"].to_pylist()) <= {"Rome", "Bonn"}


def test_learned_weights_keep_frequencies_and_say_so():
    rng = np.random.default_rng(1)
    marks = rng.choice([80, 85, 90, 95, 100], 2000, p=[0.05, 0.1, 0.6, 0.2, 0.05])
    while (rest := int(marks.sum()) - 90 * 2000) != 0:
        move = np.flatnonzero(marks == (95 if rest > 0 else 85))[0]
        marks[move] = 90
    tree = {
        "version": 1,
        "columns": {"mark": {"role": "replaced", "domain": {"integers": [80, 100], "weights": "original"}}},
        "keep": ["mean(mark) = 90", "mark != 100"],
        "protect": [{"given": [], "hide": "mark", "by": {"l-diversity": {"l": 1.2, "kind": "frequency"}}}],
    }
    publication = sf.publish(sf.Policy.parse(tree), data={"mark": [str(m) for m in marks]}, seed=secret(1))
    new = np.array([int(value) for value in publication.release.parts["data"]["mark"].to_pylist()])
    assert new.sum() == 90 * 2000
    assert set(new) <= {80, 85, 90, 95}
    assert 0.5 < (new == 90).mean() < 0.8
    assert any("learned" in note for note in publication.certificate.assumptions)
    assert publication.release.form.to_public()["parts"][0]["reads_original"]
    assert publication.certificate.findings[0].grade.startswith("estimate")
    with pytest.raises(PolicyError, match="weights cannot be learned"):
        sf.publish(sf.Policy.parse({**tree, "keep": ["unique(mark)"]}), data={"mark": ["80", "81"]})


def test_the_demo_holds(tmp_path):
    result = invoke("demo", "--scenario", "testdata", "--out", tmp_path / "demo")
    assert result.exit_code == 0
    assert "everything holds" in result.output
    assert "New values under rules" in (tmp_path / "demo" / "release" / "report.html").read_text()


def test_what_is_missing_is_no_echo_and_what_is_repeated_is_one():
    """Six of ten closing days are empty and stay so; among the others the new ones are strangers to the old."""
    days = ["" if n % 10 < 6 else f"2020-{n % 12 + 1:02d}-{n % 28 + 1:02d}" for n in range(600)]
    text = sf.Policy.parse(
        {"version": 1, "columns": {"closed": {"role": "replaced", "domain": {"dates": ["2019-01-01", "2024-12-31"]}}}}
    )
    made = sf.publish(text, {"closed": days}, seed=secret(1))
    assert made.certificate.holds
    assert sum(not day for day in made.release.parts["data"].table.column("closed").to_pylist()) == 360
    rows = np.arange(600)
    old = Table(pa.table({"closed": days})).text("closed")
    assert _echoes(old, old, rows)
    assert not _echoes(Table(pa.table({"closed": [day and "1999-01-01" for day in days]})).text("closed"), old, rows)


def test_a_rule_that_new_values_cannot_mend_is_told_before_anything_is_made():
    columns = {"a": "other", "b": {"role": "replaced", "domain": {"integers": [1, 9]}}}
    text = sf.Policy.parse({"version": 1, "columns": columns, "keep": ["a <= 5"]})
    with pytest.raises(DataError, match="broken 1 time"):
        sf.publish(text, {"a": ["1", "7"], "b": ["1", "2"]}, seed=secret(1))
