"""The suppression budget is spent on outliers where the other records gain more than these lose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.data.table import Table
from sfumato.kinds.tables.methods.outlier_suppression import without_outliers
from sfumato.kinds.tables.methods.recoding import problem_of
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_problem import RecodingProblem


def people(records: int, far: int, seed: int = 3) -> dict[str, list[str]]:
    """Return records in a small range, and some far away from all others."""
    draw = np.random.default_rng(seed)
    age = [*draw.integers(20, 40, records - far).tolist(), *range(10_000, 10_000 + 3_000 * far, 3_000)]
    illness = draw.choice(["flu", "cold", "gout"], records).tolist()
    return {"age": [str(value) for value in age], "illness": illness}


def policy(share: float, **claims: Any) -> sf.Policy:
    return sf.Policy.parse(
        {
            "version": 1,
            "columns": {"age": {"role": "quasi-identifier", "hierarchy": "ranges"}, "illness": "sensitive"},
            "protect": [{name.replace("_", "-"): levels} for name, levels in claims.items()],
            "utility": {"suppress_at_most": share},
        }
    )


def arranged(share: float, records: int = 60, far: int = 3, **claims: Any) -> tuple[RecodingProblem, float, int, Any]:
    """Return the problem, the total loss of one class of far records, and what remains of it."""
    asked = policy(share, **(claims or {"k_anonymity": {"k": 5}}))
    problem = problem_of(asked, _table(people(records, far)))
    order = np.argsort(problem.points[:, 0], kind="stable")
    groups = np.empty(len(order), dtype=np.int64)
    sizes, number, held = problem.counts[order], 0, 0
    for place, point in enumerate(order.tolist()):
        groups[point] = number
        held += int(sizes[place])
        if held >= 5 and int(sizes[place + 1 :].sum()) >= 5:
            number, held = number + 1, 0
    start = problem.grouping(groups)
    return problem, Costs.of(problem, "loss").mean(problem, start), problem.records, start


def _table(columns: dict[str, list[str]]) -> Table:

    return Table(pa.table(columns))


def total(problem: RecodingProblem, grouping: Any) -> float:
    """Return the mean loss with every record that is left out counted as lost."""
    placed = int(grouping.count.sum())
    return (Costs.of(problem, "loss").mean(problem, grouping) * placed + problem.records - placed) / problem.records


def test_a_far_record_leaves_and_the_total_loss_falls() -> None:
    problem, before, records, start = arranged(0.05, far=1)
    found = without_outliers(problem, start, "loss", 3)
    assert records - found.count.sum() == 1 and total(problem, found) < before
    assert problem.satisfied(found).all()


@pytest.mark.parametrize("allowed", [0, 1, 2, 3])
@pytest.mark.parametrize("far", [0, 1, 2, 3, 6])
def test_never_more_than_allowed_and_never_worse(allowed: int, far: int) -> None:
    problem, before, records, start = arranged(0.05, far=far)
    found = without_outliers(problem, start, "loss", allowed)
    assert records - found.count.sum() <= allowed and total(problem, found) <= before + 1e-12
    assert problem.satisfied(found).all()


def test_nobody_leaves_a_table_that_is_compared_with_the_whole_release() -> None:
    problem, _, _, start = arranged(0.05, far=1, k_anonymity={"k": 5}, t_closeness={"t": 0.9})
    assert without_outliers(problem, start, "loss", 3) is start


def test_a_release_says_how_many_were_suppressed_and_why() -> None:
    made = sf.publish(policy(0.05, k_anonymity={"k": 5}), people(200, 1))
    plain = sf.publish(policy(0, k_anonymity={"k": 5}), people(200, 1))
    assert made.certificate.holds and made.certificate.records.suppressed == 1
    assert any("outlier" in note for note in made.release.notes)
    assert plain.certificate.records.suppressed == 0 and made.utility["loss"] < plain.utility["loss"]


def test_nobody_is_suppressed_where_the_policy_says_nothing_of_it() -> None:
    columns = {"age": {"role": "quasi-identifier", "hierarchy": "ranges"}, "illness": "sensitive"}
    made = sf.publish(
        sf.Policy.parse({"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 5}}]}), people(200, 1)
    )
    assert made.certificate.records.suppressed == 0
