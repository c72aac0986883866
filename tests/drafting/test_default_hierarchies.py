"""What a column is generalized to when the policy says nothing, and the rules `list` and `order`; each against the
plain truth."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.core.errors import DataError, PolicyError
from sfumato.data.text_values import parse_interval, parse_number
from sfumato.io.hierarchy_files import build_generalization, by_nature
from sfumato.io.known_hierarchies import LISTS, known, path_in, reference
from tests.secret import SEED

LADDER = {Decimal(times).scaleb(power) for times in (1, 5) for power in range(-8, 12)}


@pytest.mark.parametrize("seed", range(20))
def test_every_group_of_numbers_is_a_round_interval_around_its_values(seed: int) -> None:
    rng = random.Random(seed)
    places = rng.choice([0, 0, 1, 3])
    values = sorted(
        {f"{rng.randint(-900, 9000) / 10**places:.{places}f}" for _ in range(40)} - {"-0", "-0.0", "-0.000"}
    )
    texts = rng.choice([[], ["unknown", "refused"]])
    tree = build_generalization(None, [*values, *texts, *rng.choice([[], [""]])], column="x")
    for path in tree.paths():
        for label in path[1:-1]:
            low, high, closed = parse_interval(label)  # type: ignore[misc]
            value = parse_number(path[0])
            assert value is not None
            assert low <= value <= high if closed else low <= value < high
            assert (high - low + 1 if closed else high - low).normalize() in {step.normalize() for step in LADDER}
        if path[0] in texts or path[0] == "":
            assert path == [path[0], "*"]


def test_a_tree_over_more_values_knows_the_labels_of_a_smaller_one() -> None:
    rng = random.Random(3)
    some = [str(rng.randint(0, 500)) for _ in range(30)]
    more = [*some, *(str(rng.randint(0, 90_000)) for _ in range(50)), "unknown"]
    small, large = by_nature(sorted(set(some)), column="x"), by_nature(sorted(set(more)), column="x")
    above = {path[0]: path for path in large.paths()}
    for path in small.paths():
        below = {leaf for leaf in some for label in path[:-1] if label in above[leaf]}
        assert path[0] in below
        assert set(path) <= set(large.names)


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "3", "4", "5"],
        ["01", "02", "03", "04", "05", "06", "07"],
        ["a", "b", "c"],
        ["1", "2", "3", "4", "5", "6", "7", "10-19"],
    ],
)
def test_few_numbers_codes_texts_and_ranges_are_kept_or_suppressed(values: list[str]) -> None:
    assert all(path == [path[0], "*"] for path in by_nature(values, column="x").paths())


def test_a_release_loses_less_than_with_flat_columns_and_is_verified_by_everybody(tmp_path: Path) -> None:
    rng = random.Random(2)
    data = {
        "age": [str(rng.randint(18, 80)) for _ in range(600)],
        "pay": [str(rng.randint(10, 400)) for _ in range(600)],
    }
    data["illness"] = [rng.choice("abcd") for _ in range(600)]

    def released(hierarchy: str | None) -> sf.Publication:
        column = {"role": "quasi-identifier"} | ({"hierarchy": hierarchy} if hierarchy else {})
        tree = {
            "version": 1,
            "columns": {"age": column, "pay": column, "illness": "sensitive"},
            "protect": [{"k-anonymity": {"k": 4}}],
        }
        return sf.publish(sf.Policy.parse(tree | {"method": {"mondrian": {}}}), data=data, seed=SEED)

    flat, natural = released("flat"), released(None)
    assert natural.utility["loss"] < 0.6 * flat.utility["loss"]
    assert 0 < natural.certificate.utility["loss"] < 1
    folder = natural.write(tmp_path / "out")
    assert sf.verify(folder).holds
    assert sf.verify(folder, original=data).holds


def test_a_value_outside_a_nested_label_is_found(tmp_path: Path) -> None:
    """A row whose range does not hold its value is untruthful also where the policy says nothing."""
    data = {"age": [str(n % 40) for n in range(200)], "s": ["ab"[n % 2] for n in range(200)]}
    tree = {
        "version": 1,
        "columns": {"age": "quasi-identifier", "s": "sensitive"},
        "protect": [{"k-anonymity": {"k": 7}}],
    }
    folder = sf.publish(sf.Policy.parse(tree | {"method": {"mondrian": {}}}), data=data).write(tmp_path / "out")
    moved = {**data, "age": [str(int(age) + 100) for age in data["age"]]}
    assert not sf.verify(folder, original=moved).holds


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_a_tree_and_its_groups_cost_their_share(name: str) -> None:
    whole = reference(name)
    assert whole.size > 50
    for path in whole.paths():
        assert path[-1] == "*"
        assert len(path) >= 3
    tree = build_generalization({"list": name}, [*whole.leaves[:30], "nowhere at all"], column="x")
    assert tree.paths()[[path[0] for path in tree.paths()].index("nowhere at all")] == ["nowhere at all", "*"]


def test_all_countries_and_states_are_there() -> None:
    assert reference("countries").size == 249
    assert reference("states").size == 51
    continents = {path[-2] for path in reference("countries").paths()}
    assert {"Africa", "Americas", "Asia", "Europe", "Oceania"} < continents
    assert path_in("countries", "Viet Nam") == path_in("countries", "Vietnam") == path_in("countries", "VN")
    assert path_in("countries", "united-states")[1] == "Americas"
    assert len(known("countries")) > 3 * 249


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"list": "contries"}, "did you mean 'countries'?"),
        ({"order": ["a", "a"]}, "names a value twice"),
        ({"order": "a"}, "takes a list"),
        ({"ordr": ["a", "b"]}, "did you mean 'order'?"),
    ],
)
def test_rules_that_make_no_sense_are_refused_before_data_moves(spec: object, says: str) -> None:
    with pytest.raises(PolicyError, match=says.replace("?", r"\?")):
        sf.Policy.parse({"version": 1, "columns": {"x": {"role": "quasi-identifier", "hierarchy": spec}}})


def test_a_value_that_an_order_does_not_name_is_an_error() -> None:
    tree = {"version": 1, "columns": {"x": {"role": "quasi-identifier", "hierarchy": {"order": ["a", "b", "c"]}}}}
    policy = sf.Policy.parse(tree | {"protect": [{"k-anonymity": {"k": 2}}], "method": {"mondrian": {}}})
    with pytest.raises(DataError, match="not leaves"):
        sf.publish(policy, data={"x": ["a", "b", "z", "z"]})
    assert sf.publish(policy, data={"x": ["a", "b", "c", "c"]}).certificate.holds


def test_releases_with_lists_and_orders_are_verified_without_the_original(tmp_path: Path) -> None:
    rng = random.Random(5)
    data = {"country": [rng.choice(["Italy", "Spain", "Peru", "Chile", "Kenya", "Atlantis"]) for _ in range(300)]}
    data |= {
        "pain": [rng.choice(["none", "mild", "severe"]) for _ in range(300)],
        "s": [rng.choice("abc") for _ in range(300)],
    }
    columns = {
        "country": {"role": "quasi-identifier", "hierarchy": {"list": "countries"}},
        "pain": {"role": "quasi-identifier", "hierarchy": {"order": ["none", "mild", "severe"]}},
        "s": "sensitive",
    }
    tree = {"version": 1, "columns": columns, "protect": [{"k-anonymity": {"k": 40}}], "method": {"mondrian": {}}}
    publication = sf.publish(sf.Policy.parse(tree), data=data)
    folder = publication.write(tmp_path / "out")
    labels = set(publication.release.parts["data"].table["country"].to_pylist())
    assert labels & {"Southern Europe", "South America", "Europe", "Americas", "*"}
    assert sf.verify(folder).holds
    assert sf.verify(folder, original=data).holds
    assert 0 < publication.certificate.utility["loss"] < 1
