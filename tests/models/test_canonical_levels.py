"""One form for every parameter: a level from Python, from YAML and from a certificate in JSON is the same level."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import ValidationError

import sfumato as sf
from sfumato.core.registry import catalogue
from sfumato.models.base import Model
from sfumato.policy.yaml_document import parse_yaml, write_yaml
from sfumato.release.certificate import Certificate, Finding
from sfumato.release.form import Form
from sfumato.release.method import Method
from tests.trust.every_form import FORMS, release_of

MODELS = catalogue("models", Model)
METHODS = catalogue("methods", Method)
OTHER_VALUES: dict[type, tuple[Any, ...]] = {
    bool: (True, False),
    int: (1, 2, 3),
    float: (1, 2, 0.5, 1 / 3, 1e-7, 2.0),
    str: ("anatomy", "mondrian"),
    tuple: (("1", "2", "3", "4", "5", "6", "7", "8", "9", "0"), ["flu", "1e3", "null", "2020-01-01"]),
    dict: ({"a": 1}, {"1": 0.25, "null": 2}),
    object: (
        {"any": {"low": ["0", "1", "2", "3"], "high": ["4", "5", "6", "7", "8", "9"]}},
        {"any": {"x": [1, 2], "y": [3.5]}},
        {"value": {str(number): number + 0.5 for number in range(10)}},
        {"value": {"null": 2, "1e3": 1}},
    ),
}
"""Values to try by the type of a field; those that a field does not take are left out."""


def values_of(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    elif get_origin(annotation) in (Union, type(int | None)):
        for one in get_args(annotation):
            yield from values_of(one)
    elif annotation is not type(None):
        yield from OTHER_VALUES[object if annotation is Any else get_origin(annotation) or annotation]


def variants(cls: type[Model] | type[Method], settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The settings, and each with every other value of every field that the class takes; a field also together with
    another."""
    found = list(settings)
    for start in settings:
        for key, field in cls.model_fields.items():
            found += [{**start, key: value} for value in values_of(field.annotation)]
    return [level for level in found if taken(cls, level)]


def taken(cls: type[Model] | type[Method], level: dict[str, Any]) -> bool:
    try:
        cls(**level)
    except ValidationError:
        return False
    return True


def levels_of(cls: type[Model]) -> list[dict[str, Any]]:
    return variants(cls, [dict(each.level) for each in cls.examples])


def once(levels: list[dict[str, Any]], shown: Any) -> list[dict[str, Any]]:
    """Every level once, by what is shown of it."""
    return list({json.dumps(shown(level), sort_keys=True): level for level in levels}.values())


@pytest.mark.parametrize("name", MODELS)
def test_a_level_survives_yaml_and_json(name: str) -> None:
    cls = MODELS[name]
    for level in levels_of(cls):
        model = cls(**level)
        read = cls(**parse_yaml(write_yaml({"by": json.loads(json.dumps(level))}), name="p").tree["by"])
        assert read == model, level
        assert read.required() == model.required()
        assert json.loads(json.dumps(model.required())) == model.required()
        assert cls(**json.loads(json.dumps(model.required()))).required() == model.required()
        said = Finding(name, False, model.required(), {})
        assert Certificate.from_json(_written(said)).findings == (said,)


def _written(finding: Finding) -> Any:
    tree = {"findings": [finding.to_json()], "records": {"input": 0, "published": 0, "suppressed": 0}}
    return json.loads(json.dumps(tree))


@pytest.mark.parametrize("name", MODELS)
def test_every_field_of_a_model_is_tried(name: str) -> None:
    cls = MODELS[name]
    tried = {key for level in levels_of(cls) for key, value in level.items() if value != cls.model_fields[key].default}
    assert tried == set(cls.model_fields)


def test_figures_are_written_in_one_form() -> None:
    assert Finding("x", True, {"order": ("a", "b")}, {"order": ["a", "b"]}).required == {"order": ["a", "b"]}


@pytest.mark.parametrize("name", METHODS)
def test_a_setting_of_a_method_survives_yaml(name: str) -> None:
    cls = METHODS[name]
    for level in variants(cls, [{}]):
        method = cls(**level)
        written = method.model_dump(mode="json", exclude_defaults=True)
        assert cls(**parse_yaml(write_yaml({"by": written}), name="p").tree["by"]) == method, level


@pytest.mark.parametrize("form", FORMS)
def test_a_form_and_its_findings_survive_json(form: str) -> None:
    folder, original = release_of(form)
    manifest = json.loads((folder / "manifest.json").read_text())
    read = Form.read(form, manifest["public"])
    assert json.loads(json.dumps(read.to_public())) == manifest["public"] == read.to_public()
    for given in (None, original):
        for finding in sf.verify(folder, original=given).findings:
            assert Certificate.from_json(_written(finding)).findings == (finding,), finding


PEOPLE = {"age": [str(20 + place % 20) for place in range(120)], "pay": [str(place * 7 % 4) for place in range(120)]}
TABLE_LEVELS = [
    (name, level)
    for name, cls in MODELS.items()
    if "table" in cls.kinds and cls.needs_sensitive and not cls.joint
    for level in once(levels_of(cls), lambda level, cls=cls: cls(**level).required())
]


@pytest.mark.parametrize(
    ("name", "level"), TABLE_LEVELS, ids=lambda part: part if isinstance(part, str) else json.dumps(part)
)
@pytest.mark.parametrize("method", ["mondrian", "anatomy"])
def test_an_honest_release_is_verified_at_every_level(
    name: str, level: dict[str, Any], method: str, tmp_path: Path
) -> None:
    """Whatever can be published is verified, with the original and without."""
    columns = {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}}, "pay": "sensitive"}
    tree = {"version": 1, "columns": columns, "protect": [{name: level}], "method": method}
    try:
        sf.publish(sf.Policy.parse(tree), data=PEOPLE).write(tmp_path / "out", report=False)
    except (sf.Infeasible, sf.PolicyError, sf.DataError):
        pytest.skip("this method does not keep this level here")
    for original in (None, PEOPLE):
        assert not [finding for finding in sf.verify(tmp_path / "out", original=original).findings if not finding.holds]
