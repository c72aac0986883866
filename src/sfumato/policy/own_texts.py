"""A domain that own code of the data holder numbers: `{plugin: badge, size: 9000}`, see `plugins`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.data.arrays import BoolArray
from sfumato.errors import PolicyError
from sfumato.policy import plugins
from sfumato.policy.replacements import ValueDomain, bounded


@dataclass(frozen=True)
class OwnTexts(ValueDomain):
    """Texts that a function of the data holder's own code numbers from 0."""

    name: str
    size: int
    code: str = ""

    def contains(self, texts: Sequence[str]) -> BoolArray:
        if self.size > plugins.LISTED:
            return super().contains(texts)
        known = plugins.listed(self.code, self.name, self.size)
        return np.fromiter((text in known for text in texts), dtype=bool, count=len(texts))

    def holds(self, text: str) -> bool:
        return plugins.belongs(self.code, self.name, text)

    def declared(self) -> dict[str, Any]:
        return {"plugin": self.name, "size": self.size}


def with_code(domain: ValueDomain, given: plugins.Plugins | None, where: str) -> ValueDomain:
    """The domain with the digest of the code that it calls."""
    if not isinstance(domain, OwnTexts):
        return domain
    if given is None:
        raise PolicyError("the domain calls own code, and the policy names none", where=where, hint="plugins: {file: …, sha256: …}")
    return replace(domain, code=given.sha256)


def read_own(declared: Mapping[str, Any], where: str) -> OwnTexts:
    """The domain as a policy declares it."""
    if not str(declared["plugin"]).isidentifier():
        raise PolicyError("'plugin' takes the name of a function", where=where, hint="{plugin: badge, size: 9000}")
    return OwnTexts(str(declared["plugin"]), bounded(declared, "size", 1_000, 1, 1 << 62, where))
