"""A policy as people hand it over: a `Policy`, a draft with its data, a mapping, the text of one, or the path of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.policy.draft import PolicyDraft
from sfumato.policy.policy import Policy

PolicyLike = Policy | PolicyDraft | Mapping[str, Any] | str | Path


def taken(policy: PolicyLike, data: Any = None) -> tuple[Policy, Any]:
    """The policy itself, and the data: that which is given, else that of the draft.

    >>> taken({"version": 1, "columns": {"a": "other"}})[0].columns["a"].role
    'other'
    """
    if isinstance(policy, PolicyDraft):
        return policy.policy(), policy.data if data is None else data
    if isinstance(policy, Policy):
        return policy, data
    if isinstance(policy, Mapping) or (isinstance(policy, str) and "\n" in policy):
        return Policy.parse(policy), data
    return Policy.read(policy), data
