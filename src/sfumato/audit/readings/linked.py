"""One linked table: the candidates of a person are the people who have the same published rows.

Pseudonyms are published, so people can be counted from the files alone. Two people whose bags of rows are written alike cannot be
told apart, however much is known of the rows of everybody.

Values are looked at twice, and both must satisfy the claim
    slot    the rows of a group of people that are written alike: what is learnt about one event of a person
    ever    who has a value in whichever row: what is learnt about the person. A value that all people of a group have is certain,
            and counts as the only one
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sfumato.audit.base import Reading
from sfumato.data.arrays import IntArray
from sfumato.data.bags import alike_bags, ever_had
from sfumato.data.classes import group
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.table import Table
from sfumato.forms.linked import LinkedTable
from sfumato.policy.claims import Claim
from sfumato.policy.person import PSEUDONYM
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class LinkedReading(Reading):
    """People with equal bags of rows are each other's candidates."""

    name: ClassVar[str] = "linked table"
    form: ClassVar[type[Form]] = LinkedTable

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        model = claim.model
        if model.joint or not model.demand().sufficient:
            reason = "it is not defined for people in several rows"
            return Finding(model.name, True, model.required(), {}, claim.given, claim.hide, NOT_JUDGED, reason)
        seen = [self.read(exhibit, claim), *([_slots(exhibit, claim)] if claim.hide else [])]
        below = sum(int(linkage.people[~model.satisfied(linkage)].sum()) for linkage in seen)
        achieved = min((model.achieved(linkage) for linkage in seen), key=model.strength)
        reason = f"{below} people fall below" if below else ""
        return Finding(model.name, not below, model.required(), achieved, claim.given, claim.hide, self.grade, reason)

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        """Groups of people with equal bags, and how many of each ever have a value."""
        person, bag, _ = _bags(exhibit.data, claim)
        people = np.bincount(bag)
        return Linkage(people, people, {name: _ever(exhibit.data, name, bag[person], person, people) for name in claim.hide})


def _bags(table: Table, claim: Claim) -> tuple[IntArray, IntArray, IntArray]:
    """The person of every row, the bag of every person, the cell of every row."""
    person = table.text(PSEUDONYM).codes.astype(np.int64)
    cell = group([table.text(name).codes for name in claim.given], rows=table.rows).of
    return person, alike_bags(person, cell), cell


def _slots(exhibit: Exhibit, claim: Claim) -> Linkage:
    """Rows of a group of people that are written alike."""
    table = exhibit.data
    person, bag, cell = _bags(table, claim)
    slots = group([bag[person], cell], rows=table.rows)
    people = np.bincount(bag)[bag[person][slots.first]]
    hidden = {name: table.text(name) for name in claim.hide}
    spread = {name: Spread.count(slots.of, text.codes, len(slots), text.labels) for name, text in hidden.items()}
    return Linkage(people, people, spread)


def _ever(table: Table, name: str, bag: IntArray, person: IntArray, people: IntArray) -> Spread:
    text = table.text(name)
    return ever_had(text.codes, text.labels, bag, person, people)
