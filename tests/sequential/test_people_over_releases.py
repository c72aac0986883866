"""People in several rows with a ledger: what all releases say about them together, held against all worlds of small
histories."""

from collections import Counter
from fractions import Fraction
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.errors import LedgerError, PolicyError, SfumatoError
from sfumato.data.table import Table
from sfumato.history.judge.series import persistent_classes_of, published_cells_of
from sfumato.history.ledger.forgetting import PlaceholderPerson, RecordPage, forget
from sfumato.history.ledger.ledger import Ledger
from sfumato.history.ledger.stored_releases import unpack_memory
from sfumato.history.persons import PersonsOfHistory
from sfumato.policy.policy import Policy
from sfumato.release.past_releases import WHOSE, Memory
from sfumato.workflow.plan import plan
from tests.people.worlds_of_people import labels_of
from tests.people.worlds_over_releases import Releases, look, published, random_history, untold, violations
from tests.slow import SLOW

CASES = 400 if SLOW else 5
FOUND_OUT = (11, 59, 136)
"""Histories that say too much when people are counted in each release alone."""
UNTOLD = (16, 38, 56, 169)
METHODS = [("mondrian", {}), ("clustering", {}), ("global", {}), ("refined", {"seconds": 0.05})]


def chance(people, first, second):
    """How likely the first row of the first release is somebody's of `people`, for who knows all records, and not which
    came later.

    A record is (person, value that it is known by); rows are the values that they cover. Every record stands in the
    second release, and as many as there are rows in the first."""
    mine = worlds = 0
    records = range(len(people))
    for then in permutations(records, len(first)):
        for now in permutations(records, len(second)):
            fits = all(people[i][1] in row for i, row in zip((*then, *now), (*first, *second), strict=True))
            worlds, mine = worlds + fits, mine + (fits and people[then[0]][0] == "me")
    return Fraction(mine, worlds)


def test_a_second_row_of_somebody_raises_the_chance_for_who_does_not_know_that_it_is_new():
    wide = {"30", "31", "32"}
    assert chance([("me", "30"), ("you", "31")], [wide] * 2, [wide] * 2) == Fraction(1, 2)
    assert chance([("me", "30"), ("you", "31"), ("me", "32")], [wide] * 2, [wide] * 3) == Fraction(2, 3)
    assert chance([("me", "30"), ("you", "31"), ("me", "39")], [wide] * 2, [wide, wide, {"39"}]) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"series": {"cohorts": "unknown"}}, "does not know that it is new"),
        ({"series": {"leaving": "counterfeits"}}, "belong to no person"),
        ({"series": {"changes": {"age": "free"}}}, "values that stay"),
        ({"method": "anatomy", "protect": [{"l-diversity": {"l": 2}}]}, "of recoded tables, not of anatomy"),
        ({"method": "sequential"}, "it counts rows"),
    ],
)
def test_check_refuses_what_is_not_proved_with_the_reason(more, why):
    columns = {"visit": "identifier", "patient": "identifier", "age": "quasi-identifier", "illness": "sensitive"}
    tree = {
        "version": 1,
        "columns": columns,
        "protect": [{"k-anonymity": {"k": 2}}],
        "key": "visit",
        "person": "patient",
    }
    plan(Policy.parse({**tree, "method": "mondrian"}), remembering=True)
    with pytest.raises(PolicyError) as refused:
        plan(Policy.parse(tree | more), remembering=True)
    assert why in f"{refused.value}"


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method[0])
def test_nothing_is_too_sure_about_anybody_over_all_releases(tmp_path, method):
    made = several = 0
    first = METHODS.index(method) * CASES  # each on others: most of what they do they share
    for seed in range(first, first + CASES):
        policy, records, here = random_history(seed, releases=2 + seed % 2)
        (tmp_path / f"{seed}").mkdir()
        history = published(tmp_path / f"{seed}", policy, records, here, method)
        if len(history) > 1:
            made += 1
            several += max(Counter(record["id"] for record in records).values()) > 1
            assert violations(history, records, policy) == [], (method, seed)
    assert made >= CASES // 4 and several >= made // 2


def test_releases_that_are_judged_for_people_one_by_one_are_found_out(tmp_path, monkeypatch):
    """The control: the same histories when nobody counts people over several releases."""
    monkeypatch.setattr("sfumato.kinds.person_evidence.judge_persons_over_releases", lambda exhibit: [])
    monkeypatch.setattr("sfumato.kinds.tables.methods.recoding._others", lambda *_: None)
    monkeypatch.setattr(
        "sfumato.history.constrain.deletions._broken_for_people", lambda *given: np.zeros(given[-1], dtype=np.bool_)
    )
    found = 0
    for seed in FOUND_OUT:
        policy, records, here = random_history(seed, releases=2 + seed % 2)
        (tmp_path / f"{seed}").mkdir()
        history = published(tmp_path / f"{seed}", policy, records, here, METHODS[0])
        found += bool(violations(history, records, policy))
    assert found == len(FOUND_OUT)


def test_the_audit_refuses_a_method_that_forgets_people_of_earlier_releases(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.kinds.tables.methods.recoding._others", lambda *_: None)
    monkeypatch.setattr(
        "sfumato.history.constrain.deletions._broken_for_people", lambda *given: np.zeros(given[-1], dtype=np.bool_)
    )
    for seed in FOUND_OUT:
        policy, records, here = random_history(seed, releases=2 + seed % 2)
        (tmp_path / f"{seed}").mkdir()
        history = published(tmp_path / f"{seed}", policy, records, here, METHODS[0])
        assert violations(history, records, policy) == []
        assert len(history) < len(here)


def test_rows_that_could_be_a_persons_are_counted_as_the_definition_says(tmp_path):
    """M of every joint class beside a count over all records; rows that only *could* be in a class and records left out
    matter."""
    elsewhere = lossy = 0
    for seed in range(4 * CASES):
        policy, records, here = random_history(seed, releases=2)
        policy["protect"] = [{"k-anonymity": {"k": 2}}]
        (tmp_path / f"{seed}").mkdir()
        made = published(tmp_path / f"{seed}", policy, records, here, METHODS[1])
        if len(made) < 2:
            continue
        releases, labels = Releases(made, records), labels_of(policy, records)
        looks = [look(bundle, [*labels]) for bundle in releases.bundles]
        exhibit = made[-1].exhibit
        people = PersonsOfHistory(exhibit.once(published_cells_of))
        joint = persistent_classes_of(people.bundles, exhibit.policy.claims[0], cohorts=True)
        most, keys = people.most(joint), people.bundles.keys.to_pylist()
        for bundle, seen, record in zip(releases.bundles, looks, releases.behind, strict=True):
            could = Counter(one["id"] for j, one in enumerate(records) if releases.fit(bundle, j, labels))
            mine = most[joint.of[keys.index(records[record]["key"])]]
            assert mine == max(could.values())
            there = Counter(records[j]["id"] for other, j in zip(looks, releases.behind, strict=True) if other == seen)
            elsewhere += mine > max(there.values())
        lossy += any(releases.lossy)
    assert elsewhere and lossy


def test_whoever_is_not_told_which_rows_belong_together_is_no_surer_if_the_certificate_is_believed(tmp_path):
    surer = 0
    for seed in UNTOLD:
        policy, records, here = random_history(seed, many=(4, 6))
        policy["protect"] = [{"k-anonymity": {"k": 2}}]
        (tmp_path / f"{seed}").mkdir()
        made = published(tmp_path / f"{seed}", policy, records, here, METHODS[1])
        assert len(made) == 2
        assert untold(made, records, policy, believing=True) <= 1
        surer += untold(made, records, policy, believing=False) > 1
    assert surer  # what the certificate says is worth something


VISITS = {
    "visit": [f"v{i}" for i in range(8)],
    "patient": ["a", "a", "b", "c", "d", "e", "f", "g"],
    "age": ["30", "31", "30", "31", "32", "33", "32", "33"],
    "illness": ["flu", "gout"] * 4,
}
TREE = {
    "version": 1,
    "columns": {"visit": "identifier", "patient": "identifier", "age": "quasi-identifier", "illness": "sensitive"},
    "protect": [{"k-anonymity": {"k": 2}}],
    "key": "visit",
    "person": "patient",
    "method": "mondrian",
}


@pytest.mark.parametrize("person", [None, "illness_of"])
def test_a_later_release_says_as_before_whose_rows_they_are(tmp_path, person):
    book = tmp_path / "book"
    sf.publish(sf.Policy.parse(TREE), data=VISITS, ledger=book, new_ledger=True).write(tmp_path / "first", report=False)
    later = {**TREE, "person": person}
    if person is None:
        del later["person"]
    with pytest.raises(SfumatoError, match="whose rows they are"):
        sf.publish(sf.Policy.parse(later), data={**VISITS, "illness_of": VISITS["patient"]}, ledger=book)


def test_a_release_that_came_before_people_were_counted_is_not_continued(tmp_path):
    book, before = tmp_path / "book", {name: value for name, value in TREE.items() if name != "person"}
    sf.publish(sf.Policy.parse(before), data=VISITS, ledger=book, new_ledger=True).write(
        tmp_path / "first", report=False
    )
    with pytest.raises(LedgerError, match="whose rows they are"):
        sf.publish(sf.Policy.parse(TREE), data=VISITS, ledger=book)


@pytest.mark.parametrize("key", ["v0", "v1", "a"])
def test_forgetting_somebody_by_name_or_by_a_row_takes_all_their_rows_out(tmp_path, key):
    book = tmp_path / "book"
    for number in (1, 2):
        made = sf.publish(sf.Policy.parse(TREE), data=VISITS, ledger=book, new_ledger=number == 1)
        made.write(tmp_path / f"{number}", report=False)
    ledger = Ledger(book)
    theirs = {
        row: record
        for row, (record, name) in enumerate(zip(VISITS["visit"], VISITS["patient"], strict=True))
        if name == "a"
    }
    assert forget(ledger, key) == [1, 2]
    for past in ledger.history().releases:
        names = dict(zip(past.memory.keys, past.memory.values.frame.column(WHOSE).to_pylist(), strict=True))
        assert not names.keys() & set(theirs.values()) and "a" not in names.values()
        assert Counter(names.values()).most_common(1)[0][1] == len(theirs)
    keys = [set(past.memory.keys) for past in ledger.history().releases]
    assert keys[0] == keys[1]
    left = {name: [value for row, value in enumerate(values) if row not in theirs] for name, values in VISITS.items()}
    assert sf.publish(sf.Policy.parse(TREE), data=left, ledger=book).certificate.holds


def test_a_forgotten_row_that_was_left_out_everywhere_keeps_nothing_of_its_own():
    rows, nobody = np.array([0, 1, -1]), np.zeros(3, dtype=np.bool_)
    values = Table(pa.table({"age": ["20-29", "20-29", "35"], WHOSE: ["a", "b", "a"]}))
    past = SimpleNamespace(
        number=1, memory=Memory(("r0", "r1", "r2"), rows, values, nobody), exhibit=SimpleNamespace(parts={})
    )
    stranger = PlaceholderPerson(["r0", "r2"])
    stranger.learn(past, {"r0": 0, "r2": 2})
    told = unpack_memory(RecordPage(past).changed(stranger).content()).to_pydict()
    kept = dict(zip(told["row"], zip(told["key"], told["value:age"], told[f"value:{WHOSE}"], strict=True), strict=True))
    assert kept[1] == ("r1", "20-29", "b")
    assert kept[0][2] != kept[-1][2] and {kept[0][0], kept[-1][0]}.isdisjoint({"r0", "r2"})
    assert kept[-1][1] in {"20-29", "35"}
