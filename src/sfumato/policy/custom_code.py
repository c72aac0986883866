"""Own code of the data holder, as a last resort: a Python function as a domain, or as a rule about the values of one
record.

Guarantee
    Code runs only from files that the environment names (`SFUMATO_PLUGINS`), and only when a file is, byte for byte,
    the one whose SHA-256 the policy states. A policy alone, or a release folder that a person sends, makes nothing run.
    What the code makes is judged by the audit on the published values, like everything else; the certificate says that
    it was used.

Notation
    rule     `own(even_sum, a, b)` under `keep`: `even_sum("3", "5")` takes the record's texts and answers True or False
    domain   `{plugin: badge, size: 9000}`: `badge(n)` gives the text of number n, from 0 to size − 1, no two alike;
             `badge_holds(text)` says whether a text is one of them (without it all are listed, up to a million)


Own texts
---------
A domain that own code of the data holder numbers: `{plugin: badge, size: 9000}`, see `plugins`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import decode_source, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from sfumato.core.arrays import BoolArray
from sfumato.core.errors import DataError, PolicyError
from sfumato.policy.constraint_language.syntax_tree import IntegrityRule, Node, Own
from sfumato.policy.value_domains import ValueDomain, bounded

VARIABLE = "SFUMATO_PLUGINS"
LISTED = 1_000_000
_LARGEST = 1 << 20


class Plugins(BaseModel):
    """Own code that rules and domains of a policy call."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(
        min_length=1, description="the name of the Python file, for people; it is taken from SFUMATO_PLUGINS"
    )
    sha256: str = Field(
        pattern="^[0-9a-f]{64}$", description="of the file, so that no other code runs under this policy"
    )

    @property
    def sentence(self) -> str:
        """What a certificate says."""
        return (
            f"own code of the data holder was run ({Path(self.file).name}, sha256 {self.sha256}): it is not judged,"
            " what it made is"
        )


def is_at_hand(code: str) -> bool:
    """Whether the environment names the file with this digest."""
    return any(hashlib.sha256(source).hexdigest() == code for _, source in _allowed())


def function(code: str, name: str) -> Callable[..., Any]:
    """The function of that name in the file with this digest."""
    for file, source in _allowed():
        if hashlib.sha256(source).hexdigest() == code:
            found = getattr(_loaded(source, file), name, None)
            if not callable(found) or name.startswith("_"):
                raise PolicyError(f"{file} has no function '{name}'", where="plugins")
            return found  # type: ignore[no-any-return]
    hint = f"read the file, then allow it: {VARIABLE}=path/of/the/file.py; its sha256 must be the policy's"
    raise PolicyError("the policy calls own code, and own code is off", where="plugins", hint=hint)


def _allowed() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file that the environment names."""
    for text in os.environ.get(VARIABLE, "").split(os.pathsep):
        path = Path(text)
        if text and path.is_file() and path.stat().st_size <= _LARGEST:
            yield path.name, path.read_bytes()


class _AllowedSource(InspectLoader):
    """Loads the bytes whose digest was compared: no other file, and no compiled one that lies beside it."""

    def __init__(self, source: bytes) -> None:
        self.source = source

    def get_source(self, fullname: str) -> str:
        return decode_source(self.source)


@lru_cache(maxsize=8)
def _loaded(source: bytes, name: str) -> ModuleType:
    """The functions of a file that was allowed."""
    loader = _AllowedSource(source)
    module = module_from_spec(ModuleSpec(f"sfumato_own_{hashlib.sha256(source).hexdigest()[:16]}", loader))
    try:
        loader.exec_module(module)
    except Exception as error:
        raise PolicyError(f"{name} cannot be loaded: {type(error).__name__}", where="plugins") from None
    return module


def custom_rule_holds(node: Own, texts: tuple[str, ...]) -> bool:
    """Evaluate a custom constraint for one record; an error message does not contain the values."""
    call = function(node.code, node.name)
    try:
        answer = call(*texts)
    except Exception as error:
        raise DataError(f"own code '{node.name}' failed: {type(error).__name__}", where="plugins") from None
    if not isinstance(answer, bool):
        raise DataError(f"own code '{node.name}' must answer True or False", where="plugins")
    return answer


def own_text(code: str, name: str, number: int) -> str:
    """The text of a domain's number."""
    call = function(code, name)
    try:
        text = call(number)
    except Exception as error:
        raise DataError(f"own code '{name}' failed: {type(error).__name__}", where="plugins") from None
    if not isinstance(text, str) or not text:
        raise DataError(f"own code '{name}' must give a text", where="plugins")
    return text


@lru_cache(maxsize=8)
def listed(code: str, name: str, size: int) -> frozenset[str]:
    """All texts of a small domain."""
    return frozenset(own_text(code, name, number) for number in range(size))


def belongs(code: str, name: str, text: str) -> bool:
    """Whether a text belongs to a domain that is too large to be listed."""
    try:
        answer = function(code, f"{name}_holds")(text)
    except PolicyError:
        raise
    except Exception as error:
        raise DataError(f"own code '{name}_holds' failed: {type(error).__name__}", where="plugins") from None
    return answer is True


def require_at_hand(plugins: Plugins | None, names: Iterable[str]) -> None:
    """Refuses before data is read what cannot be called."""
    if plugins is not None:
        for name in names:
            function(plugins.sha256, name)


def with_code_digest(rule: IntegrityRule, plugins: Plugins | None, where: str) -> IntegrityRule:
    """The rule with the digest of the code that it calls."""
    if not any(isinstance(node, Own) for node in rule.body.walk()):
        return rule
    if plugins is None:
        raise PolicyError(
            "the rule calls own code, and the policy names none", where=where, hint="plugins: {file: …, sha256: …}"
        )
    return IntegrityRule(rule.text, _with_code(rule.body, plugins.sha256))


def _with_code(node: Any, code: str) -> Any:
    if isinstance(node, Own):
        return replace(node, code=code)
    changes: dict[str, Any] = {}
    for entry in fields(node):
        value = getattr(node, entry.name)
        if isinstance(value, Node):
            changes[entry.name] = _with_code(value, code)
        elif isinstance(value, tuple):
            changes[entry.name] = tuple(_with_code(part, code) if isinstance(part, Node) else part for part in value)
    return replace(node, **changes)


# Own texts
# ---------


@dataclass(frozen=True)
class OwnTexts(ValueDomain):
    """Texts that a function of the data holder's own code numbers from 0."""

    name: str
    size: int
    code: str = ""

    def contains(self, texts: Sequence[str]) -> BoolArray:
        if self.size > LISTED:
            return super().contains(texts)
        known = listed(self.code, self.name, self.size)
        return np.fromiter((text in known for text in texts), dtype=bool, count=len(texts))

    def holds(self, text: str) -> bool:
        return belongs(self.code, self.name, text)

    def declared(self) -> dict[str, Any]:
        return {"plugin": self.name, "size": self.size}


def with_code(domain: ValueDomain, given: Plugins | None, where: str) -> ValueDomain:
    """The domain with the digest of the code that it calls."""
    if not isinstance(domain, OwnTexts):
        return domain
    if given is None:
        raise PolicyError(
            "the domain calls own code, and the policy names none", where=where, hint="plugins: {file: …, sha256: …}"
        )
    return replace(domain, code=given.sha256)


def read_own(declared: Mapping[str, Any], where: str) -> OwnTexts:
    """The domain as a policy declares it."""
    if not str(declared["plugin"]).isidentifier():
        raise PolicyError("'plugin' takes the name of a function", where=where, hint="{plugin: badge, size: 9000}")
    return OwnTexts(str(declared["plugin"]), bounded(declared, "size", 1_000, 1, 1 << 62, where))
