"""From a policy with rules to a verified folder: the verbatim example, refusals that explain, tampering, the audit
alone."""

import csv
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_worlds import problems
from versatile_paper import NAMES, TABLE_1
from versatile_worlds import largest_posterior

import sfumato as sf
from sfumato.audit.certify import certify, judge_claims
from sfumato.kinds.subtables.attacks import IntersectionAttack
from sfumato.kinds.subtables.form import SubTables
from sfumato.policy.policy import Choice
from sfumato.release.release import Part, Provenance
from sfumato.release.view import ReleaseView
from sfumato.ui.cli import main
from tests.secret import secret
from tests.slow import SLOW

METHODS = ["utility-aware", "guardian", "single-attribute"]


def policy(*claims, columns="abcd", **more):
    return sf.Policy.parse({"version": 1, "columns": dict.fromkeys(columns, "other"), "protect": list(claims), **more})


def table(rows=240, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    return {name: [f"{name}{code}" for code in codes] for name, codes in {
        "a": a, "b": (a + rng.integers(0, 3, rows)) % 6, "c": rng.integers(0, 5, rows), "d": (a * 2 + rng.integers(0, 2,
        rows)) % 7,
    }.items()}  # fmt: skip


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


def test_the_example_policy_works_verbatim(shared, tmp_path, capsys):
    policies = shared / "policies"
    out = tmp_path / "out"
    assert run("publish", policies / "discharges.yaml", "--out", out) == 0
    assert run("verify", out, "--original", policies / "discharges.csv", "--json") == 0
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["method"] == "utility-aware"
    assert [finding["hide"] for finding in certificate["findings"][:3]] == [["race"], ["zipcode"], ["zipcode"]]
    assert all(finding["achieved"]["l"] >= 2 for finding in certificate["findings"][:3])
    assert certificate["utility"] == {}
    assert {"kl_divergence", "query_error"} <= set(sf.measure(out, original=policies / "discharges.csv"))
    capsys.readouterr()
    assert run("query", out, "count where hospital = 111111 and age = 37", "--json") == 0
    assert json.loads(capsys.readouterr().out)["count"] == pytest.approx(1)
    assert run("attack", "intersection", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["compromised"] == 0
    assert "guards it" in (out / "report.html").read_text()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_certified_and_verifies_from_its_folder(method, tmp_path):
    asked = policy("a, b -> c : 3-diversity", "c -> b : 2-diversity", "d -> a : 2-diversity", method={method: {}})
    publication = sf.publish(asked, data=table(), seed=secret(3))
    assert publication.certificate.holds
    assert sf.verify(publication.write(tmp_path / "out"), original=table()).holds
    assert sf.measure(tmp_path / "out", original=table())["kl_divergence"] >= 0


def test_multi_sensitive_hides_every_right_side_from_everything(tmp_path):
    rng = np.random.default_rng(4)
    data = {name: [str(v) for v in rng.integers(0, 4, 400)] for name in "abcd"}
    asked = policy("a -> c : 2-diversity", "b -> d : 2-diversity", method={"multi-sensitive": {}})
    publication = sf.publish(asked, data=data, seed=secret(1))
    assert set(publication.release.parts) == {"table-1", "table-1-sensitive"}
    buckets = publication.release.parts["table-1"]["bucket"].to_pylist()
    assert publication.certificate.records.suppressed == buckets.count("*")
    strict = replace(
        publication.policy, claims=policy("a, b, d -> c : 2-diversity", "a, b, c -> d : 2-diversity").claims
    )
    assert all(finding.holds for finding in judge_claims(evidence(publication, strict)))


def evidence(publication, policy=None, parts=None):
    return ReleaseView(SubTables(), parts or publication.release.parts, policy or publication.policy)


def test_generalization_may_take_the_place_of_buckets(tmp_path):
    columns = {"a": {"role": "other", "hierarchy": "flat"}, "b": "other", "c": "other", "d": "other"}
    asked = policy("a, b -> c : 2-diversity", method={"utility-aware": {"inner": "mondrian"}})
    asked = sf.Policy.parse({**asked.document.tree, "columns": columns})
    publication = sf.publish(asked, data=table(), seed=secret(1))
    assert set(publication.release.parts) == {"table-1"}
    assert sf.verify(publication.write(tmp_path / "out"), original=table()).holds
    assert run("publish", "nowhere.yaml", "--out", tmp_path / "no") != 0


def test_rules_may_have_different_models():
    asked = policy(
        "a -> b : 3-diversity",
        {"given": ["a", "d"], "hide": "c", "by": {"t-closeness": {"t": 0.25}}},
        {"given": ["d"], "hide": "b", "by": {"l-diversity": {"l": 2, "kind": "entropy"}}},
    )
    for method in METHODS:
        publication = sf.publish(replace(asked, method=Choice(method)), data=table(), seed=secret(2))
        assert publication.certificate.holds


def test_a_composite_right_side_needs_only_one_column_hidden():
    """d alone is hidden, although the rule hides the pair."""
    data = table()
    data["c"] = ["same"] * 240
    publication = sf.publish(policy("a -> c, d : 2-diversity"), data=data, seed=secret(1))
    assert publication.certificate.holds
    assert publication.certificate.findings[0].grade.startswith("bound")
    with pytest.raises(sf.Infeasible, match="'c' breaks"):
        sf.publish(policy("a -> c : 2-diversity"), data=data, seed=secret(1))


def test_ineligible_columns_are_infeasible_with_the_largest_level(tmp_path, capsys):
    source = tmp_path / "data.csv"
    rows = [["a", "b"]] + [[str(i), "x" if i < 5 else f"y{i}"] for i in range(11)]
    source.write_text("\n".join(",".join(row) for row in rows))
    file = tmp_path / "policy.yaml"
    file.write_text(
        'version: 1\ndata: {source: data.csv}\ncolumns: {a: other, b: other}\nprotect: ["a -> b : 3-diversity"]\n'
    )
    assert run("publish", file, "--out", tmp_path / "out") == 4
    told = capsys.readouterr().err
    assert "published alone" in told
    assert "2.2" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", METHODS)
def test_what_outsiders_know_keeps_tied_columns_together(method):
    data = table()
    data["d"] = [f"county of {value[1:]}" for value in data["b"]]
    asked = policy("a -> d : 2-diversity", "c -> b : 2-diversity", knows=["b -> d"], method={method: {}})
    publication = sf.publish(asked, data=data, seed=secret(1))
    assert publication.certificate.holds
    for part in publication.release.parts.values():
        names = set(part.table.column_names)
        assert ("b" in names) == ("d" in names)
    assert any(finding.holds and "a" in finding.given for finding in publication.certificate.findings)


@pytest.mark.parametrize(
    ("claims", "knows", "said"),
    [
        (["a -> b : 2-diversity"], ["a -> b"], "can compute b"),
        (["a, c -> b : 2-diversity"], ["a -> d", "d, c -> b"], "can compute b"),
        (["b -> a : 2-diversity"], ["a -> b"], "no release can hide one"),
        (["a -> b : 2-diversity"], ["a -> z"], "unknown column 'z'"),
        (["a -> b : 2-diversity"], ["a b"], "exactly one '->'"),
        (["a -> z : 2-diversity"], [], "unknown column 'z'"),
        (["a, b -> b : 2-diversity"], [], "both gives and hides"),
    ],
)
def test_impossible_and_misspelt_policies_are_refused_in_words(claims, knows, said, tmp_path):
    with pytest.raises(sf.PolicyError, match=said) as refused:
        sf.publish(policy(*claims, knows=knows, method={"utility-aware": {}}), data=table())
    assert refused.value.hint


def test_check_explains_overlapping_rules(tmp_path, capsys):
    file = tmp_path / "policy.yaml"
    file.write_text(
        "version: 1\ncolumns: {age: other, zip: other, county: other, race: other}\nknows: ['zip ->"
        " county']\nprotect:\n  - 'age -> county : 2-diversity'\n  - 'race -> age : 2-diversity'\n  - 'race, county ->"
        " age : 2-diversity'\n  - 'age -> race : 2-diversity'\n"
    )
    assert run("check", file) == 0
    told = capsys.readouterr().out
    assert "also kept: age → zip" in told
    assert "needs no keeping of its own: race → age" in told
    assert "age and race are hidden from each other, so no table shows both" in told
    assert "table 1:" in told


def test_the_attack_on_a_folder_of_tables_gets_the_papers_four_people(tmp_path):
    write_table_2(tmp_path)
    result = IntersectionAttack(target=str(tmp_path), rule="hospital, race -> zipcode", show=True).run()
    assert result["compromised"] == 4
    assert result["exact"]
    (rule,) = result["rules"].values()
    assert ["111111", "asian", "71000"] in rule["tuples"]
    assert IntersectionAttack(target=str(tmp_path), rule="age, icd9 -> race").run()["compromised"] == 0
    with pytest.raises(sf.PolicyError, match="no policy"):
        IntersectionAttack(target=str(tmp_path)).run()


def write_table_2(folder):
    records = [dict(zip(NAMES, row, strict=True)) for row in TABLE_1]
    layout = [
        (["age", "icd9"], "race", [0, 1, 1, 2, 2, 0]),
        (["gender", "icd9"], "zipcode", [0, 1, 1, 2, 2, 0]),
        (["hospital", "race"], "zipcode", [0, 1, 0, 1, 2, 2]),
    ]
    for place, (visible, hidden, buckets) in enumerate(layout, start=1):
        rows = [[record[name] for name in visible] + [b] for record, b in zip(records, buckets, strict=True)]
        write(folder / f"table-{place}.csv", [*visible, "bucket"], rows)
        listed = sorted([b, r[hidden], 1, hidden] for r, b in zip(records, buckets, strict=True))
        write(folder / f"table-{place}-sensitive.csv", ["bucket", "value", "count", "column"], listed)


def write(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def parts_of(*tables):
    return {f"table-{place}": Part(pa.table(columns)) for place, columns in enumerate(tables, start=1)}


def test_the_audit_derives_guardians_and_names_the_failing_condition():
    """Nothing but the parts is given: an exact table, and a chain of tables, are both seen through."""
    data = table()
    asked = policy("a -> c : 2-diversity")
    exact = parts_of(data)
    (finding,) = judge_claims(ReleaseView(SubTables(), exact, asked))
    assert finding.holds  # a and c are independent enough here: the table satisfies the rule as it is
    linked = dict(data, c=[f"c{value[1:]}" for value in data["a"]])
    (finding,) = judge_claims(ReleaseView(SubTables(), parts_of(linked), asked))
    assert not finding.holds
    assert "condition (ii)" in finding.reason
    chain = parts_of(*({name: linked[name] for name in pair} for pair in ("ab", "bc", "ac")))
    (finding,) = judge_claims(ReleaseView(SubTables(), chain, asked))
    assert not finding.holds
    assert "condition (iii)" in finding.reason


def test_a_bucket_that_is_made_uniform_is_refused(tmp_path):
    publication = sf.publish(policy("a, b -> c : 3-diversity"), data=table(), seed=secret(3))
    name = next(name for name in publication.release.parts if name.endswith("-sensitive"))
    frame = publication.release.parts[name].to_polars()
    first = frame["value"][0]
    worse = frame.with_columns(value=pl.lit(first)).group_by(["bucket", "value", "column"], maintain_order=True)
    spoilt = worse.sum().select("bucket", "value", "count", "column")
    parts = {**publication.release.parts, name: Part(spoilt.to_arrow())}
    assert not all(finding.holds for finding in judge_claims(evidence(publication, parts=parts)))
    missing = {key: part for key, part in publication.release.parts.items() if key != name}
    assert not all(finding.holds for finding in judge_claims(evidence(publication, parts=missing)))


def test_tables_in_the_same_order_are_refused():
    publication = sf.publish(policy("a -> c : 2-diversity", "c -> a : 2-diversity"), data=table(), seed=secret(3))
    rows = publication.release.trace.rows
    assert len(rows) > 1
    same = dict.fromkeys(rows, next(iter(rows.values())))
    together = replace(evidence(publication), trace=Provenance(same), original=publication.original)
    assert any(finding.model == "agreement" and "same row order" in finding.reason for finding in certify(together))


def test_nothing_but_shared_columns_links_the_tables():
    publication = sf.publish(policy("a -> c : 2-diversity", "b -> d : 2-diversity"), data=table(2000), seed=None)
    orders = list(publication.release.trace.rows.values())
    for i, one in enumerate(orders):
        for other in orders[i + 1 :]:
            assert (one == other).mean() < 0.02
            assert abs(np.corrcoef(one, other)[0, 1]) < 0.15


@given(problems(), st.integers(0, 2), st.sampled_from(METHODS))
@settings(max_examples=30 if SLOW else 12, deadline=None)
def test_the_audits_figure_is_the_posterior_over_all_worlds(problem, seed, method):
    """What the certificate says an outsider reaches is exactly what enumeration of all worlds gives, never less."""
    columns, rules = problem
    data = {name: [str(code) for code in codes] for name, codes in columns.items()}
    claims = [f"{', '.join(sorted(each.given))} -> {each.hidden} : 2-diversity" for each in rules]
    publication = sf.publish(policy(*claims, method={method: {}}), data=data, seed=secret(seed))
    tables = [worlds_table(publication.release.parts, name) for name in publication.release.parts if name[-1].isdigit()]
    for each, finding in zip(rules, publication.certificate.findings, strict=False):
        believed = largest_posterior(tables, sorted(each.given), each.hidden)
        assert believed <= Fraction(1, 2)
        assert float(believed) <= 1 / finding.achieved["l"] + 1e-5


def test_an_outsider_who_knows_a_dependency_gains_nothing():
    """Worlds that contradict the known map b → d are ruled out before believing; the rules still hold, or are
    refused."""
    known = {str(code): str(code // 2) for code in range(3)}
    published = 0

    @given(problems(), st.integers(0, 2), st.sampled_from(METHODS))
    @settings(max_examples=25, deadline=None)
    def nothing_is_gained(problem, seed, method):
        nonlocal published
        columns, rules = problem
        columns = {**columns, "d": columns["b"] // 2}
        data = {name: [str(code) for code in codes] for name, codes in columns.items()}
        rules = [each for each in rules if each.hidden != "d"]
        assume(rules)
        claims = [f"{', '.join(sorted(each.given))} -> {each.hidden} : 2-diversity" for each in rules]
        try:
            publication = sf.publish(
                policy(*claims, knows=["b -> d"], method={method: {}}), data=data, seed=secret(seed)
            )
        except (sf.Infeasible, sf.PolicyError):  # or the rule asks to hide what the dependency ties to what is given
            return
        published += 1
        tables = [
            worlds_table(publication.release.parts, name) for name in publication.release.parts if name[-1].isdigit()
        ]
        for each in rules:
            given_now = sorted(each.given | ({"d"} if "b" in each.given else set()))
            believed = largest_posterior(
                tables, given_now, each.hidden, lambda person: known[person["b"]] == person["d"]
            )
            assert believed <= Fraction(1, 2)

    nothing_is_gained()
    assert published >= 3


def test_columns_that_are_not_published_may_tie_others_together():
    data = table()
    data["region"] = [f"r{int(value[1:]) % 3}" for value in data["b"]]
    data["d"] = [f"s{value[1:]}" for value in data["region"]]
    columns = {**dict.fromkeys("abcd", "other"), "region": {"role": "other", "publish": False}}
    columns["secret"] = {"role": "other", "publish": False}
    data["secret"] = ["same"] * 240
    tree = {"version": 1, "columns": columns, "knows": ["b -> region", "region -> d"]}
    asked = sf.Policy.parse(
        {**tree, "protect": ["region -> c : 2-diversity", "a -> d : 2-diversity", "c -> secret : 9-diversity"]}
    )
    publication = sf.publish(asked, data=data, seed=secret(1))
    assert publication.certificate.holds
    assert "region" not in {name for part in publication.release.parts.values() for name in part.table.column_names}
    data["d"] = [f"s{int(value[1:]) // 2}" for value in data["region"]]
    with pytest.raises(sf.Infeasible, match="'d' breaks"):
        sf.publish(asked, data=data, seed=secret(1))


def worlds_table(parts, name):
    shown = parts[name].table.to_pylist()
    visible = [{key: value for key, value in row.items() if key != "bucket"} for row in shown]
    if "bucket" not in parts[name].table.column_names:
        return visible, None, []
    buckets = [row["bucket"] for row in shown]
    listed = parts[f"{name}-sensitive"].table.to_pylist()
    pools = {}
    for entry in listed:
        pools.setdefault(entry["bucket"], []).extend([{entry["column"]: entry["value"]}] * entry["count"])
    return visible, buckets, [pools[bucket].pop() for bucket in buckets]


def test_estimates_answer_questions_by_mapping_and_by_words():
    publication = sf.publish(policy("a -> c : 2-diversity"), data=table(), seed=secret(3))
    answering = sf.estimate(publication)
    truth = sum(a == "a1" and d in ("d2", "d3") for a, d in zip(table()["a"], table()["d"], strict=True))
    assert answering.count({"a": "a1", "d": ["d2", "d3"]}) == pytest.approx(truth)
    assert answering.count("count where a = a1 and d in (d2, 'd3')") == pytest.approx(truth)
    assert answering.count("count") == 240
    with pytest.raises(sf.PolicyError, match="no published table has a column"):
        answering.count("count where z = 1")
    with pytest.raises(sf.PolicyError):
        answering.count("count where a ==")


def test_other_forms_answer_questions_too(tmp_path):
    columns = {"a": {"role": "quasi-identifier", "hierarchy": "flat"}, "c": "sensitive"}
    for method, exact in (("anatomy", True), ("mondrian", False)):
        asked = sf.Policy.parse(
            {"version": 1, "columns": columns, "protect": [{"l-diversity": {"l": 2}}], "method": {method: {}}}
        )
        data = {"a": table()["a"], "c": table()["c"]}
        answering = sf.estimate(sf.publish(asked, data=data, seed=secret(1)).write(tmp_path / method))
        assert answering.people == 240
        assert answering.count("count where c = c1") == pytest.approx(data["c"].count("c1"))
        if exact:
            assert answering.count("count where a = a1") == pytest.approx(data["a"].count("a1"))
