"""The JSON schema of a policy, from the same declarations that read it, so that editors complete and check policies.

A schema knows keys, names, types and ranges; what depends on the data or on several entries together (a requirement
without a column to hide) only `sfumato check` knows. Numbers may stand as text, as everywhere in a policy.

>>> document = policy_schema()
>>> sorted(document["properties"])[:3], document["additionalProperties"]
(['accept', 'columns', 'data'], False)
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from sfumato.core.effort import EFFORTS
from sfumato.core.registry import catalogue
from sfumato.core.wording import summary_of
from sfumato.io.source import Source
from sfumato.models.base import Model
from sfumato.policy.custom_code import Plugins
from sfumato.policy.policy import Book, Column, Utility
from sfumato.policy.sections import Person, SampledPopulation, Series
from sfumato.release.method import Method

HIERARCHY: dict[str, Any] = {
    "description": "how values may be made coarser: a file, a rule, or a nested tree",
    "anyOf": [
        {"type": "string", "description": "flat, ranges, or the path of a file with rows leaf;…;root"},
        {
            "type": "object", "maxProperties": 5, "minProperties": 1,
            "properties": {
                "intervals": {"type": "array", "minItems": 1, "items": {"type": ["number", "string"]}},
                "cuts": {"type": "array", "minItems": 1, "items": {"type": ["number", "string", "array"]}},
                "prefix": {"type": ["integer", "string"]},
                "top": {"type": ["number", "string", "object", "array"],
                "description": "this and everything above is one value"},
                "bottom": {"type": ["number", "string", "object", "array"],
                "description": "this and all below is one value"},
                "round": {"type": ["number", "string", "object", "array"], "description": "to the nearest multiple"},
                "recode": {"type": ["object", "string"],
                "description": "old values to new ones, or a file with rows old;new"},
                "dates": {
                    "type": "array", "minItems": 1, "items": {"enum": ["week", "month", "quarter", "year", "decade"]}
                },
            },
            "additionalProperties": {"type": ["object", "array"], "description": "the root of a nested tree"},
        },
    ],
}  # fmt: skip
BOUNDARY = {
    "description": "nodes no value may be generalized beyond, or the level they stand on",
    "anyOf": [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"level": {"type": ["integer", "string"]}}, "additionalProperties": False},
    ],
}
_ACCEPTANCE = {
    "type": "object",
    "properties": {"by": {"type": "string"}, "reason": {"type": "string"}},
    "additionalProperties": False,
}
_REASON = {"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, _ACCEPTANCE]}}
TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


class _Written(GenerateJsonSchema):
    """Numbers and truths as policies write them: bare or as text, shares also in per cent."""

    def int_schema(self, schema: Any) -> dict[str, Any]:
        return {"anyOf": [super().int_schema(schema), {"type": "string", "pattern": r"^[+-]?\d+$"}]}

    def float_schema(self, schema: Any) -> dict[str, Any]:
        return {
            "anyOf": [super().float_schema(schema), {"type": "string", "pattern": r"^[+-]?[\d.]+([eE][+-]?\d+)?\s*%?$"}]
        }

    def bool_schema(self, schema: Any) -> dict[str, Any]:
        return {"anyOf": [super().bool_schema(schema), {"enum": ["true", "false", "yes", "no", "on", "off"]}]}


class _Definitions:
    """Schemas of declared classes, and what they share."""

    def __init__(self) -> None:
        self.shared: dict[str, Any] = {}

    def of(self, cls: type[BaseModel], *, title: str = "") -> dict[str, Any]:
        made = cls.model_json_schema(schema_generator=_Written, ref_template="#/$defs/{model}")
        self.shared |= made.pop("$defs", {})
        hidden = {name for name, field in cls.model_fields.items() if field.exclude}
        made["properties"] = {name: value for name, value in made.get("properties", {}).items() if name not in hidden}
        made["additionalProperties"] = False
        made["title"] = title or cls.__name__
        made["description"] = _first(cls)
        return made


def policy_schema() -> dict[str, Any]:
    """The whole schema, as a document of JSON Schema 2020-12."""
    shared = _Definitions()
    properties = {
        "version": {"enum": [1, "1"], "description": "of the policy's own language"},
        "data": _data(shared),
        "columns": _columns(shared),
        "protect": {"type": "array", "description": "what must stay private", "items": _claim(shared)},
        "knows": {**TEXTS, "description": "what outsiders know beside the release: rules between columns"},
        "keep": {**TEXTS, "description": "what must stay true in the output"},
        "method": _method(shared),
        "utility": shared.of(Utility),
        "ledger": {"anyOf": [{"type": "string"}, shared.of(Book)], "description": "where releases are remembered"},
        "key": {**TEXTS, "description": "private columns that name a record in every release"},
        "person": {
            "anyOf": [*TEXTS["anyOf"], shared.of(Person)],
            "description": "columns that name a person, who may have several rows",
        },
        "population": shared.of(SampledPopulation),
        "series": shared.of(Series),
        "effort": {"enum": list(EFFORTS)},
        "accept": {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"anyOf": [{"type": "string"}, _REASON]}}],
            "description": (
                "warnings and open points that were reviewed and accepted, each with a reason and a name where needed"
            ),
        },
        "plugins": shared.of(Plugins),
        "title": {"type": "string", "description": "what the data set is called, on reports"},
        "publisher": {"type": "string", "description": "who publishes it, on reports"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sfumato policy",
        "type": "object",
        "required": ["version"],
        "properties": properties,
        "additionalProperties": False,
        "$defs": shared.shared,
    }


def _first(cls: type) -> str:
    return summary_of(cls)


def _data(shared: _Definitions) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [{"type": "string", "description": "the file of a table"}]
    for name, cls in catalogue("io", Source).items():
        one = shared.of(cls, title=name)
        one["properties"] = {"kind": {"const": name}, **one["properties"]}
        one["required"] = sorted({*one.get("required", []), *(["kind"] if name != "table" else [])})
        kinds.append(one)
    return {"anyOf": kinds, "description": "where the data comes from"}


def _columns(shared: _Definitions) -> dict[str, Any]:
    whole = shared.of(Column)
    whole["properties"] |= {"hierarchy": HIERARCHY, "boundary": BOUNDARY}
    role = whole["properties"]["role"]
    return {
        "type": "object",
        "description": "the columns of a table by name: a role, or a role with more",
        "additionalProperties": {"anyOf": [role, whole]},
    }


def _named(entries: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A mapping of one entry, whose name is one of these."""
    nothing = {"type": "null"}
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {name: {"anyOf": [one, nothing]} for name, one in entries.items()},
        "additionalProperties": False,
    }


def _claim(shared: _Definitions) -> dict[str, Any]:
    model = _named({name: shared.of(cls, title=name) for name, cls in catalogue("models", Model).items()})
    shared.shared["model"] = model
    explicit = {
        "type": "object",
        "required": ["by"],
        "properties": {"given": TEXTS, "hide": TEXTS, "by": {"$ref": "#/$defs/model"}},
        "additionalProperties": False,
    }
    short = {"type": "string", "description": "in one line: age, icd9 -> race : 3-diversity"}
    return {"anyOf": [short, {"$ref": "#/$defs/model"}, explicit]}


def _method(shared: _Definitions) -> dict[str, Any]:
    every = catalogue("methods", Method)
    named = _named({name: shared.of(cls, title=name) for name, cls in every.items()})
    return {"anyOf": [{"enum": sorted(every)}, named], "description": "absent: the planner chooses and says why"}
