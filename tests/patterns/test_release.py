"""pattern-walk through the house: policy, release, audit, trace, metrics, report; and what happens when something is
broken."""

import json
import stat
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.spatial import cKDTree

import sfumato as sf
from sfumato.audit.certify import certify
from sfumato.core.errors import DataError, PolicyError
from sfumato.data.table import Table
from sfumato.kinds.testdata import pattern_checks
from sfumato.kinds.testdata.pattern_checks import (
    KeptLocalities,
    column_ranks,
    judged,
    majority,
    mid_ranks,
    nearest,
    some_people,
)
from sfumato.kinds.testdata.property_space import PropertySpace
from sfumato.policy.policy import Policy
from sfumato.release.folder import provenance_path, read_provenance
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from tests.secret import secret
from tests.slow import SLOW


def policy_of(keep, *, high=60, method=None, **columns):
    tree = {"version": 1, "data": {"kind": "table"}, "method": {"pattern-walk": method or {}}, "keep": keep}
    tree["columns"] = {"v": {"role": "replaced", "domain": {"integers": [0, high]}}, "s": "sensitive"} | columns
    return Policy.parse(tree)


def frame(count=80, seed=1, high=60):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"v": rng.integers(0, high + 1, count), "s": rng.choice(["a", "b", "c"], count)})


def evidence_of(publication):
    release = publication.release
    return ReleaseView(
        release.form, release.parts, publication.policy, original=publication.original, trace=release.trace
    )


def finding(evidence, name):
    return next(found for found in certify(evidence) if found.model == name)


@pytest.fixture(scope="module")
def publication():
    return sf.publish(policy_of(["localities(v) sample 0.3 partition 20"]), data=frame(), seed=secret(3))


def test_release_keeps_columns_rows_and_sensitive_values(publication):
    data = publication.release.parts["data"].to_polars()
    assert data.columns == ["v", "s"]
    assert sorted(data["s"]) == sorted(frame()["s"])
    assert publication.certificate.holds
    behind = publication.release.trace.rows["data"]
    assert sorted(behind.tolist()) == list(range(80))
    assert (behind != np.arange(80)).any()
    assert (data["s"].to_numpy() == frame()["s"].to_numpy()[behind]).all()


def test_certificate_says_that_privacy_is_measured(publication):
    said = " ".join(publication.certificate.assumptions)
    assert "not guaranteed" in said
    assert "pin" in said
    found = {entry.model: entry for entry in publication.findings}
    assert found["neighbours"].achieved["best_guess"] >= found["neighbours"].achieved["blind"]
    assert found["pinned"].achieved["values"] == 80
    assert {"distortion", "clustering_error", "query_error"} <= set(publication.utility)


def test_audit_sees_one_changed_value(publication):
    """Take a sampled locality that is nearly tight in the release and move its middle point across."""
    evidence = evidence_of(publication)
    assert finding(evidence, "localities").holds
    assert finding(evidence, "localities") == KeptLocalities().examine(evidence)
    data = publication.release.parts["data"].to_polars()
    broken = 0
    for row in range(len(data)):
        values = [int(v) for v in data["v"]]
        values[row] = 60 - values[row]
        edited = data.with_columns(pl.Series("v", [str(v) for v in values]))
        found = KeptLocalities().examine(replace(evidence, parts={"data": Part(edited.to_arrow())}))
        broken += not found.holds
    assert broken > 60


def test_audit_sees_missing_and_foreign_localities(publication):
    evidence = evidence_of(publication)
    triples = evidence.trace.localities["v"]
    fewer = replace(evidence, trace=replace(evidence.trace, localities={"v": triples[1:]}))
    assert finding(fewer, "localities").achieved["missing"] == 1
    foreign = triples.copy()
    foreign[0, 2] = (foreign[0, 2] + 20) % 80
    other = replace(evidence, trace=replace(evidence.trace, localities={"v": foreign}))
    assert finding(other, "localities").achieved["broken"] >= 1


def test_audit_counts_localities_like_the_method():
    for share, size in ((0.25, 7), (1, 9), (0.08, 20), (1, None)):
        rule = f"localities(v) sample {share}" + (f" partition {size}" if size else "")
        made = sf.publish(policy_of([rule], method={"steps": 500}), data=frame(50), seed=secret(2))
        assert finding(evidence_of(made), "localities").achieved["missing"] == 0


def test_folder_holds_nothing_private_and_the_trace_lies_beside(publication, tmp_path):
    out = publication.write(tmp_path / "out")
    beside = provenance_path(out)
    assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert not any("trace" in file.name for file in out.rglob("*"))
    stored = read_provenance(out, publication.release.form)
    assert (stored.rows["data"] == publication.release.trace.rows["data"]).all()
    text = (
        (out / "certificate.json").read_text() + (out / "manifest.json").read_text() + (out / "policy.yaml").read_text()
    )
    assert "seed" not in text
    assert "triples" not in text


def test_verify_and_measure_with_and_without_the_trace(publication, tmp_path):
    out = publication.write(tmp_path / "out")
    verdict = sf.verify(out, original=frame())
    assert verdict.holds
    assert {"localities", "neighbours", "pinned"} <= {found.model for found in verdict.findings}
    assert sf.measure(out, original=frame())["distortion"] == pytest.approx(publication.utility["distortion"])
    provenance_path(out).unlink()
    alone = sf.verify(out, original=frame())
    assert not alone.violated and [found.model for found in alone.open] == ["rules left open"]
    assert "localities" not in {found.model for found in alone.findings}
    assert "distortion" not in sf.measure(out, original=frame())


def test_tampered_folder_is_refused(publication, tmp_path):
    out = publication.write(tmp_path / "out")
    lines = (out / "data.csv").read_text().splitlines()
    value = lines[1].split(",")[0].strip('"')
    lines[1] = lines[1].replace(value, str(60 - int(value)), 1)
    (out / "data.csv").write_text("\n".join(lines) + "\n")
    assert not sf.verify(out, original=frame()).holds


def test_the_same_seed_gives_the_same_release_and_another_another():
    policy = policy_of(["localities(v) sample 0.3 partition 20"], method={"steps": 2000})
    one, two, other = (sf.publish(policy, data=frame(), seed=secret(seed)).release.parts["data"] for seed in (5, 5, 6))
    assert one == two
    assert one != other


@pytest.mark.parametrize(
    ("keep", "columns", "word"),
    [
        (["unique(v)"], {}, "not a linear inequality"),
        (["localities(w)"], {"w": "other"}, "not replaced"),
        ([], {"v": {"role": "replaced", "domain": {"values": ["1", "2"]}}}, "integers, decimals or dates"),
        ([], {"q": "quasi-identifier"}, "published unchanged"),
        ([], {"v": "other"}, "role 'replaced'"),
    ],
)
def test_policies_the_walk_cannot_serve_are_refused_before_data_moves(keep, columns, word):
    from sfumato.workflow.plan import plan

    with pytest.raises(PolicyError, match=word):
        plan(policy_of(keep, **columns))


def test_claims_are_refused_because_nothing_is_guaranteed():
    from sfumato.workflow.plan import plan

    policy = policy_of([])
    tree = dict(policy.document.tree) | {"protect": [{"given": ["s"], "hide": "v", "by": {"l-diversity": {"l": 2}}}]}
    with pytest.raises(PolicyError, match="guarantees no claim"):
        plan(Policy.parse(tree))


def test_values_outside_the_domain_are_counted_not_shown():
    with pytest.raises(DataError, match="3 values of 'v' are not in its domain") as caught:
        sf.publish(policy_of([], high=60), data={"v": ["1", "99", "x", ""], "s": ["a"] * 4})
    assert "99" not in str(caught.value).replace("3 values", "")


def test_decimals_and_days_are_published_as_they_are_written():
    columns = {"w": {"role": "replaced", "domain": {"decimals": [0, 5], "places": 2}},
               "d": {"role": "replaced", "domain": {"dates": ["2020-01-01", "2020-12-31"]}}}  # fmt: skip
    days = ["2020-02-01", "2020-03-01", "2020-04-01"]
    data = {"v": ["3", "9", "20"], "s": ["a", "b", "a"], "w": ["1.50", "2.25", "0.10"], "d": days}
    made = sf.publish(policy_of(["d[1] < d[2]", "w <= original.w + 0.5"], **columns), data=data, seed=secret(1))
    table = made.release.parts["data"].to_polars()
    assert all(len(w.split(".")[1]) == 2 for w in table["w"])
    assert all(d.startswith("2020-") for d in table["d"])


def test_range_partition_keeps_values_between_the_ends_of_their_partition():
    policy = policy_of(["localities(v) sample 0.2 partition 10"], method={"range": "partition", "steps": 3000})
    made = sf.publish(policy, data=frame(), seed=secret(4))
    after = np.empty(80, int)
    after[made.release.trace.rows["data"]] = made.release.parts["data"].to_polars()["v"].cast(int)
    before = frame()["v"].to_numpy().reshape(8, 10)
    after = after.reshape(8, 10)
    assert (after.min(axis=1) >= before.min(axis=1)).all()
    assert (after.max(axis=1) <= before.max(axis=1)).all()


def test_pinned_values_against_enumeration():
    """Random rules that the data keeps, some of them tight: what the audit calls pinned has one value in every legal
    table."""
    rng, found, tables = np.random.default_rng(3), [], 30 if SLOW else 12
    for _ in range(tables):
        data, factors = rng.integers(0, 6, 3), rng.integers(-2, 3, (4, 3))
        bounds = factors @ data - rng.integers(0, 2, 4) * rng.integers(0, 3, 4)
        left = [" + ".join(f"{f} * v[{i + 1}]" for i, f in enumerate(row)) for row in factors]
        rules = [f"{sum_} >= {bound}" for sum_, row, bound in zip(left, factors, bounds, strict=True) if row.any()]
        made = sf.publish(policy_of([rule.replace("+ -", "- ") for rule in rules], high=5), seed=secret(1),
                          data={"v": [str(v) for v in data], "s": ["a", "b", "c"]})  # fmt: skip
        space = PropertySpace(evidence_of(made))
        legal = np.array([p for p in product(range(6), repeat=3) if (factors @ np.array(p) >= bounds).all()])
        for cell in range(3):
            said = space.is_pinned(int(space.of["v"][cell]), int(data[cell]))
            true = np.unique(legal[:, cell]).size == 1
            assert not said or true
            found.append((said, true))
    assert (True, True) in found
    assert (False, False) in found
    assert found.count((False, True)) <= tables / 10  # the linear program sees real numbers between the whole ones


def test_a_value_fixed_by_a_rule_is_reported_as_pinned():
    made = sf.publish(
        policy_of(["v[2] = 5", "v[1] + v[2] <= 9"]), data={"v": ["3", "5", "11"], "s": ["a", "b", "c"]}, seed=secret(1)
    )
    assert finding(evidence_of(made), "pinned").achieved["pinned"] == 1


def test_a_value_between_a_rule_and_the_end_of_its_domain_is_pinned():
    """60 is the most that the domain has: no rule forbids 61, and none is needed."""
    made = sf.publish(policy_of(["v[2] >= 60"]), data={"v": ["3", "60", "11"], "s": ["a", "b", "c"]}, seed=secret(1))
    space = PropertySpace(evidence_of(made))
    assert [space.is_pinned(int(space.of["v"][cell]), level) for cell, level in enumerate((3, 60, 11))] == [
        False,
        True,
        False,
    ]


def test_neighbours_against_plain_loops():
    rng = np.random.default_rng(4)
    before, after = rng.random((40, 2)), rng.random((40, 2))
    label = rng.integers(0, 4, 40)
    near = nearest(before, after)
    for person in range(40):
        distance = ((after - before[person]) ** 2).sum(axis=1)
        assert (near[person] == np.argsort(distance)[:30]).all()
    found = judged(label, label, near, near)
    ranks = [next((k for k in range(30) if label[near[p][k]] == label[p]), None) for p in range(40)]
    for k in range(30):
        assert found.first[k] == pytest.approx(sum(rank == k for rank in ranks) / 40)
        assert found.equal[k] == pytest.approx(np.mean(label[near[:, k]] == label))
    guesses = [[np.bincount(label[near[p, : k + 1]], minlength=4).argmax() for p in range(40)] for k in range(30)]
    votes = max(np.mean(np.array(guess) == label) for guess in guesses)
    assert majority(label[near], label) == pytest.approx(votes)


def test_of_many_people_the_same_are_asked_for_in_any_order(monkeypatch):
    rng = np.random.default_rng(5)
    values, codes = rng.integers(0, 5, (400, 2)).astype(np.float64), rng.integers(0, 3, 400)
    assert (some_people(values, [codes]) == np.arange(400)).all()
    monkeypatch.setattr(pattern_checks, "ASKED", 50)
    order = rng.permutation(400)
    chosen, again = some_people(values, [codes]), order[some_people(values[order], [codes[order]])]
    assert len(set(chosen)) == 50
    assert sorted(zip(*values[chosen].T, codes[chosen], strict=True)) == sorted(
        zip(*values[again].T, codes[again], strict=True)
    )


def test_of_many_people_some_are_asked_for_and_that_is_said(publication, monkeypatch):
    monkeypatch.setattr(pattern_checks, "ASKED", 4)
    found = pattern_checks.Neighbours().examine(publication.exhibit)
    assert found.reason == f"measured on 4 of {publication.original.rows} people of this release, not guaranteed"
    assert 0 <= found.achieved["first_neighbour"] <= found.achieved["best_guess"] <= 1


def test_an_unchanged_table_gives_everybody_away():
    made = sf.publish(policy_of([f"v[{i}] = {10 * i}" for i in range(1, 7)]), data={"v": [str(10 * i) for i in range(1,
    7)],
                      "s": list("abcdef")}, seed=1)  # fmt: skip
    found = {entry.model: entry.achieved for entry in made.findings}
    assert found["neighbours"]["best_guess"] == 1.0
    assert found["pinned"]["pinned"] == 6


def test_reports_show_the_pattern_and_the_private_one_the_neighbours(publication, tmp_path):
    out = publication.write(tmp_path / "out")
    public = (out / "report.html").read_text()
    private = (tmp_path / "out.private.html").read_text()
    assert "Patterns that survived" in public
    assert "What neighbours say" not in public
    assert "What neighbours say about s" in private


def test_the_adult_policy_works_as_written(shared):
    policy = Policy.read(shared / "policies" / "adult-patterns.yaml")
    some = Table(policy.data.read(None).frame.slice(0, 400))
    made = sf.publish(policy, data=some.frame, seed=secret(1))
    assert made.certificate.holds
    assert json.dumps(made.certificate.to_json())
    assert made.release.parts["data"].table.column_names == ["age", "fnlwgt", "education-num", "occupation"]


def test_ranks_of_labels_and_neighbours_in_any_order_are_those_of_rows():
    rng = np.random.default_rng(5)
    texts = [
        f"{value:02d}" if place % 2 else str(value) for place, value in enumerate(rng.integers(0, 30, 300).tolist())
    ]
    table = Table(pa.table({"v": texts, "w": rng.integers(0, 9, 300).astype(str).tolist()}))
    rows = np.column_stack([table.numbers(name) for name in ("v", "w")])
    ranked = np.column_stack([column_ranks(table, name) for name in ("v", "w")])
    assert (ranked == mid_ranks(rows, rows)).all()
    some = rng.permutation(300)[:40]
    assert (column_ranks(table, "v", some) == ranked[some, 0]).all()
    asked = rng.normal(10, 8, (50, 2))
    found = np.linalg.norm(
        rows[nearest(asked, rows)] - asked[:, None], axis=2
    )  # of rows at one distance any may be named
    np.testing.assert_allclose(found, cKDTree(rows).query(asked, k=np.arange(1, 31))[0])
