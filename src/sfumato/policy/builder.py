"""A policy that is built in code, word by word; every step is a new draft, and the last one is read as strictly as a
file.

>>> from sfumato.policy.builder import intervals, k_anonymity
>>> draft = PolicyDraft().identifier("name").quasi("age", intervals(5, 10)).sensitive("illness").protect(k_anonymity(3))
>>> draft
PolicyDraft(1 identifier, 1 quasi-identifier, 1 sensitive; k-anonymity {k: 3})
>>> draft.policy().quasi_identifiers
('age',)


Vocabulary
----------
The words of a policy as functions, for policies that are built in code.

>>> intervals(5, 10), prefix(5), dates("month", "year"), k_anonymity(5), l_diversity(2, kind="entropy", hide="illness")
({'intervals': [5, 10]}, {'prefix': 5}, {'dates': ['month', 'year']}, {'k-anonymity': {'k': 5}}, \
{'hide': ['illness'], 'by': {'l-diversity': {'l': 2, 'kind': 'entropy'}}})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato.policy.policy import Policy, Role
from sfumato.policy.yaml_document import write_yaml


@dataclass(frozen=True, slots=True, repr=False)
class PolicyDraft:
    """A policy that is built in code; `Policy.table` starts one.

    Every method returns a new draft. `policy()` gives the `Policy`, `text()` its YAML, `write(path)` a file.

    Examples
    --------
    >>> import sfumato as sf
    >>> draft = sf.Policy.table("people.csv").identifier("name").quasi("age", hierarchy=sf.intervals(5,
    ...     10)).sensitive("illness")
    >>> draft = draft.protect(sf.k_anonymity(5), sf.l_diversity(2)).suppress_at_most("2%")
    >>> [requirement.model.name for requirement in draft.policy().claims]
    ['k-anonymity', 'l-diversity']
    """

    tree: Mapping[str, Any] = field(
        default_factory=lambda: {"version": 1, "data": {"kind": "table"}, "columns": {}, "protect": []}
    )
    data: Any = None

    def __repr__(self) -> str:
        roles = Counter(entry if isinstance(entry, str) else entry["role"] for entry in self.tree["columns"].values())
        claims = ", ".join(map(str, self.policy().claims)) or "no claim yet"
        return (
            f"PolicyDraft({', '.join(f'{count} {role}' for role, count in roles.items()) or 'no column yet'}; {claims})"
        )

    def _repr_html_(self) -> str:
        return self.policy()._repr_html_()

    def identifier(self, *names: str) -> PolicyDraft:
        """Columns that are never published."""
        return self._with(names, "identifier")

    def quasi(
        self,
        *names: str | Mapping[str, Any],
        hierarchy: Any = None,
        boundary: Any = None,
        at_most: int | str | None = None,
        uniform: bool | None = None,
    ) -> PolicyDraft:
        """Columns that adversaries may know; the last argument may be their hierarchy."""
        if names and not isinstance(names[-1], str):
            names, hierarchy = names[:-1], names[-1]
        limits = (("hierarchy", hierarchy), ("boundary", boundary), ("at_most", at_most), ("uniform", uniform))
        more = {key: value for key, value in limits if value is not None}
        return self._with(tuple(map(str, names)), "quasi-identifier", more)

    def sensitive(self, *names: str) -> PolicyDraft:
        """Columns that nobody must learn about any person."""
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

    def importance(self, **weights: float) -> PolicyDraft:
        """How much the loss of a quasi-identifier counts: ``importance(birth_date=3)``; others count 1."""
        utility = self.tree.get("utility", {})
        return self._set(utility={**utility, "importance": {**utility.get("importance", {}), **weights}})

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


def draft_policy(data: Any = None, **settings: Any) -> PolicyDraft:
    """A draft about a table: a path, or a frame."""
    if isinstance(data, str | Path):
        return PolicyDraft().reading(source=str(data), **settings)
    return replace(PolicyDraft().reading(**settings), data=data)


# Vocabulary
# ----------


Names = str | Sequence[str]
ClaimEntry = dict[str, Any]
HierarchyEntry = dict[str, Any]


def intervals(*widths: float) -> HierarchyEntry:
    """Return a hierarchy of nested bins of these widths.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.intervals(5, 10, 20)
    {'intervals': [5, 10, 20]}
    """
    return {"intervals": list(widths)}


def cuts(*points: float | Sequence[float]) -> HierarchyEntry:
    """Return a hierarchy of bins between chosen points; lists from fine to coarse give levels.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.cuts(0, 18, 65, 120)
    {'cuts': [0, 18, 65, 120]}
    """
    return {"cuts": list(points)}


def prefix(length: int) -> HierarchyEntry:
    """Return a hierarchy of codes that lose one character per level.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.prefix(5)
    {'prefix': 5}
    """
    return {"prefix": length}


def dates(*units: str) -> HierarchyEntry:
    """Return a hierarchy of dates by these units, from fine to coarse.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.dates("month", "year")
    {'dates': ['month', 'year']}
    """
    return {"dates": list(units)}


def order(*values: str) -> HierarchyEntry:
    """Return a hierarchy of ordered values; neighbors are joined.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.order("mild", "moderate", "severe")
    {'order': ['mild', 'moderate', 'severe']}
    """
    return {"order": list(values)}


def known_list(name: str) -> HierarchyEntry:
    """Return a known hierarchy: countries, states, icd or isco.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.known_list("countries")
    {'list': 'countries'}
    """
    return {"list": name}


def k_anonymity(k: int, *, given: Names = ()) -> ClaimEntry:
    """Return the requirement that every person has at least k candidates.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.k_anonymity(5)
    {'k-anonymity': {'k': 5}}
    """
    return claim("k-anonymity", k=k, given=given)


def p_sensitivity(p: int, *, given: Names = (), hide: Names = ()) -> ClaimEntry:
    """Return the requirement of at least p distinct values in every class.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.p_sensitivity(2)
    {'p-sensitivity': {'p': 2}}
    """
    return claim("p-sensitivity", p=p, given=given, hide=hide)


def l_diversity(l: float, *, kind: str = "distinct", given: Names = (), hide: Names = (), **more: Any) -> ClaimEntry:
    """Return the requirement of at least l well-represented sensitive values in every class.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.l_diversity(3, kind="frequency")
    {'l-diversity': {'l': 3, 'kind': 'frequency'}}
    """
    return claim("l-diversity", given=given, hide=hide, l=l, **({"kind": kind} if kind != "distinct" else {}), **more)


def t_closeness(t: float, *, distance: str = "equal", given: Names = (), hide: Names = (), **more: Any) -> ClaimEntry:
    """Return the requirement that every class is distributed almost as the whole release.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.t_closeness(0.2)
    {'t-closeness': {'t': 0.2}}
    """
    return claim(
        "t-closeness", given=given, hide=hide, t=t, **({"distance": distance} if distance != "equal" else {}), **more
    )


def claim(model: str, *, given: Names = (), hide: Names = (), **levels: Any) -> ClaimEntry:
    """Return a requirement with any model, as under ``protect:``.

    `given` names the columns that the adversary knows, `hide` the columns to protect; without them all
    quasi-identifiers and all sensitive columns.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.claim("l-diversity", given="age", hide="illness", l=2)
    {'given': ['age'], 'hide': ['illness'], 'by': {'l-diversity': {'l': 2}}}
    """
    said = {key: _listed(names) for key, names in (("given", given), ("hide", hide)) if names}
    return {model: levels} if not said else said | {"by": {model: levels}}


def _listed(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
