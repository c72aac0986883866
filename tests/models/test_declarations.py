"""Every model in the catalogue says what it needs, and means it. Entries are found, not listed."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sfumato.core.registry import catalogue
from sfumato.data.linkage import Linkage
from sfumato.models.base import Demand, Example, Model, example_classes
from sfumato.policy.requirements import short_forms
from sfumato.release.form import Form
from tests.slow import SLOW

MODELS = catalogue("models", Model)
EXAMPLES = [(name, example) for name, cls in MODELS.items() for example in cls.examples]
SOURCE = Path(__file__).parents[2] / "src" / "sfumato"


@cache
def crowds(seed: int, count: int) -> list[Linkage]:
    """Random groups of one to nine people with up to four values."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        words = ["".join(rng.choice(list("1234"), rng.integers(1, 10))) for _ in range(rng.integers(1, 4))]
        found.append(example_classes(*words))
    return found


def meets(demand: Demand, linkage: Linkage) -> np.ndarray:
    """For each group: has it what the demand asks?"""
    enough = linkage.candidates >= demand.candidates
    for spread in linkage.spread.values():
        shares = spread.largest() <= demand.largest_share * spread.total() + 1e-9
        enough &= (spread.distinct() >= demand.distinct) & shares
    return enough


@pytest.mark.parametrize("name", MODELS)
def test_every_model_declares_what_outsiders_of_the_room_ask(name: str) -> None:
    cls = MODELS[name]
    assert cls.examples
    assert cls.levels
    assert set(cls.levels) <= set(cls.model_fields)


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_examples_are_told_apart(name: str, example: Example) -> None:
    model = MODELS[name](**example.level)
    assert isinstance(example.holds, model.judges)
    assert model.satisfied(example.holds).all()
    assert not model.satisfied(example.fails).all()


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_achieved_reaches_required_exactly_when_the_model_is_satisfied(name: str, example: Example) -> None:
    model = MODELS[name](**example.level)
    for seen in (example.holds, example.fails, *(crowds(1, 200) if model.judges is Linkage else ())):
        achieved = model.achieved(seen)
        assert achieved
        assert model.reaches(achieved, model.required()) == bool(model.satisfied(seen).all())


@pytest.mark.parametrize("name", MODELS)
def test_reaches_fails_closed(name: str) -> None:
    cls = MODELS[name]
    model = cls(**cls.examples[0].level)
    required = model.required()
    achieved = model.achieved(cls.examples[0].holds)
    assert not cls.reaches({}, required)
    assert not cls.reaches(achieved, {})
    for level in cls.levels:
        assert not cls.reaches({**achieved, level: "many"}, required)
        assert not cls.reaches({key: value for key, value in achieved.items() if key != level}, required)
    for other in required.keys() - cls.levels.keys():
        assert not cls.reaches({**achieved, other: "something else"}, required)


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_a_demand_is_necessary_and_sufficient_where_it_says_so(name: str, example: Example) -> None:
    """[models.base I1] on random groups; a demand that is one too high, or wrongly called sufficient, is found."""
    model = MODELS[name](**example.level)
    if model.judges is not Linkage:
        assert not model.demand().sufficient
        return
    for linkage in crowds(2, 400 if SLOW else 160):
        satisfied, met = model.satisfied(linkage), meets(model.demand(), linkage)
        assert not (satisfied & ~met).any()
        if model.demand().sufficient:
            assert np.array_equal(satisfied, met)


@pytest.mark.parametrize("name", [name for name, cls in MODELS.items() if cls.judges is Linkage])
def test_the_worst_level_is_the_weakest(name: str) -> None:
    cls = MODELS[name]
    model = cls(**cls.examples[0].level)
    assert cls.strength(model.achieved(cls.examples[0].holds)) >= cls.strength(model.required())
    assert cls.strength(model.achieved(cls.examples[0].fails)) < cls.strength(model.achieved(cls.examples[0].holds))


def test_words_of_short_forms_are_different_and_name_parameters() -> None:
    declared = [cls for cls in MODELS.values() if cls.short is not None]
    assert len(short_forms()) == len(declared) >= 4
    for cls, short in short_forms().values():
        assert {short.parameter, *short.fixed} <= set(cls.model_fields)


@cache
def written(path: Path) -> tuple[list[ast.Call], list[ast.Compare]]:
    """The questions of a file after classes, and its comparisons."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    asked = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "isinstance"]
    return asked, [node for node in nodes if isinstance(node, ast.Compare)]


def asking(path: Path, classes: set[str]) -> list[str]:
    """Places of a file that ask with `isinstance` whether something is one of these classes."""
    asked, _ = written(path)
    return [
        f"{path.name}:{call.lineno}"
        for call in asked
        if classes & {p.id for p in ast.walk(call) if isinstance(p, ast.Name)}
    ]


def comparing(path: Path, names: set[str]) -> list[str]:
    """Places of a file that compare something with one of these texts."""
    _, compared = written(path)
    return [
        f"{path.name}:{c.lineno}"
        for c in compared
        if names & {p.value for p in ast.walk(c) if isinstance(p, ast.Constant)}
    ]


@pytest.fixture(scope="module")  # so that the tests of this file run in one process, which reads the house once
def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def outside(files: list[Path], *rooms: str) -> list[Path]:
    """Files of all other rooms; the floor has definitions of its own."""
    return [path for path in files if path.relative_to(SOURCE).parts[0] not in rooms and "recount" not in path.parts]


def test_nobody_outside_looks_at_the_class_of_a_model(files: list[Path]) -> None:
    """No `isinstance` on a model, one of the catalogue or a kind of them, and no comparison with its name, outside
    models/."""
    kinds = {
        base.__name__
        for cls in MODELS.values()
        for base in cls.__mro__
        if issubclass(base, Model) and base is not Model
    }
    assert "ChannelModel" in kinds
    found = [
        place for path in outside(files, "models") for place in (*asking(path, kinds), *comparing(path, set(MODELS)))
    ]
    assert not found


def test_nobody_outside_compares_the_name_of_a_form(files: list[Path]) -> None:
    words = {"database", "graph", "baskets", "anatomy"}  # kinds of data and a method have these names as well
    names = set(catalogue("forms", Form)) - words
    assert "recoded table" in names
    assert not [place for path in outside(files, "forms") for place in comparing(path, names)]


def test_from_the_spine_to_the_attacks_nobody_asks_what_data_it_is() -> None:
    datasets = {"Table", "Baskets", "Graph", "Database"}
    rooms = [SOURCE / room for room in ("workflow", "audit")]
    assert not [place for room in rooms for path in sorted(room.glob("*.py")) for place in asking(path, datasets)]


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_a_sentence_to_fill_in(name: str) -> None:
    """With all of its parameters in braces, and the hidden columns where it speaks of them."""
    cls = MODELS[name]
    holes = set(re.findall(r"{(\w+)}", cls.sentence))
    assert holes - {"hide"} == set(cls.model_fields)
    assert ("hide" in holes) == cls.needs_sensitive
