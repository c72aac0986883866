"""Classes that do not fit on the driver: regions are cut from counts and solved on the cluster, and claims hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.generalization import Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.engines.base import COUNT, IDENTITY
from sfumato.engines.spark import SparkEngine
from sfumato.engines.spark_regions import FIRST, LABEL, LAST
from sfumato.errors import AuditRefused, Infeasible, PolicyError
from sfumato.methods.base import Method
from sfumato.methods.recoding.base import stated_claims
from sfumato.methods.recoding.global_recoding import Global
from sfumato.methods.recoding.mondrian import Mondrian
from sfumato.methods.recoding.problem import Requirement
from sfumato.methods.recoding.regions import ColumnTally, RegionCut, best_cut, routed
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.p_sensitivity import PSensitivity
from sfumato.policy.generalizations import generalization_of
from sfumato.registry import find
from sfumato.spine import cluster
from sfumato.spine.regions import solved, unfit_for_regions
from tests.engines.people import COLUMNS, people, policy, rows_of
from tests.secret import SEED


def _tallies(codes: list[np.ndarray], ill: np.ndarray) -> list[ColumnTally]:
    made = []
    for column in codes:
        code, at = np.unique(column, return_inverse=True)
        records = np.bincount(at)
        made.append(ColumnTally(code, records, records, {"ill": (at, ill, np.ones(len(ill), dtype=np.int64))}))
    return made


@pytest.mark.parametrize("seed", range(20))
def test_both_sides_of_a_cut_hold(seed: int) -> None:
    """By brute force: the chosen cut leaves two sides that hold, and no cut is found only where there is none."""
    draw = np.random.default_rng(seed)
    domains = [Ranges(tuple(str(leaf) for leaf in range(12))), Hierarchy.flat(["a", "b", "c"])]
    codes = [draw.integers(0, 12, 40), draw.choice(3, 40, p=[0.6, 0.3, 0.1])]
    ill = draw.choice(3, 40, p=[0.7, 0.2, 0.1])
    asked = [Requirement(KAnonymity(k=8)), Requirement(PSensitivity(p=2), ("ill",))]
    found = best_cut(_tallies(codes, ill), domains, asked, {"ill": ("x", "y", "z")})

    def holds(inside: np.ndarray) -> bool:
        return int(inside.sum()) >= 8 and len(set(ill[inside])) >= 2

    able = {
        (column, place)
        for column in range(2)
        for place in range(1, 12)
        if holds(codes[column] < place) and holds(codes[column] >= place)
    }
    assert found in able if able else found is None


def test_the_children_of_a_node_are_cut_apart() -> None:
    """A tree of two branches is cut between them, and a column that saves more comes first."""
    tree = Hierarchy.from_paths([["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["d", "y", "*"]])
    codes = [np.array([0, 1, 2, 3] * 5), np.array([0] * 10 + [1] * 10)]
    ill = np.zeros(20, dtype=np.int64)
    asked = [Requirement(KAnonymity(k=4))]
    assert best_cut(_tallies(codes, ill), [tree, Hierarchy.flat(["f", "m"])], asked, {"ill": ("x",)}) == (1, 1)
    assert best_cut(_tallies(codes[:1], ill), [tree], asked, {"ill": ("x",)}) == (0, 2)
    assert best_cut(_tallies(codes[:1], ill), [tree], [Requirement(KAnonymity(k=11))], {"ill": ("x",)}) is None


def test_regions_are_boxes() -> None:
    codes = [np.array([0, 4, 5, 9]), np.array([1, 0, 1, 0])]
    assert routed([RegionCut(0, 0, 5, 1), RegionCut(0, 1, 1, 2), RegionCut(1, 1, 1, 3)], codes).tolist() == [2, 0, 3, 1]


@pytest.mark.parametrize("seed", range(40))
def test_regions_of_random_tables_hold(seed: int) -> None:
    """Without a cluster: cut, solve each region, lay the shares together; claims are counted plainly on what would be published."""
    published, gone = in_regions(seed)
    groups: dict[tuple[str, ...], Counter[str]] = {}
    for (*known, ill), many in published.items():
        groups.setdefault(tuple(known), Counter())[ill] += many
    assert sum(published.values()) + gone == RECORDS
    assert gone == 0
    assert all(each.total() >= 4 and len(each) >= 2 for each in groups.values())


RECORDS = 240


def in_regions(seed: int) -> tuple[Counter[tuple[str, ...]], int]:
    """What would be published of a random table, and how many records would not be."""
    draw = np.random.default_rng(seed)
    names = ("age", "town", "illness")
    table = people(RECORDS, seed=int(draw.integers(1 << 30))).select(names)
    classes = table.group_by(names).aggregate([([], "count_all")])
    counts, ids = classes.column("count_all").to_numpy(), np.arange(classes.num_rows)
    asked = policy(str(draw.choice(["mondrian", "clustering"])), protect=[{"k-anonymity": {"k": 4}}, {"p-sensitivity": {"p": 2}}])
    texts = {name: classes.column(name).to_pylist() for name in names}
    domains = {name: generalization_of(asked, name, sorted(set(texts[name]))) for name in ("age", "town")}
    codes = [np.array([domain.code_of[text] for text in texts[name]]) for name, domain in domains.items()]
    kinds = sorted(set(texts["illness"]))
    ill = np.array([kinds.index(text) for text in texts["illness"]])
    cuts: list[RegionCut] = []
    waiting = [0]
    while waiting:
        region = waiting.pop()
        inside = np.flatnonzero(routed(cuts, codes) == region)
        if len(inside) > int(draw.integers(5, 60)):
            tallies = [_weighed(column[inside], ill[inside], counts[inside]) for column in codes]
            found = best_cut(tallies, list(domains.values()), stated_claims(asked), {"illness": tuple(kinds)})
            if found is not None:
                cuts.append(RegionCut(region, *found, len(cuts) + 1))
                waiting += [region, len(cuts)]
    whole = classes.rename_columns([*names, COUNT]).append_column(IDENTITY, pa.array(ids))
    columns = {name: c.model_copy(update={"hierarchy": domains.get(name, c.hierarchy)}) for name, c in asked.columns.items()}
    bound, method = replace(asked, columns=columns), find("methods", Method, asked.method.name)()
    published: Counter[tuple[str, ...]] = Counter()
    place = routed(cuts, codes)
    for region in np.unique(place):
        shares = solved(bound, method, b"\x01" * 32, names, ("age", "town"), whole.take(pa.array(np.flatnonzero(place == region))))
        for share in shares.to_pylist():
            row = share[IDENTITY]
            published[share[f"{LABEL}0"], share[f"{LABEL}1"], texts["illness"][row]] += share[LAST] - share[FIRST]
    return published, RECORDS - sum(published.values())


def _weighed(column: np.ndarray, ill: np.ndarray, counts: np.ndarray) -> ColumnTally:
    code, at = np.unique(column, return_inverse=True)
    records = np.bincount(at, weights=counts).astype(np.int64)
    return ColumnTally(code, records, np.bincount(at), {"illness": (at, ill, counts)})


def test_claims_that_need_the_whole_are_not_for_regions() -> None:
    assert "t-closeness" in unfit_for_regions(policy(protect=[{"k-anonymity": {"k": 2}}, {"t-closeness": {"t": 0.3}}]), Mondrian())
    age = COLUMNS["age"] | {"boundary": {"level": 2}}
    assert "boundaries" in unfit_for_regions(policy(columns=COLUMNS | {"age": age}), Mondrian())
    assert unfit_for_regions(policy(), Mondrian()) == ""
    assert "all of them at once" in unfit_for_regions(policy(), Global())


def test_a_table_in_regions_holds(spark: Any, tmp_path: Path) -> None:
    table = people(1500, seed=5)
    engine = SparkEngine(spark, tmp_path, most_classes=100, region_classes=80)
    found = sf.publish(policy(), data=spark.createDataFrame(table), engine=engine, seed=SEED)
    assert found.certificate.holds
    assert any("region by region" in said for said in found.certificate.assumptions)
    assert "truthfulness" in {finding.model for finding in found.findings}
    out = found.write(tmp_path / "out")
    assert sf.verify(out, original=table).holds
    published = rows_of(out)
    for name in ("illness", "ward"):
        assert Counter(published.column(name).to_pylist()) == Counter(table.column(name).to_pylist())


def test_a_region_that_lies_is_found(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit on the cluster does not take the method's word: labels that do not cover their class are refused."""
    true = cluster.solver

    def lying(*given: Any) -> Any:
        solve = true(*given)

        def lie(classes: pa.Table) -> pa.Table:
            shares = solve(classes)
            return shares.set_column(2, shares.column_names[2], pa.array(["20"] * shares.num_rows))

        return lie

    monkeypatch.setattr(cluster, "solver", lying)
    engine = SparkEngine(spark, tmp_path, most_classes=50, region_classes=1000)
    with pytest.raises(AuditRefused, match="truthfulness"):
        sf.publish(policy(), data=spark.createDataFrame(people(300, seed=6)), engine=engine)


def test_a_region_of_all_that_fails_is_infeasible_and_what_compares_is_refused(spark: Any) -> None:
    engine = SparkEngine(spark, most_classes=10)
    frame = spark.createDataFrame(people(60, seed=7))
    with pytest.raises(Infeasible):
        sf.publish(policy(protect=[{"k-anonymity": {"k": 100}}]), data=frame, engine=engine)
    with pytest.raises(PolicyError, match="t-closeness compares"):
        sf.publish(policy(protect=[{"t-closeness": {"t": 0.5}}]), data=frame, engine=engine)
