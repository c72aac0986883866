"""A proposed policy tried before it is written: what the method or the schema refuses is left out, with the reason.

Guarantee: the policy that is written binds to the schema, every part of it has an engine, and where that is the constraint solver,
one block of it was solved for trial, as `check` will do. No large part goes to the solver unless the schema itself asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sfumato.data.database import Database
from sfumato.discover.proposal import Proposal
from sfumato.errors import DataError, Infeasible, PolicyError
from sfumato.methods.replacing.databases.families import Families
from sfumato.methods.replacing.databases.parts import FreeColumns
from sfumato.methods.replacing.databases.placing import forecasts
from sfumato.methods.replacing.relational import Relational
from sfumato.methods.replacing.sampling.blocks import Blocks
from sfumato.policy.bound_policy import BoundPolicy
from sfumato.policy.policy import Policy
from sfumato.policy.rules import columns_of, parse
from sfumato.policy.rules.tree import References
from sfumato.randomness import Randomness

_SOLVED = 2_000
"""Rows up to which a rule may go to the solver."""


def refusal(database: Database, tree: Mapping[str, Any], rules: Sequence[str] = ()) -> str:
    """Why a policy cannot be carried out, or nothing; rules come besides those that stand in it."""
    try:
        policy = Policy.parse({**tree, "keep": [*tree.get("keep", ()), *rules]})
        bound = BoundPolicy(policy, database.schema)
        bound.require_fit()
        if not bound.replaced:
            return ""
        method = Relational()
        method.foreseen(bound)
        selected = method.selected(bound, database, Randomness())
        free = FreeColumns(bound, selected)
        for segment in free.segments:
            count = max(len(rows) for rows in segment.rows.values())
            if isinstance(segment.route.engine, Blocks) and rules and count > _SOLVED:
                return f"'{segment.title}' would need the constraint solver for {count:,} rows"
        Families(free, selected, bound.references)
        forecasts(free, math.inf)
        return ""
    except (PolicyError, Infeasible, DataError) as error:
        return error.what


def tried_columns(database: Database, tree: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The policy without the replaced columns that the schema refuses, and why they were left out."""
    left: dict[str, str] = {}
    if not refusal(database, tree):
        return dict(tree), left
    kept: dict[str, Any] = {}
    for name, entry in tree["columns"].items():
        reason = refusal(database, _among(tree, {**kept, name: entry}))
        if reason:
            left[name] = reason
        else:
            kept[name] = entry
    return _among(tree, kept), left


def _among(tree: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """The policy with only these columns, and what goes with them."""
    rules = [rule for rule in tree.get("keep", ()) if str(columns_of(parse(rule))[0]) in columns]
    settled = {**tree, "columns": dict(columns), "data": _within(tree["data"], columns)}
    return settled | ({"keep": rules} if "keep" in tree else {})


def _within(data: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Groups of consistent columns whose first column is replaced."""
    groups = [group for group in data.get("consistent", ()) if group[0] in columns]
    rest = {key: value for key, value in data.items() if key != "consistent"}
    return rest | ({"consistent": groups} if groups else {})


def tried_rules(database: Database, tree: Mapping[str, Any], proposals: Sequence[Proposal]) -> list[Proposal]:
    """The proposals, those switched off that cannot be kept together with the replaced columns and the others."""
    new = set(tree["columns"])
    asked = [each for each in proposals if each.active and _mentions(each, new)]
    settled = [each.rule for each in proposals if each.active and not _mentions(each, new)]
    off: dict[str, str] = {}
    if refusal(database, tree, [*settled, *(each.rule for each in asked)]):
        ties = [rule for rule in settled if _is_reference(rule)]  # other rules may need them
        kept: list[str] = []
        for each in sorted(asked, key=lambda one: not _is_reference(one.rule)):
            reason = refusal(database, tree, [*ties, *kept, each.rule])
            if reason:
                off[each.rule] = reason
            else:
                kept.append(each.rule)
        for rule in settled:
            reason = refusal(database, tree, [*ties, *(one for one in kept if _is_reference(one)), rule])
            if reason:
                off[rule] = reason
    return [replace(each, off=off[each.rule]) if each.rule in off else each for each in proposals]


def _is_reference(rule: str) -> bool:
    return isinstance(parse(rule).body, References)


def _mentions(each: Proposal, columns: set[str]) -> bool:
    return any(str(column) in columns for column in columns_of(parse(each.rule)))
