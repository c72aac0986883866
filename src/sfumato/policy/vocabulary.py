"""The words of a policy as functions, for policies that are built in code.

>>> intervals(5, 10), prefix(5), dates("month", "year"), k_anonymity(5), l_diversity(2, kind="entropy", hide="illness")
({'intervals': [5, 10]}, {'prefix': 5}, {'dates': ['month', 'year']}, {'k-anonymity': {'k': 5}}, \
{'hide': ['illness'], 'by': {'l-diversity': {'l': 2, 'kind': 'entropy'}}})
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Names = str | Sequence[str]
ClaimEntry = dict[str, Any]
HierarchyEntry = dict[str, Any]


def intervals(*widths: float) -> HierarchyEntry:
    """Numbers in ever wider bins: ``intervals(5, 10, 20)``."""
    return {"intervals": list(widths)}


def cuts(*points: float | Sequence[float]) -> HierarchyEntry:
    """Numbers in bins between chosen points, ends included: ``cuts(0, 18, 65, 120)``; lists from fine to coarse make levels."""
    return {"cuts": list(points)}


def prefix(length: int) -> HierarchyEntry:
    """Codes that lose their last characters: ``prefix(5)``."""
    return {"prefix": length}


def dates(*units: str) -> HierarchyEntry:
    """Days in ever longer spans: ``dates("month", "year")``."""
    return {"dates": list(units)}


def order(*values: str) -> HierarchyEntry:
    """Values from least to most, of which neighbours are joined: ``order("mild", "moderate", "severe")``."""
    return {"order": list(values)}


def known_list(name: str) -> HierarchyEntry:
    """A list that everybody knows: ``known_list("countries")``, also states, icd, isco."""
    return {"list": name}


def k_anonymity(k: int, *, given: Names = ()) -> ClaimEntry:
    """Everybody is left among at least k candidates."""
    return claim("k-anonymity", k=k, given=given)


def p_sensitivity(p: int, *, given: Names = (), hide: Names = ()) -> ClaimEntry:
    """At least p different sensitive values among everybody's candidates."""
    return claim("p-sensitivity", p=p, given=given, hide=hide)


def l_diversity(l: float, *, kind: str = "distinct", given: Names = (), hide: Names = (), **more: Any) -> ClaimEntry:
    """Sensitive values among everybody's candidates are at least l well represented."""
    return claim("l-diversity", given=given, hide=hide, l=l, **({"kind": kind} if kind != "distinct" else {}), **more)


def t_closeness(t: float, *, distance: str = "equal", given: Names = (), hide: Names = (), **more: Any) -> ClaimEntry:
    """Sensitive values among everybody's candidates are distributed almost as in the whole release."""
    return claim("t-closeness", given=given, hide=hide, t=t, **({"distance": distance} if distance != "equal" else {}), **more)


def claim(model: str, *, given: Names = (), hide: Names = (), **levels: Any) -> ClaimEntry:
    """Any model by its name, as it would stand under ``protect:``; given and hide are what a claim means when they are not said."""
    said = {key: _listed(names) for key, names in (("given", given), ("hide", hide)) if names}
    return {model: levels} if not said else said | {"by": {model: levels}}


def _listed(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
