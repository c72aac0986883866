"""Exhibits of a few rows, written down by hand or drawn at random."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

import sfumato as sf
from sfumato.data.table import Table
from sfumato.kinds.tables.form import Recoded
from sfumato.policy.policy import Policy
from sfumato.release.release import Part
from sfumato.release.view import ReleaseView

TREE = {"*": {"ab": ["a", "b"], "cde": {"cd": ["c", "d"], "e": ["e."]}}}
UNDER = {"*": "abcde", "ab": "ab", "cde": "cde", "cd": "cd", "a": "a", "b": "b", "c": "c", "d": "d"}
"""Label → the leaves it stands for, where leaf ``e.`` is written e."""


def policy_of(columns: dict[str, Any], protect: list[Any], method: Any = "mondrian") -> Policy:
    return Policy.parse({"version": 1, "columns": columns, "protect": protect, "method": method})


def letters(count: int, *, protect: list[Any] | None = None) -> Policy:
    """A policy with `count` quasi-identifiers q0, q1, … over the tree above, and a sensitive column s."""
    columns: dict[str, Any] = {f"q{i}": {"role": "quasi-identifier", "hierarchy": TREE} for i in range(count)}
    return policy_of({**columns, "s": "sensitive"}, protect or [{"k-anonymity": {"k": 2}}])


def recoded(policy: Policy, rows: dict[str, list[str]], people: dict[str, list[str]]) -> ReleaseView:
    """A recoded table beside its original."""
    return ReleaseView(Recoded(), {"data": Part(pa.table(rows))}, policy, original=Table(pa.table(people)))


def random_recoded(seed: int, people: int) -> ReleaseView:
    """Random people, most of them published under random labels that cover them, in another order."""
    rng = random.Random(seed)
    policy = letters(2)
    known = [[rng.choice("abcd") for _ in range(2)] for _ in range(people)]
    shown = [
        [rng.choice([label for label, under in UNDER.items() if leaf in under]) for leaf in person] for person in known
    ]
    rng.shuffle(shown)
    shown = shown[: rng.randint(max(1, people - 1), people)]
    columns = {f"q{i}": [row[i] for row in shown] for i in range(2)} | {"s": ["x"] * len(shown)}
    return recoded(policy, columns, {f"q{i}": [row[i] for row in known] for i in range(2)} | {"s": ["x"] * people})


def published(policy: Policy, data: dict[str, list[str]]) -> ReleaseView:
    """The data holder's exhibit of a release."""
    return sf.publish(policy, data=data, seed=1).exhibit
