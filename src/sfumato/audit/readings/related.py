"""Related tables: people whose line and whose rows are written alike, taken together, are each other's candidates.

Whoever knows everything about a person that is a quasi-identifier, in both tables, how many rows there are included, is left with
the people of the same *bag*. Values of rows are judged among people with rows, slot by slot and as values that people ever have;
values of the table of people among all people of a bag; a number of candidates for everybody, people without rows included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Reading
from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.bags import alike_bags, ever_had
from sfumato.data.classes import group
from sfumato.data.linkage import Linkage, Spread
from sfumato.data.related import RelatedTable
from sfumato.forms.related import RelatedTables, joined
from sfumato.policy.claims import Claim
from sfumato.policy.person import PSEUDONYM
from sfumato.release.certificate import NOT_JUDGED, Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form


class RelatedReading(Reading):
    """People with equal lines and equal bags of rows are each other's candidates."""

    name: ClassVar[str] = "related tables"
    form: ClassVar[type[Form]] = RelatedTables

    def judge(self, exhibit: Exhibit, claim: Claim) -> Finding:
        model = claim.model
        if model.joint or not model.demand().sufficient:
            reason = "it is not defined for people in several rows"
            return Finding(model.name, True, model.required(), {}, claim.given, claim.hide, NOT_JUDGED, reason)
        candidates = self.read(exhibit, claim)
        seen = list(_of_values(exhibit.once(joined), claim)) if claim.hide else [candidates]
        below = sum(int(linkage.people[~model.satisfied(linkage)].sum()) for linkage in seen)
        few = candidates.candidates < model.demand().candidates
        below = max(below, int(candidates.people[few].sum()))
        achieved = min((model.achieved(linkage) for linkage in seen), key=model.strength)
        if "k" in achieved:  # people without rows are candidates of each other, too
            achieved["k"] = min(achieved["k"], int(candidates.candidates.min(initial=achieved["k"])))
        reason = f"{below} people fall below" if below else ""
        return Finding(model.name, not below, model.required(), achieved, claim.given, claim.hide, self.grade, reason)

    def read(self, exhibit: Exhibit, claim: Claim) -> Linkage:
        """Groups of people who cannot be told apart."""
        people = np.bincount(_bags(exhibit.once(joined), claim)[1])
        return Linkage(people, people)


def _bags(table: RelatedTable, claim: Claim) -> tuple[IntArray, IntArray, IntArray]:
    """The person of every line, the bag of every person, the cell of every line."""
    person = table.text(PSEUDONYM).codes.astype(np.int64)
    cell = group([table.absent.astype(np.int64), *(table.text(name).codes for name in claim.given)], rows=table.rows).of
    return person, alike_bags(person, cell), cell


def _of_values(table: RelatedTable, claim: Claim) -> Iterator[Linkage]:
    """What is seen of hidden values: those of people among everybody, those of rows among people who have some."""
    person, bag, cell = _bags(table, claim)
    for name in claim.hide:
        there: BoolArray = np.ones(table.rows, dtype=np.bool_) if name in table.own else ~table.absent
        mine, text = np.flatnonzero(there), table.text(name)
        kinds, kind = np.unique(bag[person[mine]], return_inverse=True)
        people = np.bincount(bag)[kinds]
        slots = group([kind, cell[mine]], rows=len(mine))
        many = people[kind[slots.first]]
        yield Linkage(many, many, {name: Spread.count(slots.of, text.codes[mine], len(slots), text.labels)})
        yield Linkage(people, people, {name: ever_had(text.codes[mine], text.labels, kind.astype(np.int64), person[mine], people)})
