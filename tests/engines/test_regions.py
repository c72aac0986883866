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
from sfumato.core.errors import AuditRefused, Infeasible, PolicyError
from sfumato.core.registry import find
from sfumato.data.generalization import Ranges
from sfumato.data.hierarchy import Hierarchy
from sfumato.engines.protocol import COUNT, IDENTITY
from sfumato.engines.spark.engine import SparkEngine
from sfumato.engines.spark.regions import FIRST, LABEL, LAST
from sfumato.engines.spark.workflow import publish
from sfumato.engines.spark.workflow.region_recoding import (
    ColumnTally,
    RegionCut,
    _cut,
    best_cut,
    route_to_regions,
    solved,
    unfit_for_regions,
)
from sfumato.kinds.tables.methods.full_domain import Global
from sfumato.kinds.tables.methods.mondrian import Mondrian
from sfumato.kinds.tables.methods.recoding import stated_requirements
from sfumato.kinds.tables.methods.recoding_problem import Requirement
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.p_sensitivity import PSensitivity
from sfumato.policy.generalizations import generalization_of
from sfumato.release.method import Method
from tests.engines.people import COLUMNS, people, policy, rows_of
from tests.secret import SEED
from tests.slow import SLOW


def _tallies(codes: list[np.ndarray], ill: np.ndarray) -> list[ColumnTally]:
    made = []
    for column in codes:
        code, at = np.unique(column, return_inverse=True)
        records = np.bincount(at)
        made.append(ColumnTally(code, records, records, {"ill": (at, ill, np.ones(len(ill), dtype=np.int64))}))
    return made


@pytest.mark.parametrize("seed", range(20))
def test_all_parts_of_a_cut_hold(seed: int) -> None:
    """By brute force: every part of the chosen cut holds, and where both sides of a median hold some cut is found."""
    draw = np.random.default_rng(seed)
    domains = [Ranges(tuple(str(leaf) for leaf in range(12))), Hierarchy.flat(["a", "b", "c"])]
    codes = [draw.integers(0, 12, 40), draw.choice(3, 40, p=[0.6, 0.3, 0.1])]
    ill = draw.choice(3, 40, p=[0.7, 0.2, 0.1])
    asked = [Requirement(KAnonymity(k=8)), Requirement(PSensitivity(p=2), ("ill",))]
    found = best_cut(_tallies(codes, ill), domains, asked, {"ill": ("x", "y", "z")})

    def holds(inside: np.ndarray) -> bool:
        return int(inside.sum()) >= 8 and len(set(ill[inside])) >= 2

    middle = np.sort(codes[0])[19]
    able = any(holds(codes[0] < place) and holds(codes[0] >= place) for place in (middle, middle + 1))
    assert found is not None or not able
    if found is not None:
        column, part = found
        of = part[np.searchsorted(np.unique(codes[column]), codes[column])]
        assert len(np.unique(of)) > 1
        assert all(holds(of == each) for each in np.unique(of))


def test_the_children_of_a_node_are_cut_apart() -> None:
    """A tree of two branches is cut between them, a column that saves more comes first, and what is rare stays
    together."""
    tree = Hierarchy.from_paths([["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"], ["d", "y", "*"]])
    codes = [np.array([0, 1, 2, 3] * 5), np.array([0] * 10 + [1] * 10)]
    ill, labels = np.zeros(20, dtype=np.int64), {"ill": ("x",)}
    asked = [Requirement(KAnonymity(k=4))]
    column, part = best_cut(_tallies(codes, ill), [tree, Hierarchy.flat(["f", "m"])], asked, labels)
    assert (column, part.tolist()) == (1, [0, 1])
    assert best_cut(_tallies(codes[:1], ill), [tree], asked, labels)[1].tolist() == [0, 0, 1, 1]
    assert best_cut(_tallies(codes[:1], ill), [tree], [Requirement(KAnonymity(k=11))], labels) is None
    rare = [np.array([0] * 8 + [1] * 8 + [2, 2] + [3, 3])]
    assert best_cut(_tallies(rare, ill), [Hierarchy.flat("abcd")], asked, labels)[1].tolist() == [0, 1, 2, 2]


def test_regions_are_leaves_of_a_tree() -> None:
    codes = [np.array([0, 4, 5, 9]), np.array([1, 0, 1, 0])]
    cuts = [RegionCut(0, 0, np.repeat([1, 2], 5)), RegionCut(1, 1, np.array([3, 4]))]
    assert route_to_regions(cuts, codes).tolist() == [4, 3, 2, 2]


@pytest.mark.parametrize("seed", range(40 if SLOW else 16))
def test_regions_of_random_tables_hold(seed: int) -> None:
    """Without a cluster: cut, solve each region, lay the shares together; claims are counted plainly on what would be
    published."""
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
    asked = policy(
        str(draw.choice(["mondrian", "clustering"])), protect=[{"k-anonymity": {"k": 4}}, {"p-sensitivity": {"p": 2}}]
    )
    texts = {name: classes.column(name).to_pylist() for name in names}
    domains = {name: generalization_of(asked, name, sorted(set(texts[name]))) for name in ("age", "town")}
    codes = [np.array([domain.code_of[text] for text in texts[name]]) for name, domain in domains.items()]
    kinds = sorted(set(texts["illness"]))
    ill = np.array([kinds.index(text) for text in texts["illness"]])
    cuts: list[RegionCut] = []
    sizes, waiting = {0: len(counts)}, [0]
    while waiting:
        region = waiting.pop()
        inside = np.flatnonzero(route_to_regions(cuts, codes) == region)
        tallies = [_weighed(column[inside], ill[inside], counts[inside]) for column in codes]
        ground = tuple(domains.values()), stated_requirements(asked), {"illness": tuple(kinds)}
        waiting += _cut(region, tallies, cuts, sizes, int(draw.integers(5, 60)), ground)
    assert sum(sizes.values()) == len(counts)
    whole = classes.rename_columns([*names, COUNT]).append_column(IDENTITY, pa.array(ids))
    columns = {
        name: c.model_copy(update={"hierarchy": domains.get(name, c.hierarchy)}) for name, c in asked.columns.items()
    }
    bound, method = replace(asked, columns=columns), find("methods", Method, asked.method.name)()
    published: Counter[tuple[str, ...]] = Counter()
    place = route_to_regions(cuts, codes)
    for region in np.unique(place):
        shares = solved(
            bound, method, b"\x01" * 32, names, ("age", "town"), whole.take(pa.array(np.flatnonzero(place == region)))
        )
        for share in shares.to_pylist():
            row = share[IDENTITY]
            published[share[f"{LABEL}0"], share[f"{LABEL}1"], texts["illness"][row]] += share[LAST] - share[FIRST]
    return published, RECORDS - sum(published.values())


def _weighed(column: np.ndarray, ill: np.ndarray, counts: np.ndarray) -> ColumnTally:
    code, at = np.unique(column, return_inverse=True)
    records = np.bincount(at, weights=counts).astype(np.int64)
    return ColumnTally(code, records, np.bincount(at), {"illness": (at, ill, counts)})


def test_claims_that_need_the_whole_are_not_for_regions() -> None:
    assert "t-closeness" in unfit_for_regions(
        policy(protect=[{"k-anonymity": {"k": 2}}, {"t-closeness": {"t": 0.3}}]), Mondrian()
    )
    age = COLUMNS["age"] | {"boundary": {"level": 2}}
    assert "boundaries" in unfit_for_regions(policy(columns=COLUMNS | {"age": age}), Mondrian())
    assert unfit_for_regions(policy(), Mondrian()) == ""
    assert "all of them at once" in unfit_for_regions(policy(), Global())


def test_a_table_in_regions_holds_and_is_what_it_would_be_as_a_whole(spark: Any, tmp_path: Path) -> None:
    """Mondrian in regions is mondrian: the same rows are published."""
    table = people(900, seed=5)
    engine = SparkEngine(spark, tmp_path, most_classes=100, region_classes=100)
    found = sf.publish(policy(), data=spark.createDataFrame(table), engine=engine, seed=SEED)
    assert found.certificate.holds
    assert any("region by region" in said for said in found.certificate.assumptions)
    assert "truthfulness" in {finding.model for finding in found.findings}
    out = found.write(tmp_path / "out")
    assert sf.verify(out, original=table).holds
    published = rows_of(out)
    for name in ("illness", "ward"):
        assert Counter(published.column(name).to_pylist()) == Counter(table.column(name).to_pylist())
    here = sf.publish(policy(), data=table).release.parts["data"].table
    known = ["age", "town", "illness"]
    assert Counter(map(str, published.select(known).to_pylist())) == Counter(map(str, here.select(known).to_pylist()))


def test_a_region_that_lies_is_found(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit on the cluster does not take the method's word: labels that do not cover their class are refused."""
    true = publish.solver

    def lying(*given: Any) -> Any:
        solve = true(*given)

        def lie(classes: pa.Table) -> pa.Table:
            shares = solve(classes)
            return shares.set_column(2, shares.column_names[2], pa.array(["20"] * shares.num_rows))

        return lie

    monkeypatch.setattr(publish, "solver", lying)
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
