"""People in several rows, as the prosecutor of `linkage` sees them: who knows some rows of a person, and how many are left then.

Notation
    known   how many rows of a person the adversary knows, by their quasi-identifiers; all of them when it is 0

Rows that nothing ties: a class of n rows that k of the known rows fit is the person's, row for row, with at most k / n.
Linked rows: the pseudonyms that have a fitting row for every known one; everybody's own is among them while no row is suppressed.

Cost: linked rows are played for at most `PEOPLE` people, each against all pseudonyms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.audit.people import PeopleCount, person_of
from sfumato.data.arrays import IntArray
from sfumato.policy.person import PSEUDONYM
from sfumato.release.exhibit import Exhibit

PEOPLE = 500


def against_people(exhibit: Exhibit, known: int) -> dict[str, Any]:
    """What is left of somebody of whom so many rows are known; nothing where the policy does not say whose rows they are."""
    if exhibit.policy.person is None:
        return {}
    count = exhibit.once(PeopleCount)
    counted = {person_of(exhibit).word: int(count.person.max(initial=-1)) + 1}
    return counted | (_linked(exhibit, known) if exhibit.form.links_rows else _unlinked(exhibit, known))


def _unlinked(exhibit: Exhibit, known: int) -> dict[str, Any]:
    count = exhibit.once(PeopleCount)
    names = exhibit.policy.quasi_identifiers
    classes = count.classes(names)
    most = count.most(classes, names)
    most = np.minimum(most, known) if known else most
    chance = float((most / classes.counts).max(initial=0.0))
    return {"known_rows": known or "all", "highest_chance_that_a_row_is_theirs": round(chance, 6)}


def _linked(exhibit: Exhibit, known: int) -> dict[str, Any]:
    count = exhibit.once(PeopleCount)
    names = exhibit.policy.quasi_identifiers
    cells = count.classes(names)
    called = exhibit.data.text(PSEUDONYM).codes.astype(np.int64)
    left = []
    for person in np.unique(np.linspace(0, int(count.person.max(initial=0)), PEOPLE).astype(np.int64)):
        own = np.flatnonzero(count.person == person)
        left.append(_left(count, own[:known] if known else own, cells.of, called, names))
    found = np.array([people for people in left if people], dtype=np.int64)
    result: dict[str, Any] = {"known_rows": known or "all", "people_played": len(left)}
    if len(found):
        result |= {"fewest_people_left": int(found.min()), "one_person_left": int((found == 1).sum())}
    return result


def _left(count: PeopleCount, rows: IntArray, cell: IntArray, called: IntArray, names: tuple[str, ...]) -> int:
    """Pseudonyms that have a fitting row for every one of these records."""
    classes = count.classes(names)
    record, fits = count.fitting(rows, classes, names)
    left = np.unique(called)
    for row in rows:
        inside = np.isin(cell, fits[record == row])
        left = np.intersect1d(left, called[inside])
    return len(left)
