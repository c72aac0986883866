"""Partitions with names, properties that recipients can use, and the outsider who looks for rows."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit.certify import certify
from sfumato.core.errors import Infeasible, PolicyError, SfumatoError
from sfumato.core.randomness import Randomness
from sfumato.kinds.testdata.methods.kernels.pattern_walk import NARROW, WIDE
from sfumato.kinds.testdata.methods.linear_properties import crossing_localities, localities
from sfumato.kinds.testdata.pattern_checks import reidentified_share
from sfumato.policy.constraint_language import parse
from sfumato.policy.policy import Policy
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView
from tests.secret import secret

SCORES = {"integers": [0, 100]}


def policy_of(keep, **method):
    columns = {
        "score": {"role": "replaced", "domain": SCORES},
        "class": "other",
        "room": {"role": "other", "publish": False},
    }
    tree = {"version": 1, "data": {"kind": "table"}, "method": {"pattern-walk": {"steps": 3000} | method}, "keep": keep}
    return Policy.parse(tree | {"columns": columns})


def school(count=60, seed=3):
    rng = np.random.default_rng(seed)
    names = rng.choice(["A", "B", "C"], count)
    return pl.DataFrame({"score": rng.integers(0, 101, count), "class": names, "room": names})


def exhibit_of(made):
    return ReleaseView(
        made.release.form, made.release.parts, made.policy, original=made.original, trace=made.release.trace
    )


def finding(exhibit, name):
    return next(found for found in certify(exhibit) if found.model == name)


def by_record(made):
    after = np.empty(len(made.original.frame), int)
    after[made.release.trace.rows["data"]] = made.release.parts["data"].to_polars()["score"].cast(int)
    return after


@pytest.fixture(scope="module")
def told():
    keep = ["localities(score) sample 0.3 partition by class across 10", "score[1] + score[2] <= score[3] + 200"]
    return sf.publish(policy_of(keep, tell="kept"), data=school(), seed=secret(8))


def test_scores_of_a_class_keep_their_order_and_classes_move_apart():
    data = school()
    made = sf.publish(policy_of(["localities(score) partition by class"]), data=data, seed=secret(8))
    before, after, names = data["score"].to_numpy(), by_record(made), data["class"].to_numpy()
    for one, two in combinations(range(len(data)), 2):
        if names[one] == names[two]:
            assert np.sign(before[one] - before[two]) * np.sign(after[one] - after[two]) >= 0
            assert (before[one] == before[two]) <= (after[one] == after[two])
    assert finding(exhibit_of(made), "localities").holds
    assert (before != after).any()


def every_loose_crossing(values, home):
    points = sorted(set(zip(home, values, strict=True)))
    found = set()
    for chosen in combinations(range(len(points)), 3):
        i, j, k = sorted(chosen, key=lambda point: points[point][1])
        (p, a), (q, b), (r, c) = points[i], points[j], points[k]
        if len({p, q, r}) >= 2 and a < b < c:
            found.add((i, j, k, NARROW if b - a <= c - b else WIDE))
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), min_size=1, max_size=14),
    st.integers(1, 12),
    st.integers(0, 99),
)
def test_localities_across_classes_against_all_triples(people, count, seed):
    home = np.unique([home for home, _ in people], return_inverse=True)[1].astype(np.int64)
    data = np.array([value for _, value in people], dtype=np.int64)
    inside, possible = localities(data, home, 0.5, Randomness(1)), every_loose_crossing(data.tolist(), home.tolist())
    assert {
        tuple(row) for row in crossing_localities(inside, data, 10_000, Randomness(seed), loose=True).tolist()
    } == possible
    some = [tuple(row) for row in crossing_localities(inside, data, count, Randomness(seed), loose=True).tolist()]
    assert len(set(some)) == len(some) == min(count, len(possible))


def test_told_properties_are_true_of_the_rows_they_name_and_of_the_records_behind_them(told):
    kept, data = told.release.parts["kept"].to_polars(), told.release.parts["data"].to_polars()
    behind, old = told.release.trace.rows["data"], school()["score"].to_numpy()
    new = data["score"].cast(int).to_numpy()
    lines = [row for row in kept.iter_rows(named=True) if row["column"]]
    assert len(lines) == len(told.release.trace.localities["score"]) > 20
    for line in lines:
        rows = [int(line[name]) - 1 for name in ("low", "middle", "high")]
        for values in (new[rows], old[behind[rows]]):
            low, middle, high = values.tolist()
            assert low <= middle <= high
            assert middle - low >= high - middle if line["wider"] == "low" else middle - low <= high - middle
    rule = next(row["rule"] for row in kept.iter_rows(named=True) if row["rule"])
    rows = [int(word.split("]")[0]) for word in rule.split("[")[1:]]
    assert [int(behind[row - 1]) for row in rows] == [0, 1, 2]


def test_recipients_judge_what_they_are_told_without_the_original(told, tmp_path):
    out = told.write(tmp_path / "out")
    assert next(found for found in sf.verify(out).findings if found.model == "named records").holds
    assert sf.verify(out, original=school()).holds


@pytest.mark.parametrize("change", ["row", "side", "fewer", "rule", "column"])
def test_audit_sees_a_false_line(told, change):
    exhibit, kept = exhibit_of(told), told.release.parts["kept"].to_polars()
    assert finding(exhibit, "named records").holds
    lines = [list(row) for row in kept.iter_rows()]
    last = lines[-1]
    if change == "row":
        last[2], last[4] = last[4], last[2]
    elif change == "side":
        last[5] = "high" if last[5] == "low" else "low"
    elif change == "fewer":
        lines.pop()
    elif change == "column":
        last[1] = "class"
    else:
        lines[0][0] = "score[1] + score[2] <= score[4] + 200"
    edited = pl.DataFrame(lines, schema=kept.schema, orient="row")
    parts = {**exhibit.parts, "kept": Part(edited.to_arrow())}
    assert not finding(replace(exhibit, parts=parts), "named records").holds


def test_what_recipients_alone_find_false(told):
    """A line about rows that do not exist, one that the published rows refute, and a rule nobody can read."""
    public = replace(exhibit_of(told), original=None, trace=type(told.release.trace)())
    kept = told.release.parts["kept"].to_polars()
    for line in (
        ["", "score", "1", "2", "999", "low"],
        ["score[1] <=", "", "", "", "", ""],
        ["score <= 100", "", "", "", "", ""],
    ):
        edited = pl.concat([kept, pl.DataFrame([line], schema=kept.schema, orient="row")])
        parts = {**public.parts, "kept": Part(edited.to_arrow())}
        assert finding(replace(public, parts=parts), "named records").achieved["broken"] == 1


def test_rows_in_the_order_of_the_source_are_the_records_that_rules_name(tmp_path):
    made = sf.publish(
        policy_of(["score[1] + score[2] <= score[3] + 200"], rows="ordered"), data=school(), seed=secret(8)
    )
    assert made.release.trace.rows["data"].tolist() == list(range(60))
    assert any("order of the source" in note for note in made.certificate.assumptions)
    out = made.write(tmp_path / "out")
    alone = sf.verify(out)
    assert next(found for found in alone.findings if found.model == "rules").achieved["rules"] == 1
    exhibit = exhibit_of(made)
    moved = replace(exhibit, trace=replace(exhibit.trace, rows={"data": np.roll(np.arange(60), 1)}))
    assert not finding(moved, "named records").holds


def test_a_partition_nobody_can_see_is_refused():
    with pytest.raises(PolicyError, match="not published as it is"):
        sf.publish(policy_of(["localities(score) partition by room"]), data=school(), seed=secret(8))


@pytest.mark.parametrize(
    "text", ["localities(v) partition by", "localities(v) partition near", "localities(v) across 3"]
)
def test_half_a_partition_is_no_rule(text):
    with pytest.raises(SfumatoError):
        parse(text)


def test_records_near_each_other_move_no_farther_than_their_neighbours():
    rng = np.random.default_rng(2)
    centre = rng.integers(0, 4, 80) * 250
    data = pl.DataFrame({"a": centre + rng.integers(0, 40, 80), "b": 999 - centre + rng.integers(-30, 0, 80)})
    domain = {"role": "replaced", "domain": {"integers": [0, 1000]}}
    tree = {"version": 1, "data": {"kind": "table"}, "columns": {"a": domain, "b": domain}}
    method = {"pattern-walk": {"range": "partition", "steps": 3000}}
    keep = ["localities(a, b) sample 0.1 partition near 5"]
    made = sf.publish(Policy.parse(tree | {"method": method, "keep": keep}), data=data, seed=secret(4))
    exhibit = exhibit_of(made)
    home = made.release.trace.partitions["a"]
    assert np.bincount(home).min() >= 5
    assert finding(exhibit, "localities").holds
    behind, after = made.release.trace.rows["data"], made.release.parts["data"].to_polars()
    for name in ("a", "b"):
        now, before = after[name].cast(int).to_numpy(), data[name].to_numpy()[behind]
        for own in range(home.max() + 1):
            inside = home[behind] == own
            assert before[inside].min() <= now[inside].min() <= now[inside].max() <= before[inside].max()
        assert np.median(np.abs(now - before)) < 40 < np.abs(before[:, None] - before).mean()
    split = {name: np.where(np.arange(80) == 0, home.max() + 1, home) for name in ("a", "b")}
    alone = replace(exhibit, trace=replace(exhibit.trace, partitions=split))
    assert not finding(alone, "localities").holds


def test_sample_nothing_keeps_no_locality_and_still_ties_and_boxes():
    keep = ["localities(score) sample 0 partition near 6"]
    made = sf.publish(policy_of(keep, range="partition"), data=school(), seed=secret(8))
    assert len(made.release.trace.localities["score"]) == 0
    assert finding(exhibit_of(made), "localities").holds
    before, after, home = school()["score"].to_numpy(), by_record(made), made.release.trace.partitions["score"]
    for own in range(home.max() + 1):
        old, new = before[home == own], after[home == own]
        assert old.min() <= new.min() <= new.max() <= old.max()
        assert len(set(zip(old, new, strict=True))) == len(set(old))
    assert (np.argsort(before, kind="stable") != np.argsort(after, kind="stable")).any()


def test_found_share_by_hand():
    before = np.array([[0.0], [1.0], [2.0], [3.0]])
    assert reidentified_share(before, before) == 1.0
    assert reidentified_share(before, before[::-1]) == 0.0
    assert reidentified_share(before, np.ones((4, 1))) == 0.25
    assert reidentified_share(before, np.array([[0.1], [0.9], [0.9], [6.0]])) == pytest.approx((1 + 0.5 + 0.5 + 0) / 4)


def test_an_outsider_who_knows_the_class_finds_by_rank_and_the_limit_refuses_it():
    """All localities keep the whole order of a class: whoever knows its scores reads everybody's new one."""
    data = pl.DataFrame(
        {"score": [*range(10, 40), *range(50, 80)], "class": ["A"] * 30 + ["B"] * 30, "room": ["x"] * 60}
    )
    keep = ["localities(score) sample 0.9 partition by class"]
    made = sf.publish(policy_of(keep), data=data, seed=secret(8))
    found = finding(exhibit_of(made), "linked rows")
    assert found.measured and found.achieved["by_place"] > 0.3
    with pytest.raises(Infeasible, match="linked rows"):
        sf.publish(policy_of(keep, linked_at_most=0.2), data=data, seed=secret(8))
    fine = sf.publish(policy_of(["score >= 0"], linked_at_most=0.2), data=data, seed=secret(8))
    judged = finding(exhibit_of(fine), "linked rows")
    assert judged.holds and judged.certainty == "estimate" and judged.achieved["share"] <= 0.2
