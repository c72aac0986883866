"""Quarter after quarter: people come and leave, every release holds over all of them, and no column is given up."""

from dataclasses import replace

import numpy as np
import pytest

from sfumato.core.randomness import Randomness
from sfumato.history.judge.series import judge_by_classes
from sfumato.history.ledger.ledger import Ledger
from sfumato.history.published_cells import PublishedCells
from sfumato.kinds.tables.methods.neighbour_borrowing import borrow
from sfumato.kinds.tables.methods.recoding import feasible_problem, problem_with_history
from sfumato.models.l_diversity import LDiversity
from sfumato.policy.policy import Policy
from sfumato.policy.requirements import PrivacyRequirement
from sfumato.release.method import Task
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.secret import SEED

TREE = {"*": {f"{d}0-{d}9": [str(10 * d + n) for n in range(10)] for d in (2, 3, 4)}}


def population(count=400, seed=3):
    rng = np.random.default_rng(seed)
    return {
        "id": [f"p{n}" for n in range(count)],
        "age": [str(n) for n in rng.integers(20, 50, count)],
        "sex": [str(n) for n in rng.choice(["F", "M"], count)],
        "s": [str(n) for n in rng.choice(["flu", "gout", "cold", "burn", "cough"], count)],
    }


def some(table, rows):
    return {name: [values[i] for i in rows] for name, values in table.items()}


def policy_of(method="sequential", **series):
    """Short searches: what is promised does not rest on how long anybody looks."""
    method = {"sequential": {"seconds": 0.01}} if method == "sequential" else method
    columns = {
        "id": "identifier",
        "age": {"role": "quasi-identifier", "hierarchy": TREE},
        "sex": "quasi-identifier",
        "s": "sensitive",
    }
    claims = [{"l-diversity": {"l": 3}}, {"k-anonymity": {"k": 3}}]
    tree = {"version": 1, "columns": columns, "protect": claims, "key": "id", "method": method, "series": series}
    return Policy.parse(tree)


def quarters(path, declared, count=4):
    """Publications of a registry in which some leave and others come before every quarter."""
    everybody, rng, here, made = population(), np.random.default_rng(8), np.arange(240), []
    for quarter in range(count):
        if quarter:
            here = np.concatenate(
                [here[rng.random(len(here)) > 0.04], np.arange(240 + 30 * (quarter - 1), 240 + 30 * quarter)]
            )
        table = some(everybody, here.tolist())
        made.append(publish(declared, table, seed=SEED, ledger=path / "book", new_ledger=quarter == 0))
        made[-1].write(path / f"q{quarter}", report=False)
    assert verify(path / f"q{count - 1}", original=table, ledger=path / "book").holds
    return made


@pytest.mark.parametrize("cohorts", ["known", "unknown"])
@pytest.mark.parametrize("leaving", ["withhold", "counterfeits"])
def test_every_quarter_holds_over_all_of_them_and_no_column_is_given_up(tmp_path, monkeypatch, cohorts, leaving):
    """Tables of the same columns are looked at as one sheet: to take all of them apart would cost more in every
    quarter."""
    monkeypatch.delattr(PublishedCells, "tables")
    made = quarters(tmp_path, policy_of(cohorts=cohorts, leaving=leaving))
    assert all(one.certificate.holds for one in made)
    assert all(0 <= loss < 0.6 for one in made for loss in one.utility["loss_by_column"].values())
    fakes = [one.release.form.to_public().get("counterfeits", 0) for one in made]
    assert (leaving == "counterfeits") == any(fakes)
    for one in made:  # counterfeits are rows like others in the average, and no records
        ages = one.release.parts["data"].table.column("age").to_pylist()
        lost, said = np.mean([{2: 0.0, 5: 9 / 29, 1: 1.0}[len(age)] for age in ages]), one.certificate.records
        share = (lost * said.published + said.suppressed) / said.input
        assert one.utility["loss_by_column"]["age"] == pytest.approx(share, abs=1e-6)


def test_another_method_continues_too(tmp_path):
    assert quarters(tmp_path, policy_of("mondrian", leaving="counterfeits"), 3)[-1].certificate.holds


def test_numbers_of_lineages_are_not_believed(tmp_path):
    """A memory that says that everybody is of one lineage unites nobody who cannot trade places."""
    history = quarters(tmp_path, policy_of(cohorts="unknown", leaving="counterfeits"), 3)[-1].history
    claim = PrivacyRequirement(LDiversity(l=3), ("age", "sex"), ("s",))
    honest = judge_by_classes(PublishedCells(history), claim, False)
    lied = [
        replace(past, memory=replace(past.memory, lineage=np.zeros(len(past.memory.keys), dtype=np.int64)))
        for past in history.releases
    ]
    found = judge_by_classes(PublishedCells(replace(history, releases=tuple(lied))), claim, False)
    assert honest.below == 0
    assert found.achieved["l"] <= 5
    assert found.people == honest.people
    assert found.achieved["l"] < len(set(population()["s"]))


@pytest.mark.parametrize("seed", range(6))
def test_borrowing_places_everybody_once_and_keeps_the_claims(seed):
    table = population(60 + 40 * seed, seed)
    declared = policy_of()
    data = declared.data.read({name: values for name, values in table.items() if name != "id"} | {"id": table["id"]})
    apart = np.random.default_rng(seed).integers(0, 3, len(table["id"])).astype(np.int64)
    problem = feasible_problem(declared, data, apart)
    grouping = borrow(problem)
    placed = np.bincount(grouping.cell, weights=grouping.count, minlength=len(problem.cell_point))
    wanted = np.where(problem.out[problem.cell_point], 0, problem.row_cell.counts)
    assert np.array_equal(placed, wanted)
    assert problem.satisfied(grouping).all()
    regions = problem.regions.of[problem.cell_point[grouping.cell]]
    assert all(len(set(regions[grouping.group == g])) == 1 for g in range(grouping.groups))


def test_a_quarter_in_which_everybody_goes_on_as_before_asks_no_method(tmp_path):
    table = some(population(), range(240))
    declared = policy_of(cohorts="unknown")
    publish(declared, table, seed=SEED, ledger=tmp_path / "book", new_ledger=True).write(tmp_path / "q0", report=False)
    for quarter, rows in enumerate((range(5, 240), range(10, 240)), start=1):
        made = publish(declared, some(table, rows), seed=SEED, ledger=tmp_path / "book")
        made.write(tmp_path / f"q{quarter}", report=False)
        assert made.certificate.holds


def test_nobody_looks_again_for_better_groups_of_people_who_are_there_as_before(tmp_path):
    table, declared, fewer = (
        some(population(), range(240)),
        policy_of(leaving="counterfeits"),
        some(population(), range(1, 260)),
    )
    publish(declared, table, seed=SEED, ledger=tmp_path / "book", new_ledger=True).write(tmp_path / "q0", report=False)
    history, _ = Ledger(tmp_path / "book").place()

    def settled(data, policy=declared):
        going, problem = problem_with_history(Task(policy, policy.data.read(data), Randomness(SEED), history=history))
        mine = problem.settled_regions[problem.regions.of[problem.row_point.of]]
        return {n: bool(mine[row]) for row, n in enumerate(going.behind.tolist()) if n >= 0}, going.apart, going.behind

    assert all(settled(table)[0].values())
    mine, apart, behind = settled(fewer)
    left = apart[np.flatnonzero(behind < 0)]  # the class of who left, stood in for
    assert len(left) == 1
    for row, record in enumerate(behind.tolist()):
        if record >= 0:
            assert mine[record] == (record < 239 and apart[row] != left[0])
    coarser = replace(
        declared, columns={**declared.columns, "age": declared.columns["age"].model_copy(update={"hierarchy": None})}
    )
    assert not any(settled(table, coarser)[0].values())
