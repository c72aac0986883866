"""The catalogue is complete: every model, method, metric and attack has all facts, and every example is accepted."""

from __future__ import annotations

import re
import shlex

import pytest
import yaml

from reference_pages.catalogue_facts import ATTACKS, METHODS, METRICS, MODELS, Facts
from reference_pages.catalogue_page import catalogue_page
from sfumato.core.registry import catalogue
from sfumato.models.base import Model
from sfumato.release.attack import Attack
from sfumato.release.method import Method
from sfumato.release.metric import Metric
from sfumato.ui.cli.measure import command as measure

PARTS = {
    "Privacy models": ("models", Model, MODELS),
    "Methods": ("methods", Method, METHODS),
    "Metrics": ("metrics", Metric, METRICS),
    "Attacks": ("attacks", Attack, ATTACKS),
}
FIELDS = ("Formula", "Cost", "Paper", "Example")


def entries(text: str) -> dict[tuple[str, str], str]:
    """Part and name of every entry of the page, and what stands under it."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    found = {}
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        names = re.split(r"^### `([^`]+)`.*$", body, flags=re.MULTILINE)
        found |= {(title, name): told for name, told in zip(names[1::2], names[2::2], strict=True)}
    return found


def missing(text: str) -> list[tuple[str, str, str]]:
    """Part, name and field of everything that an entry does not say."""
    lost = []
    for (title, name), told in entries(text).items():
        said = {field for field in FIELDS if re.search(rf"^- {field}: \S", told, re.MULTILINE)}
        if re.match(r"\s*[A-Z]", told):
            said.add("definition")
        if re.search(r"^\| parameter \|", told, re.MULTILINE) or "- Parameters: none" in told:
            said.add("parameters")
        lost += [(title, name, field) for field in ("definition", "parameters", *FIELDS) if field not in said]
    return lost


def test_every_entry_has_all_fields() -> None:
    text = catalogue_page()
    registered = {(title, name) for title, (room, base, _) in PARTS.items() for name in catalogue(room, base)}
    assert set(entries(text)) == registered
    assert missing(text) == []


@pytest.mark.parametrize("title", PARTS)
@pytest.mark.parametrize("field", ["formula", "cost", "example"])
def test_a_missing_fact_is_found(title: str, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = PARTS[title][2]
    name = next(iter(facts))
    monkeypatch.setitem(facts, name, facts[name]._replace(**{field: ""}))  # type: ignore[arg-type]
    assert missing(catalogue_page()) == [(title, name, field.capitalize())]


def test_a_missing_paper_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    name, cls = next(iter(catalogue("metrics", Metric).items()))
    monkeypatch.setattr(cls, "paper", "")
    assert missing(catalogue_page()) == [("Metrics", name, "Paper")]


def test_no_fact_is_about_something_that_does_not_exist() -> None:
    assert {title: set(facts) - set(catalogue(room, base)) for title, (room, base, facts) in PARTS.items()} == {
        title: set() for title in PARTS
    }


@pytest.mark.parametrize("title", ["Privacy models", "Methods"])
def test_the_policy_lines_are_accepted(title: str) -> None:
    room, base, facts = PARTS[title]
    for name, fact in facts.items():
        ((key, parameters),) = yaml.safe_load(fact.example).items()
        assert key == name
        catalogue(room, base)[name](**parameters)


def options(fact: Facts) -> tuple[list[str], dict[str, str | bool]]:
    """The plain words of a command, and its options by name."""
    words = shlex.split(fact.example)
    given: dict[str, str | bool] = {}
    places = [at for at, word in enumerate(words) if word.startswith("--")]
    for at in places:
        alone = at + 1 == len(words) or words[at + 1].startswith("--")
        given[words[at][2:].replace("-", "_")] = True if alone else words[at + 1]
    return words[: places[0]] if places else words, given


def test_the_attack_commands_are_accepted() -> None:
    for name, fact in ATTACKS.items():
        (program, command, attack, *target), given = options(fact)
        assert (program, command, attack) == ("sfumato", "attack", name)
        catalogue("attacks", Attack)[name](**given, **({"target": target[0]} if target else {}))


def test_the_measure_commands_are_accepted_and_name_every_parameter() -> None:
    known = {parameter.name for parameter in measure.params}
    for fact in METRICS.values():
        plain, given = options(fact)
        assert plain == ["sfumato", "measure", "release"]
        assert set(given) <= known
        assert {key for key, _, meaning in fact.parameters if "from Python" not in meaning} <= known
