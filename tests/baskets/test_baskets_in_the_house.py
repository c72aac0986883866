"""Baskets in the house: sources, policies, audit, tampering, attacks, demo."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from random_baskets import random_sets

import sfumato as sf
from sfumato.core.errors import DataError, Infeasible, PolicyError
from sfumato.data.baskets import Baskets
from sfumato.io.basket_source import BasketSource
from sfumato.kinds.baskets.attacks import BasketLinkage, FewItems, ReExecution, re_execution_play
from sfumato.kinds.baskets.checks import Assignments
from sfumato.kinds.baskets.published_baskets import from_table
from sfumato.release.folder import provenance_path
from sfumato.release.view import ReleaseView
from tests.command_line import run
from tests.secret import secret

ROWS = [{"a", "b"}, {"b"}, {"a", "c"}, {"c"}]


def same(baskets: Baskets) -> None:
    assert [set(baskets.set_of(i)) for i in range(4)] == ROWS


def test_fimi(tmp_path: Path) -> None:
    file = tmp_path / "x.dat"
    file.write_text("a b\nb\n\na c\nc\n")
    same(BasketSource(source=str(file)).read())


def test_items_column_with_labels(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("things;creed\na|b;x\nb;y\na|c;x\nc;z\n")
    baskets = BasketSource(source=str(file), items="things", separator="|").read()
    same(baskets)
    assert baskets.labels["creed"].tolist() == ["x", "y", "x", "z"]


def test_lists_in_a_frame() -> None:
    frame = pl.DataFrame({"things": [["a", "b"], ["b"], ["a", "c"], ["c"]], "creed": ["x", "y", "x", "z"]})
    same(BasketSource(items="things").read(frame))


def test_long_format(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("who,thing,creed\n1,a,x\n1,b,x\n2,b,y\n3,a,x\n3,c,x\n4,c,z\n")
    baskets = BasketSource(source=str(file), record="who", items="thing").read()
    same(baskets)
    assert baskets.labels["creed"].tolist() == ["x", "y", "x", "z"]
    file.write_text("who,thing,creed\n1,a,x\n1,b,DIFFERENT\n")
    with pytest.raises(DataError, match="differs") as caught:
        BasketSource(source=str(file), record="who", items="thing").read()
    assert "DIFFERENT" not in str(caught.value)


def test_wide_format(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("a,b,c,creed\n1,1,0,x\n0,1,0,y\n1,0,1,x\n0,0,1,z\n")
    baskets = BasketSource(source=str(file)).read()
    same(baskets)
    assert baskets.labels["creed"].tolist() == ["x", "y", "x", "z"]


def test_sources_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        BasketSource(source=str(tmp_path / "none.dat")).read()
    (tmp_path / "t.csv").write_text("name,town,age\nAda,Rome,7\n")
    with pytest.raises(DataError, match="0 and 1"):
        BasketSource(source=str(tmp_path / "t.csv")).read()
    with pytest.raises(DataError, match="no source"):
        BasketSource().read()


def people(count: int = 120, labels: int = 9, seed: int = 1) -> Baskets:
    rng = np.random.default_rng(seed)
    names = tuple(f"item{i}" for i in range(12))
    return Baskets(
        random_sets(rng, count, 12), names, {"label": rng.integers(0, labels, count).astype(str).astype(object)}
    )


def policy(*protect: object, columns: object = None, **method: object) -> sf.Policy:
    tree = {
        "version": 1,
        "data": {"kind": "baskets"},
        "columns": columns or {"label": "sensitive"},
        "protect": list(protect),
        "method": {"nonreciprocal": method},
    }
    return sf.Policy.parse(tree)


CLAIMS = [
    [{"k-anonymity": {"k": 5}}],
    [{"l-diversity": {"l": 3, "kind": "frequency"}}],
    [{"l-diversity": {"l": 3}}],
    [{"k-anonymity": {"k": 7}}, {"l-diversity": {"l": 2, "kind": "frequency"}}],
    [{"p-sensitivity": {"p": 2}}],
    [{"alpha-k-anonymity": {"alpha": 0.4, "k": 4}}],
    [{"km-anonymity": {"k": 4, "m": 2}}],
]


@pytest.mark.parametrize("protect", CLAIMS, ids=str)
@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_promised_holds_by_the_certificate_and_by_verify(
    protect: list[object], seed: int, tmp_path: Path
) -> None:
    publication = sf.publish(policy(*protect), data=people(seed=seed), seed=secret(seed))
    assert publication.certificate.holds
    folder = publication.write(tmp_path / "out", report=False)
    assert sf.verify(folder, original=people(seed=seed)).holds
    provenance_path(folder).unlink()
    audit = sf.verify(folder, original=people(seed=seed))
    assert not audit.violated
    by_share = [claim for claim in publication.policy.claims if claim.model.demand().largest_share < 1]
    assert [finding.model for finding in audit.open] == [claim.model.name for claim in by_share]  # only the trace tells
    text = (
        (folder / "manifest.json").read_text()
        + (folder / "policy.yaml").read_text()
        + (folder / "certificate.json").read_text()
    )
    assert "seed" not in text
    assert 'assignments":' not in text


def test_shift_mode_withholds_nothing(tmp_path: Path) -> None:
    publication = sf.publish(policy({"l-diversity": {"l": 3}}, labels="shift"), data=people(labels=12), seed=secret(3))
    assert publication.certificate.holds
    assert all(publication.release.parts["data"]["label"].to_pylist())
    assert "must know neither the items of all people nor any match" in publication.release.notes[0]


def test_rows_are_shuffled() -> None:
    baskets = people(300)
    release = sf.publish(policy({"k-anonymity": {"k": 3}}), data=baskets, seed=secret(5)).release
    behind = release.trace.rows["data"]
    assert abs(np.corrcoef(behind, np.arange(300))[0, 1]) < 0.25


def test_breaking_a_release_is_noticed(tmp_path: Path) -> None:
    baskets = people()
    folder = sf.publish(policy({"k-anonymity": {"k": 5}}), data=baskets, seed=secret(1)).write(
        tmp_path / "out", report=False
    )
    rows = (folder / "data.csv").read_text().splitlines()
    for name, broken in {
        "tight": [rows[0], *(",".join([*row.split(",")[:-2], "0", row.split(",")[-1]]) for row in rows[1:])],
        "twice": [*rows[:-1], rows[1]],
        "loose": [rows[0], rows[1].replace(rows[1].split(",")[2], "99"), *rows[2:]],
    }.items():
        copy = tmp_path / name
        shutil.copytree(folder, copy)
        (copy / "data.csv").write_text("\n".join(broken) + "\n")
        verdict = sf.verify(copy, original=baskets)
        wrong = {finding.model for finding in verdict.findings if not finding.holds}
        assert wrong - {"files"}, name


def test_a_label_on_the_wrong_row_is_noticed(tmp_path: Path) -> None:
    baskets = people(60, labels=20)
    folder = sf.publish(policy({"k-anonymity": {"k": 2}}), data=baskets, seed=secret(1)).write(
        tmp_path / "out", report=False
    )
    lines = (folder / "data.csv").read_text().splitlines()
    lines[1] = lines[1].rpartition(",")[0] + ',"unheard of"'
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    failing = {finding.model for finding in sf.verify(folder, original=baskets).findings if not finding.holds}
    assert "one-to-one" in failing


def test_a_graph_that_is_not_regular_is_noticed() -> None:
    baskets = people(50)
    publication = sf.publish(policy({"k-anonymity": {"k": 4}}), data=baskets, seed=secret(1))
    release = publication.release
    graph = release.trace.assignments
    bare = ReleaseView(release.form, release.parts, publication.policy, original=baskets)
    true_round = int((graph == release.trace.rows["data"]).all(axis=1).argmax())
    for spoil in ("shared edge", "not one to one", "true one missing", "not compatible"):
        wrong = graph.copy()
        if spoil == "shared edge":
            wrong[(true_round + 1) % 4] = wrong[true_round]
        elif spoil == "not one to one":
            wrong[(true_round + 1) % 4, 0] = wrong[(true_round + 1) % 4, 1]
        elif spoil == "true one missing":
            wrong = np.delete(wrong, true_round, axis=0)
        else:
            wrong[(true_round + 1) % 4] = np.roll(wrong[(true_round + 1) % 4], 25)
        assert Assignments().examine(replace(bare, trace=replace(release.trace, assignments=graph))).holds
        assert not Assignments().examine(replace(bare, trace=replace(release.trace, assignments=wrong))).holds, spoil


def test_the_compact_form_says_the_same(tmp_path: Path) -> None:
    baskets = people(200)
    publication = sf.publish(policy({"l-diversity": {"l": 3, "kind": "frequency"}}), data=baskets, seed=secret(1))
    readable = publication.write(tmp_path / "csv", report=False)
    compact = publication.write(tmp_path / "parquet", format="parquet", report=False)
    assert sf.verify(compact, original=baskets).holds
    assert sf.measure(compact, original=baskets) == sf.measure(readable, original=baskets)
    assert (compact / "data.parquet").stat().st_size < (readable / "data.csv").stat().st_size


def test_without_the_original_nothing_is_claimed_about_people(tmp_path: Path) -> None:
    folder = sf.publish(policy({"k-anonymity": {"k": 3}}), data=people(40), seed=secret(1)).write(
        tmp_path / "out", report=False
    )
    finding = next(f for f in sf.verify(folder).findings if f.model == "k-anonymity")
    assert finding.grade == "not judged"
    assert not finding.achieved


@pytest.mark.parametrize(
    ("protect", "columns"),
    [
        ([{"t-closeness": {"t": 0.2}}], None),
        ([{"l-diversity": {"l": 2, "kind": "entropy"}}], None),
        ([{"k-anonymity": {"k": 2}}], {"label": "quasi-identifier"}),
    ],
)
def test_what_a_ring_cannot_do_is_refused_before_data_moves(protect: list[object], columns: object) -> None:
    with pytest.raises(PolicyError):
        sf.publish(policy(*protect, columns=columns), data=people())


def test_infeasible_has_a_reason() -> None:
    with pytest.raises(Infeasible, match="candidates"):
        sf.publish(policy({"k-anonymity": {"k": 500}}), data=people(40))
    with pytest.raises(Infeasible, match="different labels"):
        sf.publish(policy({"l-diversity": {"l": 8}}), data=people(100, labels=3))


def test_items_with_blanks_get_another_separator(tmp_path: Path) -> None:
    rows = [["green tea"], ["green tea", "soap"], ["soap"], ["soap", "salt"]] * 3
    baskets = Baskets.of(rows, {"label": list("abcdefghijkl")})
    folder = sf.publish(policy({"k-anonymity": {"k": 2}}), data=baskets, seed=secret(1)).write(tmp_path / "out")
    assert json.loads((folder / "manifest.json").read_text())["public"]["separator"] == ","
    assert sf.verify(folder, original=baskets).holds


def test_adversaries_get_what_the_promise_allows(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    lines = ["items,label"]
    for _ in range(400):
        bought = [f"i{j}" for j in range(14) if rng.random() < 0.35] or ["i0"]
        lines.append(f"{' '.join(bought)},{rng.integers(0, 12)}")
    data = tmp_path / "data.csv"
    data.write_text("\n".join(lines) + "\n")
    tree = {
        "version": 1,
        "data": {"kind": "baskets", "source": str(data), "items": "items"},
        "columns": {"label": "sensitive"},
        "protect": [{"k-anonymity": {"k": 6}}, {"l-diversity": {"l": 3, "kind": "frequency"}}],
    }
    folder = sf.publish(sf.Policy.parse(tree), seed=secret(2)).write(tmp_path / "out", report=False)
    linkage = BasketLinkage(target=str(folder), original=str(data)).run()
    assert linkage["fewest_candidates"] >= 6
    again = ReExecution(target=str(folder), original=str(data)).run()
    assert again["rows_found"] <= again["promised"] + 1e-12
    assert again["people_beyond_the_promise"] == 0
    beside = ReExecution(target=str(folder), original=str(data), insiders=0.1).run()
    assert beside["insiders"] > 0
    assert beside["fewest_candidates"] < again["fewest_candidates"]
    few = FewItems(target=str(folder), original=str(data), m=2, k=6).run()
    assert few["people_below_6"] == 0


def test_on_a_ring_adversaries_get_what_the_promise_allows() -> None:
    baskets = people(400, labels=12)
    publication = sf.publish(policy({"l-diversity": {"l": 3, "kind": "frequency"}}), data=baskets, seed=secret(2))
    worlds = from_table(publication.exhibit.data)
    again = re_execution_play(baskets, worlds, "window", publication.release.form.degree, balance=0.01)
    assert again["rows_placed_on_the_ring"] == 1.0
    assert again["guesses_right_with_hints:label"] <= 1 / 3 + 0.07


def test_labels_merely_withheld_bound_no_share() -> None:
    with pytest.raises(PolicyError, match="hint"):
        sf.publish(policy({"l-diversity": {"l": 3, "kind": "frequency"}}, labels="withhold"), data=people())


def test_few_items_on_somebody_elses_file(tmp_path: Path) -> None:
    file = tmp_path / "theirs.dat"
    file.write_text("1 2\n1 2\n1 3\n")
    assert FewItems(target=str(file), m=1, k=2).run() == {"people": 3, "m": 1, "fewest_baskets": 1, "people_below_2": 1}


def test_policies_work_verbatim_from_the_command_line(shared: Path, tmp_path: Path) -> None:
    out, original = tmp_path / "sports", str(shared / "policies" / "sports.csv")
    assert run("publish", str(shared / "policies" / "sports.yaml"), "--out", str(out)).returncode == 0
    header = (out / "data.csv").read_text().splitlines()[0].replace('"', "")
    assert header == "items,distance_items,threshold,religion"
    assert (out / "report.html").read_text().count("What a published basket says") == 1
    assert run("verify", str(out), "--original", original).returncode == 0
    measured = run("measure", str(out), "--original", original, "--json")
    assert set(json.loads(measured.stdout)) >= {"bit_error_rate", "query_error"}
    assert run("check", str(shared / "policies" / "chess.yaml")).returncode == 0
