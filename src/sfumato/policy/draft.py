"""A policy that is built in code, word by word; every step is a new draft, and the last one is read as strictly as a file.

>>> from sfumato.policy.vocabulary import intervals, k_anonymity
>>> draft = PolicyDraft().identifier("name").quasi("age", intervals(5, 10)).sensitive("illness").protect(k_anonymity(3))
>>> draft
PolicyDraft(1 identifier, 1 quasi-identifier, 1 sensitive; k-anonymity {k: 3})
>>> draft.policy().quasi_identifiers
('age',)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato.policy.policy import Policy, Role
from sfumato.policy.read import write_yaml


@dataclass(frozen=True, slots=True, repr=False)
class PolicyDraft:
    """A policy in the making, with the data it is about when that is at hand."""

    tree: Mapping[str, Any] = field(default_factory=lambda: {"version": 1, "data": {"kind": "table"}, "columns": {}, "protect": []})
    data: Any = None

    def __repr__(self) -> str:
        roles = Counter(entry if isinstance(entry, str) else entry["role"] for entry in self.tree["columns"].values())
        claims = ", ".join(map(str, self.policy().claims)) or "no claim yet"
        return f"PolicyDraft({', '.join(f'{count} {role}' for role, count in roles.items()) or 'no column yet'}; {claims})"

    def _repr_html_(self) -> str:
        return self.policy()._repr_html_()

    def identifier(self, *names: str) -> PolicyDraft:
        """Columns that are never published."""
        return self._with(names, "identifier")

    def quasi(self, *names: str | Mapping[str, Any], hierarchy: Any = None, boundary: Any = None) -> PolicyDraft:
        """Columns that outsiders may know; the last argument may be their hierarchy."""
        if names and not isinstance(names[-1], str):
            names, hierarchy = names[:-1], names[-1]
        more = {key: value for key, value in (("hierarchy", hierarchy), ("boundary", boundary)) if value is not None}
        return self._with(tuple(map(str, names)), "quasi-identifier", more)

    def sensitive(self, *names: str) -> PolicyDraft:
        """Columns that nobody must learn about anybody."""
        return self._with(names, "sensitive")

    def other(self, *names: str) -> PolicyDraft:
        """Columns that are published as they are."""
        return self._with(names, "other")

    def protect(self, *claims: Mapping[str, Any] | str) -> PolicyDraft:
        """Claims, like ``k_anonymity(5)`` or ``"age -> illness : 2-diversity"``."""
        return self._set(protect=[*self.tree["protect"], *claims])

    def method(self, name: str, **parameters: Any) -> PolicyDraft:
        """The method, when the planner shall not choose."""
        return self._set(method={name: parameters})

    def suppress_at_most(self, share: float | str) -> PolicyDraft:
        """The largest share of records that may be left out, like 0.02 or ``"2%"``."""
        return self._set(utility={**self.tree.get("utility", {}), "suppress_at_most": share})

    def reading(self, **settings: Any) -> PolicyDraft:
        """How the data is read, as under ``data:``."""
        return self._set(data={**self.tree["data"], **settings})

    def policy(self) -> Policy:
        """The policy, checked completely."""
        return Policy.parse(self.tree)

    def text(self) -> str:
        """As a file would say it."""
        return write_yaml(dict(self.tree))

    def write(self, path: str | Path) -> Path:
        """As a file."""
        self.policy()
        Path(path).write_text(self.text(), encoding="utf-8")
        return Path(path)

    def _with(self, names: tuple[str, ...], role: Role, more: Mapping[str, Any] | None = None) -> PolicyDraft:
        entry: Any = {"role": role, **more} if more else role
        return self._set(columns={**self.tree["columns"], **dict.fromkeys(names, entry)})

    def _set(self, **keys: Any) -> PolicyDraft:
        return replace(self, tree={**self.tree, **keys})


def drafted(data: Any = None, **settings: Any) -> PolicyDraft:
    """A draft about a table: a path, or a frame."""
    if isinstance(data, str | Path):
        return PolicyDraft().reading(source=str(data), **settings)
    return replace(PolicyDraft().reading(**settings), data=data)
