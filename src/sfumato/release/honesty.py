"""Honesty: a finding may say that something holds only when its own figures say so.

Definition
    Every number that was required is among the figures achieved, and reached: a required 0 means none, unless a model says that
    more of it protects more; a parameter of which a model says that less protects more (`Model.levels`), and every name that ends
    in ``_at_most``, is an upper limit; any other parameter of a model is a lower limit. A required text (``distance: ordered``)
    is not contradicted.

Guarantee
    Whatever is wrong with a comparison inside a model, a reading or a check, no certificate can show ✓ beside a figure that is
    below what was asked, or beside no figure at all.

Invariants
    I1  Figures are written with six digits, so what is required is rounded the same way before the two are compared.
    I2  ``{"published": 0}`` is a figure too: nothing of what is hidden stands in any file, so there is nothing to link.
    I3  What nobody declares is not guessed: a number of an unknown model that is no zero and no ``_at_most`` is not reached.

Cost: one look for every name, which is kept.

>>> shortfall("k-anonymity", {"k": 5}, {"k": 7}), shortfall("k-anonymity", {"k": 5}, {"k": 2})
('', 'k is 2 where 5 was asked for')
>>> shortfall("t-closeness", {"t": 0.2, "distance": "equal"}, {"t": 0.3, "distance": "equal"})
't is 0.3 where 0.2 was asked for'
>>> shortfall("truthfulness", {"rows": 0}, {"rows": 3}), shortfall("p-sensitivity", {"p": 2}, {})
('rows is 3 where 0 was asked for', 'nothing says how much p there is')
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from sfumato.models.base import Model, rounded
from sfumato.registry import entry

NOTHING_PUBLISHED = {"published": 0}
"""Achieved by a release that does not contain the hidden columns at all (I2)."""
_SLACK = 1e-9


def shortfall(name: str, required: Mapping[str, Any], achieved: Mapping[str, Any]) -> str:
    """Why `achieved` does not reach `required`, in words; empty when it does."""
    if dict(achieved) == NOTHING_PUBLISHED and entry("models", Model, name):  # I2
        return ""
    return next((said for key, asked in required.items() if (said := _short(name, key, asked, achieved))), "")


def _short(name: str, key: str, asked: Any, achieved: Mapping[str, Any]) -> str:
    if key not in achieved:
        return f"nothing says how much {key} there is" if _is_number(asked) else ""
    found = achieved[key]
    if not _is_number(asked):
        return "" if found == asked else f"{key} is not what was asked for"
    if _is_number(found) and _reaches(_limit(name, key, asked), float(asked), float(found)):
        return ""
    return f"{key} is {found} where {asked} was asked for"


def _limit(name: str, key: str, asked: float) -> str:
    """``lower``, ``upper`` or ``unknown``."""
    model = entry("models", Model, name)
    if model is not None and model.levels.get(key) == "more":
        return "lower"
    if asked == 0 or key.endswith("_at_most") or (model is not None and model.levels.get(key) == "less"):
        return "upper"
    return "lower" if model is not None else "unknown"  # I3


def _reaches(limit: str, asked: float, found: float) -> bool:
    if limit == "upper":
        return found <= rounded(asked * (1 + _SLACK)) + _SLACK  # I1
    return limit == "lower" and found >= rounded(asked * (1 - _SLACK))  # I1


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
