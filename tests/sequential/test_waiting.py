"""Newcomers who wait: those whose groups cost most, never more than the policy allows, and nobody who was published
before."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from sfumato.core.errors import PolicyError
from sfumato.data.hierarchy import Hierarchy
from sfumato.history.constrain.insertions import ClassRequirements, NewRecordKinds, defer_records
from sfumato.kinds.tables.methods.deferred_records import defer_costly_records
from sfumato.kinds.tables.methods.recoding_costs import Costs
from sfumato.kinds.tables.methods.recoding_history import keep_classes_apart
from sfumato.kinds.tables.methods.recoding_problem import Grouping, RecodingProblem, Requirement, Sensitive
from sfumato.models.base import Demand
from sfumato.models.l_diversity import LDiversity
from sfumato.models.t_closeness import TCloseness
from sfumato.policy.policy import Policy
from sfumato.workflow.plan import plan
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.secret import SEED
from tests.slow import SLOW

TENS = Hierarchy.from_tree({"*": {f"{d}0-{d}9": [f"{d}{n}" for n in range(10)] for d in range(4)}})


def arranged(ages, values, new, groups, model=None):
    """A problem that continues a history (class 0: newcomers), and everybody in a group."""
    column = Sensitive("s", np.array(values, dtype=np.int32), tuple("ABCDEF"))
    asked = Requirement(model or LDiversity(l=2), ("s",), ("age",))
    problem = RecodingProblem(("age",), (TENS,), (np.array(ages, dtype=np.int32),), (column,), (asked,))
    problem = keep_classes_apart(problem, np.where(new, 0, 1))
    of = np.array(groups)
    return problem, Grouping(problem.row_cell.of, of, np.ones(len(of), dtype=np.int64))


def told(problem, grouping):
    """Per record its group, −1 for who waits."""
    return problem.group_of_record(grouping).tolist()


AGES = [1, 2, 11, 12, 13, 39, 30, 31]
VALUES = [0, 1, 0, 1, 2, 0, 1, 0]
NEW = np.array([False, False, True, True, True, True, False, False])
GROUPS = [0, 0, 1, 1, 2, 2, 3, 3]


def test_of_a_costly_group_who_fits_elsewhere_moves_and_the_other_waits():
    problem, before = arranged(AGES, VALUES, NEW, GROUPS)
    found = defer_costly_records(problem, before, 1, "loss")
    of = told(problem, found)
    assert of[5] == -1, "39 stands with 13, and nobody new is near"
    assert of[4] == of[2] == of[3], "13 goes to 11 and 12"
    assert [of[i] >= 0 for i in (0, 1, 6, 7)] == [True] * 4, "who was published before does not wait"
    costs = Costs.of(problem, "loss")
    assert costs.mean(problem, found) < costs.mean(problem, before)
    assert problem.satisfied(found).all()


def test_nobody_waits_who_may_not():
    problem, before = arranged(AGES, VALUES, NEW, GROUPS)
    assert defer_costly_records(problem, before, 0, "loss") is before
    near, cheap = arranged([1, 2, 11, 12], [0, 1, 0, 1], np.array([False, False, True, True]), [0, 0, 1, 1])
    assert (
        defer_costly_records(near, cheap, 2, "loss") is not cheap
    )  # two years in ten lose more than what a wait must save
    exact, free = arranged([1, 2, 11, 11], [0, 1, 0, 1], np.array([False, False, True, True]), [0, 0, 1, 1])
    assert defer_costly_records(exact, free, 2, "loss") is free


def test_in_a_first_release_everybody_is_new():
    """13 and 39 stand together: 13 goes to 11 and 12, 39 waits; nobody does where the columns are one of several
    parts."""
    column = Sensitive("s", np.array(VALUES, dtype=np.int32), tuple("ABCDEF"))
    asked = Requirement(LDiversity(l=2), ("s",), ("age",))
    problem = RecodingProblem(("age",), (TENS,), (np.array(AGES, dtype=np.int32),), (column,), (asked,))
    before = Grouping(problem.row_cell.of, np.array(GROUPS), np.ones(len(GROUPS), dtype=np.int64))
    found = defer_costly_records(problem, before, 1, "loss")
    of = told(problem, found)
    assert [place for place, mine in enumerate(of) if mine < 0] == [5]
    assert of[4] == of[2] == of[3]
    assert problem.satisfied(found).all()
    part = replace(problem, whole=problem)
    assert defer_costly_records(part, before, 1, "loss") is before


def test_where_one_more_may_hurt_only_whole_groups_wait():
    """At most half of a group may share a value: 13 would be the third of five with it."""
    half = LDiversity(l=2, kind="frequency")
    problem, before = arranged(AGES, [0, 1, 0, 1, 0, 1, 1, 0], NEW, GROUPS, half)
    assert defer_costly_records(problem, before, 1, "loss") is before
    assert Counter(told(problem, defer_costly_records(problem, before, 2, "loss")))[-1] == 2


@pytest.mark.parametrize("model", [LDiversity(l=2), LDiversity(l=2, kind="frequency"), TCloseness(t=0.4)], ids=str)
def test_random_batches_keep_their_claims_and_their_limit(model):
    """t-closeness compares with everybody who is published, so that who waits may break it for others."""
    for seed in range(300 if SLOW else 100):
        rng = np.random.default_rng(seed)
        ages, values = rng.integers(0, 40, 24), rng.integers(0, 3, 24)
        new, groups = np.arange(24) >= 8, np.arange(24) // 4
        problem, before = arranged(ages, values, new, groups, model)
        if not problem.satisfied(before).all():
            continue
        most = int(rng.integers(0, 10))
        found = defer_costly_records(problem, before, most, "loss")
        of = np.array(told(problem, found))
        assert (of < 0).sum() <= most
        assert (of[~new] >= 0).all()
        assert problem.satisfied(found).all()
        missing = (of < 0).sum()
        each = Costs.of(problem, "loss").per_record(problem, found)
        old = Costs.of(problem, "loss").per_record(problem, before)
        assert each[found.group] @ found.count <= old[before.group] @ before.count - 0.1 * missing + 1e-9


def test_where_cohorts_are_unknown_the_dearest_places_wait():
    wants = ClassRequirements.of([(Demand(distinct=2), ("s",))], ["s"])
    codes = np.array([[5], [6], [11], [12], [38]])
    crowd = NewRecordKinds(
        codes, [np.array([0, 0, 1, 2, 3])], np.array([1, 3, 1, 1, 1]), np.array([0.5, 0.05, 1.0, 1.0, np.inf])
    )
    assert defer_records(crowd, wants, [TENS], 3).tolist() == [1, 0, 0, 0, 1], (
        "11 and 12 have each other, 6 loses little"
    )
    assert crowd.left.tolist() == [0, 3, 1, 1, 0]
    assert defer_records(crowd, wants, [TENS], 0).tolist() == [0] * 5


def declared(**more):
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}
    columns = {"person": "identifier", "age": age, "s": "sensitive"}
    tree = {"version": 1, "columns": columns, "protect": [{"l-diversity": {"l": 3}}], "key": "person"}
    return Policy.parse(tree | {"method": {"sequential": {"seconds": 0.1}}} | more)


def office(people):
    rng = np.random.default_rng(3)
    ages, values = rng.integers(20, 60, 400), rng.integers(0, 12, 400)
    return pl.DataFrame(
        {
            "person": [f"p{i}" for i in people],
            "age": [str(ages[i]) for i in people],
            "s": [f"v{values[i]}" for i in people],
        }
    )


@pytest.mark.parametrize("cohorts", ["known", "unknown"])
def test_whoever_waits_is_published_later_and_every_release_holds(tmp_path, cohorts):
    withheld = []
    for number, many in enumerate([100, 130, 160, 190]):
        policy = declared(series={"cohorts": cohorts, "waiting": "3%"})
        made = publish(policy, office(range(many)), seed=SEED, ledger=tmp_path / "book", new_ledger=number == 0)
        made.write(tmp_path / f"r{number}", report=False)
        assert made.certificate.holds
        assert verify(tmp_path / f"r{number}", ledger=tmp_path / "book", original=office(range(many))).holds
        withheld.append(made.certificate.records.suppressed)
    assert withheld[0] > 0, "a first release has nothing but newcomers"
    assert all(many <= 0.03 * rows for many, rows in zip(withheld, [100, 130, 160, 190], strict=True))
    if cohorts == "known":
        assert max(withheld) > 0


def test_what_may_be_suppressed_is_a_limit_for_who_waits_too(tmp_path):
    for number, many in enumerate([100, 130]):
        policy = declared(series={"waiting": "3%"}, utility={"suppress_at_most": "0%"})
        made = publish(policy, office(range(many)), seed=SEED, ledger=tmp_path / "book", new_ledger=number == 0)
        made.write(tmp_path / f"r{number}", report=False)
        assert made.certificate.records.suppressed == 0


def test_a_release_without_a_ledger_has_no_later_one_to_wait_for():
    made = publish(declared(series={"waiting": "3%"}), office(range(100)), seed=SEED)
    assert made.certificate.records.suppressed == 0


def test_who_has_no_place_within_a_boundary_leaves_less_room_for_who_waits(tmp_path):
    """Somebody of 99 has no company within the boundary; of 101 people three may wait, and as many be left out in
    all."""
    rows = office(range(101)).with_columns(age=pl.when(pl.col("person") == "p0").then(pl.lit("99")).otherwise("age"))
    age = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}, "boundary": {"level": 2}}
    columns = {"person": "identifier", "age": age, "s": "sensitive"}
    policy = declared(columns=columns, series={"waiting": "3%"}, utility={"suppress_at_most": "3%"})
    made = publish(policy, rows, seed=SEED, ledger=tmp_path / "book", new_ledger=True)
    assert made.certificate.holds
    assert 1 <= made.certificate.records.suppressed <= 3
    free = declared(columns=columns, series={"waiting": "3%"})
    assert publish(free, rows, seed=SEED, ledger=tmp_path / "free", new_ledger=True).certificate.records.suppressed == 4


def test_columns_that_no_claim_ties_lose_the_same_people(tmp_path):
    """Two claims about different columns are two problems about the same people: of neither somebody waits alone."""
    rng, columns = np.random.default_rng(4), {"person": "identifier", "s": "sensitive"}
    columns |= {
        name: {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}} for name in ("age", "years")
    }
    asked = [{"given": [name], "hide": "s", "by": {"l-diversity": {"l": 3}}} for name in ("age", "years")]
    rows = office(range(100)).with_columns(years=pl.Series([str(n) for n in rng.integers(0, 40, 100)]))
    policy = declared(columns=columns, protect=asked, series={"waiting": "3%"}, method="mondrian")
    made = publish(policy, rows, seed=SEED, ledger=tmp_path / "book", new_ledger=True)
    assert made.certificate.holds
    assert made.certificate.records.suppressed == 0


@pytest.mark.parametrize("method", ["optimal", "global"])
def test_a_bound_is_said_of_releases_of_everybody(tmp_path, method):
    """What is proven of everybody's best release would not be true beside people who wait."""
    policy = declared(series={"waiting": "3%"}, method={method: {}})
    made = publish(policy, office(range(100)), seed=SEED, ledger=tmp_path / "book", new_ledger=True)
    assert made.certificate.records.suppressed == 0
    assert made.release.trace.optimality is not None


def test_the_share_is_read_strictly():
    assert declared(series={"waiting": "0.5%"}).series.waiting == pytest.approx(0.005)
    assert declared(series={}).series.waiting == 0
    for wrong in ("200%", "many", -1, 1.5):
        with pytest.raises(PolicyError):
            declared(series={"waiting": wrong})


def test_rows_of_people_do_not_wait():
    """A person would stand in a release with some rows and come with others later."""
    people = Policy.parse(
        dict(declared(series={"waiting": "1%"}).document.tree) | {"person": "person", "method": "mondrian"}
    )
    with pytest.raises(PolicyError, match="do not wait"):
        plan(people, remembering=True)
    plan(people, remembering=False)
