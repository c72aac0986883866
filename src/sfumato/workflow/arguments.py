"""A policy as people hand it over: a `Policy`, a draft with its data, a mapping, the text of one, or the path of a
file.


Ledgers
-------
Ledgers: the one that a publication is judged with and remembered in, as it was given or as the policy names it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sfumato.core.confinement import declared_path
from sfumato.core.errors import PolicyError
from sfumato.history.ledger import Ledger
from sfumato.policy.builder import PolicyDraft
from sfumato.policy.policy import Policy

PolicyLike = Policy | PolicyDraft | Mapping[str, Any] | str | Path


def as_policy(policy: PolicyLike, data: Any = None) -> tuple[Policy, Any]:
    """The policy itself, and the data: that which is given, else that of the draft.

    >>> as_policy({"version": 1, "columns": {"a": "other"}})[0].columns["a"].role
    'other'
    """
    if isinstance(policy, PolicyDraft):
        return policy.policy(), policy.data if data is None else data
    if isinstance(policy, Policy):
        return policy, data
    if isinstance(policy, Mapping) or (isinstance(policy, str) and "\n" in policy):
        return Policy.parse(policy), data
    return Policy.read(policy), data


# Ledgers
# -------


def ledger_of(policy: Policy, given: str | Path | None, *, new: bool | None = False) -> Ledger | None:
    """The ledger that was given or that the policy names; it needs a key to know records again.

    A ledger is begun only where that is said: by `new`, or in the policy for the ledger it names. With ``new=None`` one
    that is not there is taken for empty, for those who only look ahead."""
    path = (
        Path(given)
        if given is not None
        else None
        if policy.ledger is None
        else declared_path(policy.base, policy.ledger.file)
    )
    if path is None:
        return None
    where = policy.document.where("ledger") if given is None else str(path)
    if policy.data.needs_key and not policy.key:
        hint = "name the column(s) that identify a record across releases; they are never published"
        raise PolicyError("a ledger needs 'key:'", where=policy.document.where("ledger"), hint=hint)
    there = os.path.lexists(path)
    if new and there:
        raise PolicyError(
            f"ledger {path.name} exists already", where=where, hint="leave --new-ledger out to go on with it"
        )
    permitted = new is not False or (given is None and policy.ledger is not None and policy.ledger.new)
    if not there and not permitted:
        raise PolicyError(
            f"no such ledger: {path.name}", where=where, hint=_near(path) + "begin a new one with --new-ledger"
        )
    return Ledger(path, new=permitted)


def _near(path: Path) -> str:
    """Files beside a ledger that is not there whose names are like its own."""
    beside = sorted(file.name for file in path.parent.glob("*") if file.is_file() and file.suffix != ".kept")
    beside = beside if path.parent.is_dir() else []
    like = get_close_matches(path.name, beside, n=3)
    like += [name for name in beside if path.suffix and name.endswith(path.suffix) and name not in like][
        : 3 - len(like)
    ]
    return f"did you mean {' or '.join(map(repr, like))}? or " if like else ""
