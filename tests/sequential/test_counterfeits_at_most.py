"""No more rows stand in for people who left than the policy allows: beyond that companions are withheld, and promises
are kept."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from sfumato.core.errors import Infeasible, PolicyError
from sfumato.history.constrain.constraints import classes_over_counterfeit_limit
from sfumato.kinds.tables.checks import Counterfeits
from sfumato.policy.policy import Policy
from sfumato.release.view import ReleaseView
from sfumato.workflow.plan import plan
from sfumato.workflow.publish import publish
from sfumato.workflow.verify import verify
from tests.secret import SEED
from tests.slow import SLOW

from .test_stand_ins import possible, published, quarters


def declared(limit=None, cohorts="unknown", **more):
    series = {"cohorts": cohorts, "leaving": "counterfeits"} | (
        {} if limit is None else {"counterfeits_at_most": limit}
    )
    columns = {"person": "identifier", "s": "sensitive"}
    columns["age"] = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}
    tree = {"version": 1, "columns": columns, "protect": [{"l-diversity": {"l": 3}}], "key": "person", "series": series}
    return Policy.parse(tree | {"method": {"sequential": {"seconds": 0.05}}} | more)


def office(quarter, seed=3):
    """Two hundred people; every quarter some leave and some come."""
    rng = np.random.default_rng(seed)
    ages, values, leaves = rng.integers(20, 60, 400), rng.integers(0, 9, 400), rng.geometric(0.12, 400)
    comes = np.where(np.arange(400) < 200, 0, 1 + np.arange(400) % 3)
    here = np.flatnonzero((comes <= quarter) & (quarter < comes + leaves))
    rows = {"person": [f"p{i}" for i in here], "age": ages[here].astype(str), "s": [f"v{values[i]}" for i in here]}
    return pl.DataFrame(rows)


def series_of(folder, limit, cohorts, seed=3, many=4, **more):
    """(rows that stand in, records, withheld) of every quarter; all of them hold and verify."""
    found = []
    for quarter in range(many):
        data, out = office(quarter, seed), folder / f"r{quarter}"
        made = publish(
            declared(limit, cohorts, **more), data, seed=SEED, ledger=folder / "book", new_ledger=not quarter
        )
        made.write(out, report=False)
        assert verify(out, ledger=folder / "book", original=data).holds
        found.append((made.release.form.counterfeits, len(data), made.certificate.records.suppressed))
    return found


@pytest.mark.parametrize("cohorts", ["known", "unknown"])
def test_beyond_the_limit_companions_are_withheld(tmp_path, cohorts):
    told = {"free": None, "bound": "2%", "none": 0}
    found = {name: [] for name in told}
    for seed, (name, limit) in product(range(3, 8 if SLOW else 4), told.items()):
        (folder := tmp_path / f"{seed} {name}").mkdir()
        found[name] += series_of(folder, limit, cohorts, seed)
    assert max(many / records for many, records, _ in found["free"]) > 0.02
    assert all(many <= 0.02 * records for many, records, _ in found["bound"])
    assert sum(many for many, _, _ in found["bound"]) > 0
    assert all(many == 0 for many, _, _ in found["none"])
    withheld = [sum(out for _, _, out in found[name]) for name in told]
    assert withheld == sorted(set(withheld)), "the fewer stand in, the more are withheld"


def test_what_is_given_up_brings_the_rest_within_the_limit_and_needs_most_for_each_who_stays():
    rng = np.random.default_rng(1)
    for _ in range(300):
        stand_ins, stay = rng.integers(0, 4, 6), rng.integers(1, 5, 6)
        most = int(rng.integers(0, stand_ins.sum() + 2))
        out = classes_over_counterfeit_limit(stand_ins, stay, most)
        assert stand_ins.sum() - stand_ins[out].sum() <= most
        assert not len(out) or stand_ins.sum() - stand_ins[out[:-1]].sum() > most, "nobody more than needed"
        need = stand_ins / stay
        kept = np.setdiff1d(np.flatnonzero(stand_ins), out)
        assert not len(out) or not len(kept) or need[out].min() >= need[kept].max()
    assert len(classes_over_counterfeit_limit(np.array([2, 1]), np.array([1, 1]), float("inf"))) == 0


@pytest.mark.parametrize("cohorts", ["known", "unknown"])
def test_where_nobody_may_be_withheld_either_nothing_is_published(tmp_path, cohorts):
    with pytest.raises(Infeasible) as refused:
        series_of(tmp_path, 0, cohorts, utility={"suppress_at_most": 0})
    assert "raise series.counterfeits_at_most" in str(refused.value)


def test_newcomers_do_not_wait_where_others_who_are_withheld_take_all_the_room(tmp_path):
    """Some of a lineage left: who stays is withheld, and as many as that may be left out."""
    first, second, book = office(0), office(1), tmp_path / "book"
    publish(declared(0), first, seed=SEED, ledger=book, new_ledger=True).write(tmp_path / "r0", report=False)
    patient, hasty = ({"cohorts": "unknown", "leaving": "withhold", "waiting": share} for share in ("3%", 0))
    both = publish(declared(series=patient), second, seed=SEED, ledger=book).certificate.records.suppressed
    only = publish(declared(series=hasty), second, seed=SEED, ledger=book).certificate.records.suppressed
    assert both > only > 0
    limited = declared(series=patient, utility={"suppress_at_most": only / len(second)})
    assert publish(limited, second, seed=SEED, ledger=book).certificate.records.suppressed <= only


def test_whoever_knows_how_few_stand_in_is_left_with_the_values_of_the_claim(tmp_path):
    """All worlds of small histories with known cohorts, where at most one row may stand in for six people or fewer."""
    fakes = 0
    for seed in range(12 if SLOW else 5):
        (tmp_path / str(seed)).mkdir()
        everybody, tables = quarters(seed)
        try:
            releases = published(tmp_path / str(seed), everybody, tables, counterfeits_at_most=0.2)
        except Infeasible:  # everybody would be withheld
            continue
        assert all(many <= 0.2 * len(table) for (_, _, many), table in zip(releases, tables, strict=True))
        found = possible(everybody, releases)
        assert all(everybody[name][1] in values for name, values in found.items())
        assert all(len(found[name]) >= 2 for here, _, _ in releases for name in here)
        fakes += sum(many for _, _, many in releases)
    assert fakes


def test_the_certificate_says_how_many_stand_in_and_more_than_allowed_does_not_hold(tmp_path):
    publish(declared("5%"), office(0), seed=SEED, ledger=tmp_path / "book", new_ledger=True).write(
        tmp_path / "r0", report=False
    )
    made = publish(declared("5%"), office(1), seed=SEED, ledger=tmp_path / "book")
    finding = next(one for one in made.certificate.findings if one.model == "counterfeits")
    many, records = made.release.form.counterfeits, len(office(1))
    assert finding.holds
    share = pytest.approx(many / records, rel=1e-5)
    assert finding.achieved == {"counterfeits_at_most": share, "counterfeits": many, "input": records}
    for limit, holds in ((many, True), (many - 1, False)):
        seen = ReleaseView(made.release.form, made.release.parts, declared(limit / records), made.certificate)
        assert Counterfeits().applies(seen)
        assert Counterfeits().examine(seen).holds == holds
    assert not Counterfeits().applies(ReleaseView(made.release.form, made.release.parts, declared(), made.certificate))


def test_the_papers_search_refuses_what_it_cannot_keep_within_the_limit(tmp_path):
    def policy(**series):
        return declared(protect=[{"k-linkability": {"k": 2}}], method={"sequential": {"by": "join"}}, series=series)

    said = {"cohorts": "known", "leaving": "counterfeits", "counterfeits_at_most": "1%"}
    book = tmp_path / "book"
    publish(policy(**said), office(0)[:30], seed=SEED, ledger=book, new_ledger=True).write(
        tmp_path / "r0", report=False
    )
    with pytest.raises(Infeasible, match=r"counterfeit rows would be needed for 2 record\(s\)"):
        publish(policy(**said), office(0)[:28], seed=SEED, ledger=book)


def test_the_share_is_read_strictly_and_told_before_data_moves():
    assert declared("0.5%").series.counterfeits_at_most == pytest.approx(0.005)
    assert declared().series.counterfeits_at_most is None
    (said,) = plan(declared("0.5%"), remembering=True).method.describe(declared("0.5%"))
    assert "counterfeits stand in, at most 0.500% of the records" in said
    for wrong in ("200%", "few", -1):
        with pytest.raises(PolicyError):
            declared(wrong)
