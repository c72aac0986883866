"""`linkage`: the prosecutor, who knows everybody's quasi-identifiers exactly and looks every person up in the release.

For each person of the original table the adversary keeps the published rows whose cells cover the person's values, and guesses.
Success is the chance to pick the right row (presence) and the chance to guess each sensitive value from those rows.

Paper: the outsider of [boundaries §2].
Of a perturbed table the nearest row is guessed (`_nearest_rows`), and the figure is an estimate.
Cost: distinct original tuples × distinct published tuples, in pieces of bounded memory.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks._nearest_rows import nearest_rows
from sfumato.attacks._of_people import against_people
from sfumato.attacks.base import ReleaseAttack
from sfumato.audit.cover import Allowed, allowed
from sfumato.data.arrays import FloatArray
from sfumato.data.classes import Classes, group
from sfumato.data.table import Table
from sfumato.forms.perturbed import PerturbedTable
from sfumato.forms.recoded import Recoded
from sfumato.policy.generalizations import generalization_of
from sfumato.policy.policy import Policy
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_CHUNK = 4_000_000


class LinkageAttack(ReleaseAttack):
    """Look every person up by their exact quasi-identifiers; report the best chance of finding the row or the value."""

    name: ClassVar[str] = "linkage"
    paper: ClassVar[str] = "boundaries §2"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded, PerturbedTable)

    known: int = Field(default=0, ge=0, description="rows of a person that are known, where a person may stand in several; 0: all")

    def play(self, exhibit: Exhibit) -> dict[str, Any]:
        if not exhibit.form.recodes:
            return nearest_rows(exhibit)
        return play(exhibit.data, exhibit.original, exhibit.policy) | against_people(exhibit, self.known)


def play(published: Table, original: Table, policy: Policy) -> dict[str, Any]:
    """What the prosecutor gets from a recoded table."""
    names = policy.quasi_identifiers
    people = group([original.text(name).codes for name in names], rows=original.rows)
    rows = group([published.text(name).codes for name in names], rows=published.rows)
    may = [
        allowed(
            published.text(name), original.text(name), generalization_of(policy, name, original.text(name).labels), bounded=False
        )
        for name in names
    ]
    spread = {name: _per_class(published, rows, name) for name in policy.sensitive}
    candidates, best = _candidates(published, original, people, rows, may, names, spread)
    found = candidates[candidates > 0]
    result: dict[str, Any] = {
        policy.record_word: int(people.counts.sum()),
        "fewest_candidates" if policy.person is None else "fewest_rows_that_fit": int(found.min()) if len(found) else 0,
        "highest_chance_to_find_the_row": float(1 / found.min()) if len(found) else 0.0,
    }
    if spread:
        result["highest_chance_to_guess"] = {name: round(float(best[name].max()), 6) for name in spread}
    return result


def _per_class(published: Table, rows: Classes, name: str) -> FloatArray:
    """Counts of the values of a sensitive column in each published class, dense."""
    text = published.text(name)
    counts = np.bincount(rows.of * len(text.labels) + text.codes, minlength=len(rows) * len(text.labels))
    dense: FloatArray = counts.reshape(len(rows), len(text.labels)).astype(np.float64)
    return dense


def _candidates(
    published: Table,
    original: Table,
    people: Classes,
    rows: Classes,
    may: list[Allowed],
    names: tuple[str, ...],
    spread: dict[str, FloatArray],
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """For each distinct person: rows that may be theirs, and the largest share of one sensitive value among them."""
    labels = [published.text(name).codes[rows.first] for name in names]
    values = [original.text(name).codes[people.first] for name in names]
    step = max(1, _CHUNK // max(len(rows), 1))
    counts: list[FloatArray] = []
    best: dict[str, list[FloatArray]] = {name: [] for name in spread}
    for first in range(0, len(people), step):
        fits = np.ones((min(step, len(people) - first), len(rows)), dtype=np.bool_)
        for label, value, may_be in zip(labels, values, may, strict=True):
            fits &= may_be.products(label, value[first : first + step]).T
        counts.append(fits.astype(np.float64) @ rows.counts)
        for name, dense in spread.items():
            mixed = fits.astype(np.float64) @ dense
            best[name].append(mixed.max(axis=1) / np.maximum(mixed.sum(axis=1), 1.0))
    return np.concatenate(counts), {name: np.concatenate(shares) for name, shares in best.items()}
