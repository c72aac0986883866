"""Pseudonyms: in a linked table a pseudonym is one person, a person is one pseudonym, and dates move by one number per person.

Needs the original and the private trace; without the trace nothing says who stands behind a row, and nothing is said.
"""

from __future__ import annotations

from datetime import date
from typing import ClassVar

import numpy as np

from sfumato.audit.base import Check
from sfumato.audit.people import person_of
from sfumato.data.arrays import IntArray
from sfumato.data.classes import group
from sfumato.data.people import people_of
from sfumato.errors import DataError
from sfumato.forms.linked import LinkedTable
from sfumato.policy.person import PSEUDONYM
from sfumato.release.certificate import Finding
from sfumato.release.exhibit import Exhibit
from sfumato.release.form import Form

_DAY = len("2024-12-31")


class OnePseudonymEach(Check):
    """Pseudonyms and people belong to each other, one to one."""

    name: ClassVar[str] = "pseudonyms"
    forms: ClassVar[tuple[type[Form], ...]] = (LinkedTable,)

    def ready(self, exhibit: Exhibit) -> bool:
        return exhibit.private and exhibit.behind is not None

    def examine(self, exhibit: Exhibit) -> Finding:
        behind = (exhibit.behind or {})["data"]
        if len(behind) != exhibit.data.rows:
            raise DataError("the private trace does not belong to as many rows as are published")
        person = people_of(exhibit.original, person_of(exhibit).unit)[behind]
        called = exhibit.data.text(PSEUDONYM).codes.astype(np.int64)
        pairs = len(group([person, called], rows=len(person)))
        mixed = 2 * pairs - len(np.unique(person)) - len(np.unique(called))
        moved = sum(_unsteady(exhibit, name, behind) for name in exhibit.policy.published if exhibit.policy.columns[name].dates)
        wrong = [f"{mixed} pseudonym(s) or people are mixed up"] if mixed else []
        wrong += [f"{moved} date(s) are not moved as the policy says"] if moved else []
        achieved = {"mixed": mixed, "moved": moved}
        return Finding(self.name, not wrong, {"mixed": 0, "moved": 0}, achieved, reason="; ".join(wrong))


def _unsteady(exhibit: Exhibit, name: str, behind: IntArray) -> int:
    """Dates that move further than they may, or otherwise than the first one of the person."""
    declared = exhibit.policy.columns[name].dates
    assert declared is not None
    now, before = exhibit.data.text(name), exhibit.original.text(name)
    person = people_of(exhibit.original, person_of(exhibit).columns)[behind]
    wrong, steps = 0, dict[int, int]()
    for mine, theirs, whose in zip(now.codes.tolist(), before.codes[behind].tolist(), person.tolist(), strict=True):
        shown, own = now.labels[mine], before.labels[theirs]
        if not own or not shown:
            wrong += shown != own
            continue
        step = (date.fromisoformat(shown[:_DAY]) - date.fromisoformat(own[:_DAY])).days
        wrong += abs(step) > declared.shift or steps.setdefault(whose, step) != step or shown[_DAY:] != own[_DAY:]
    return wrong
