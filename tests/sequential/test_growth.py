"""Published sequences of growing tables, judged by enumeration of every way to pair up their rows."""

from fractions import Fraction

import pytest

from sfumato.core.errors import DataError, Infeasible
from sfumato.history.ledger import Ledger
from tests.slow import SLOW

from .stories import Judge, joined, people, random_generator, release, story

STORIES = 14 if SLOW else 4


@pytest.mark.parametrize(("model", "growth", "cohorts"), [
    ("k-linkability", "unifying", "known"),
    ("k-linkability", "unifying", "unknown"),
    ("k-linkability", "separative", "known"),
    ("k-diversity", "unifying", "known"),
])  # fmt: skip
def test_random_stories_keep_their_promise(tmp_path, model, growth, cohorts):
    rng = random_generator(
        ["k-linkability", "k-diversity"].index(model) + 10 * (growth == "separative") + 20 * (cohorts == "known")
    )
    judged = grown = 0
    for number in range(STORIES):
        path = tmp_path / str(number)
        path.mkdir()
        if not story(rng, path, model, growth, cohorts):
            continue
        judge = Judge(path)
        level = judge.level("diversity" if model == "k-diversity" else "linkability", cohorts == "known")
        if level is not None:
            judged += 1
            grown += len(judge.releases) > 1
            assert level >= 2
    assert judged >= STORIES // 4
    assert grown >= 1


def test_new_records_that_break_the_claim_among_themselves_are_refused(tmp_path):
    rng = random_generator(3)
    table = people(rng, 6)
    table["s"] = ["s0", "s1", "s2", "s0", "s1", "s2"]
    release(tmp_path, ["a", "s"], table)
    newcomers = people(rng, 2, first=50)
    newcomers["s"] = ["s3", "s3"]
    with pytest.raises(Infeasible, match="2 new record"):
        release(tmp_path, ["b", "s"], joined(table, newcomers))
    newcomers["s"] = ["s3", "s1"]
    release(tmp_path, ["b", "s"], joined(table, newcomers))
    assert Judge(tmp_path).level() >= 2


def test_stand_ins_carry_a_sensitive_value_only_where_the_column_was_published(tmp_path):
    """Point 13: with T1 lacking the column, a stand-in that had it would make people 1-linkable."""
    rng = random_generator(5)
    table = people(rng, 5)
    table["s"] = ["s0", "s1", "s2", "s0", "s1"]
    release(tmp_path, ["a", "b"], table)
    grown = joined(table, people(rng, 2, first=50))
    release(tmp_path, ["a", "s"], grown)
    from sfumato.kinds.tables.methods.sequential import AlignedReleases, ReleasePopulation

    history = Ledger(tmp_path / "book.ledger").history()
    weave = AlignedReleases(
        history.releases[:1],
        ReleasePopulation.of_past(history.releases[1]),
        history.releases[1].exhibit.policy,
        "s",
        True,
    )
    ((lo, hi),) = weave.earlier()
    assert ((hi - lo)[:, weave.names.index("s")] == weave.sizes[-1]).all()
    assert Judge(tmp_path).level() >= 2


def test_vanished_and_changed_records_are_refused_and_counterfeits_keep_the_balance(tmp_path):
    rng = random_generator(11)
    table = people(rng, 6)
    table["s"] = ["s0", "s1", "s2", "s3", "s0", "s1"]
    release(tmp_path, ["a", "s"], table)
    left = {name: values[1:] for name, values in table.items()}
    with pytest.raises(Infeasible, match="no longer in the table"):
        release(tmp_path, ["b", "s"], left)
    changed = {name: list(values) for name, values in table.items()}
    changed["s"][2] = "s0"
    with pytest.raises(Infeasible, match="other values"):
        release(tmp_path, ["b", "s"], changed)
    publication = release(tmp_path, ["b", "s"], left, counterfeits="allow")
    assert publication.release.form.to_public() == {"counterfeits": 1}
    assert len(publication.release.parts["data"]) == 6
    assert publication.certificate.records.published == 5
    assert any("counterfeit" in note for note in publication.certificate.assumptions)
    assert sorted(publication.release.parts["data"].table.column("s").to_pylist()) == sorted(table["s"])
    assert Judge(tmp_path).level() >= 2
    assert Ledger(tmp_path / "book.ledger").entries()[-1].body["counterfeits"] == 1
    third = release(tmp_path, ["a", "b"], left, counterfeits="allow")  # the counterfeit stays
    assert third.release.form.to_public() == {"counterfeits": 1}
    assert Judge(tmp_path).level() >= 2


def test_duplicate_keys_are_a_data_error(tmp_path):
    table = people(random_generator(1), 4)
    table["id"][0] = table["id"][1]
    with pytest.raises(DataError, match="repeat the key"):
        release(tmp_path, ["a", "s"], table)


def test_the_separative_approach_judges_each_cohort_by_itself(tmp_path):
    rng = random_generator(21)
    table = people(rng, 5)
    table["s"] = ["s0", "s1", "s2", "s0", "s1"]
    release(tmp_path, ["a", "s"], table, growth="separative")
    newcomers = people(rng, 3, first=50)
    newcomers["s"] = ["s0", "s1", "s2"]
    publication = release(tmp_path, ["b", "s"], joined(table, newcomers), growth="separative")
    finding = publication.findings[0]
    assert "each cohort by itself" in finding.reason
    assert finding.achieved["k"] >= 2
    assert Judge(tmp_path).level() >= 2


def test_fractional_diversity_over_two_releases(tmp_path):
    table = people(random_generator(8), 6)
    table["s"] = ["s0", "s0", "s1", "s1", "s2", "s0"]
    release(tmp_path, ["a", "b"], table, model="k-diversity", k=1.5)
    release(tmp_path, ["a", "s"], table, model="k-diversity", k=1.5)
    assert Judge(tmp_path).level("diversity") >= Fraction(3, 2)
