"""From what a policy says about a column, and the values met in it, to its domain with boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sfumato.data.generalization import Generalization
from sfumato.data.hierarchy import Hierarchy
from sfumato.errors import PolicyError
from sfumato.io.hierarchies import build_generalization, is_standing
from sfumato.policy.policy import Policy


def generalization_of(policy: Policy, name: str, values: Sequence[str]) -> Generalization:
    """The domain of a quasi-identifier; `values` are the distinct original values."""
    column = policy.columns[name]
    try:
        domain = build_generalization(column.hierarchy, values, column=name, base=policy.base)
    except PolicyError as error:
        raise PolicyError(error.what, where=error.where or _where(policy, name, "hierarchy"), hint=error.hint) from None
    if column.boundary is None or not isinstance(domain, Hierarchy):
        return domain
    where = _where(policy, name, "boundary")
    if isinstance(column.boundary, dict):
        return domain.bounded_at(column.boundary.get("level", -1), where=where)
    return domain.bounded(column.boundary, where=where)


def _where(policy: Policy, name: str, key: str) -> str:
    return policy.document.where("columns", name, key)


def keep_generalizations(policy: Policy) -> Policy:
    """The same policy with its hierarchy files read in, so that it no longer needs the folder it came from."""
    columns = {}
    for name, column in policy.columns.items():
        spec = column.hierarchy
        if is_standing(spec):
            spec = build_generalization(spec, [], column=name, base=policy.base)
        columns[name] = column.model_copy(update={"hierarchy": spec})
    return replace(policy, columns=columns)
