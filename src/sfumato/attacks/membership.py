"""`membership`: is a known person in the table at all?

The outsider knows somebody's quasi-identifiers and says "in the table" when some published row covers them. People of the table are
found nearly always; the question is how many people who are not in it are taken for members as well.

The figure
    `found` is the share of the table's people whom a row covers, `mistaken` the share of other people, and `advantage` their
    difference: 0 when the release says nothing about who is in the table, 1 when it tells exactly. No claim of this house
    promises anything about it (k-anonymity hides the row, not the presence).

Paper
    Nergiz, Atzori and Clifton (2007) ask for the share of a known population that is in the table, per person; the advantage is
    the usual figure of a game with members and others.

Notation
    others    with `population`: its people whose quasi-identifiers nobody in the table has. Without: made from pairs of people
              of the table, one value of the first replaced by the second's, when nobody in the table looks so

Cost: people × classes comparisons, for `people` members and as many others.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from sfumato.attacks.base import ReleaseAttack
from sfumato.data.arrays import BoolArray, IntArray
from sfumato.data.table import Table
from sfumato.forms.anatomy import AnatomyForm
from sfumato.forms.recoded import Recoded
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_CHUNK = 8_000_000


class MembershipAttack(ReleaseAttack):
    """Tell people who are in the table from people who are not, by whether a published row covers them."""

    name: ClassVar[str] = "membership"
    paper: ClassVar[str] = "Nergiz, Atzori, Clifton 2007"
    forms: ClassVar[tuple[type[Form], ...]] = (Recoded, AnatomyForm)
    headline: ClassVar[str] = "advantage"

    population: str = Field(default="", description="a table of people, in and out of the release, with its quasi-identifiers")
    people: int = Field(default=2_000, ge=1, description="how many members, and how many others, to ask about")
    seed: int = Field(default=1, description="repeat the same choice of people")

    @classmethod
    def concerns(cls, exhibit: Exhibit) -> str:
        if not isinstance(exhibit.form, cls.forms) or not exhibit.policy.quasi_identifiers:
            return ""
        return (
            "published rows show which combinations of quasi-identifiers occur in the table, so whoever knows somebody's can often "
            "tell whether the person is in it; no claim speaks about that"
        )

    def play(self, exhibit: Exhibit) -> dict[str, Any]:
        draw = np.random.default_rng(self.seed)
        members = _leaves(exhibit, exhibit.original)
        chosen = members[draw.permutation(len(members))[: self.people]]
        if self.population:
            others = _outside(_leaves(exhibit, exhibit.policy.data.read(self.population)), members)
            others = others[draw.permutation(len(others))[: self.people]]
        else:
            others = _outside(_mixed(members, self.people, draw), members)[: self.people]
        who = "members" if exhibit.policy.person is None else "rows_of_members"
        if not len(others):
            return {who: len(chosen), "others": 0, "remark": "everybody else looks like somebody of the table"}
        found, mistaken = float(_covered(exhibit, chosen).mean()), float(_covered(exhibit, others).mean())
        return {
            who: len(chosen),
            "others": len(others),
            "found": found,
            "mistaken": mistaken,
            "advantage": found - mistaken,
        }


def _leaves(exhibit: Exhibit, table: Table) -> IntArray:
    """The quasi-identifiers of a table as leaves, people × columns; −1 for a value that the hierarchies do not know."""
    columns = []
    for name in exhibit.policy.quasi_identifiers:
        text, code_of = table.text(name), exhibit.recoded[name].code_of
        columns.append(np.array([code_of.get(label, -1) for label in text.labels], dtype=np.int64)[text.codes])
    return np.stack(columns, axis=1)


def _mixed(members: IntArray, wanted: int, draw: np.random.Generator) -> IntArray:
    """People of the table with one value taken from somebody else."""
    one, other = draw.integers(0, len(members), (2, 4 * wanted))
    column = draw.integers(0, members.shape[1], 4 * wanted)
    people = members[one].copy()
    people[np.arange(len(people)), column] = members[other, column]
    return np.asarray(people)


def _outside(people: IntArray, members: IntArray) -> IntArray:
    """Those who look like nobody of the table."""
    known = {row.tobytes() for row in np.ascontiguousarray(members)}
    new = np.array([row.tobytes() not in known for row in np.ascontiguousarray(people)], dtype=np.bool_)
    return np.asarray(people[new])


def _covered(exhibit: Exhibit, people: IntArray) -> BoolArray:
    """Per person: does some published row cover all values?"""
    rows = exhibit.classes
    cells = [
        tuple(side[exhibit.data.text(name).codes[rows.first]] for side in exhibit.intervals(name))
        for name in exhibit.policy.quasi_identifiers
    ]
    step, found = max(1, _CHUNK // max(len(rows), 1)), []
    for first in range(0, len(people), step):
        fits = np.ones((len(people[first : first + step]), len(rows)), dtype=np.bool_)
        for column, (lo, hi) in enumerate(cells):
            leaf = people[first : first + step, column, None]
            fits &= (lo <= leaf) & (leaf < hi)
        found.append(fits.any(axis=1))
    return np.concatenate(found)
