"""The adversary of §1.3 gets the paper's four tuples out of Table 2 and nothing out of a release in normal form."""

import pytest
from baselines.dealing import deal
from baselines.short_rules import rule
from versatile_paper import CODES, labelled, table_2

from sfumato.core.errors import ReleaseError
from sfumato.core.randomness import Randomness
from sfumato.kinds.subtables.attacks import IntersectionAttack, intersect_tables
from sfumato.kinds.subtables.methods.subtable_method import utility_aware

RULES = [(("age", "icd9"), "race"), (("gender", "icd9"), "zipcode"), (("hospital", "race"), "zipcode")]


def found(sheets):
    every = [intersect_tables(sheets, given, hidden) for given, hidden in RULES]
    assert all(each.exact for each in every)
    return [{labelled((*each.given, each.hidden), codes) for codes in each.tuples} for each in every]


def test_table_2_gives_away_exactly_four_people():
    first, second, third = found(table_2())
    assert first == second == set()
    assert third == {
        ("111111", "asian", "71000"),
        ("222222", "black", "73000"),
        ("333333", "black", "71000"),  # Departures: the paper prints the zip codes of these two the other way round
        ("333333", "white", "72000"),
    }


def test_each_table_of_table_2_alone_gives_away_nobody():
    for sheet in table_2():
        assert found([sheet]) == [set(), set(), set()]


def test_a_release_in_normal_form_gives_away_nobody():
    rules = [rule(f"{', '.join(given)} -> {hidden} : 2-diversity") for given, hidden in RULES]
    tables = utility_aware(list(CODES), rules)
    for seed in range(20):
        dealt = deal(CODES, tables, {"race": 2, "zipcode": 2}, Randomness(seed=seed))
        assert found([each.sheet(CODES, str(i)) for i, each in enumerate(dealt)]) == [set(), set(), set()]


def test_large_tables_are_attacked_by_joining_them():
    import numpy as np

    from sfumato.kinds.subtables.joint_estimate import SubTableSheet

    rng = np.random.default_rng(3)
    size = 6_000
    icd = np.arange(size) % 500
    zips = icd * 7 % 11
    zips[icd == 499] = rng.integers(0, 11, (icd == 499).sum())
    age = rng.integers(0, 90, size)
    sheets = [SubTableSheet.of_rows({"age": age, "icd9": icd}), SubTableSheet.of_rows({"icd9": icd, "zipcode": zips})]
    taken = intersect_tables(sheets, ["icd9"], "zipcode")
    assert taken.exact  # the first table says nothing about the question that the second does not
    assert len(taken.tuples) == 499
    taken = intersect_tables(sheets, ["age", "icd9"], "zipcode")
    assert not taken.exact
    assert taken.attacked > 0
    assert all(zipcode == code * 7 % 11 for _, code, zipcode in taken.tuples)


@pytest.mark.parametrize("name", ["policy.yaml", "table-1.csv", "manifest.json"])
def test_nothing_is_read_before_everything_is_a_plain_file(name, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine.txt").write_text("a\n1\n")
    (tmp_path / "folder" / "table-2.csv").write_text("a\n1\n")
    (tmp_path / "folder" / name).symlink_to(tmp_path / "mine.txt")
    with pytest.raises(ReleaseError, match="is a link"):
        IntersectionAttack(target=str(tmp_path / "folder"), rule="a -> b").run()
