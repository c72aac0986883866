"""From a declared class and the text of a policy to an instance, with errors that know the line and the nearest name."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from sfumato.errors import PolicyError
from sfumato.policy.read import Document
from sfumato.registry import nearest

D = TypeVar("D", bound=BaseModel)


def declare(cls: type[D], values: Any, document: Document, *path: str | int) -> D:
    """`cls(**values)`, or a `PolicyError` that points into the document."""
    if values is None:
        values = {}
    if not isinstance(values, dict):
        hint = "known: " + ", ".join(cls.model_fields)
        raise PolicyError(f"'{path[-1]}' takes named parameters", where=document.where(*path), hint=hint)
    try:
        return cls(**values)
    except ValidationError as error:
        raise _pointing(error, cls, document, path) from None


def _pointing(error: ValidationError, cls: type[BaseModel], document: Document, path: tuple[str | int, ...]) -> PolicyError:
    """The first thing that is wrong, with everything else that is wrong in its company."""
    found: dict[str, PolicyError] = {}
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        pointed = _one(one, cls, document, path)
        found.setdefault(str(one["loc"][:1]), pointed)  # a value of several possible types is wrong once
    first, *others = found.values()
    first.others = tuple(others)
    return first


def _one(error: Any, cls: type[BaseModel], document: Document, path: tuple[str | int, ...]) -> PolicyError:
    place = tuple(part for part in error["loc"] if isinstance(part, int) or (isinstance(part, str) and "[" not in part))
    name = str(place[-1]) if place else str(path[-1])
    where = document.where(*path, *place)
    if error["type"] == "extra_forbidden":
        return PolicyError(f"unknown key '{name}'", where=where, hint=nearest(name, list(cls.model_fields)))
    if error["type"] == "missing":
        return PolicyError(f"'{name}' is missing", where=where, hint=_describe(cls, name))
    message = error["msg"].removeprefix("Value error, ")
    return PolicyError(f"'{name}': {message[0].lower() + message[1:]}", where=where, hint=_describe(cls, name))


def _describe(cls: type[BaseModel], name: str) -> str:
    known = cls.model_fields.get(name)
    return f"{name}: {known.description}" if known is not None and known.description else ""
